"""Products of integers against Python's: every dtype and mixture, every path, extremes, views, stacks, `out`, overflow."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ozfp4
from support.devices import Device, arrays_and_gpu
from support.integers import DTYPES, KINDS, exact, noise, operand, overflows, same, steps_of_moduli, wrapped

PATHS = [("II", "fp64"), ("II", "int8"), ("II", "fp4"), ("I", "fp64"), ("I", "int8"), ("I", "fp4")]


@arrays_and_gpu
@pytest.mark.parametrize(("scheme", "backend"), PATHS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_path(dtype: str, scheme: str, backend: str, device: Device) -> None:
    if device.is_gpu and (scheme == "I" or not device.has(backend)):
        return
    rng = np.random.default_rng(1)
    shapes = device.sized([(17, 70, 9)], [(1, 1, 1), (2, 1100, 3), (130, 260, 135), (33, 9000, 20)])
    path: Any = {"backend": backend} if device.is_gpu else {"scheme": scheme, "backend": backend}
    for (m, k, n), kind in product(shapes, KINDS):
        a, b = operand(rng, kind, (m, k), dtype), operand(rng, kind, (k, n), dtype)
        is_long = m * k * n > 10**6
        real = None if is_long else exact(a, b)
        expected = np.matmul(a, b) if is_long else wrapped(real, dtype)
        out = noise((m, n), dtype)
        c, report = device.matmul(a, b, out=out, **path, report=True)
        assert c is out
        same(c, expected)
        same(device.matmul(a, b, **path), expected)
        of_cpu = ozfp4.matmul(a, b, **path, report=True)[1]
        assert report.overflows == (of_cpu.overflows if is_long else overflows(real, dtype))
        assert (report.kind, report.backend, report.accuracy) == ("integer", backend, "exact")
        assert report.exponents == of_cpu.exponents
        assert of_cpu.moduli_used <= report.moduli_used <= of_cpu.moduli_used + device.is_gpu
        assert report.products >= report.moduli_used


@pytest.mark.parametrize(("first", "second"), list(product([*DTYPES, "bool"], repeat=2)))
def test_mixtures_are_those_of_numpy(first: str, second: str) -> None:
    rng = np.random.default_rng(3)
    a, b = (
        noise(shape, name) if name == "bool" else operand(rng, "full", shape, name)
        for name, shape in ((first, (5, 30)), (second, (30, 6)))
    )
    expected = np.matmul(a, b)
    found = ozfp4.matmul(a, b)
    if expected.dtype == np.float64:  # uint64 with a dtype that has a sign: converted, as NumPy does
        assert {first, second} & {"uint64"}
        same(found, ozfp4.matmul(a.astype(np.float64), b.astype(np.float64)))
    else:
        same(found, expected)


def test_the_least_numbers(device: Device) -> None:
    least = -(2**63)
    a = np.full((2, 3000), least)
    assert exact(a, a.T)[0, 0] == 3000 * 2**126
    c, report = device.matmul(a, a.T, report=True)
    same(c, np.zeros((2, 2), np.int64))
    assert report.overflows == 4
    same(
        device.matmul(a, np.ones((3000, 1), np.int64)),
        wrapped(np.full((2, 1), 3000 * least, object), np.int64),
    )
    large = np.full((3, 1025), 2**64 - 1, np.uint64)
    same(device.matmul(large, large.T), np.full((3, 3), 1025, np.uint64))


@pytest.mark.parametrize("backend", ["fp64", "int8", "fp4"])
@pytest.mark.parametrize(
    ("value", "fits"), [(2**63 - 1, True), (2**63, False), (-(2**63), True), (-(2**63) - 1, False)]
)
def test_overflow_at_the_ends(value: int, fits: bool, backend: str, device: Device) -> None:
    """Sums that cancel down to the ends of int64, from terms far above."""
    a = np.array([[2**62, 2**62, value // 2, value - value // 2]])
    b = np.array([[2**62], [-(2**62)], [1], [1]])
    assert exact(a, b)[0, 0] == value
    out = noise((1, 1), np.int64)
    before = out.copy()
    if not device.has(backend):
        return
    if fits:
        same(device.matmul(a, b, backend=backend, overflow="raise", out=out), np.array([[value]]))
    else:
        with pytest.raises(
            OverflowError, match=r"^overflow: 1 entry of the product does not fit (torch\.)?int64; nothing"
        ):
            device.matmul(a, b, backend=backend, overflow="raise", out=out)
        same(out, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_overflow_of_every_dtype(dtype: str, device: Device) -> None:
    info = np.iinfo(dtype)
    one, top = np.ones((1, 1), dtype), np.array([[info.max]], dtype)
    same(device.matmul(top, one, overflow="raise"), top)
    pair = np.array([[info.max, 1]], dtype)
    with pytest.raises(OverflowError, match=f"1 entry of the product does not fit (torch\\.)?{dtype}"):
        device.matmul(pair, np.ones((2, 1), dtype), overflow="raise")
    a = np.concatenate([top, top])
    with pytest.raises(OverflowError, match=f"2 entries of the product do not fit (torch\\.)?{dtype}"):
        device.matmul(a, np.array([[2]], dtype), overflow="raise")
    same(device.matmul(top, np.array([[2]], dtype)), np.array([[-2 % 2**info.bits]], np.uint64).astype(dtype))


@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)], ids=str)
def test_empty_products(shape: tuple[int, int, int], device: Device) -> None:
    m, k, n = shape
    for dtype in [*DTYPES, "bool"]:
        out = noise((m, n), dtype)
        device.matmul(np.ones((m, k), dtype), np.ones((k, n), dtype), out=out, overflow="raise")
        same(out, np.zeros((m, n), dtype))


def test_blocks_and_pieces_of_k(device: Device) -> None:
    rng = np.random.default_rng(6)
    a, b = operand(rng, "full", (70, 900), "int64"), operand(rng, "full", (900, 65), "int64")
    called: list[float] = []
    limit = device.sized(300_000, 3 << 20)
    for backend in filter(device.has, ("fp64", "int8", "fp4")):
        with ozfp4.progress(called.append):
            c, report = device.matmul(a, b, backend=backend, workspace_limit=limit, report=True)
        same(c, np.matmul(a, b))
        assert report.workspace <= limit
    assert device.is_gpu or called[-1] == 1.0


def test_small_integers_cost_few_products() -> None:
    rng = np.random.default_rng(7)
    full = rng.integers(-(2**63), 2**63 - 1, (64, 64))
    used = [
        ozfp4.matmul(x, x, backend="int8", report=True)[1].products
        for x in (full, full % 1000, full % 2, full % 2000 - 1000)
    ]
    assert used[3] == 4
    assert used[0] in (17, 18)
    assert used[1] == 4
    assert used[2] == 1
    plan = ozfp4.plan(64, 64, 64, bits=80, accuracy="scaled", backend="int8")
    same(ozfp4.matmul(full, full, plan=plan), full @ full)


@pytest.mark.parametrize("backend", ["int8", "fp4", "fp64"])
def test_where_a_modulus_more_is_needed(backend: str, device: Device) -> None:
    """Lines of one repeated number: their products are as large as the norms permit, about half of a product of moduli."""
    if not device.has(backend):
        return
    for below, above in steps_of_moduli(
        ozfp4.plan(2, 2, 3, bits=64, accuracy="scaled", backend=backend).moduli
    ):
        for x in (below, above):
            for a, b in ((x, x), (x, -x)):
                left, right = np.full((2, 3), a), np.full((3, 2), b)
                same(device.matmul(left, right, backend=backend), wrapped(exact(left, right), np.int64))
        few, more = (
            device.matmul(np.full((2, 3), x), np.full((3, 2), x), backend=backend, report=True)[1].moduli_used
            for x in (below, above)
        )
        assert device.is_gpu or few + 1 == more


def test_bool_is_whether_any(device: Device) -> None:
    a, b = np.zeros((3, 256), bool), np.zeros((256, 2), bool)
    a[0], b[:, 0] = True, True
    a[1, 255] = True
    out = noise((3, 2), bool)
    assert device.matmul(a, b, out=out) is out
    same(out, np.matmul(a, b))
    same(device.matmul(a[0], b[:, 0]), np.bool_(True))


def test_array_likes_and_byte_order() -> None:
    same(ozfp4.matmul([[1, 2]], [[3], [4]]), np.array([[11]]))
    same(ozfp4.matmul([1, 2], [3, 4]), np.int64(11))
    a = np.arange(12).reshape(3, 4).astype(">i4")
    same(ozfp4.matmul(a, a.T), np.matmul(a, a.T).astype(np.int32))


UNASKED = [
    {"accuracy": "standard"},
    {"accuracy": "correct"},
    {"accuracy": "correct", "rounding": "up"},
    {"return_bound": True},
]


@pytest.mark.parametrize("asked", UNASKED, ids=str)
def test_refused_options_of_integers(check_refused: Any, asked: dict[str, Any]) -> None:
    x = np.ones((3, 3), np.int64)
    name = next(iter(asked))
    check_refused(ValueError, rf"^{name}: .* is for products of floating-point", ozfp4.matmul, x, x, **asked)


def test_refusals(check_refused: Any) -> None:
    x, y = np.ones((3, 3), np.int64), np.ones((3, 3))
    check_refused(
        ValueError,
        "^overflow: 'stop' is unknown; allowed are 'wrap', 'raise'$",
        ozfp4.matmul,
        x,
        x,
        overflow="stop",
    )
    check_refused(
        ValueError, "^overflow: 'raise' is for products of integers; ", ozfp4.matmul, x, y, overflow="raise"
    )
    check_refused(
        TypeError,
        "^out: dtype int32 is not the result's dtype int64$",
        ozfp4.matmul,
        x,
        x,
        out=noise((3, 3), "int32"),
    )
    check_refused(ValueError, "^out: the array shares memory with a$", ozfp4.matmul, x, x.copy(), out=x)
    plan = ozfp4.plan(3, 3, 3, bits=60, accuracy="scaled")
    check_refused(
        ValueError, "^plan: its bits are 60, these integers need 64$", ozfp4.matmul, x, x, plan=plan
    )
    check_refused(ValueError, "^inner dimensions differ", ozfp4.matmul, x, x[:2])


@given(st.data(), st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_any_operands(data: st.DataObject, first: str, second: str) -> None:
    m, k, n = (data.draw(st.integers(0, 6)) for _ in range(3))
    a, b = data.draw(hnp.arrays(first, (m, k))), data.draw(hnp.arrays(second, (k, n)))
    common = np.promote_types(first, second)
    if common.kind == "f":
        return
    same(ozfp4.matmul(a, b), wrapped(exact(a, b), common))


@pytest.mark.parametrize(
    ("first", "second", "bits"), [("int8", "int8", 8), ("bool", "uint32", 33), ("int64", "int16", 64)]
)
def test_the_plan_is_known_beforehand(first: str, second: str, bits: int) -> None:
    a, b = noise((4, 70), first), noise((70, 3), second)
    plan = ozfp4.plan_for(a, b, backend="int8")
    assert plan.bits == bits
    assert ozfp4.matmul(a, b, backend="int8", report=True)[1].plan == plan
    same(ozfp4.matmul(a, b, plan=plan), np.matmul(a, b))
    same(
        ozfp4.matmul(a, b, plan=ozfp4.plan(4, 3, 70, bits=100, accuracy="scaled", backend="fp4")),
        np.matmul(a, b),
    )
    with pytest.raises(ValueError, match=r"^bits: 30 is for products of floating-point"):
        ozfp4.plan_for(a, b, bits=30)


@pytest.mark.parametrize("dtype", ["int64", "int16", "bool"])
@pytest.mark.parametrize("other", [np.complex128, np.complex64])
def test_with_complex_numbers(dtype: str, other: type) -> None:
    rng = np.random.default_rng(9)
    a, b = (
        noise((4, 20), dtype),
        (rng.standard_normal((20, 3)) + 1j * rng.standard_normal((20, 3))).astype(other),
    )
    found, common = ozfp4.matmul(a, b), np.promote_types(dtype, other)
    assert found.dtype == common
    real = np.float32 if common == np.complex64 else np.float64
    same(found, ozfp4.matmul(a.astype(real), b))


def test_functions_without_integers(check_refused: Any) -> None:
    x = np.ones((3, 3), np.int64)
    for function, name in ((ozfp4.enclose, "a"), (lambda a, b: ozfp4.prepare(a, "left"), "x")):
        for a in (x, x.astype(np.int16)):
            words = rf"^{name}: dtype {a.dtype} is not supported; allowed are float64"
            check_refused(TypeError, words, function, a, x)


def test_overflow_of_integers_that_promote_to_floats(check_refused: Any) -> None:
    a, b = np.ones((3, 3), np.uint64), np.ones((3, 3), np.int64)
    words = "^overflow: 'raise' is for products of integers"
    promoted = words + "; uint64, int64 promote to float64$"
    check_refused(ValueError, promoted, ozfp4.matmul, a, b, overflow="raise")
    check_refused(
        ValueError,
        words + "; uint64, float64 promote to float64$",
        ozfp4.matmul,
        a,
        b.astype(float),
        overflow="raise",
    )
    by_dtype = words + "; int64, int64 become float64 by dtype$"
    check_refused(ValueError, by_dtype, ozfp4.matmul, b, b, dtype=float, overflow="raise")
