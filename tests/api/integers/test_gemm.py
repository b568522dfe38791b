"""ozfp4.gemm of integers against Python's integers: modulo 2^w, and checked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import ozfp4
from support import VIEWS
from support.devices import Device
from support.integers import DTYPES, KINDS, exact, noise, operand, overflows, same, wrapped

FACTORS = [
    (1, 1), (-1, 1), (3, -2), (1, 0), (0, 1), (0, 0), (-1, 0), (2**62, 5), (-(2**63), -(2**63)), (2**64 - 1, 2**80 + 7),
    (0, -3),
]  # fmt: skip


def real_sum(alpha: int, a: np.ndarray, b: np.ndarray, beta: int, c: np.ndarray | None) -> np.ndarray:
    """In Python's integers."""
    total = np.asarray(exact(a, b), object) * alpha
    return np.asarray(total if c is None else total + beta * c.astype(object), object)


def check(
    device: Device, alpha: int, a: np.ndarray, b: np.ndarray, beta: int, c: np.ndarray, dtype: Any
) -> None:
    real = real_sum(alpha, a, b, beta, c)
    expected = wrapped(real, dtype)
    same(device.gemm(alpha, a, b, beta, c), expected)
    out = noise(expected.shape, dtype)
    assert device.gemm(alpha, a, b, beta, c, out=out) is out
    same(out, expected)
    if c.shape == expected.shape and c.dtype == expected.dtype:
        place = c.copy()
        assert device.gemm(alpha, a, b, beta, place, out=place) is place
        same(place, expected)
    checked(device, alpha, a, b, beta, c, real, dtype)


def checked(
    device: Device, alpha: int, a: Any, b: Any, beta: int, c: Any, real: np.ndarray, dtype: Any
) -> None:
    """overflow="raise": the exact result, or an error that leaves `out`; what it cannot multiply is refused by name."""
    out = noise(real.shape, dtype)
    before = out.copy()
    right = [0, *(alpha * int(x) for x in b.ravel()), *([beta] if real.size else [])]
    fits = min(right) >= -(2**63) and max(right) < (2**63 if min(right) < 0 else 2**64)
    wraps = overflows(real, dtype)
    if (beta != 0 or alpha not in (0, 1)) and not fits and alpha != 0:
        with pytest.raises(
            ValueError, match=r"^overflow: 'raise' needs alpha b and beta in 64 bits, and they"
        ):
            device.gemm(alpha, a, b, beta, c, out=out, overflow="raise")
    elif beta != 0 and not -(2**63) <= beta < 2**64:
        with pytest.raises(ValueError, match=r"^overflow: 'raise' needs alpha b and beta"):
            device.gemm(alpha, a, b, beta, c, out=out, overflow="raise")
    elif wraps:
        with pytest.raises(
            OverflowError, match=rf"^overflow: {wraps} entr.* not fit (torch\.)?{dtype}; nothing was written$"
        ):
            device.gemm(alpha, a, b, beta, c, out=out, overflow="raise")
    else:
        assert device.gemm(alpha, a, b, beta, c, out=out, overflow="raise") is out
        same(out, wrapped(real, dtype))
        return
    same(out, before)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_dtype(kind: str, dtype: str, device: Device) -> None:
    rng = np.random.default_rng(1)
    for (alpha, beta), (m, k, n) in product(
        FACTORS, [(3, 5, 4), (1, 1, 1), device.sized((2, 30, 3), (17, 30, 9))]
    ):
        a, b, c = (operand(rng, kind, s, dtype) for s in ((m, k), (k, n), (m, n)))
        check(device, alpha, a, b, beta, c, np.dtype(dtype))


def test_thousands_of_random_cases() -> None:
    rng = np.random.default_rng(2)
    for _ in range(1500):
        types = [str(rng.choice(DTYPES)) for _ in range(3)]
        common = np.promote_types(np.promote_types(types[0], types[1]), types[2])
        if common.kind == "f":
            continue
        m, k, n = (int(x) for x in rng.integers(0, 5, 3))
        shapes = ((m, k), (k, n), [(m, n), (n,), (m, 1), ()][rng.integers(4)])
        a, b, c = (operand(rng, str(rng.choice(KINDS)), s, t) for s, t in zip(shapes, types, strict=True))
        bits = int(rng.integers(1, 66))
        alpha, beta = (int(rng.integers(-(2**62), 2**62)) >> (64 - min(bits, 64)) for _ in range(2))
        real = np.broadcast_to(real_sum(alpha, a, b, beta, np.broadcast_to(c, (m, n))), (m, n))
        same(ozfp4.gemm(alpha, a, b, beta, c), wrapped(real, common))
        checked(Device("numpy"), alpha, a, b, beta, c, real, common)


