"""csrc/plan/alphabet: a table is all that an alphabet needs; FP8 (E4M3), which the package does not have, multiplies exactly."""

from __future__ import annotations

from math import gcd, log2, prod
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ozfp4 import _core, _testing
from ozfp4._options import Options
from ozfp4._support.integers import to_words
from ozfp4.testing import assert_same_bits, exact_matmul, integer_product, round_to_float
from support import KINDS, noise, operands

# Integers of at most four significant bits, in a byte.
E4M3 = {
    sign * significand << shift for sign in (1, -1) for significand in range(16) for shift in range(4)
} - {128}
SCHEMES = (_core.Scheme.I, _core.Scheme.II)
WORKSPACE = 1 << 20

each_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.name)


def integers(bits: int, count: int, seed: int) -> np.ndarray:
    top = 2**bits
    return np.random.default_rng(seed).integers(-top, top, count, endpoint=True)


def test_the_names() -> None:
    assert _core.ALPHABETS == ("fp4", "int8", "fp64")
    with pytest.raises(ValueError, match=r"alphabet: 'fp8' is unknown; allowed are 'fp4', 'int8', 'fp64'"):
        _core.make_plan(_core.Scheme.II, "fp8", "least", 53, 1)
    assert _testing.make_fp8_plan(_core.Scheme.II, 53, 1).alphabet == "fp8"


@pytest.mark.parametrize("bits", [2, 11, 24, 38, 53])
@each_scheme
def test_limbs_and_identity(scheme: _core.Scheme, bits: int) -> None:
    plan = _testing.make_fp8_plan(scheme, bits, 4096)
    x, y = integers(bits, 500, 1), integers(bits, 500, 2)
    of_x, of_y = (plan.encode(to_words(v)) for v in (x, y))
    assert set(np.unique(of_x).tolist()) <= E4M3
    of_x, of_y, product = of_x.astype(object), of_y.astype(object), x.astype(object) * y.astype(object)
    for g in range(plan.count if plan.moduli else 0):
        total = sum(w * of_x[a] * of_y[b] for group, a, b, w in plan.terms if group == g)
        assert ((total - product) % plan.moduli[g] == 0).all(), plan.moduli[g]
    if not plan.moduli:
        assert (sum(w * plan.base**g * of_x[a] * of_y[b] for g, a, b, w in plan.terms) == product).all()


def test_moduli() -> None:
    plan = _testing.make_fp8_plan(_core.Scheme.II, 53, 2**25)
    assert all(gcd(m, n) == 1 for i, m in enumerate(plan.moduli) for n in plan.moduli[:i])
    assert prod(plan.moduli) > 2 * 2**25 * 2**106
    assert {len([t for t in plan.terms if t[0] == g]) for g in range(plan.count)} == {1, 3, 4}
    with pytest.raises(ValueError, match="CRT bound"):
        _testing.make_fp8_plan(_core.Scheme.II, 53, 2 ** int(log2(prod(plan.moduli)) - 106))
    with pytest.raises(ValueError, match="'paper' exists for the fp4 alphabet only"):
        _core.make_plan(_core.Scheme.II, "int8", "paper", 53, 1)


def multiply(
    plan: _core.Plan, a: np.ndarray, b: np.ndarray, dtype: type, limit: int = WORKSPACE
) -> np.ndarray:
    """The product of scaled integers by a plan of the core."""
    c: np.ndarray = noise((a.shape[0], b.shape[1]), dtype)
    given: Any = SimpleNamespace(_core=plan)
    _core.multiply_arrays(a, b, c, Options(plan=given, accuracy="scaled", workspace_limit=limit))
    return c


@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
@each_scheme
def test_whole_products(scheme: _core.Scheme, kind: str, dtype: type) -> None:
    bits = 53 if dtype == np.float64 else 24
    for m, k, n in ((5, 23, 6), (1, 1, 1), (18, 520, 3)):
        a, b = operands(kind, m, k, n, dtype=dtype)
        c = multiply(_testing.make_fp8_plan(scheme, bits, k), a, b, dtype)
        assert_same_bits(c, exact_matmul(a, b, bits=bits), (scheme.name, kind, m, k, n))


@each_scheme
def test_sums_beyond_the_accumulator(scheme: _core.Scheme) -> None:
    """K so long that FP32 sums must be folded on the way: entries are constant along K, so that no two products cancel."""
    k, rng = 300_001, np.random.default_rng(7)
    column, row = rng.uniform(0.5, 1, (6, 1)), rng.uniform(0.5, 1, (1, 5))
    a, b = np.repeat(column, k, axis=1), np.repeat(row, k, axis=0)
    c = multiply(_testing.make_fp8_plan(scheme, 53, k), a, b, np.float64, 1 << 28)
    integers, s, t = integer_product(column, row, 53)
    wanted = [
        [round_to_float(k * x, -int(s[i] + t[j])) for j, x in enumerate(line)]
        for i, line in enumerate(integers)
    ]
    assert_same_bits(c, np.array(wanted))


@each_scheme
def test_stages(scheme: _core.Scheme) -> None:
    a, b = operands("normal", 7, 65, 5)
    plan = _testing.make_fp8_plan(scheme, 53, 65)
    wanted, s, t = integer_product(a, b, 53)
    count = plan.count
    planes = [
        _core.encode(plan, count, _core.quantise(lines, exponents.astype(np.int32), 2))
        for lines, exponents in ((a, s), (np.ascontiguousarray(b.T), t))
    ]
    words = _core.integers(plan, count, _core.multiply(plan, count, *planes)).astype(object)
    found = sum(words[..., i] << (32 * i) for i in range(words.shape[-1]))
    half = 1 << (32 * words.shape[-1] - 1)
    assert ((found + half) % (2 * half) - half == wanted).all()
