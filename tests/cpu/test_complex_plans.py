"""Complex plans on the CPU: the real product of expanded operands, bit for bit, whatever is promised, cut or special."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ozfp4 import _core
from ozfp4.plans.plan import make_plan
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
    plan: Any,
    a: np.ndarray,
    b: np.ndarray,
    accuracy: str,
    roundings: list[str],
    limit: int,
    dtype: Any = np.float64,
) -> tuple[list[np.ndarray], dict[str, Any]]:
    outs = [noise((a.shape[0], b.shape[1]), dtype) for _ in roundings]
    bound = noise((a.shape[0], b.shape[1]), np.float64)
    outcome = _core.matmul(plan._core, a, b, outs, limit, None, accuracy, roundings, bound)
    return [*outs, bound], outcome


def both(backend: str, bits: int, k: int) -> list[Any]:
    return [make_plan("II", backend, "least", bits, 2 * k, is_complex=x) for x in (False, True)]


def random(rng: np.random.Generator, m: int, n: int, dtype: Any = np.complex128) -> np.ndarray:
    x = rng.standard_normal((m, n)) + 1j * rng.standard_normal((m, n))
    reach = 60 if dtype == np.complex128 else 12
    return (x * np.exp2(rng.integers(-reach, 3, (m, n)))).astype(dtype)


@pytest.mark.parametrize("backend", ["int8", "fp64", "fp4"])
@pytest.mark.parametrize(("accuracy", "bits"), ACCURACIES)
@pytest.mark.parametrize("limit", [2**30, 30000])
def test_equals_the_expanded_product(backend: str, accuracy: str, bits: int, limit: int) -> None:
    rng = np.random.default_rng(bits)
    bits = min(bits, 82) if backend == "fp4" else bits  # what its moduli serve
    roundings = ["nearest", "down", "up", "zero"] if accuracy == "correct" else ["nearest"]
    for m, k, n in SHAPES:
        a, b = expanded(random(rng, m, k), random(rng, k, n))
        plain, pairs = both(backend, bits, k)
        (wanted, _), (found, outcome) = (
            product(plan, a, b, accuracy, roundings, limit) for plan in (plain, pairs)
        )
        for x, y in zip(found, wanted, strict=True):
            assert_same_bits(x, y)
        used = outcome["moduli_used"]
        assert outcome["products"] == sum(t.modulus in pairs.moduli[:used] for t in pairs.terms)


@pytest.mark.parametrize("backend", ["int8", "fp64", "fp4"])
def test_equals_python_integers(backend: str) -> None:
    rng = np.random.default_rng(3)
    a, b = expanded(random(rng, 6, 21), random(rng, 21, 5))
    (found, _), _ = product(both(backend, 53, 21)[1], a, b, "scaled", ["nearest"], 2**30)
    assert_same_bits(found, exact_matmul(a, b, bits=53))


@pytest.mark.parametrize("backend", ["int8", "fp64", "fp4"])
@pytest.mark.parametrize(("accuracy", "bits"), [("scaled", 24), ("standard", 28), ("correct", 47)])
def test_complex64(backend: str, accuracy: str, bits: int) -> None:
    rng = np.random.default_rng(bits)
    a, b = expanded(random(rng, 17, 40, np.complex64), random(rng, 40, 9, np.complex64))
    wanted, found = (
        product(plan, a, b, accuracy, ["nearest"], 2**30, np.float32)[0] for plan in both(backend, bits, 40)
    )
    assert a.dtype == np.float32
    assert wanted[0].dtype == np.float32
    for x, y in zip(found, wanted, strict=True):
        assert_same_bits(x, y)


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
    a, b = expanded(x, y)
    wanted, found = (product(plan, a, b, accuracy, ["nearest"], 2**30)[0] for plan in both(backend, 76, 12))
    for u, v in zip(found, wanted, strict=True):
        assert_same_bits(u, v)


def test_operands_without_pairs_are_refused() -> None:
    plan = both("int8", 53, 4)[1]
    out = noise((2, 3), np.float64)
    before = out.copy()
    for a, b in ((np.ones((2, 3)), np.ones((3, 4))), (np.ones((2, 4)), np.ones((4, 3)))):
        with pytest.raises(ValueError, match="pairs"):
            _core.matmul(
                plan._core,
                a,
                b,
                [out[:, : b.shape[1]] if b.shape[1] == 3 else noise((2, 4), np.float64)],
                2**30,
                None,
            )
    assert_same_bits(out, before)
