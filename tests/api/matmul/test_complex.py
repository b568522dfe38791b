"""Complex operands: both parts are what the references for real products give, bit for bit."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, round_to_float
from support import MODES, ROUNDINGS, any_operands, complex_matmul, joined, noise, reference
from support.devices import Device, arrays_and_gpu

WIDE, NARROW = (np.complex128, np.float64), (np.complex64, np.float32)


KINDS = ["normal", "small-integers", "sparse", "deep", "tiny", "huge", "specials"]


def array(kind: str, shape: tuple[int, ...], dtype: Any, seed: int) -> np.ndarray:
    """An array of any number of axes; both parts are rows of the kind."""
    m, n = int(np.prod(shape[:-1])), shape[-1]
    single = np.float32 if dtype in NARROW else np.float64
    re, im = (
        any_operands(kind, m, n, 1, seed=100 * seed + i, dtype=single)[0].reshape(shape) for i in range(2)
    )
    return (joined(re, im) if np.dtype(dtype).kind == "c" else re).astype(dtype)


def expected(
    device: Device, a: np.ndarray, b: np.ndarray, accuracy: str, rounding: str = "nearest"
) -> np.ndarray:
    if device.is_gpu and a.size > 400:  # too much for the references
        return ozfp4.matmul(a, b, accuracy=accuracy, rounding=rounding)
    return reference(a, b, accuracy, rounding)


def rounded_sum(terms: list[tuple[Any, Any]], dtype: Any, rounding: str) -> float:
    """The sum of products of floats, rounded once."""
    total = sum((Fraction(float(x)) * Fraction(float(y)) for x, y in terms), Fraction(0))
    return round_to_float(total.numerator, 1 - total.denominator.bit_length(), dtype, rounding)


@arrays_and_gpu
@pytest.mark.parametrize("dtype", [np.complex128, np.complex64])
def test_parts_are_rounded_sums(dtype: Any, device: Device) -> None:
    """Two thousand entries by the formula itself: re = sum(re re - im im), im = sum(re im + im re)."""
    real = np.empty(0, dtype).real.dtype
    for seed, kind in product(range(25), ["normal", "small-integers", "deep", "sparse"]):
        m, k, n = np.random.default_rng(seed).integers(1, 8, 3)
        a, b = array(kind, (m, k), dtype, 2 * seed), array(kind, (k, n), dtype, 2 * seed + 1)
        rounding = ROUNDINGS[seed % 4]
        c = device.matmul(a, b, accuracy="correct", rounding=rounding)
        for i, j in np.ndindex(m, n):
            x, y = a[i], b[:, j]
            re = rounded_sum(
                [*zip(x.real, y.real, strict=True), *zip(-x.imag, y.imag, strict=True)], real, rounding
            )
            im = rounded_sum(
                [*zip(x.real, y.imag, strict=True), *zip(x.imag, y.real, strict=True)], real, rounding
            )
            assert_same_bits(c[i, j].real, real.type(re), (seed, kind, i, j))
            assert_same_bits(c[i, j].imag, real.type(im), (seed, kind, i, j))


@pytest.mark.parametrize("which", [(np.complex128, np.complex128), (np.complex64, np.complex64), (np.complex128, np.float64),
                                   (np.float32, np.complex64)])  # fmt: skip
def test_bounds_and_enclosures(which: Any, device: Device) -> None:
    for kind in KINDS:
        a, b = array(kind, (4, 30), which[0], 14), array(kind, (30, 5), which[1], 15)
        for accuracy, rounding in MODES:
            mode = {"accuracy": accuracy, "rounding": rounding}
            c, bound = device.matmul(a, b, **mode, return_bound=True)
            assert_same_bits(c, device.matmul(a, b, **mode))
            real = complex_matmul(
                a, b, lambda x, y, mode=mode: device.matmul(x, y, **mode, return_bound=True)[1]
            )
            assert bound.dtype == np.complex128
            assert_same_bits(bound, real, (kind, mode))
        lower, upper = device.enclose(a, b)
        assert_same_bits(lower, expected(device, a, b, "correct", "down"), kind)
        assert_same_bits(upper, expected(device, a, b, "correct", "up"), kind)
        outs = noise((4, 5), c.dtype), noise((5, 4), c.dtype).T
        got = device.enclose(a, b, out=outs)
        assert got[0] is outs[0]
        assert got[1] is outs[1]
        assert_same_bits(outs[0], lower)
        assert_same_bits(outs[1], upper)


def test_a_real_operand_meets_each_part_alone(device: Device) -> None:
    """inf i times 1 is 0 + inf i, where a complex 1 would make a NaN of the real part."""
    a, b = np.array([[complex(0, np.inf)]]), np.array([[1.0]])
    assert_same_bits(device.matmul(a, b), a)
    assert_same_bits(device.matmul(b, a), a)
    assert np.isnan(device.matmul(a, b + 0j).real.item())


LIMITED = [(np.complex128, np.complex128), (np.complex128, np.float64), (np.float64, np.complex128)]


@pytest.mark.parametrize("which", LIMITED)
@pytest.mark.parametrize("stack", [(), (3,)])
def test_any_workspace(which: Any, stack: tuple[int, ...], device: Device) -> None:
    a = np.swapaxes(
        array("specials", (*stack, 50, 21), which[0], 16), -1, -2
    )  # columns apart: rows are copied
    b = np.swapaxes(array("specials", (31, 50), which[1], 17), -1, -2)
    whole, bound = ozfp4.matmul(a, b, return_bound=True)
    about = device.matmul(a, b, return_bound=True, report=True)[2]
    for limit in device.sized((10_000, 30_000, 100_000, 2**30), (2**23, 2**24, 2**30)):
        seen: list[float] = []
        out = np.swapaxes(noise((*stack, 31, 21), np.complex128), -1, -2)
        with ozfp4.progress(seen.append):
            c, errors, report = device.matmul(
                a, b, out=out, return_bound=True, report=True, workspace_limit=limit
            )
        assert c is out
        assert_same_bits(c, whole, limit)
        assert_same_bits(errors, bound, limit)
        assert seen == sorted(seen)
        assert device.is_gpu or seen[-1] == 1
        assert report.workspace <= limit
        names = (
            "kind",
            "exponents",
            "capacities",
            "special_rows",
            "special_columns",
            "certified",
            "largest_bound",
        )
        for name in names:
            if (device.is_gpu and name == "certified") or (stack and name == "special_columns"):
                continue  # one B is counted once where it multiplies the stack as one tall matrix
            assert getattr(report, name) == getattr(about, name), name
    for limit in (
        (10, 1500) if which == LIMITED[0] and not device.is_gpu else (10,)
    ):  # 1500: too little for the copy of a column
        out = noise((*stack, 21, 31), np.complex128)
        with pytest.raises(MemoryError, match=rf"^workspace_limit = {limit} bytes"):
            device.matmul(a, b, out=out, workspace_limit=limit)
        assert_same_bits(out, noise((*stack, 21, 31), np.complex128))


def test_report() -> None:
    a, b = array("normal", (5, 30), np.complex128, 18), array("normal", (30, 7), np.complex128, 19)
    a[2, 3], b[4, 5] = complex(0, np.nan), complex(np.inf, 1)
    small = ozfp4.matmul(a, b, report=True)[1]  # in machine words, by the integers of a plan of real products
    plan = ozfp4.plan_for(a, b)
    assert (plan.scheme, plan.bits) == (small.plan.scheme, small.plan.bits)
    assert plan.moduli == small.plan.moduli
    _, report = ozfp4.matmul(a, b, backend="int8", report=True)
    real = ozfp4.matmul(a.real, b.real, backend="int8", report=True)[1]
    assert report.kind == "complex"
    assert report.plan.is_complex
    assert report.products == 2 * report.moduli_used  # over moduli that split
    assert report.moduli_used >= real.moduli_used
    plain = ozfp4.plan(5, 14, 60, backend="fp64", bits=76, accuracy="scaled")
    _, four = ozfp4.matmul(a, b, backend="fp64", plan=plain, accuracy="standard", report=True)
    assert four.products == 4 * four.moduli_used
    assert report.certified.total == 2 * 4 * 6
    assert (report.special_rows, report.special_columns) == (1, 1)
    assert "complex" in str(report)
    kinds = [
        ozfp4.matmul(*pair, report=True)[1].kind for pair in ((a.real, b), (a, b.real), (a.real, b.real))
    ]
    assert kinds == ["real by complex", "complex by real", "real"]
    assert ozfp4.enclose(a, b, report=True)[2].certified.total == 4 * 4 * 6
    plan = ozfp4.plan_for(a, b, backend="int8")
    assert (plan.scheme, plan.bits) == (report.plan.scheme, report.plan.bits)
    assert plan.moduli == report.plan.moduli


@pytest.mark.parametrize("backend", ["int8", "fp64", "fp4"])
@pytest.mark.parametrize(("accuracy", "rounding"), MODES)
def test_a_given_plan(accuracy: str, rounding: str, backend: str, device: Device) -> None:
    """That of real products gives the same bits; that of complex ones takes no operand that is real."""
    if not device.has(backend):
        return
    a, b = array("deep", (9, 40), np.complex128, 20), array("deep", (40, 11), np.complex128, 21)
    modes: dict[str, Any] = {"accuracy": accuracy, "rounding": rounding}
    c, report = ozfp4.matmul(a, b, **modes), device.matmul(a, b, backend=backend, report=True, **modes)[1]
    plain = ozfp4.plan(9, 22, 80, backend=backend, bits=report.plan.bits, accuracy="scaled")
    assert (report.plan.is_complex, plain.is_complex) == (True, False)
    for plan in (report.plan, plain):
        assert_same_bits(device.matmul(a, b, plan=plan, **modes), c)
    for x, y in ((a.real, b), (a, b.real), (a.real, b.real)):
        with pytest.raises(
            ValueError, match=r"^plan: it is of complex products; these operands are not both complex"
        ):
            device.matmul(x, y, plan=report.plan, **modes)


def test_refusals(check_refused: Any) -> None:
    a, b = np.ones((3, 4), complex), np.ones((4, 5), complex)
    for dtype in (np.float64, np.complex64):
        words = rf"^out: dtype {np.dtype(dtype)} is not the result's dtype complex128"
        check_refused(TypeError, words, ozfp4.matmul, a, b, out=noise((3, 5), dtype))
    check_refused(ValueError, r"^out: shape \(3, 10\) is not", ozfp4.matmul, a, b, out=noise((3, 10)))
    plan = ozfp4.plan(3, 5, 4, backend="fp4", family="paper", accuracy="scaled")
    given: Any = {"plan": plan, "backend": "int8", "accuracy": "scaled"}
    check_refused(ValueError, "^backend: 'int8' contradicts", ozfp4.matmul, a, b, **given)


def test_the_inner_dimension_counts_twice() -> None:
    """A plan up to K = 76,549 takes complex products up to half of that."""
    plan = ozfp4.plan(1, 1, 10, backend="fp4", family="paper", accuracy="scaled")
    a = np.ones((1, plan.k_max // 2), complex)
    assert ozfp4.matmul(a, a.T, plan=plan, accuracy="scaled").item() == plan.k_max // 2
    b = np.ones((1, plan.k_max // 2 + 1), complex)
    with pytest.raises(ValueError, match=rf"^plan: its limit is K <= {plan.k_max}, .* {plan.k_max + 1}"):
        ozfp4.matmul(b, b.T, plan=plan, accuracy="scaled")
