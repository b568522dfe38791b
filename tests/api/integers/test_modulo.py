"""ozfp4.matmul_mod against Python's integers."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ozfp4
from support import STACKS
from support.devices import Device, arrays_and_gpu
from support.integers import DTYPES, KINDS, exact, modulo, noise, operand

MODULI = [1, 2, 3, 97, 256, 2**31 - 1, 2**32, 10**9 + 7, 2**61 - 1, 2**62 + 11, 2**63 - 25, 2**63 - 1]


@cache
def problem(dtype: str, kind: str, shape: tuple[int, int, int]) -> tuple[np.ndarray, ...]:
    """Operands and their product in Python's integers, once for all moduli and backends."""
    m, k, n = shape
    rng = np.random.default_rng([1, *shape])
    a, b = operand(rng, kind, (m, k), dtype), operand(rng, kind, (k, n), dtype)
    return a, b, exact(a, b)


@arrays_and_gpu
@pytest.mark.parametrize("m", MODULI)
@pytest.mark.parametrize("backend", ["auto", "fp64", "int8", "fp4"])
def test_every_dtype(backend: str, m: int, device: Device) -> None:
    if not device.has(backend):
        return
    shapes = [(3, 5, 4), device.sized((9, 300, 7), (40, 300, 37))]
    for dtype, kind, shape in product(DTYPES, KINDS, shapes):
        a, b, real = problem(dtype, kind, shape)
        out = noise(real.shape, np.int64)
        c, report = device.matmul_mod(a, b, m, out=out, backend=backend, report=True)
        assert c is out
        np.testing.assert_array_equal(out, modulo(real, m))
        assert report.kind == "integer"
        if report.plan is not None and not device.is_gpu:
            assert report.plan.bits <= (m // 2).bit_length() + 1 or report.plan.bits == 2


@pytest.mark.parametrize(
    ("first", "second"), [("int64", "uint64"), ("uint64", "int8"), ("bool", "int64"), ("bool", "bool")]
)
def test_mixtures(first: str, second: str) -> None:
    a, b = noise((4, 50), first), noise((50, 3), second)
    for m in MODULI:
        c = ozfp4.matmul_mod(a, b, m)
        assert c.dtype == np.int64
        np.testing.assert_array_equal(c, modulo(exact(a.astype(object) + 0, b.astype(object) + 0), m))


def test_small_moduli_cost_few_products() -> None:
    a = noise((64, 64), np.int64)
    products = [
        ozfp4.matmul_mod(a, a, m, backend="int8", report=True)[1].products for m in (2, 97, 2**31 - 1)
    ]
    assert products[0] <= 2
    assert products[1] <= 3
    assert products[2] <= 9


@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_stacks(shapes: Any, device: Device) -> None:
    a, b = (noise(shape, np.int64) for shape in shapes)
    np.testing.assert_array_equal(device.matmul_mod(a, b, 2**61 - 1), modulo(exact(a, b), 2**61 - 1))


def test_empty(device: Device) -> None:
    for m, k, n in ((0, 3, 4), (3, 0, 4), (3, 4, 0)):
        out = noise((m, n), np.int64)
        device.matmul_mod(np.ones((m, k), int), np.ones((k, n), int), 7, out=out)
        assert not out.any()


REFUSED = [
    (0, ValueError, r"^modulus: 0 is outside 1\.\.2\*\*63 - 1$"),
    (-7, ValueError, r"^modulus: -7 is outside"),
    (2**63, ValueError, r"^modulus: 9223372036854775808 is outside"),
    (7.0, TypeError, r"^modulus: 7\.0 is not an integer$"),
    (True, TypeError, r"^modulus: True is not an integer$"),
]


@pytest.mark.parametrize(("m", "error", "pattern"), REFUSED)
def test_refused_moduli(check_refused: Any, m: Any, error: type[Exception], pattern: str) -> None:
    x = np.ones((2, 2), int)
    check_refused(error, pattern, ozfp4.matmul_mod, x, x.copy(), m, out=noise((2, 2), np.int64))


def test_refusals(check_refused: Any) -> None:
    x, y = np.ones((2, 2), int), np.ones((2, 2))
    check_refused(
        TypeError,
        r"^b: dtype float64 is not supported; allowed are integers and bool$",
        ozfp4.matmul_mod,
        x,
        y,
        7,
    )
    check_refused(TypeError, r"^out: dtype float64", ozfp4.matmul_mod, x, x, 7, out=y)
    plan = ozfp4.plan(2, 2, 2, bits=10, accuracy="scaled")
    check_refused(
        ValueError,
        r"^plan: its bits are 10, these integers need 61$",
        ozfp4.matmul_mod,
        x,
        x,
        2**61 - 1,
        plan=plan,
    )


@given(st.data(), st.integers(1, 2**63 - 1), st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_any_modulus(data: st.DataObject, m: int, first: str, second: str) -> None:
    a, b = data.draw(hnp.arrays(first, (3, 4))), data.draw(hnp.arrays(second, (4, 2)))
    np.testing.assert_array_equal(ozfp4.matmul_mod(a, b, m), modulo(exact(a, b), m))
