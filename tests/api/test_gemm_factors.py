"""ozfp4.gemm of complex operands, and complex factors: the bits of the reference in fractions, and errors within the bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits
from support import ACCURACIES, MODES, ROUNDINGS, VIEWS, complex_gemm_reference, noise
from support.devices import Device
from support.update import round_fraction

COMPLEX = (np.complex128, np.complex64)
DTYPES = (np.float64, np.float32, *COMPLEX)
REAL = [(-1.0, 1.0), (0.7, -2.3)]
# Rounded once.
IMAGINARY = [(1j, 1.0), (-0.7j, 0.0), (1.0, -1j), (0.3, 2.3j), (2j, -0.1j), (0.0, 1j), (-1j, 2.0**-60)]
# Rounded twice.
BOTH = [
    (1 + 2j, 0.0),
    (0.6 - 0.8j, -1.0),
    (-1.0, 0.3 + 1j),
    (1 - 1j, 2.5 + 3j),
    (0.0, 1 + 1j),
    (2j, 1e-200 - 7j),
]


def draw(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, deep: int = 20) -> np.ndarray:
    x, y = (np.ldexp(rng.standard_normal(shape), rng.integers(-deep, deep, shape)) for _ in range(2))
    return np.asarray(x + 1j * y if np.dtype(dtype).kind == "c" else x, dtype)


def check(device: Device, factors: Any, a: Any, b: Any, c: Any, context: object, **given: Any) -> None:
    """Plain, into `out`, and in place."""
    alpha, beta = factors
    if device.is_gpu:  # too much for the reference
        expected, bound = map(np.asarray, ozfp4.gemm(alpha, a, b, beta, c, **given, return_bound=True))
        found = device.gemm(alpha, a, b, beta, c, **given, return_bound=True)
        assert_same_bits(np.asarray(found[0]), expected, context)
        assert_same_bits(np.asarray(found[1]), bound, (context, "bound"))
    else:
        expected = complex_gemm_reference(alpha, a, b, beta, c, **given)
    context = (factors, given, context)
    out = noise(expected.shape, expected.dtype)
    assert device.gemm(alpha, a, b, beta, c, out=out, **given) is out
    assert_same_bits(out, expected, context)
    found = device.gemm(alpha, a, b, beta, c, **given)
    assert_same_bits(np.asarray(found), expected, context)
    if c.shape == expected.shape and c.dtype == expected.dtype:
        place = c.copy()
        assert device.gemm(alpha, a, b, beta, place, out=place, **given) is place
        assert_same_bits(place, expected, context)


SHAPES = [((3, 9), (9, 4), (3, 4)), ((2, 3, 9), (9, 4), (4,)), ((9,), (2, 9, 4), (1, 4)), ((9,), (9,), ())]


@pytest.mark.parametrize("mode", MODES, ids="-".join)
def test_values_of_every_dtype(mode: tuple[str, str], device: Device) -> None:
    rng = np.random.default_rng(1)
    accuracy, rounding = mode
    for i, types in enumerate(product(DTYPES, DTYPES, DTYPES), MODES.index(mode)):
        if not {types[0], types[1]} & set(COMPLEX):
            continue
        shapes = SHAPES[i % 4]  # and in the next modes the others
        a, b, c = (draw(rng, shape, t) for shape, t in zip(shapes, types, strict=True))
        some = [REAL, IMAGINARY, BOTH] if rounding == "nearest" else [REAL, IMAGINARY]
        for factors in (each[rng.integers(len(each))] for each in some):
            check(device, factors, a, b, c, (types, shapes), accuracy=accuracy, rounding=rounding)


def test_every_factor(device: Device) -> None:
    rng = np.random.default_rng(2)
    for dtype, accuracy in product(COMPLEX, ACCURACIES):
        m, k, n = device.sized((5, 12, 3), (37, 60, 35))
        a, b, c = (draw(rng, s, dtype, 30) for s in ((m, k), (k, n), (m, n)))
        for factors in (*REAL, *IMAGINARY, *BOTH):
            check(device, factors, a, b, c, dtype, accuracy=accuracy)


def test_no_middle_of_two_single_numbers_is_rounded_twice(device: Device) -> None:
    """1 + 2^-24 is the middle between two float32 numbers, and a little more or less decides."""
    a, b = np.array([[1 - 2.0**-24 * 1j]], np.complex64), np.array([[1]], np.complex64)
    for accuracy, (least, nearest) in product(
        ("standard", "correct"), ((2.0**-70, 1 + 2.0**-23), (-(2.0**-70), 1.0), (0.0, 1.0))
    ):
        c = np.array([[least]], np.complex64)
        found = device.gemm(1 + 1j, a, b, 1, c, accuracy=accuracy)
        assert found.real.item() == nearest, (accuracy, least)
        check(device, (1 + 1j, 1.0), a, b, c, least, accuracy=accuracy)


def test_conjugates_and_views() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(3)
    a, b, c = (draw(rng, s, np.complex128) for s in ((9, 5), (6, 9), (5, 6)))
    expected = ozfp4.gemm(0.3, a.conj().T.copy(), b.T.copy(), -1, c)
    assert_same_bits(ozfp4.gemm(0.3, a, b, -1, c, trans_a="C", trans_b="T"), expected)
    x, y, z = (torch.from_numpy(value) for value in (a, b, c))
    assert_same_bits(ozfp4.gemm(0.3, x, y.conj(), -1, z, trans_a="C", trans_b="C").numpy(), expected)
    lazy = z.conj().resolve_conj().conj()
    assert_same_bits(ozfp4.gemm(0.3, x.conj(), y, -1, lazy, trans_a=True, trans_b=True).numpy(), expected)
    turned = np.asfortranarray(c)
    assert ozfp4.gemm(0.3, a, b, -1, turned, trans_a="C", trans_b="T", out=turned) is turned
    assert_same_bits(turned, expected)
    held = noise((10, 18), np.complex128)
    held[::2, ::3] = c
    ozfp4.gemm(
        0.3, a, b, -1, held[::2, ::3], trans_a="C", trans_b="T", out=held[::2, ::3], workspace_limit=20_000
    )
    assert_same_bits(held[::2, ::3].copy(), expected)


def test_i_times_a_matrix_is_exact(device: Device) -> None:
    """Its parts change places: what an imaginary factor gives is what a real one gives of the turned matrix."""
    rng = np.random.default_rng(3)
    a, b = draw(rng, (6, 20), np.complex128, 300), draw(rng, (20, 6), np.complex128, 300)
    c = device.matmul(a, b, accuracy="correct")
    for rounding in ROUNDINGS:
        given: dict[str, Any] = {"accuracy": "correct", "rounding": rounding}
        whole = device.gemm(1j, a, b, -1j, c, **given)
        turned = ozfp4.gemm(1, a, b, -1, c, **given)
        other = {"nearest": "nearest", "zero": "zero", "down": "up", "up": "down"}[rounding]
        opposite = ozfp4.gemm(1, a, b, -1, c, accuracy="correct", rounding=other)
        assert_same_bits(whole.imag, turned.real)
        np.testing.assert_array_equal(whole.real, -opposite.imag)


def cancelling(rng: np.random.Generator, alpha: complex, dtype: Any) -> tuple[np.ndarray, ...]:
    a, b = draw(rng, (7, 30), dtype, 3), draw(rng, (30, 5), dtype, 3)
    return a, b, (-alpha * (a @ b)).astype(dtype)


def exact_entries(alpha: complex, a: np.ndarray, b: np.ndarray, beta: complex, c: np.ndarray) -> Any:
    """(index, real part, imaginary part) of alpha A B + beta C, in fractions."""

    def fractions(z: complex) -> tuple[Fraction, Fraction]:
        return Fraction(z.real), Fraction(z.imag)

    def times(x: tuple[Fraction, Fraction], y: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
        return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]

    for i, j in np.ndindex(a.shape[0], b.shape[1]):
        terms = [
            times(fractions(complex(x)), fractions(complex(y))) for x, y in zip(a[i], b[:, j], strict=True)
        ]
        product_ = sum(t[0] for t in terms), sum(t[1] for t in terms)
        first = times(fractions(alpha), (Fraction(product_[0]), Fraction(product_[1])))
        second = times(fractions(beta), fractions(complex(c[i, j])))
        yield (i, j), (first[0] + second[0], first[1] + second[1])


@pytest.mark.slow
@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize("dtype", COMPLEX)
def test_bounds(accuracy: str, dtype: Any, device: Device) -> None:
    rng = np.random.default_rng(4)
    for alpha, beta in (*REAL, *IMAGINARY, *BOTH, (0.6 + 0.8j, 1.0)):
        a, b, c = cancelling(rng, alpha, dtype)
        given: dict[str, Any] = {"accuracy": accuracy, "return_bound": True}
        found, bound, report = device.gemm(alpha, a, b, beta, c, report=True, **given)
        assert_same_bits(found, ozfp4.gemm(alpha, a, b, beta, c, accuracy=accuracy))
        assert bound.dtype == np.complex128
        assert report.kind == "complex"
        for index, parts in exact_entries(alpha, a, b, beta, c):
            for name, part in zip(("real", "imag"), parts, strict=True):
                error = abs(Fraction(float(getattr(found[index], name))) - part)
                assert error <= Fraction(float(getattr(bound[index], name))), (alpha, beta, index, name)
        assert np.isfinite(bound).all()


@pytest.mark.slow
def test_bounds_are_sums_rounded_up(device: Device) -> None:
    """Half a unit in the last place, and the factors' magnitudes times the bounds of the product."""
    rng = np.random.default_rng(11)
    alpha, beta = 0.3 - 0.7j, 1.1 + 0.1j
    a, b, c = (draw(rng, s, np.complex128) for s in ((9, 12), (12, 8), (9, 8)))
    found, bound = device.gemm(alpha, a, b, beta, c, return_bound=True)
    first = device.matmul(a, b, return_bound=True)[1]
    same, across = Fraction(abs(alpha.real)), Fraction(abs(alpha.imag))
    for index in np.ndindex(*bound.shape):
        re, im = Fraction(float(first[index].real)), Fraction(float(first[index].imag))
        for name, sum_ in (("real", same * re + across * im), ("imag", across * re + same * im)):
            half = Fraction(float(np.spacing(abs(getattr(found[index], name))))) / 2
            assert getattr(bound[index], name) == round_fraction(sum_ + half, rounding="up")


