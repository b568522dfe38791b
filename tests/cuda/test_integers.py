"""Products of integers on a GPU, against Python's integers. Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from first_gpu import DEVICE, torch

import ozfp4
from support.integers import (
    DTYPES,
    noise,
    operand,
)

BACKENDS = ["int8", "fp4"]


def on_device(x: np.ndarray) -> Any:
    return torch.from_numpy(x).to(DEVICE)


def same(found: Any, expected: np.ndarray) -> None:
    assert found.is_cuda
    found = found.cpu().numpy()
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("backend", BACKENDS)
def test_every_length_of_integers(backend: str) -> None:
    """From one modulus to all of them."""
    rng = np.random.default_rng(2)
    used = set()
    for bits in range(1, 65):
        low, high = -(2**63) >> (64 - bits), (2**63 - 1) >> (64 - bits)
        a, b = (rng.integers(low, high, shape, endpoint=True) for shape in ((40, 130), (130, 36)))
        c, report = ozfp4.matmul(on_device(a), on_device(b), backend=backend, report=True)
        same(c, np.matmul(a, b))
        used.add(report.moduli_used)
    assert min(used) <= 2
    assert max(used) >= 17


def test_splits_of_k() -> None:
    rng = np.random.default_rng(6)
    a, b = operand(rng, "full", (5, 70000), "int64"), operand(rng, "full", (70000, 6), "int64")
    x, y = on_device(a), on_device(b)
    same(ozfp4.matmul(x, y), np.matmul(a, b))
    m = 2**61 - 1
    same(ozfp4.matmul_mod(x, y, m), ozfp4.matmul_mod(a, b, m))
    with pytest.raises(OverflowError, match="30 entries"):
        ozfp4.matmul(x, y, overflow="raise")


def test_plans() -> None:
    a, b = noise((40, 50), "int32"), noise((50, 30), "int64")
    x, y = on_device(a), on_device(b)
    wide, taken = (ozfp4.plan(40, 30, 50, bits=n, accuracy="scaled", backend="int8") for n in (120, 80))
    with pytest.raises(ValueError, match=r"^scheme: 'I' is not for integers on a GPU"):
        ozfp4.matmul(x, y, scheme="I")
    with pytest.raises(
        ValueError, match=r"^plan: its bits are 120; integers on a GPU take plans of 82 at most"
    ):
        ozfp4.matmul(x, y, plan=wide)
    same(ozfp4.matmul(x, y, plan=taken), np.matmul(a, b))


@pytest.mark.parametrize(
    "dtypes",
    [*((dtype, dtype) for dtype in DTYPES), ("int32", "int64"), ("uint8", "int8"), ("int64", "float64"), ("float32", "int16"),
     ("int64", "complex128")],
)  # fmt: skip
def test_repeated_products_of_other_data(dtypes: tuple[str, str]) -> None:
    """Repeated products are launched without checks: integers of 64 bits without a conversion, others converted anew."""
    rng = np.random.default_rng(11)
    for _ in range(4):
        a, b = (
            (rng.integers(0, 2, (20, 20)) if d == "bool" else rng.integers(0, 120, (20, 20))).astype(d)
            for d in dtypes
        )
        expected = np.matmul(a, b)
        same(ozfp4.matmul(on_device(a), on_device(b)), expected)
        same(ozfp4.matmul(on_device(a)[:, ::2], on_device(b)[::2]), np.matmul(a[:, ::2], b[::2]))
        same(ozfp4.matmul(on_device(a)[0], on_device(b)), expected[0])
