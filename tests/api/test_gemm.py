"""ozfp4.gemm: every path equals the reference in fractions, and each other, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul
from support import (
    ACCURACIES,
    HARD,
    KINDS,
    LEAST,
    MODES,
    STRUCTURED,
    VIEWS,
    Path,
    gemm_reference,
    hard_operands,
    noise,
    operands,
    structured_operands,
)
from support.devices import Device, arrays_and_gpu
from support.dtypes import both_types

DTYPES = (np.float64, np.float32)
FACTORS = [(1.0, 1.0), (-1.0, 1.0), (1.0, -1.0), (2.0**-60, 2.0**40), (0.7, -2.3), (-1.0, 0.0), (0.3, 0.0)]


def addends(a: np.ndarray, b: np.ndarray, seed: int) -> list[np.ndarray]:
    """C: the negated product, half an ulp of it for ties, and a mix of the negated product and unrelated numbers."""
    rng = np.random.default_rng(seed)
    dtype = np.promote_types(a.dtype, b.dtype)
    near = ozfp4.matmul(a, b, accuracy="correct")
    with np.errstate(all="ignore"):
        half = np.spacing(near) / 2
        far = np.ldexp(rng.standard_normal(near.shape), rng.integers(-1070, 1020, near.shape)).astype(dtype)
        finite = np.where(np.isfinite(near), near, dtype.type(1))
        return [
            -finite,
            np.where(np.isfinite(half), half, 0).astype(dtype),
            np.where(rng.random(near.shape) < 0.5, -finite, far),
        ]


def check(
    device: Device, a: np.ndarray, b: np.ndarray, c: np.ndarray, context: object, step: int = 1
) -> None:
    """`step`: of each product, every so many columns are compared, and with each way and each factors other ones."""
    for (i, (accuracy, rounding)), (j, (alpha, beta)) in product(enumerate(MODES), enumerate(FACTORS)):
        here = (context, accuracy, rounding, alpha, beta)
        given: Any = {"accuracy": accuracy, "rounding": rounding}
        out, place = noise(c.shape, c.dtype), c.copy()
        assert device.gemm(alpha, a, b, beta, c, **given, out=out) is out
        assert device.gemm(alpha, a, b, beta, place, **given, out=place) is place
        assert_same_bits(place, out, (*here, "in place"))
        if device.is_gpu:  # too much for the reference
            expected, bound = ozfp4.gemm(alpha, a, b, beta, c, **given, return_bound=True)
            found, found_bound = device.gemm(alpha, a, b, beta, c, **given, return_bound=True)
            assert_same_bits(out, expected, here)
            assert_same_bits(found, expected, (*here, "beside bounds"))
            assert_same_bits(found_bound, bound, (*here, "bound"))
            continue
        some = slice((i + j) % step, None, step)
        expected = gemm_reference(alpha, a, b[:, some], beta, c[:, some], accuracy, rounding)
        assert_same_bits(out[:, some], expected, here)


@arrays_and_gpu
@both_types
@pytest.mark.parametrize("kind", [*KINDS, *HARD])
def test_values(kind: str, dtype: Any, device: Device) -> None:
    make = hard_operands if kind in HARD else operands
    a, b = make(kind, *device.sized((3, 20, 4), (37, 60, 70)), dtype=dtype)
    for i, c in enumerate(addends(a, b, 1)):
        check(device, a, b, c, (kind, i))


@arrays_and_gpu
@both_types
@pytest.mark.parametrize("kind", STRUCTURED)
def test_disjoint_lines(kind: str, dtype: Any, device: Device) -> None:
    a, b = structured_operands(kind, *device.sized((8, 40, 70), (80, 300, 130)), dtype=dtype)
    for i, c in enumerate(addends(a, b, 3)[1:]):
        check(device, a, b, c, (kind, i), step=10)  # fractions of 70 columns take long


@arrays_and_gpu
@pytest.mark.parametrize("way", LEAST, ids=str)
def test_paths_and_blocks(way: Path, device: Device) -> None:
    """Every path, in one block and in blocks and pieces of K; of a GPU whole tiles are repaired."""
    if not device.has(way.backend):
        return
    # The 441 products of scheme I on FP4 leave no steps for pieces of K on a GPU.
    limit = device.sized(150_000, 12_000_000 if way[:2] == ("I", "fp4") else 1_500_000)
    rng = np.random.default_rng(5)
    for dtype, deep in product(DTYPES, (4, device.sized(40, 60))):
        a, b = (
            np.ldexp(rng.standard_normal(s), rng.integers(-deep, deep, s)).astype(dtype)
            for s in device.sized(((9, 150), (150, 70)), ((90, 300), (300, 130)))
        )
        c = -ozfp4.matmul(a, b, accuracy="correct")
        for accuracy, rounding in MODES:
            given: Any = {"accuracy": accuracy, "rounding": rounding}
            path: Any = {**given, "scheme": way.scheme, "backend": way.backend}
            expected = ozfp4.gemm(-0.7, a, b, 0.7, -c, **given)
            for options in ({}, {"workspace_limit": limit}):
                assert_same_bits(device.gemm(-0.7, a, b, 0.7, -c, **path, **options), expected, path)
    sample = np.ix_([0, 3, 8], [0, 64, 69])
    reference = gemm_reference(-0.7, a[[0, 3, 8]], b[:, [0, 64, 69]], 0.7, -c[sample], "correct", "zero")
    assert_same_bits(expected[sample], reference)


@pytest.mark.parametrize("backend", ["int8", "fp64"])
@pytest.mark.parametrize("k", [6, 12, 300])
def test_ties_of_integers_whose_lowest_bits_are_cut(backend: str, k: int, device: Device) -> None:
    """Lines of 76 bits with products 2^-144 off small integers. Cut integers lose that, and C makes ties of the remainder."""
    if not device.has(backend):
        return
    rng = np.random.default_rng(k)
    m, n, third = 70, 40, k // 3
    a, b = np.zeros((m, k)), np.zeros((k, n))
    a[:, :third], b[:third] = rng.integers(-9, 10, (m, third)), rng.integers(-9, 10, (third, n))
    a[:, third : 2 * third] = np.ldexp(2.0 * rng.integers(0, 8, (m, third)) + 1, -72)
    b[2 * third :] = np.ldexp(2.0 * rng.integers(0, 8, (k - 2 * third, n)) + 1, -72)
    b[third] = np.ldexp(rng.choice([-1.0, 1.0], n), -72)
    c = np.spacing(np.abs(a @ b)) / 2 * rng.choice([-3, -1, 1, 3], (m, n))
    for alpha, beta in ((1.0, 1.0), (-1.0, 1.0), (0.5, -0.5)):
        found = device.gemm(alpha, a, b, beta, c, accuracy="correct", backend=backend)
        assert_same_bits(found, gemm_reference(alpha, a, b, beta, c, "correct", "nearest"), (alpha, beta))


@both_types
def test_specials(dtype: Any, device: Device) -> None:
    """NaN and infinity of the product meet those of C in every combination; other entries do not notice."""
    values = [0.0, -0.0, 1.0, -3.0, np.nan, np.inf, -np.inf]
    a = np.array([[x, 1.0] for x in values], dtype)
    b = np.array([[1.0, 2.0, np.inf, np.nan, 0.0], [0.0, 1.0, 2.0, 1.0, -np.inf]], dtype)
    for shift in range(len(values)):
        rows, columns = np.indices((len(values), 5))
        c = np.take(np.array(values, dtype), (rows + 2 * columns + shift) % len(values))
        check(device, a, b, c, shift)
        check(device, np.where(np.isfinite(a), a, 0), np.where(np.isfinite(b), b, 0), c, shift)
        for alpha, beta in ((1.0, 2.0**1000), (-1.0, -1.0)):
            found = c.copy()
            device.gemm(alpha, a, b, beta, found, out=found)
            assert_same_bits(found, gemm_reference(alpha, a, b, beta, c))
    largest = np.full((1, 1), np.finfo(dtype).max, dtype)
    plus = np.full((1, 1), np.inf, dtype)
    assert (
        device.gemm(1, plus, -np.ones((1, 1), dtype), 2.0**1000, largest).item() == -np.inf
    )  # beta c is a real number


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str, device: Device) -> None:
    rng = np.random.default_rng(7)
    a, b, c = rng.standard_normal((7, 30)), rng.standard_normal((30, 9)), rng.standard_normal((7, 9))
    expected = gemm_reference(0.5, a, b, -1, c)
    look = VIEWS[view]
    assert_same_bits(device.gemm(0.5, look(a), look(b), -1, look(c)), expected)
    if view not in ("swapped-bytes", "read-only") and device.takes(look(c)):
        place = look(c)
        assert device.gemm(0.5, a, b, -1, place, out=place) is place
        assert_same_bits(place, expected)


def test_transposes(device: Device) -> None:
    rng = np.random.default_rng(8)
    a, b, c = rng.standard_normal((2, 5, 8)), rng.standard_normal((8, 6)), rng.standard_normal((5, 6))
    expected = ozfp4.gemm(2, a, b, 3, c)
    for trans_a, trans_b in product((False, "N", "n"), (True, "T", "C", np.True_)):
        found = device.gemm(2, a, np.ascontiguousarray(b.T), 3, c, trans_a=trans_a, trans_b=trans_b)
        assert_same_bits(found, expected)
        found = device.gemm(2, a.swapaxes(1, 2), b, 3, c, trans_a=trans_b, trans_b=trans_a)
        assert_same_bits(found, expected)


def test_stacks_and_broadcasting(device: Device) -> None:
    rng = np.random.default_rng(9)
    for shape_a, shape_b, shape_c in (
        ((3, 4, 7), (7, 5), (3, 4, 5)),
        ((3, 4, 7), (7, 5), (4, 5)),
        ((3, 4, 7), (3, 7, 5), (3, 1, 5)),
        ((2, 1, 4, 7), (3, 7, 5), (5,)),
        ((4, 7), (7, 5), ()),
        ((4, 7), (7, 5), (4, 1)),
        ((7,), (7, 5), (5,)),
        ((4, 7), (7,), (4,)),
        ((7,), (7,), ()),
    ):
        a, b, c = (rng.standard_normal(s) for s in (shape_a, shape_b, shape_c))
        expected = gemm_reference(-1, a, b, 0.3, c)
        assert_same_bits(device.gemm(-1, a, b, 0.3, c), expected, (shape_a, shape_b, shape_c))
        out = noise(expected.shape)
        device.gemm(-1, a, b, 0.3, c, out=out)
        assert_same_bits(out, expected, (shape_a, shape_b, shape_c))


def test_dtypes(device: Device) -> None:
    rng = np.random.default_rng(10)
    for types in product(DTYPES, DTYPES, DTYPES):
        a, b, c = (
            rng.standard_normal(s).astype(t) for s, t in zip(((4, 40), (40, 5), (4, 5)), types, strict=True)
        )
        for accuracy, rounding in MODES:
            found = device.gemm(-1, a, b, 1, c, accuracy=accuracy, rounding=rounding)
            assert found.dtype == np.result_type(*types)
            assert_same_bits(found, gemm_reference(-1, a, b, 1, c, accuracy, rounding), (types, accuracy))


def test_nothing_to_multiply(device: Device) -> None:
    c = np.array([[1.5, -0.0, np.nan], [np.inf, 3e-310, -7.0]])
    bad = np.full((2, 3), np.nan)
    for beta in (1.0, -0.1):
        expected = gemm_reference(1, np.zeros((2, 0)), np.zeros((0, 3)), beta, c)
        assert_same_bits(device.gemm(5, np.zeros((2, 0)), np.zeros((0, 3)), beta, c), expected)
        assert_same_bits(device.gemm(0, bad, bad.T[:, :1] @ np.ones((1, 3)), beta, c), expected)
        assert_same_bits(
            device.gemm(0.0, bad[0], np.full(3, np.inf), beta, c[1:2, 2].reshape(())), expected[1, 2]
        )
    assert_same_bits(device.gemm(0, bad, np.full((3, 3), np.inf)), np.zeros((2, 3)))
    assert_same_bits(
        device.gemm(3, np.ones((2, 1)), np.ones((1, 3)), 0, np.full((2, 3), np.nan)), np.full((2, 3), 3.0)
    )
    for m, n in ((0, 3), (2, 0)):
        for k in (0, 4):
            found = device.gemm(1, np.ones((m, k)), np.ones((k, n)), 2, np.ones((m, n)))
            assert found.shape == (m, n)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_bounds(accuracy: str, device: Device) -> None:
    rng = np.random.default_rng(13)
    for dtype, reach in product(DTYPES, (1, 30)):
        a, b = (
            np.ldexp(rng.standard_normal(s), rng.integers(-reach, reach, s)).astype(dtype)
            for s in ((6, 40), (40, 7))
        )
        near = correct_matmul(a, b)
        for alpha, beta, c in (
            (-1.0, 1.0, near),
            (0.3, -0.3, near),
            (2.0**-40, 1e-3, near),
            (2.0**40, -(2.0**40), near),
            (-7.0, 0.0, None),
        ):
            found, bound = device.gemm(alpha, a, b, beta, c, accuracy=accuracy, return_bound=True)
            assert_same_bits(found, device.gemm(alpha, a, b, beta, c, accuracy=accuracy))
            for i, j in np.ndindex(*found.shape):
                terms = zip(a[i].tolist(), b[:, j].tolist(), strict=True)
                exact = Fraction(alpha) * sum(Fraction(x) * Fraction(y) for x, y in terms)
                exact += Fraction(beta) * Fraction(0 if c is None else float(c[i, j]))
                error = abs(Fraction(float(found[i, j])) - exact)
                assert error <= Fraction(float(bound[i, j])), (accuracy, dtype, reach, alpha, beta, i, j)
                if accuracy == "standard":
                    u = Fraction(2) ** (-53 if dtype == np.float64 else -24)
                    size = abs(Fraction(alpha)) * sum(
                        abs(Fraction(x) * Fraction(y))
                        for x, y in zip(a[i].tolist(), b[:, j].tolist(), strict=True)
                    )
                    assert error <= 40 * u * size + u * abs(exact) * (1 + u)
    c = np.array([[np.inf, 1.0]])
    bound = device.gemm(1, np.ones((1, 1)), np.ones((1, 2)), 1, c, accuracy=accuracy, return_bound=True)[1]
    assert bound[0, 0] == np.inf
    assert bound[0, 1] < 1


def test_report() -> None:
    rng = np.random.default_rng(14)
    a, b = (np.ldexp(rng.standard_normal(s), rng.integers(-40, 40, s)) for s in ((20, 30), (30, 25)))
    plain = ozfp4.matmul(a, b, report=True)[1].certified
    given = ozfp4.gemm(-1, a, b, 1, np.ones(25), report=True)[1].certified
    assert plain is not None
    assert given is not None
    assert (given.exact, given.depth, given.result) == (plain.exact, plain.depth, plain.result)
    assert given.total == plain.total


def test_nothing_is_repaired_beside_an_addend_that_is_not_finite() -> None:
    a, b = hard_operands("graded", 20, 60, 25)
    c = np.full((20, 25), np.nan)
    c[3] = 1.0
    found, report = ozfp4.gemm(1, a, b, 1, c, accuracy="standard", report=True)
    assert np.isnan(found).sum() == 19 * 25
    plain = ozfp4.matmul(a[3:4], b, accuracy="standard", report=True)[1].certified
    assert plain.chains == report.certified.chains > 0


@pytest.fixture
def refuses(check_refused: Callable[..., None]) -> Callable[..., None]:
    return lambda error, words, *args, **given: check_refused(error, words, ozfp4.gemm, *args, **given)


def test_refusals(refuses: Callable[..., None]) -> None:
    a, b, c = np.ones((3, 4)), np.ones((4, 5)), np.ones((3, 5))
    for name, position in (("alpha", 0), ("beta", 3)):
        for value, error, words in (
            (np.nan, ValueError, "nan is not a finite float64 number"),
            (-np.inf, ValueError, "-inf is not a finite float64 number"),
            (10**400, ValueError, "is not a finite float64 number"),
            (2**60 + 1, ValueError, "is not a finite float64 number"),
            (1j, TypeError, "complex"),
            ("1", TypeError, "str"),
            (None, TypeError, "NoneType"),
            (True, TypeError, "bool"),
            (np.ones(2), TypeError, "ndarray"),
        ):
            args: list[Any] = [1, a, b, 1, c]
            args[position] = value
            refuses(error, f"{name}: .*{words}", *args)
    refuses(ValueError, "c: missing, but beta is 1", 1, a, b, 1)
    refuses(
        ValueError, r"c: shape \(5, 3\) does not broadcast to the result's shape \(3, 5\)", 1, a, b, 1, c.T
    )
    refuses(ValueError, r"c: shape \(2, 3, 5\)", 1, a, b, 1, np.ones((2, 3, 5)))
    refuses(ValueError, r"c: shape \(2, 3, 5\)", 1, a, b, 0, np.ones((2, 3, 5)))
    for dtype in (np.float16, object):
        refuses(TypeError, f"c: dtype {np.dtype(dtype)}", 1, a, b, 1, c.astype(dtype))
        refuses(TypeError, f"b: dtype {np.dtype(dtype)}", 1, a, b.astype(dtype), 1, c)
    refuses(TypeError, "c: masked", 1, a, b, 1, np.ma.masked_array(c))
    refuses(ValueError, "trans_a: 'X'", 1, a, b, trans_a="X")
    refuses(ValueError, "trans_b: 1 is", 1, a, b, trans_b=1)
    refuses(ValueError, r"trans_a: a has shape \(4,\)", 1, a[0], b, trans_a=True)
    refuses(ValueError, "inner dimensions", 1, a, b, trans_a=True)
    refuses(
        TypeError, "out: dtype float64", 1, a.astype(np.float32), b.astype(np.float32), 0, out=noise(c.shape)
    )


def test_refuses_an_out_that_overlaps(refuses: Callable[..., None]) -> None:
    a, b = np.ones((3, 4)), np.ones((4, 5))
    room = np.arange(40.0)
    c = room[:15].reshape(3, 5)
    for out in (
        room[1:16].reshape(3, 5),
        room[14:29].reshape(3, 5),
        room[:15].reshape(5, 3).T,
        c[::-1],
        c[:, ::-1],
    ):
        refuses(ValueError, "out: the array shares memory with c", 1, a, b, 1, c, out=out)
    refuses(ValueError, "out: the array shares memory with c", 1, a, b, 1, c[:1], out=c)
    single = np.ones((3, 10), np.float32)
    refuses(ValueError, "shares memory with c", 1, a, b, 1, single[:, :5], out=single.view(np.float64))
    refuses(ValueError, "shares memory with a", 1, c[:, :4], b, 1, c, out=c)
    np.testing.assert_array_equal(ozfp4.gemm(1, a, b, 0, c, out=c), np.full((3, 5), 4.0))  # C is not read


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(15)
    a, b, c = (rng.standard_normal(s) for s in ((2, 6, 30), (30, 5), (6, 5)))
    x, y, z = (torch.from_numpy(value) for value in (a, b, c))
    found = ozfp4.gemm(-1, x.mT, y, 1, torch._neg_view(-z), trans_a="T")
    assert isinstance(found, torch.Tensor)
    assert_same_bits(found.numpy(), gemm_reference(-1, a, b, 1, c))
    with pytest.raises(TypeError, match="cannot be mixed: a is a torch tensor, c is a NumPy array"):
        ozfp4.gemm(-1, x, y, 1, c)
    with pytest.raises(TypeError, match="cannot be mixed: a is a NumPy array, c is a torch tensor"):
        ozfp4.gemm(-1, a, b, 1, z)
    with pytest.raises(TypeError, match=r"c: dtype torch\.float16 is not supported"):
        ozfp4.gemm(-1, x, y, 1, z.half())


def test_prepared_operands(device: Device) -> None:
    rng = np.random.default_rng(16)
    a, b = (np.ldexp(rng.standard_normal(s), rng.integers(-30, 30, s)) for s in ((9, 40), (40, 8)))
    c = -(a @ b)
    for accuracy, rounding in MODES:
        left, right = (device.prepare(x, s, accuracy=accuracy) for x, s in ((a, "left"), (b, "right")))
        expected = gemm_reference(0.7, a, b, 0.7, c, accuracy, rounding)
        for x, y in ((left, b), (a, right), (left, right)):
            assert_same_bits(
                device.gemm(0.7, x, y, 0.7, c, rounding=rounding), expected, (accuracy, rounding)
            )
    assert_same_bits(device.gemm(0, left, right, -1, c), -c)