def test_where_the_product_wraps_and_the_sum_does_not(device: Device) -> None:
    a, b = np.array([[2**62, 2**62]]), np.array([[1], [1]])
    out = noise((1, 1), np.int64)
    device.gemm(1, a, b, -1, np.array([[1]]), out=out, overflow="raise")
    same(out, np.array([[2**63 - 1]]))
    with pytest.raises(OverflowError, match="1 entry"):
        device.gemm(1, a, b, 1, np.array([[0]]), overflow="raise")
    same(device.gemm(-1, a, b, overflow="raise"), np.array([[-(2**63)]]))
    large = np.array([[2**64 - 1]], np.uint64)
    same(device.gemm(-1, large[:, :0], large[:0], 1, large, overflow="raise"), large)
    same(device.gemm(1, large, large, 1, large), np.array([[0]], np.uint64))
    small = np.array([[7]], np.uint64)
    same(device.gemm(-1, large, small // small, 1, large, overflow="raise"), np.array([[0]], np.uint64))


def test_a_wider_addend_takes_the_whole_product(device: Device) -> None:
    a, b = np.full((2, 9), -128, np.int8), np.full((9, 3), -128, np.int8)
    c = np.arange(6).reshape(2, 3)
    same(device.gemm(1, a, b, 1, c, overflow="raise"), 9 * 2**14 + c)
    same(device.gemm(2, a, b, 1, c.astype(np.int32)), (9 * 2**15 + c).astype(np.int32))
    flags = np.ones((2, 9), bool)
    same(device.gemm(1, flags, flags.T, 0, np.zeros((2, 2), np.int16)), np.full((2, 2), 9, np.int16))


def test_bool_is_whether_any(device: Device) -> None:
    rng = np.random.default_rng(3)
    a, b, c = rng.random((5, 3)) < 0.4, rng.random((3, 4)) < 0.4, rng.random((5, 4)) < 0.3
    both = np.matmul(a, b)
    for (alpha, beta), expected in (
        ((1, 0), both), ((1, 1), both | c), ((0, 1), c), ((0, 0), np.zeros_like(c)), ((1.0, 1.0), both | c),
    ):  # fmt: skip
        for overflow in ("wrap", "raise"):
            same(device.gemm(alpha, a, b, beta, c, overflow=overflow), expected)
            place = c.copy()
            assert device.gemm(alpha, a, b, beta, place, out=place, overflow=overflow) is place
            same(place, expected)
    for args, words in (
        ((2, a, b), "alpha: 2 is neither 0 nor 1"),
        ((1, a, b, -1, c), "beta: -1 is neither 0 nor 1"),
    ):
        with pytest.raises(ValueError, match=f"^{words}, and all operands are bool"):
            device.gemm(*args)
    same(device.gemm(-2, a, b.astype(np.int8)), (-2 * (a @ b.astype(np.int8))).astype(np.int8))


@pytest.mark.parametrize("shapes", [
    ((3, 4, 7), (7, 5), (3, 4, 5)), ((3, 4, 7), (7, 5), (5,)), ((2, 1, 4, 7), (3, 7, 5), (4, 1)), ((7,), (7, 5), (5,)),
    ((4, 7), (7,), (4,)), ((7,), (7,), ()), ((2, 4, 7), (7,), ()), ((0, 4, 7), (7, 2), ()), ((4, 7), (7, 5), ()),
], ids=str)  # fmt: skip
def test_stacks_and_broadcasting(shapes: tuple[tuple[int, ...], ...], device: Device) -> None:
    rng = np.random.default_rng(4)
    a, b, c = (operand(rng, "full", shape, "int16").astype(np.int64) for shape in shapes)
    real = np.asarray(np.matmul(a, b) * 5 - 3 * c)
    for overflow in ("wrap", "raise"):
        found = device.gemm(5, a, b, -3, c, overflow=overflow)
        assert isinstance(found, np.ndarray) == isinstance(np.matmul(a, b), np.ndarray)
        same(found, real)
        out = noise(real.shape, np.int64)
        assert device.gemm(5, a, b, -3, c, out=out, overflow=overflow) is out
        same(out, real)


@pytest.mark.parametrize("view", VIEWS.values(), ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["int64", "uint16"])
def test_layouts_and_transposes(view: Any, dtype: str, device: Device) -> None:
    rng = np.random.default_rng(5)
    a, b, c = (operand(rng, "full", s, dtype) for s in ((9, 40), (40, 7), (9, 7)))
    expected = wrapped(real_sum(7, a, b, -1, c), dtype)
    same(device.gemm(7, view(a), view(b), -1, view(c)), expected)
    turned = device.gemm(7, view(a).T, view(b).T, -1, view(c), trans_a="C", trans_b=True)
    same(turned, expected)
    wide = noise((18, 14), dtype)
    step = -2 if device.name == "numpy" else 2  # tensors lie forwards
    before = wide.copy()
    device.gemm(7, a, b, -1, c, out=wide[::2, ::step])
    same(wide[::2, ::step], expected)
    wide[::2, ::step] = before[::2, ::step]
    same(wide, before)


def test_beta_0_reads_no_addend_and_alpha_0_no_operands(device: Device) -> None:
    a, b, c = (np.full(s, -(2**63)) for s in ((2, 3), (3, 2), (2, 2)))
    same(device.gemm(0, a, b, 1, c, overflow="raise"), c)
    same(device.gemm(0, a, b, overflow="raise"), np.zeros((2, 2), np.int64))
    place = c.copy()
    assert device.gemm(1, a // 2**62, b // 2**62, 0, place, out=place, overflow="raise") is place
    same(place, np.full((2, 2), 12))


def test_reports_paths_and_blocks(device: Device) -> None:
    rng = np.random.default_rng(6)
    a, b, c = (operand(rng, "full", s, "int64") for s in ((70, 300), (300, 65), (70, 65)))
    expected = a @ b * 3 + c
    for backend in filter(device.has, ("fp64", "int8", "fp4")):
        limit = device.sized(300_000, 6 << 20)
        found, report = device.gemm(3, a, b, 1, c, backend=backend, workspace_limit=limit, report=True)
        same(found, expected)
        assert (report.kind, report.accuracy, report.backend) == ("integer", "exact", backend)
        assert device.is_gpu or report.overflows == overflows(exact(a, b), np.int64)
    plan = ozfp4.plan(70, 65, 300, bits=80, accuracy="scaled", backend="int8")
    same(device.gemm(3, a, b, 1, c, plan=plan), expected)


def test_integers_beside_floats_are_converted() -> None:
    rng = np.random.default_rng(7)
    n, x = operand(rng, "full", (4, 6), "int64"), rng.standard_normal((6, 3))
    c = operand(rng, "full", (4, 3), "int16")
    same(ozfp4.gemm(0.5, n, x, -1, c), ozfp4.gemm(0.5, n.astype(float), x, -1, c.astype(float)))
    same(
        ozfp4.gemm(1, n, n.T, 1, np.ones((4, 4))),
        ozfp4.gemm(1, n.astype(float), n.T.astype(float), 1, np.ones((4, 4))),
    )
    single = ozfp4.gemm(1, c.astype(np.int8), np.ones((3, 2), np.float32), 1, np.ones(2, bool))
    same(single, (c.astype(np.int8).sum(1, keepdims=True) + np.ones((1, 2))).astype(np.float32))
    z = x + 1j
    same(ozfp4.gemm(1j, n, z, 2, c), ozfp4.gemm(1j, n.astype(float), z, 2, c.astype(float)))
    mixed = ozfp4.gemm(1, n.astype(np.uint64), n.T)
    same(mixed, ozfp4.gemm(1, n.astype(np.uint64).astype(float), n.T.astype(float)))


def test_refusals(check_refused: Any) -> None:
    a, b, c = np.ones((3, 4), np.int64), np.ones((4, 3), np.int64), np.ones((3, 3), np.int64)
    for value, error, words in (
        (0.5, ValueError, r"0\.5 is no integer, and all operands are; convert one of them"),
        (1j, ValueError, "1j is no integer"),
        (np.nan, ValueError, "nan is no integer"),
        (-np.inf, ValueError, "-inf is no integer"),
        (True, TypeError, "True, of type bool, is not a number"),
        ("1", TypeError, "'1', of type str"),
        (None, TypeError, "None, of type NoneType"),
    ):
        check_refused(
            error, f"^alpha: {words}", lambda a, b, v=value, **k: ozfp4.gemm(v, a, b, 1, c, **k), a, b
        )
        check_refused(
            error, f"^beta: {words}", lambda a, b, v=value, **k: ozfp4.gemm(1, a, b, v, c, **k), a, b
        )
    for value in (2.0, np.float32(2), np.int8(2), np.uint64(2), 2 + 0j):
        same(ozfp4.gemm(value, a, b, value, c), np.full((3, 3), 10))
    for name, value in (("accuracy", "standard"), ("rounding", "up"), ("return_bound", True)):
        given = {name: value} | ({"accuracy": "correct"} if name == "rounding" else {})
        words = rf"^{'accuracy' if name == 'rounding' else name}: .* is for products of floating-point"
        check_refused(ValueError, words, lambda a, b, **k: ozfp4.gemm(1, a, b, **k), a, b, **given)
    for c_dtype, words in (
        (np.float64, "; int64, int64, float64 promote to float64"),
        (np.uint64, "; int64, int64, uint64 promote to float64"),
    ):
        with pytest.raises(ValueError, match=rf"^overflow: 'raise' is for products of integers{words}$"):
            ozfp4.gemm(1, a, b, 1, c.astype(c_dtype), overflow="raise")
    words = "int64, uint64, int64 promote to float64"
    with pytest.raises(ValueError, match=rf"; {words}$"):
        ozfp4.gemm(1, a, b.astype(np.uint64), 1, c, overflow="raise")


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    x, y, z = (torch.from_numpy(noise(s, "uint64")) for s in ((5, 30), (30, 4), (5, 4)))
    version = z._version
    assert ozfp4.gemm(-3, x, y, 2, z, out=z) is z
    assert z._version > version
    with pytest.raises(
        TypeError, match=r"^c: torch has no common dtype of torch.int64 and torch.uint64, that of a and b"
    ):
        ozfp4.gemm(1, x, y, 1, z.view(torch.int64))
