"""prepare: products of a prepared operand have the bits of the plain ones; unsupported options are refused by name."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul, forced_on_cpu
from support import (
    ACCURACIES,
    PATHS,
    ROUNDINGS,
    STACKS,
    Path,
    chosen,
    complex_matmul,
    joined,
    noise,
    operands,
    stack_operands,
)
from support.devices import Device, arrays_and_gpu
from support.dtypes import both_types

SIDES = [("left",), ("right",), ("left", "right")]
# Which of a and b are complex.
WHICH = {
    "real": (False, False),
    "complex": (True, True),
    "complex-real": (True, False),
    "real-complex": (False, True),
}
each_side = pytest.mark.parametrize("sides", SIDES, ids="-".join)
each_pair = pytest.mark.parametrize("which", WHICH)


def both(which: str, first: Any, second: Any) -> list[np.ndarray]:
    """A pair of operands from given real and imaginary parts."""
    return [
        joined(re, im) if is_complex else re
        for re, im, is_complex in zip(first, second, WHICH[which], strict=True)
    ]


def pair(which: str, kind: str, m: int, k: int, n: int, dtype: Any = np.float64) -> list[np.ndarray]:
    return both(which, *(operands(kind, m, k, n, dtype=dtype, seed=seed) for seed in (1, 2)))


def prepared(device: Device, a: Any, b: Any, sides: tuple[str, ...], **options: Any) -> tuple[Any, Any]:
    of_a, of_b = ("complex" if np.iscomplexobj(x) else "real" for x in (a, b))
    return (
        device(chosen.prepare, a, "left", other=of_b, **options) if "left" in sides else a,
        device(chosen.prepare, b, "right", other=of_a, **options) if "right" in sides else b,
    )


@arrays_and_gpu
@each_side
@each_pair
@both_types
@pytest.mark.parametrize("kind", ["whole-range", "final-ties"])
def test_values_and_accuracies(kind: str, dtype: Any, which: str, sides: Any, device: Device) -> None:
    shapes = device.sized([(7, 40, 9), (1, 1, 3)], [(7, 130, 5), (1, 1, 1), (150, 300, 70)])
    backends = device.sized(["auto"], ["int8", "fp4"])
    for accuracy, (m, k, n), backend in itertools.product(ACCURACIES, shapes, backends):
        a, b = pair(which, kind, m, k, n, dtype)
        x, y = prepared(device, a, b, sides, accuracy=accuracy, backend=backend)
        expected = ozfp4.matmul(a, b, accuracy=accuracy)
        out = noise((m, n), expected.dtype)
        assert device.matmul(x, y, out=out) is out
        assert_same_bits(out, expected, f"{kind} {accuracy} {backend} {m} x {k} x {n}")
        for _ in range(device.sized(0, 2)):  # the second one is repeated
            assert_same_bits(device.matmul(x, y), expected, "again")


@arrays_and_gpu
@each_side
@each_pair
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_every_path(path: Path, which: str, sides: Any, device: Device) -> None:
    """By plans of complex products where there are such, else by those of real ones."""
    if not device.has(path.backend) or (path.family != "least" and which != "real"):
        return
    if device.is_gpu and path.scheme == "I" and which != "real":
        return
    is_plain = path.family == "least" and not (device.is_gpu and path.scheme == "I")
    accuracies = ("scaled", "correct") if is_plain else ("scaled",)
    for accuracy, kind in itertools.product(accuracies, ("normal", "phi8", "phi32", "specials")):
        a, b = pair(which, kind, *device.sized((33, 70, 20), (90, 200, 60)))
        x, y = prepared(device, a, b, sides, accuracy=accuracy, **path._asdict())
        made = (y if "right" in sides else x).plan
        assert made.is_complex == (which == "complex" and path.scheme == "II")
        expected = ozfp4.matmul(a, b, accuracy=accuracy)
        assert_same_bits(device.matmul(x, y), expected, (accuracy, kind))
        again = device(chosen.matmul, x, y, accuracy=accuracy, **path._asdict())
        assert_same_bits(again, expected, (accuracy, kind))


@each_side
@pytest.mark.parametrize("backend", ["int8", "fp64"])
def test_a_given_plan(backend: str, sides: Any, device: Device) -> None:
    if not device.has(backend):
        return
    a, b = pair("complex", "phi8", 9, 40, 11)
    about = device.matmul(a, b, backend=backend, report=True)[1]
    plain = ozfp4.plan(9, 22, 80, backend=backend, bits=about.plan.bits, accuracy="scaled")
    assert about.plan.is_complex
    assert not plain.is_complex
    for plan in (about.plan, plain):
        x, y = prepared(device, a, b, sides, plan=plan, accuracy="standard")
        found, report = device.matmul(x, y, report=True)
        assert report.plan == plan
        assert_same_bits(found, ozfp4.matmul(a, b))
    with pytest.raises(ValueError, match=r"^plan: it is of complex products; these operands are not both"):
        device.prepare(a, "left", other="real", plan=about.plan, accuracy="scaled")


@each_side
@pytest.mark.parametrize("which", ["real", "complex"])
@pytest.mark.parametrize("bits", [2, 24, 30, 31, 53, 62, 63, 82, 83, 100, 150])
def test_bits(bits: int, which: str, sides: Any, device: Device) -> None:
    for kind, backend in itertools.product(("normal", "whole-range"), filter(device.has, ("int8", "fp64"))):
        a, b = pair(which, kind, *device.sized((6, 50, 8), (30, 90, 20)))
        expected = chosen.matmul(a, b, bits=bits, accuracy="scaled")
        x, y = prepared(device, a, b, sides, accuracy="scaled", bits=bits, backend=backend)
        assert_same_bits(device.matmul(x, y), expected, backend)
        assert_same_bits(device(chosen.matmul, x, y, bits=bits, accuracy="scaled"), expected, backend)


@each_side
@each_pair
def test_roundings_bounds_and_enclosures(which: str, sides: Any, device: Device) -> None:
    m, k, n = device.sized((11, 60, 13), (40, 300, 50))
    a, b = pair(which, "phi32", m, k, n)
    x, y = prepared(device, a, b, sides, accuracy="correct")
    for rounding in ROUNDINGS:

        def real(p: np.ndarray, q: np.ndarray, rounding: str = rounding) -> np.ndarray:
            if device.is_gpu:  # too long for the reference
                return ozfp4.matmul(p, q, accuracy="correct", rounding=rounding)
            return correct_matmul(p, q, rounding)

        expected = real(a, b) if which == "real" else complex_matmul(a, b, real)
        assert_same_bits(device.matmul(x, y, rounding=rounding), expected, rounding)
    outs = noise((m, n), expected.dtype), noise((n, m), expected.dtype).T
    for found, wanted in zip(device.enclose(x, y, out=outs), ozfp4.enclose(a, b), strict=True):
        assert_same_bits(found, wanted)
    with pytest.raises(ValueError, match=r"^accuracy: 'correct' is not what [ab] was prepared for"):
        device.enclose(*prepared(device, a, b, sides))
    for accuracy in ACCURACIES:
        x, y = prepared(device, a, b, sides, accuracy=accuracy)
        found = device.matmul(x, y, return_bound=True)
        for have, want in zip(found, ozfp4.matmul(a, b, accuracy=accuracy, return_bound=True), strict=True):
            assert_same_bits(have, want, accuracy)


@each_side
@pytest.mark.parametrize("which", list(WHICH)[1:])
@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_updates(accuracy: str, which: str, sides: Any, device: Device) -> None:
    a, b = pair(which, "normal", 9, 40, 8)
    x, y = prepared(device, a, b, sides, accuracy=accuracy)
    c = joined(*operands("normal", 9, 1, 8, seed=3)[0] * np.ones((2, 1, 8)))
    product = ozfp4.matmul(a, b)
    for alpha, beta, addend in ((-1, 1, product), (0.3, -2.5, c), (2, 0, None), (0, 1, c), (-1, 1, c.real)):
        out = noise((9, 8), np.complex128)
        assert device.gemm(alpha, x, y, beta, addend, out=out) is out
        assert_same_bits(out, ozfp4.gemm(alpha, a, b, beta, addend, accuracy=accuracy), (alpha, beta))
    for beta in (0, 1j, 2 - 1j):  # rounded in between, where a factor has both parts
        found = device.gemm(1 + 3j, x, y, beta, c)
        assert_same_bits(found, ozfp4.gemm(1 + 3j, a, b, beta, c, accuracy=accuracy), beta)
    out = noise((9, 8), np.complex128)
    if all(isinstance(z, ozfp4.Prepared) or not np.iscomplexobj(z) for z in (x, y)):
        with pytest.raises(
            ValueError, match=r"^alpha: 2j is imaginary, and cannot be combined with a prepared [ab]; prepare"
        ):
            device.gemm(2j, x, y, 1, c, out=out)
        assert_same_bits(out, noise((9, 8), np.complex128))
    else:
        device.gemm(2j, x, y, 1, c, out=out)
        assert_same_bits(out, ozfp4.gemm(2j, a, b, 1, c, accuracy=accuracy))
    with pytest.raises(
        ValueError, match=r"^trans_[ab]: a prepared [ab] cannot be transposed; prepare its transpose"
    ):
        device.gemm(1, x, y, **{f"trans_{'a' if 'left' in sides else 'b'}": True})


@each_side
@each_pair
@pytest.mark.parametrize("shapes", [s for s in STACKS if all(len(x) > 1 for x in s)], ids=str)
def test_stacks(shapes: Any, which: str, sides: Any, device: Device) -> None:
    a, b = both(which, *(stack_operands(shapes, seed=seed) for seed in (1, 2)))
    x, y = prepared(device, a, b, sides)
    expected = ozfp4.matmul(a, b)
    out = noise(expected.shape, expected.dtype)
    assert device.matmul(x, y, out=out) is out
    assert_same_bits(out, expected)
    wide = np.broadcast_to(a, (2, 3, *np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), *a.shape[-2:]))
    if a.shape[:-2] == b.shape[:-2] and not device.is_gpu:
        x, y = prepared(device, wide, b, sides)
        assert_same_bits(device.matmul(x, y), ozfp4.matmul(wide, b))


@pytest.mark.parametrize(("of_b", "other"), [("complex", "complex"), ("complex", "real"), ("real", "real")])
def test_one_operand_serves_many_others(of_b: str, other: str, device: Device) -> None:
    rng = np.random.default_rng(5)
    b: Any = joined(*rng.standard_normal((2, 30, 40)))
    b = b if of_b == "complex" else b.real.copy()
    b[3, 4], b[7] = complex(1, np.inf) if of_b == "complex" else np.inf, 0.0
    y = device.prepare(b[:, ::-1], "right", other=other)
    for shape in ((9, 30), (30,), (2, 3, 1, 30), (0, 30)):
        for scale in (1e-200, 1e200, 0.0):
            a: Any = rng.standard_normal(shape) * scale
            a = joined(a, a[..., ::-1]) if other == "complex" else a
            assert_same_bits(device.matmul(a, y), ozfp4.matmul(a, b[:, ::-1]))
            with np.errstate(over="ignore"):
                single = np.complex64(a) if other == "complex" else np.float32(a)
            assert_same_bits(device.matmul(single, y), ozfp4.matmul(single, b[:, ::-1]))


def test_a_real_operand_serves_real_and_complex_ones(device: Device) -> None:
    a, b = pair("complex", "normal", 9, 30, 8)
    for y in (device.prepare(b.real, "right"), device.prepare(b.real, "right", other="real")):
        assert y.other == "any"
        assert_same_bits(device.matmul(a.real, y), ozfp4.matmul(a.real, b.real))
        assert_same_bits(device.matmul(a, y), ozfp4.matmul(a, b.real))
    x = device.prepare(a.real, "left")
    assert_same_bits(device.matmul(x, b), ozfp4.matmul(a.real, b))
    single = device.prepare(np.float32(b.real), "right")
    assert_same_bits(
        device.matmul(np.complex64(a), single), ozfp4.matmul(np.complex64(a), np.float32(b.real))
    )


@each_side
@each_pair
@pytest.mark.parametrize("backend", ["fp64", "int8", "fp4"])
def test_a_small_workspace_takes_blocks_of_the_planes(
    backend: str, which: str, sides: Any, device: Device
) -> None:
    """Turns of a stack, blocks and pieces of the inner dimension."""
    if not device.has(backend):
        return
    rng = np.random.default_rng(2)
    for shapes in device.sized(
        [((40, 300), (300, 31))],
        [((3, 5, 130, 300), (5, 300, 90)), ((130, 20_000), (20_000, 90)), ((2, 1, 70, 900), (3, 900, 70))],
    ):
        a, b = both(which, *([rng.standard_normal(s) for s in shapes] for _ in range(2)))
        x, y = prepared(device, a, b, sides, backend=backend)
        whole, report = device.matmul(x, y, report=True)
        plain = device.matmul(a, b, backend=backend, report=True)[1]
        assert_same_bits(whole, ozfp4.matmul(a, b))
        assert device.is_gpu or report.workspace < plain.workspace
        served = 0
        for log in device.sized(range(17, 22), range(22, 32)):
            # No view of the parts of a complex result is the real one.
            out = noise((*whole.shape[:-1], 3 * whole.shape[-1]), whole.dtype)[..., ::3]
            try:
                c, about = device.matmul(x, y, workspace_limit=2**log, out=out, report=True)
            except MemoryError:
                continue
            assert about.workspace <= 2**log
            assert_same_bits(c, whole, f"{shapes} 2^{log}")
            served += 1
        assert served > 3
        with pytest.raises(MemoryError, match=r"^workspace_limit = 1 bytes"):
            device.matmul(x, y, workspace_limit=1)


@pytest.mark.parametrize("of_b", ["real", "complex"])
def test_single_that_meets_double(of_b: str, device: Device) -> None:
    a, b = pair("complex" if of_b == "complex" else "real", "normal", 5, 20, 6)
    kinds = {"real": (np.float32, np.float64), "complex": (np.complex64, np.complex128)}
    narrow, wide = kinds[of_b]
    single = b.astype(narrow)
    for dtype in (wide, wide.__name__):
        y = device.prepare(single, "right", dtype=dtype)
        assert y.result_dtype == wide.__name__
        assert_same_bits(device.matmul(a, y), ozfp4.matmul(a, single))
    if of_b == "complex":
        y = device.prepare(single, "right", other="real", dtype=complex)
        assert_same_bits(device.matmul(a.real, y), ozfp4.matmul(a.real, single))
    y = device.prepare(single, "right")
    assert y.result_dtype == narrow.__name__
    assert_same_bits(device.matmul(a.astype(narrow), y), ozfp4.matmul(a.astype(narrow), single))
    with pytest.raises(ValueError, match=rf"^b: it was prepared for results of {y.result_dtype}"):
        device.matmul(a, y)
    y = device.prepare(b, "right")
    assert_same_bits(device.matmul(a.astype(narrow), y), ozfp4.matmul(a.astype(narrow), b))


@pytest.mark.parametrize("which", ["real", "complex", "complex-real"])
def test_an_array_is_a_snapshot(which: str) -> None:
    a, b = pair(which, "cancelling", 9, 30, 9)  # repair reads the entries
    before = ozfp4.matmul(a, b)
    x, y = (prepared(Device("numpy"), a, b, sides) for sides in (("left",), ("right",)))
    a[:], b[:] = np.nan, np.nan
    a, b = pair(which, "cancelling", 9, 30, 9)
    assert_same_bits(ozfp4.matmul(x[0], b), before)
    assert_same_bits(ozfp4.matmul(a, y[1]), before)


@each_pair
@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_the_report_is_that_of_the_plain_product(accuracy: str, which: str, device: Device) -> None:
    a, b = pair(which, "normal", *device.sized((20, 30, 25), (40, 130, 50)))
    a[3, 4], b[5, 6] = np.nan, np.inf
    with forced_on_cpu(words=False):  # as prepared operands are multiplied
        plain = device.matmul(a, b, accuracy=accuracy, report=True)[1]
    for sides in SIDES:
        report = device.matmul(*prepared(device, a, b, sides, accuracy=accuracy), report=True)[1]
        for name in (
            "kind", "plan", "moduli_used", "products", "bits", "exponents", "special_rows", "capacities", "certified",
        ):  # fmt: skip
            assert getattr(report, name) == getattr(plain, name), f"{sides} {name}"
        # On the CPU one real B is counted once where it multiplies the parts of A as one tall matrix.
        if which != "complex-real" or device.is_gpu:
            assert report.special_columns == plain.special_columns


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_attributes(dtype: Any, no_int8_unit: None) -> None:
    b, name = np.ones((40, 30), dtype), np.dtype(dtype).name
    is_complex = name == "complex64"
    y = ozfp4.prepare(b, "right", backend="int8")
    assert (y.shape, y.dtype, y.side, y.accuracy) == ((40, 30), dtype, "right", "standard")
    assert (y.result_dtype, y.device, y.plan.backend, y.plan.is_complex) == (name, "cpu", "int8", is_complex)
    assert y.nbytes == (1 + is_complex) * b.nbytes + y.plan.planes_b * b.size
    for text in (repr(y), y._repr_html_()):
        assert f"right operand, 40 × 30 {name} on cpu" in text
    assert ("for complex ones" in repr(y)) == is_complex
    with pytest.raises(AttributeError):
        y.side = "left"  # type: ignore[misc]


def test_bytes_of_complex_operands(no_int8_unit: None) -> None:
    b = np.ones((40, 30), np.complex64)
    plain = ozfp4.prepare(b, "right", scheme="I", backend="int8")
    assert plain.nbytes == 2 * b.nbytes + plain.plan.planes_b * 4 * b.size
    x = ozfp4.prepare(b, "left", backend="int8")
    assert x.nbytes == b.nbytes + x.plan.planes_a * b.size
    x = ozfp4.prepare(b, "left", backend="int8", other="real")
    assert (x.other, x.plan.is_complex) == ("real", False)
    assert x.nbytes == b.nbytes + x.plan.planes_a * 2 * b.size
    assert "left operand, 40 × 30 complex64 on cpu, for real ones" in repr(x)


def test_refused_products(no_int8_unit: None) -> None:
    a, b = operands("normal", 5, 20, 6)
    z, w = a + 1j, b - 1j
    y, single, of_z = (ozfp4.prepare(x, "right") for x in (b, b.astype(np.float32), w))
    left, apart = ozfp4.prepare(z, "left"), ozfp4.prepare(w, "right", other="real")
    wide = ozfp4.plan(5, 6, 20, accuracy="correct")
    by_wide = ozfp4.prepare(a, "left", plan=wide), ozfp4.prepare(b, "right", accuracy="correct", plan=wide)
    for error, text, x, other, options in (
        (ValueError, r"^a: it was prepared for the right side; use ozfp4\.prepare\(x, side='left'\)", y, b.T, {}),
        (ValueError, "^accuracy: 'correct' is not what b was prepared for, 'standard'; .*accuracy='correct'", a, y,
         {"accuracy": "correct"}),
        (ValueError, "^backend: 'fp4' is not what b was prepared for, 'fp64'; .*backend='fp4'", a, y, {"backend": "fp4"}),
        (ValueError, "^scheme: 'I' is not what", a, y, {"scheme": "I"}),
        (ValueError, "^plan: b was prepared by another plan", a, y, {"plan": ozfp4.plan(5, 6, 20, accuracy="scaled")}),
        (ValueError, "^rounding: 'up' needs accuracy='correct'", a, y, {"rounding": "up"}),
        (ValueError, r"^inner dimensions differ: a has shape \(5, 19\), b has shape \(20, 6\)", a[:, 1:], y, {}),
        (ValueError, "^b: it was prepared for results of float32, and .* float64; .*dtype='float64'", a, single, {}),
        (ValueError, "^b: it was prepared for another plan, or accuracy 'correct', a for 'standard'", *by_wide, {}),
        (ValueError, "^b: it was prepared for another plan", ozfp4.prepare(a, "left", backend="int8"), y, {}),
        (ValueError, r"^b: it was prepared for complex operands, and a is real; prepare it with other='real'$", a, of_z, {}),
        (ValueError, r"^b: it was prepared for real operands, and a is complex; prepare it with other='complex'$", z, apart, {}),
        (ValueError, r"^a: it was prepared for complex operands, and b is real; .*other='real'$", left, y, {}),
        (ValueError, r"^b: it was prepared for real operands, and a is complex; .*other='complex'$", left, apart, {}),
        (MemoryError, "^workspace_limit", a, y, {"workspace_limit": 1}),
    ):  # fmt: skip
        of = np.result_type(x.dtype, other.dtype)
        out = noise((5, 6), of)
        with pytest.raises(error, match=text):
            ozfp4.matmul(x, other, out=out, **options)
        assert_same_bits(out, noise((5, 6), of), text)
    of_narrow = ozfp4.prepare(w.astype(np.complex64), "right")
    c, words = (
        np.zeros((5, 6), np.complex128),
        "complex64, and all operands make it complex128; prepare it with",
    )
    with pytest.raises(ValueError, match=rf"^b: it was prepared for results of {words} dtype='complex128'$"):
        ozfp4.gemm(1, np.complex64(z), of_narrow, 1, c)
    with pytest.raises(TypeError, match=r"^c: dtype complex128, and the product is real, of float32"):
        ozfp4.gemm(1, np.float32(a), single, 1, c)


def test_refusals() -> None:
    b = operands("normal", 5, 20, 6)[1]
    short = ozfp4.plan(1, 1, 9, backend="int8", accuracy="scaled")
    for error, text, x, side, options in (
        (ValueError, "^side: 'top' is unknown", b, "top", {}),
        (ValueError, r"^x: a matrix or a stack of matrices is needed, its shape is \(20,\)", b[:, 0], "left", {}),
        (TypeError, "^x: dtype int64 is not supported", b.astype(np.int64), "right", {}),
        (TypeError, "^x: masked arrays", np.ma.masked_array(b), "right", {}),
        (TypeError, "^x: is already a prepared operand", ozfp4.prepare(b, "right"), "right", {}),
        (ValueError, "^dtype: .* is not a result type of float64", b, "right", {"dtype": np.float32}),
        (ValueError, "^dtype: .* is not a result type of complex128", b + 1j, "right", {"dtype": np.complex64}),
        (ValueError, "^dtype: .* is not a result type of complex128", b + 1j, "right", {"dtype": np.float64}),
        (TypeError, "^dtype: 'bogus' is no dtype", b, "right", {"dtype": "bogus"}),
        (ValueError, "^other: 'both' is unknown; allowed are 'complex', 'real'", b, "right", {"other": "both"}),
        (ValueError, "^accuracy: 'exact' is unknown", b, "right", {"accuracy": "exact"}),
        (ValueError, "^plan: its limit is K <= ", np.ones((short.k_max + 1, 1)), "right", {"plan": short, "accuracy": "scaled"}),
    ):  # fmt: skip
        with pytest.raises(error, match=text):
            ozfp4.prepare(x, side, **options)


def test_unknown_names_are_refused_first() -> None:
    a, b = operands("normal", 5, 20, 6)
    y = ozfp4.prepare(b, "right")
    for text, options in (
        ("backend: 'gpu' is unknown", {"backend": "gpu"}),
        ("accuracy: 'foo' is unknown", {"accuracy": "foo"}),
        ("plan: int is not an ozfp4.Plan", {"plan": 3}),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{text}") as caught:
            ozfp4.matmul(a, y, **options)
        assert "ozfp4.prepare" not in str(caught.value)


def test_functions_without_prepared_operands() -> None:
    a, b = operands("normal", 5, 20, 6)
    y = ozfp4.prepare(b, "right")
    for function in (
        lambda: ozfp4.matmul_mod(np.ones((5, 20), int), y, 7),
        lambda: ozfp4.gram(y),
        lambda: ozfp4.einsum("ij,jk", a, y),
        lambda: ozfp4.tensordot(a, y, 1),
        lambda: ozfp4.plan_for(a, y),
        lambda: ozfp4.linalg.qr(y),
    ):
        with pytest.raises(
            TypeError,
            match=r"^(a|b|operands\[1\]): a prepared operand is not taken here; pass the matrix itself$",
        ):
            function()


def test_refused_copies_and_arithmetic() -> None:
    a, b = operands("normal", 5, 20, 6)
    y = ozfp4.prepare(b, "right")
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*"):
        a * y
    for function in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"^a prepared operand cannot be copied or pickled"):
            function(y)


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.randn(s, dtype=torch.float64) for s in ((3, 9, 20), (20, 7)))
    y = ozfp4.prepare(b, "right")
    assert y.dtype == torch.float64
    c = ozfp4.matmul(a, y)
    assert isinstance(c, torch.Tensor)
    assert_same_bits(c, ozfp4.matmul(a, b))
    assert_same_bits(ozfp4.matmul(ozfp4.prepare(b.mT, "left"), a.mT), ozfp4.matmul(b.mT, a.mT))
    with pytest.raises(TypeError, match="cannot be mixed"):
        ozfp4.matmul(a.numpy(), y)
    b[0].add_(1.0)
    with pytest.raises(
        ValueError, match=r"^b: the tensor was modified in place since it was prepared; ozfp4\.prepare"
    ):
        ozfp4.matmul(a, y)
    with torch.inference_mode():
        unwatched = torch.randn(20, 7, dtype=torch.float64)
        y = ozfp4.prepare(unwatched, "right")
        expected = ozfp4.matmul(a, unwatched)
        unwatched.zero_()
        assert_same_bits(ozfp4.matmul(a, y), expected)


@pytest.mark.parametrize("other", ["complex", "real"])
def test_complex_tensors(other: str) -> None:
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


def test_tensors_are_watched_and_not_kept() -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.randn(s, dtype=torch.float64) for s in ((9, 20), (7, 20)))
    expected = ozfp4.matmul(a, b.mT)
    y = ozfp4.prepare(b.mT, "right")  # of a view that is gone at once
    assert_same_bits(ozfp4.matmul(a, y), expected)
    b.add_(1.0)
    with pytest.raises(ValueError, match=r"^b: the tensor was modified in place"):
        ozfp4.matmul(a, y)
    b.sub_(1.0)
    expected, y = ozfp4.matmul(a, b.mT), ozfp4.prepare(b.mT, "right")
    source = weakref.ref(b)
    del b
    gc.collect()
    assert source() is None
    assert_same_bits(ozfp4.matmul(a, y), expected)
    with pytest.raises(TypeError, match=r"^b: a prepared operand is not taken here"):
        ozfp4.plan_for(a, y)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_the_operator_is_matmul(kind: str) -> None:
    a, b = operands("normal", 7, 9, 5)
    expected = ozfp4.matmul(a, b)
    if kind == "torch":
        torch = pytest.importorskip("torch")
        a, b = torch.from_numpy(a), torch.from_numpy(b)
    left, right = ozfp4.prepare(a, "left"), ozfp4.prepare(b, "right")
    for found in (a @ right, left @ b, left @ right):
        assert type(found) is type(a)
        assert_same_bits(np.asarray(found), expected)
    assert_same_bits(np.asarray(a.tolist() @ ozfp4.prepare(np.asarray(b), "right")), expected)
    with pytest.raises(ValueError, match=r"^b: it was prepared for the left side"):
        a @ left
    with pytest.raises(TypeError):
        a + right
