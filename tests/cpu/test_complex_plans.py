"""Complex plans on the CPU: the real product of expanded operands, bit for bit, whatever is promised, cut or special."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ozfp4 import _core
from ozfp4._options import Options
from ozfp4._plans.plan import Plan, make_plan
from ozfp4.testing import assert_same_bits, exact_matmul
from support import noise

ACCURACIES = [("scaled", 53), ("scaled", 7), ("scaled", 94), ("standard", 57), ("correct", 76)]
SHAPES = [(1, 1, 1), (3, 5, 7), (33, 129, 17), (64, 1, 2), (20, 300, 40)]


def expanded(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A with (re, im) along K; B with (re, -im) along K in even columns, (im, re) in odd ones."""
    blocks = np.empty((b.shape[0], 2, b.shape[1], 2), b.real.dtype)
    blocks[:, 0, :, 0] = blocks[:, 1, :, 1] = b.real
    blocks[:, 0, :, 1], blocks[:, 1, :, 0] = b.imag, -b.imag
    parts = np.stack([a.real, a.imag], axis=-1)
    return parts.reshape(a.shape[0], -1), blocks.reshape(2 * b.shape[0], -1)


def product(
    plan: Plan, a: np.ndarray, b: np.ndarray, accuracy: str, roundings: list[str], limit: int = 2**30
) -> tuple[list[np.ndarray], dict[str, Any]]:
    """Results and the bounds of the last, by parts, and what the core says of it."""
    extents, bound_type = (a.shape[0], b.shape[1]), np.complex128 if plan.is_complex else np.float64
    outs, outcome = [], {}
    for rounding in roundings:
        asked = Options(plan=plan, accuracy=accuracy, rounding=rounding, workspace_limit=limit)
        outs.append(noise(extents, a.dtype))
        bound = noise(extents, np.dtype(bound_type))
        outcome = _core.multiply_arrays(a, b, outs[-1], asked, bound=bound, is_reported=True)
    return [x.view(x.real.dtype) for x in (*outs, bound)], outcome


def compared(
    plans: list[Plan], x: np.ndarray, y: np.ndarray, accuracy: str, roundings: list[str], limit: int = 2**30
) -> dict[str, Any]:
    """The core's findings of the complex product, whose bits are those of the expanded one."""
    plain, pairs = plans
    (wanted, _), (found, outcome) = (
        product(plain, *expanded(x, y), accuracy, roundings, limit),
        product(pairs, x, y, accuracy, roundings, limit),
    )
    for own, expected in zip(found, wanted, strict=True):
        assert_same_bits(own, expected)
    return outcome


def both(backend: str, bits: int, k: int) -> list[Any]:
    return [make_plan("II", backend, "least", bits, 2 * k, is_complex=x) for x in (False, True)]


def random(rng: np.random.Generator, m: int, n: int, dtype: Any = np.complex128) -> np.ndarray:
    x = rng.standard_normal((m, n)) + 1j * rng.standard_normal((m, n))
    reach = 60 if dtype == np.complex128 else 12
    return (x * np.exp2(rng.integers(-reach, 3, (m, n)))).astype(dtype)


@pytest.mark.parametrize("backend", ["int8", "fp64", "fp4"])
@pytest.mark.parametrize(("accuracy", "bits"), ACCURACIES)
@pytest.mark.parametrize("limit", [2**30, 34000])
def test_equals_the_expanded_product(backend: str, accuracy: str, bits: int, limit: int) -> None:
    rng = np.random.default_rng(bits)
    bits = min(bits, 82) if backend == "fp4" else bits  # what its moduli serve
    roundings = ["nearest", "down", "up", "zero"] if accuracy == "correct" else ["nearest"]
    for m, k, n in SHAPES:
        plans = both(backend, bits, k)
        outcome = compared(plans, random(rng, m, k), random(rng, k, n), accuracy, roundings, limit)
        pairs = plans[1]
        used = outcome["moduli_used"]
        assert outcome["products"] == sum(t.modulus in pairs.moduli[:used] for t in pairs.terms)


@pytest.mark.parametrize("backend", ["int8", "fp64", "fp4"])
def test_equals_python_integers(backend: str) -> None:
    rng = np.random.default_rng(3)
    x, y = random(rng, 6, 21), random(rng, 21, 5)
    (found, _), _ = product(both(backend, 53, 21)[1], x, y, "scaled", ["nearest"])
    assert_same_bits(found, exact_matmul(*expanded(x, y), bits=53))


@pytest.mark.parametrize("backend", ["int8", "fp64", "fp4"])
@pytest.mark.parametrize(("accuracy", "bits"), [("scaled", 24), ("standard", 28), ("correct", 47)])
def test_complex64(backend: str, accuracy: str, bits: int) -> None:
    rng = np.random.default_rng(bits)
    x, y = random(rng, 17, 40, np.complex64), random(rng, 40, 9, np.complex64)
    assert expanded(x, y)[0].dtype == np.float32
    compared(both(backend, bits, 40), x, y, accuracy, ["nearest"])


@pytest.mark.parametrize("backend", ["int8", "fp64", "fp4"])
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_specials_and_extremes(backend: str, accuracy: str) -> None:
    rng = np.random.default_rng(5)
    x, y = random(rng, 9, 12), random(rng, 12, 8)
    x[0, 0], x[1, 2], x[2, 3] = complex(np.nan, 1), complex(0, np.inf), complex(-np.inf, np.nan)
    x[3] = 0
    x[4] *= 2.0**900
    x[5] *= 5e-320
    y[5, 1], y[3, 4] = complex(np.inf, 0), complex(-0.0, -np.inf)
    y[:, 6] *= 2.0**900
    compared(both(backend, 76, 12), x, y, accuracy, ["nearest"])


def test_real_operands_are_refused() -> None:
    asked = Options(plan=both("int8", 53, 4)[1], accuracy="scaled")
    out = noise((2, 4), np.float64)
    before = out.copy()
    with pytest.raises(
        ValueError, match=r"^plan: it is of complex products; these operands are not both complex"
    ):
        _core.multiply_arrays(np.ones((2, 4)), np.ones((4, 4)), out, asked)
    assert_same_bits(out, before)