@pytest.mark.parametrize("dtype", COMPLEX)
def test_correct_keeps_what_cancels(dtype: Any) -> None:
    """alpha A B + C where next to nothing is left: "correct" has two numbers for A B, and rounds their sum once."""
    rng = np.random.default_rng(5)
    u = Fraction(2) ** (-53 if dtype == np.complex128 else -24)
    alpha = complex(0.6, 0.8)
    a, b, c = cancelling(rng, alpha, dtype)
    found = ozfp4.gemm(alpha, a, b, 1, c, accuracy="correct")
    size = (np.abs(a) @ np.abs(b)).max()
    for index, parts in exact_entries(alpha, a, b, 1, c):
        for name, part in zip(("real", "imag"), parts, strict=True):
            error = abs(Fraction(float(getattr(found[index], name))) - part)
            assert error <= u * (1 + 2 * u) * abs(part) + 4 * u**2 * Fraction(float(size))


def test_specials(device: Device) -> None:
    values = [0.0, -0.0, 1.0, -3.0, np.nan, np.inf, -np.inf]
    a = np.array([[complex(x, y), 1.0] for x, y in product(values, values)])
    b = np.array([[1.0, 1j, np.inf, complex(0, np.nan)], [0.0, 2.0, 1.0, -1j]])
    rows, columns = np.indices((len(a), 4))
    c = np.empty(rows.shape, complex)
    for shift in range(0, len(values), 2):
        c.real = np.take(values, (rows + 2 * columns + shift) % len(values))
        c.imag = np.take(values, (rows // 3 + columns + shift) % len(values))
        for factors in (*IMAGINARY[:4], *BOTH[:4]):
            check(device, factors, a, b, c, shift)
            check(device, factors, a, b, c, shift, accuracy="correct")
    bound = device.gemm(2, a, b, 1 + 1j, c, return_bound=True)[1]
    assert not np.isnan(bound).any()
    assert np.isinf(bound).any()


def test_the_ends_of_the_range(device: Device) -> None:
    tiny, large = np.full((2, 3), 2.0**-537 * (1 + 1j)), np.full((3, 2), 2.0**-537 * (1 - 3j))
    c, up = np.full((2, 2), complex(5e-324, -1e-310)), 2.0**1000
    for factors in (*IMAGINARY, *BOTH):
        for accuracy in ACCURACIES:
            check(device, factors, tiny, large, c, "subnormal", accuracy=accuracy)
            check(
                device,
                factors,
                tiny * up * 2.0**60,
                large * up * 2.0**60,
                c * up,
                "overflow",
                accuracy=accuracy,
            )
    single = np.full((1, 1), 3e38 + 3e38j, np.complex64)
    for factors in (*IMAGINARY, *BOTH):
        check(device, factors, single, np.ones((1, 1), np.complex64), single, "single")


@pytest.mark.parametrize("factors", [(1j, -2j), (1 + 2j, 1 - 1j)])
def test_views_and_blocks(factors: tuple[complex, complex], device: Device) -> None:
    rng = np.random.default_rng(7)
    a, b, c = (draw(rng, s, np.complex128) for s in ((7, 30), (30, 9), (7, 9)))
    expected = complex_gemm_reference(factors[0], a, b, factors[1], c)
    for look in VIEWS.values():
        assert_same_bits(device.gemm(factors[0], look(a), look(b), factors[1], look(c)), expected)
    held = noise((14, 27), np.complex128)
    held[::2, ::3] = c
    before = held.copy()
    place = held[::2, ::3]
    adjoint = b.conj().T.copy()
    device.gemm(factors[0], a.T.copy(), adjoint, factors[1], place, trans_a="T", trans_b="C", out=place,
               workspace_limit=device.sized(20_000, 2**23))  # fmt: skip
    assert_same_bits(place.copy(), expected)
    held[::2, ::3] = before[::2, ::3]
    assert_same_bits(held, before)


@pytest.mark.parametrize(
    "factors", [(0.0, -0.1), (1j, 1 + 0j), (1 + 2j, 1 - 1j), (0.0, 1 + 1j), (2 - 1j, 0.0)]
)
def test_nothing_to_multiply(factors: tuple[complex, complex], device: Device) -> None:
    alpha, beta = factors
    bad = np.full((2, 2), complex(np.nan, np.inf))
    c = np.array([[1 + 2j, 0.0, -3j], [1e-320j, np.inf, 5.0]])
    for k in (0, 2):
        a, b = bad[:, :k], np.ones((k, 3))
        if alpha != 0 and k:
            continue
        assert_same_bits(device.gemm(alpha, a, b, beta, c), complex_gemm_reference(alpha, a, b, beta, c))
    if beta == 0:  # C is not read
        found = device.gemm(alpha, np.ones((2, 1), complex), np.ones((1, 2)), beta, bad)
        assert_same_bits(found, np.full((2, 2), alpha))
    for shape in ((0, 3), (2, 0)):
        found, bound = device.gemm(alpha, np.ones((shape[0], 4), complex), np.ones((4, shape[1])), beta,
                                  np.ones(shape), return_bound=True)  # fmt: skip
        assert found.shape == bound.shape == shape


@pytest.mark.parametrize("accuracy", ["standard", "correct"])
def test_within_a_limit_a_result_is_summed_in_blocks(accuracy: str) -> None:
    rng = np.random.default_rng(8)
    a, b, c = (draw(rng, s, np.complex64) for s in ((61, 4), (4, 67), (61, 67)))
    a[[3, 50], 1], b[2, 60] = np.nan, np.inf
    given, options = (1 + 2j, a, b, 1j, c), {"accuracy": accuracy, "return_bound": True, "report": True}
    *expected, whole = ozfp4.gemm(*given, **options)
    limit = whole.workspace // 4
    *found, about = ozfp4.gemm(*given, **options, workspace_limit=limit)
    assert about.workspace <= limit
    for x, y in zip(found, expected, strict=True):
        assert_same_bits(x, y)
    assert (about.special_rows, about.special_columns) == (whole.special_rows, whole.special_columns)


def test_refusals() -> None:
    a, b, c = np.ones((3, 4), complex), np.ones((4, 5)), np.ones((3, 5), complex)
    out = noise((3, 5), np.complex128)
    before = out.copy()
    refused: list[tuple[type[Exception], str, tuple[Any, ...], dict[str, Any]]] = [
        (ValueError, "alpha.imag: nan is not a finite", (complex(0, math.nan), a, b, 1, c), {}),
        (ValueError, "beta.real: inf is not a finite", (1, a, b, complex(math.inf, 1), c), {}),
        (TypeError, "alpha: '1j', of type str, is not a number", ("1j", a, b, 1, c), {}),
        (TypeError, r"beta: ndarray of shape \(1, 2\) is not a number", (1, a, b, np.ones((1, 2)), c), {}),
        (ValueError, r"c: missing, but beta is \(1\+1j\)", (1, a, b, 1 + 1j), {}),
        (ValueError, "c: missing, but beta is 1j", (1 + 1j, a, b, 1j), {}),
        (ValueError, r"c: shape \(5, 3\) does not broadcast", (1 + 1j, a, b, 1, c.T), {}),
        (ValueError, r"rounding: 'up' is not for alpha = \(1\+1j\), which has a real and an imaginary part",
         (1 + 1j, a, b), {"accuracy": "correct", "rounding": "up"}),
        (ValueError, r"rounding: 'zero' is not for beta = \(2-1j\)", (1, a, b, 2 - 1j, c),
         {"accuracy": "correct", "rounding": "zero"}),
        (TypeError, r"alpha: \(1\+1j\) is complex, and the product is real, of float64", (1 + 1j, b.T, b), {}),
        (TypeError, "alpha: 1j is complex, and the product is real, of float64", (1j, b.T, b), {}),
        (TypeError, "c: dtype complex128, and the product is real, of float64", (1, b.T, b, 1, c), {}),
        (ValueError, "overflow: 'raise' is for products of integers; ", (1j, a, b), {"overflow": "raise"}),
        (ValueError, "overflow: 'stop' is unknown", (1j, a, b), {"overflow": "stop"}),
    ]  # fmt: skip
    for error, words, args, given in refused:
        with pytest.raises(error, match=f"^{words}"):
            ozfp4.gemm(*args, out=out, **given)
    assert_same_bits(out, before)
    for alpha in (1j, 1 + 1j):
        room = np.zeros(40, complex)
        for own in (room[1:16].reshape(3, 5), room[14:29].reshape(3, 5)):
            with pytest.raises(ValueError, match="out: the array shares memory with c"):
                ozfp4.gemm(alpha, a, b, 1, room[:15].reshape(3, 5), out=own)
        with pytest.raises(ValueError, match="out: the array shares memory with a"):
            ozfp4.gemm(alpha, a[:, :3], b[:3, :4], 1, c[:, :4], out=a)
        assert_same_bits(ozfp4.gemm(alpha, a, ozfp4.prepare(b, "right"), 1, c), ozfp4.gemm(alpha, a, b, 1, c))
    assert (a == 1).all()


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(10)
    a, b, c = (draw(rng, s, np.complex128) for s in ((2, 6, 30), (30, 5), (6, 5)))
    x, y, z = (torch.from_numpy(value) for value in (a, b, c))
    for alpha, beta in ((1j, 2), (1 - 2j, 0.5j)):
        expected = complex_gemm_reference(alpha, a, b, beta, c)
        lazy = [value.conj().resolve_conj().conj() for value in (x, z)]
        found, bound = ozfp4.gemm(alpha, lazy[0], y, beta, lazy[1], return_bound=True)
        assert isinstance(found, torch.Tensor)
        assert bound.dtype == torch.complex128
        assert_same_bits(found.numpy(), expected)
        place = z[None].repeat(2, 1, 1)
        version = place._version
        assert ozfp4.gemm(alpha, x, y, beta, place, out=place) is place
        assert place._version > version
        assert_same_bits(place.numpy(), expected)


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
def test_an_integer_of_numpy_that_no_float64_is(kind: Any) -> None:
    a, b = np.ones((2, 2)), np.ones((2, 2), complex)
    factor = kind(2**53 + 1)
    for operand in (a, b):
        with pytest.raises(ValueError, match=r"^alpha: 9007199254740993 is not a finite float64 number"):
            ozfp4.gemm(factor, operand, b)
        with pytest.raises(ValueError, match=r"^beta: 9007199254740993 is not a finite float64 number"):
            ozfp4.gemm(1, operand, b, factor, b)
    assert_same_bits(ozfp4.gemm(kind(2**53), a, a), ozfp4.gemm(2.0**53, a, a))


@pytest.mark.parametrize("dtype", COMPLEX)
def test_both_parts_without_terms_or_an_addend(dtype: Any, device: Device) -> None:
    """Nothing is left of A B where it has no terms: the bounds are those of one number for it."""
    a, b = np.ones((2, 0), dtype), np.ones((0, 3), dtype)
    out = noise((2, 3), dtype)
    found, bound, _ = device.gemm(1 + 1j, a, b, accuracy="correct", return_bound=True, report=True, out=out)
    assert found is out
    assert_same_bits(out, np.zeros((2, 3), dtype))
    assert_same_bits(bound, device.gemm(1 + 1j, a, b, accuracy="standard", return_bound=True)[1])


@pytest.mark.parametrize("accuracy", ACCURACIES)
@pytest.mark.parametrize("backend", ["fp4", "int8"])
def test_prepared_operands_that_are_not_read(backend: str, accuracy: str, device: Device) -> None:
    rng = np.random.default_rng(12)
    for (m, k, n), types in product([(2, 0, 3), (2, 5, 3)], product((np.float64, np.complex128), repeat=2)):
        a, b, c = (draw(rng, s, t) for s, t in zip([(m, k), (k, n), (m, n)], (*types, types[0]), strict=True))
        given: dict[str, Any] = {"backend": backend, "accuracy": accuracy}
        kinds = ["complex" if t == np.complex128 else "real" for t in types]
        left = device.prepare(a, "left", other=kinds[1], **given)
        right = device.prepare(b, "right", other=kinds[0], **given)
        factors: list[tuple[complex, complex]] = [(0, 1.5), (0, 0)]
        if np.complex128 in types:
            factors += [(0, 2j), (0, 1 + 2j)]
        if k == 0:
            factors += [(1, 1.5), (-3, 0)] + ([(1 + 1j, 1.5), (1 - 1j, 0)] if np.complex128 in types else [])
        for alpha, beta in factors:
            expected = ozfp4.gemm(alpha, np.zeros_like(a), np.zeros_like(b), beta, c, accuracy=accuracy)
            for x, y in ((a, right), (left, b), (left, right)):
                if len({x.plan for x in (x, y) if isinstance(x, ozfp4.Prepared)}) < 2:
                    assert_same_bits(device.gemm(alpha, x, y, beta, c), expected, (alpha, beta, types, k))
