"""prepare of complex operands, and of real ones for complex products: the bits of the plain product, or a refusal by name."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul, forced_on_cpu
from support import KINDS, STACKS, VIEWS, chosen, complex_matmul, noise, operands, stack_operands

SIDES = [("left",), ("right",), ("left", "right")]
PATHS = [("II", "fp64"), ("II", "int8"), ("II", "fp4"), ("I", "fp64"), ("I", "int8"), ("I", "fp4")]
# Which of a and b are complex.
WHICH = {"complex": (True, True), "complex-real": (True, False), "real-complex": (False, True)}


def joined(re: np.ndarray, im: np.ndarray) -> np.ndarray:
    """re + 1j im, where 1j times infinity would be NaN."""
    x = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    x.real, x.imag = re, im
    return x


def pair(which: str, kind: str, m: int, k: int, n: int, dtype: Any = np.float64) -> list[np.ndarray]:
    first, second = (operands(kind, m, k, n, dtype=dtype, seed=seed) for seed in (1, 2))
    return [
        joined(re, im) if is_complex else re
        for re, im, is_complex in zip(first, second, WHICH[which], strict=True)
    ]


def prepared(a: Any, b: Any, sides: tuple[str, ...], **options: Any) -> tuple[Any, Any]:
    of_a, of_b = (
        "complex" if np.iscomplexobj(np.zeros(0, str(x.dtype).removeprefix("torch."))) else "real"
        for x in (a, b)
    )
    return (
        chosen.prepare(a, "left", other=of_b, **options) if "left" in sides else a,
        chosen.prepare(b, "right", other=of_a, **options) if "right" in sides else b,
    )


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_accuracy(kind: str, dtype: Any, which: str, sides: tuple[str, ...]) -> None:
    for accuracy, (m, k, n) in itertools.product(("scaled", "standard", "correct"), ((7, 40, 9), (1, 1, 3))):
        a, b = pair(which, kind, m, k, n, dtype)
        x, y = prepared(a, b, sides, accuracy=accuracy)
        expected = ozfp4.matmul(a, b, accuracy=accuracy)
        out = noise((m, n), expected.dtype)
        assert ozfp4.matmul(x, y, out=out) is out
        assert_same_bits(out, expected, f"{kind} {accuracy}")


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("path", PATHS, ids="-".join)
def test_every_path(path: tuple[str, str], which: str, sides: tuple[str, ...]) -> None:
    """By plans of complex products where there are such, else by those of real ones."""
    scheme, backend = path
    for accuracy, kind in itertools.product(("scaled", "correct"), ("normal", "phi32", "specials")):
        a, b = pair(which, kind, 33, 70, 20)
        x, y = prepared(a, b, sides, scheme=scheme, backend=backend, accuracy=accuracy)
        made = (y if "right" in sides else x).plan
        assert made.is_complex == (which == "complex" and scheme == "II")
        assert_same_bits(ozfp4.matmul(x, y), ozfp4.matmul(a, b, accuracy=accuracy), (accuracy, kind))


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("backend", ["int8", "fp64"])
def test_a_given_plan(backend: str, sides: tuple[str, ...]) -> None:
    a, b = pair("complex", "phi8", 9, 40, 11)
    expected, about = ozfp4.matmul(a, b, backend=backend, report=True)
    plain = ozfp4.plan(9, 22, 80, backend=backend, bits=about.plan.bits, accuracy="scaled")
    assert about.plan.is_complex
    assert not plain.is_complex
    for plan in (about.plan, plain):
        x, y = prepared(a, b, sides, plan=plan, accuracy="standard")
        found, report = ozfp4.matmul(x, y, report=True)
        assert report.plan == plan
        assert_same_bits(found, expected)
    with pytest.raises(ValueError, match=r"^plan: it is of complex products; these operands are not both"):
        ozfp4.prepare(a, "left", other="real", plan=about.plan, accuracy="scaled")


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("bits", [2, 30, 82, 83, 150])
def test_bits(bits: int, sides: tuple[str, ...]) -> None:
    a, b = pair("complex", "normal", 6, 50, 8)
    for backend in ("int8", "fp64"):
        x, y = prepared(a, b, sides, accuracy="scaled", bits=bits, backend=backend)
        assert_same_bits(ozfp4.matmul(x, y), chosen.matmul(a, b, bits=bits, accuracy="scaled"))


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
def test_roundings_bounds_and_enclosures(which: str, sides: tuple[str, ...]) -> None:
    a, b = pair(which, "phi32", 11, 60, 13)
    x, y = prepared(a, b, sides, accuracy="correct")
    for rounding in ("nearest", "down", "up", "zero"):
        expected = complex_matmul(a, b, lambda p, q, r=rounding: correct_matmul(p, q, r))
        assert_same_bits(ozfp4.matmul(x, y, rounding=rounding), expected, rounding)
    outs = noise((11, 13), np.complex128), noise((13, 11), np.complex128).T
    for found, expected in zip(ozfp4.enclose(x, y, out=outs), ozfp4.enclose(a, b), strict=True):
        assert_same_bits(found, expected)
    for accuracy in ("scaled", "standard", "correct"):
        x, y = prepared(a, b, sides, accuracy=accuracy)
        found = ozfp4.matmul(x, y, return_bound=True)
        for have, want in zip(found, ozfp4.matmul(a, b, accuracy=accuracy, return_bound=True), strict=True):
            assert_same_bits(have, want, accuracy)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_updates(accuracy: str, which: str, sides: tuple[str, ...]) -> None:
    a, b = pair(which, "normal", 9, 40, 8)
    x, y = prepared(a, b, sides, accuracy=accuracy)
    c = joined(*operands("normal", 9, 1, 8, seed=3)[0] * np.ones((2, 1, 8)))
    product = ozfp4.matmul(a, b)
    for alpha, beta, addend in ((-1, 1, product), (0.3, -2.5, c), (2, 0, None), (0, 1, c), (-1, 1, c.real)):
        out = noise((9, 8), np.complex128)
        assert ozfp4.gemm(alpha, x, y, beta, addend, out=out) is out
        assert_same_bits(out, ozfp4.gemm(alpha, a, b, beta, addend, accuracy=accuracy), (alpha, beta))
    for beta in (0, 1j, 2 - 1j):  # rounded in between, where a factor has both parts
        found = ozfp4.gemm(1 + 3j, x, y, beta, c)
        assert_same_bits(found, ozfp4.gemm(1 + 3j, a, b, beta, c, accuracy=accuracy), beta)
    out = noise((9, 8), np.complex128)
    if all(isinstance(z, ozfp4.Prepared) or not np.iscomplexobj(z) for z in (x, y)):
        with pytest.raises(
            ValueError, match=r"^alpha: 2j is imaginary, and [ab] is prepared as it is; prepare"
        ):
            ozfp4.gemm(2j, x, y, 1, c, out=out)
        assert_same_bits(out, noise((9, 8), np.complex128))
    else:
        ozfp4.gemm(2j, x, y, 1, c, out=out)
        assert_same_bits(out, ozfp4.gemm(2j, a, b, 1, c, accuracy=accuracy))
    with pytest.raises(ValueError, match=r"^trans_[ab]: [ab] is prepared as it is; prepare its transpose"):
        ozfp4.gemm(1, x, y, **{f"trans_{'a' if 'left' in sides else 'b'}": True})


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("shapes", [s for s in STACKS if all(len(x) > 1 for x in s)], ids=str)
def test_stacks(shapes: Any, which: str, sides: tuple[str, ...]) -> None:
    first, second = (stack_operands(shapes, seed=seed) for seed in (1, 2))
    a, b = (
        joined(re, im) if is_complex else re
        for re, im, is_complex in zip(first, second, WHICH[which], strict=True)
    )
    x, y = prepared(a, b, sides)
    expected = ozfp4.matmul(a, b)
    out = noise(expected.shape, np.complex128)
    assert ozfp4.matmul(x, y, out=out) is out
    assert_same_bits(out, expected)
    wide = np.broadcast_to(a, (2, 3, *np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *a.shape[-2:]))
    if a.shape[:-2] == b.shape[:-2]:
        x, y = prepared(wide, b, sides)
        assert_same_bits(ozfp4.matmul(x, y), ozfp4.matmul(wide, b))


@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str, which: str) -> None:
    a, b = pair(which, "normal", 5, 9, 6)
    expected = ozfp4.matmul(a, b)
    for sides in SIDES:
        x, y = prepared(VIEWS[view](a), VIEWS[view](b), sides)
        assert_same_bits(ozfp4.matmul(x, y), expected)


@pytest.mark.parametrize("other", ["complex", "real"])
def test_one_operand_serves_many_others(other: str) -> None:
    rng = np.random.default_rng(5)
    b = joined(*rng.standard_normal((2, 30, 40)))
    b[3, 4], b[7] = complex(1, np.inf), 0.0
    y = ozfp4.prepare(b[:, ::-1], "right", other=other)
    for shape in ((9, 30), (30,), (2, 3, 1, 30), (0, 30)):
        for scale in (1e-200, 1e200):
            a: Any = rng.standard_normal(shape) * scale
            a = joined(a, a[..., ::-1]) if other == "complex" else a
            assert_same_bits(ozfp4.matmul(a, y), ozfp4.matmul(a, b[:, ::-1]))
            with np.errstate(over="ignore"):
                single = np.complex64(a) if other == "complex" else np.float32(a)
            assert_same_bits(ozfp4.matmul(single, y), ozfp4.matmul(single, b[:, ::-1]))


def test_a_real_operand_serves_real_and_complex_ones() -> None:
    a, b = pair("complex", "normal", 9, 30, 8)
    for y in (ozfp4.prepare(b.real, "right"), ozfp4.prepare(b.real, "right", other="real")):
        assert y.other == "any"
        assert_same_bits(ozfp4.matmul(a.real, y), ozfp4.matmul(a.real, b.real))
        assert_same_bits(ozfp4.matmul(a, y), ozfp4.matmul(a, b.real))
    x = ozfp4.prepare(a.real, "left")
    assert_same_bits(ozfp4.matmul(x, b), ozfp4.matmul(a.real, b))
    single = ozfp4.prepare(np.float32(b.real), "right")
    assert_same_bits(ozfp4.matmul(np.complex64(a), single), ozfp4.matmul(np.complex64(a), np.float32(b.real)))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (2, 0, 5), (0, 5, 5)])
@pytest.mark.parametrize("other", ["complex", "real"])
def test_empty(shape: tuple[int, ...], other: str) -> None:
    b = np.zeros(shape, complex)
    a = np.ones((3, shape[-2]), complex if other == "complex" else float)
    y = ozfp4.prepare(b, "right", other=other)
    assert y.nbytes == 0
    assert_same_bits(ozfp4.matmul(a, y), ozfp4.matmul(a, b))
    x = ozfp4.prepare(b.swapaxes(-1, -2), "left", other=other)
    assert_same_bits(ozfp4.matmul(x, a.T), ozfp4.matmul(b.swapaxes(-1, -2), a.T))


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("which", WHICH)
@pytest.mark.parametrize("backend", ["fp64", "int8"])
def test_a_small_workspace_takes_blocks_of_the_planes(
    backend: str, which: str, sides: tuple[str, ...]
) -> None:
    a, b = pair(which, "normal", 40, 300, 31)
    x, y = prepared(a, b, sides, backend=backend)
    whole, report = ozfp4.matmul(x, y, report=True)
    expected, plain = ozfp4.matmul(a, b, backend=backend, report=True)
    assert_same_bits(whole, expected)
    assert report.workspace < plain.workspace
    spread = noise((40, 93), np.complex128)[:, ::3]  # no view of its parts is the real result
    for limit, out in ((2**21, spread), (2**19, spread), (2**18, noise((40, 31), np.complex128))):
        c, about = ozfp4.matmul(x, y, workspace_limit=limit, out=out, report=True)
        assert about.workspace <= limit
        assert_same_bits(c, whole, str(limit))
    with pytest.raises(MemoryError, match=r"^workspace_limit = 1 bytes"):
        ozfp4.matmul(x, y, workspace_limit=1)


def test_single_that_meets_double() -> None:
    a, b = pair("complex", "normal", 5, 20, 6)
    single = b.astype(np.complex64)
    for options in ({"dtype": np.complex128}, {"dtype": "complex128"}):
        y = ozfp4.prepare(single, "right", **options)
        assert y.result_dtype == "complex128"
        assert_same_bits(ozfp4.matmul(a, y), ozfp4.matmul(a, single))
    y = ozfp4.prepare(single, "right", other="real", dtype=complex)
    assert_same_bits(ozfp4.matmul(a.real, y), ozfp4.matmul(a.real, single))
    y = ozfp4.prepare(single, "right")
    assert y.result_dtype == "complex64"
    assert_same_bits(ozfp4.matmul(a.astype(np.complex64), y), ozfp4.matmul(a.astype(np.complex64), single))


@pytest.mark.parametrize("other", ["complex", "real"])
def test_an_array_is_a_snapshot(other: str) -> None:
    a, b = pair("complex" if other == "complex" else "complex-real", "cancelling", 9, 30, 9)
    before = ozfp4.matmul(a, b)
    x = ozfp4.prepare(a, "left", other=other)
    a[:] = np.nan
    assert_same_bits(ozfp4.matmul(x, b), before)
    if other == "complex":
        a, y = pair("complex", "cancelling", 9, 30, 9)[0], ozfp4.prepare(b, "right")
        b[:] = np.nan
        assert_same_bits(ozfp4.matmul(a, y), before)


@pytest.mark.parametrize("which", WHICH)
def test_the_report_is_that_of_the_plain_product(which: str) -> None:
    a, b = pair(which, "normal", 20, 30, 25)
    a[3, 4], b[5, 6] = np.nan, np.inf
    with forced_on_cpu(words=False):  # as prepared operands are multiplied
        plain = ozfp4.matmul(a, b, report=True)[1]
    for sides in SIDES:
        report = ozfp4.matmul(*prepared(a, b, sides), report=True)[1]
        for name in (
            "kind",
            "plan",
            "moduli_used",
            "products",
            "bits",
            "exponents",
            "special_rows",
            "capacities",
            "certified",
        ):
            assert getattr(report, name) == getattr(plain, name), name
        # One real B is counted once where it multiplies the parts of A as one tall matrix.
        if which != "complex-real":
            assert report.special_columns == plain.special_columns


def test_it_says_what_it_is(no_int8_unit: None) -> None:
    b = np.ones((40, 30), np.complex64)
    y = ozfp4.prepare(b, "right", backend="int8")
    assert (y.shape, y.dtype, y.side, y.accuracy) == ((40, 30), np.complex64, "right", "standard")
    assert (y.result_dtype, y.other, y.device, y.plan.is_complex) == ("complex64", "complex", "cpu", True)
    assert y.nbytes == 2 * b.nbytes + y.plan.planes_b * b.size
    assert "right operand, 40 × 30 complex64 on cpu, for complex ones" in repr(y)
    plain = ozfp4.prepare(b, "right", scheme="I", backend="int8")
    assert plain.nbytes == 2 * b.nbytes + plain.plan.planes_b * 4 * b.size
    x = ozfp4.prepare(b, "left", backend="int8")
    assert x.nbytes == b.nbytes + x.plan.planes_a * b.size
    x = ozfp4.prepare(b, "left", backend="int8", other="real")
    assert (x.other, x.plan.is_complex) == ("real", False)
    assert x.nbytes == b.nbytes + x.plan.planes_a * 2 * b.size
    assert "left operand, 40 × 30 complex64 on cpu, for real ones" in repr(x)


def test_what_it_cannot_serve() -> None:
    a, b = pair("complex", "normal", 5, 20, 6)
    y, apart = ozfp4.prepare(b, "right"), ozfp4.prepare(b, "right", other="real")
    single = ozfp4.prepare(b.astype(np.complex64), "right")
    real = ozfp4.prepare(np.float32(b.real), "right")
    refused: list[tuple[str, Any, Any, dict[str, Any]]] = [
        (
            r"^b: it was prepared for complex operands, and a is real; "
            r"prepare it with other='real'$",
            a.real,
            y,
            {},
        ),
        (
            r"^b: it was prepared for real operands, and a is complex; "
            r"prepare it with other='complex'$",
            a,
            apart,
            {},
        ),
        (
            r"^a: it was prepared for complex operands, and b is real; .*other='real'$",
            ozfp4.prepare(a, "left"),
            ozfp4.prepare(b.real, "right"),
            {},
        ),
        (
            r"^b: it was prepared for real operands, and a is complex; .*other='complex'$",
            ozfp4.prepare(a, "left"),
            apart,
            {},
        ),
        (
            "^b: it was prepared for results of complex64, and .* complex128; .*dtype='complex128'",
            a,
            single,
            {},
        ),
        (
            "^b: it was prepared for results of float32, and .* float64; .*dtype='float64'",
            a,
            real,
            {},
        ),
        (
            r"^accuracy: 'correct' is not what b was prepared for, 'standard'; "
            r"prepare it with accuracy='correct'",
            a.real,
            apart,
            {"accuracy": "correct"},
        ),
        ("^plan: b was prepared by another plan", a, y, {"plan": ozfp4.plan(5, 6, 20, accuracy="scaled")}),
        (
            "^b: it was prepared for results of float32, and all operands make it float64; .*dtype='float64'",
            chosen.prepare(a, "left", other="real", backend="int8", bits=53, accuracy="scaled"),
            chosen.prepare(np.float32(b.real), "right", backend="int8", bits=53, accuracy="scaled"),
            {},
        ),
        (r"^inner dimensions differ: a has shape \(5, 19\)", a[:, 1:], y, {}),
    ]
    out = noise((5, 6), np.complex128)
    for text, x, other, options in refused:
        with pytest.raises(ValueError, match=text):
            ozfp4.matmul(x, other, out=out, **options)
        assert_same_bits(out, noise((5, 6), np.complex128), text)
    c = np.zeros((5, 6), np.complex128)
    with pytest.raises(
        ValueError,
        match=r"^b: it was prepared for results of complex64, and all operands make it complex128; "
        r"prepare it with dtype='complex128'$",
    ):
        ozfp4.gemm(1, np.complex64(a), single, 1, c)
    with pytest.raises(TypeError, match=r"^c: dtype complex128, and the product is real, of float32"):
        ozfp4.gemm(1, np.float32(a.real), real, 1, c)
    for error, text, options in (
        (ValueError, "^other: 'both' is unknown; allowed are 'complex', 'real'", {"other": "both"}),
        (ValueError, "^dtype: .* is of no product of complex128", {"dtype": np.complex64}),
        (ValueError, "^dtype: .* is of no product of complex128", {"dtype": np.float64}),
        (TypeError, "^dtype: 'bogus' is no dtype", {"dtype": "bogus"}),
    ):
        with pytest.raises(error, match=text):
            ozfp4.prepare(b, "right", **options)


@pytest.mark.parametrize("other", ["complex", "real"])
def test_tensors(other: str) -> None:
    torch = pytest.importorskip("torch")
    a = torch.randn(3, 9, 20, dtype=torch.complex128 if other == "complex" else torch.float64)
    base = torch.randn(7, 20, dtype=torch.complex128)
    for b in (base.mT, base.mH, base.conj().mT, base.mH.imag + 1j * base.mT.real, base.mT * 1j):
        y = ozfp4.prepare(b, "right", other=other)
        assert (y.dtype, y.shape) == (torch.complex128, (20, 7))
        c = ozfp4.matmul(a, y)
        assert isinstance(c, torch.Tensor)
        assert_same_bits(c, ozfp4.matmul(a, b))
        assert_same_bits(
            ozfp4.matmul(ozfp4.prepare(b.mT, "left", other=other), a.mT), ozfp4.matmul(b.mT, a.mT)
        )
    negated = base.conj().imag  # lazily negated
    assert negated.is_neg()
    y = ozfp4.prepare(negated.mT, "right")
    assert_same_bits(ozfp4.matmul(a, y), ozfp4.matmul(a, negated.mT))
    y = ozfp4.prepare(base.mH, "right", other=other)
    with pytest.raises(TypeError, match="cannot be mixed"):
        ozfp4.matmul(a.numpy(), y)
    base[0].add_(1.0)
    out = torch.full((3, 9, 7), 7.0, dtype=torch.complex128)
    with pytest.raises(ValueError, match=r"^b: the tensor was modified in place since it was prepared"):
        ozfp4.matmul(a, y, out=out)
    assert bool((out == 7.0).all())
