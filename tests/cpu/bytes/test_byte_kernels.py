"""Products by every kernel that multiplies planes of bytes on this CPU: all give the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4.testing import assert_same_bits, exact_matmul
from support import chosen, noise, operands
from support.integers import exact, modulo

SETTINGS = [*(setting for _, setting in _core.byte_kernels()), "sgemm"]
every_kernel = pytest.mark.parametrize("setting", SETTINGS)


@pytest.fixture
def kernel(setting: str, variables: Callable[..., None]) -> str:
    variables(OZFP4_CPU_KERNEL=setting)
    return setting


def check(a: Any, b: Any, expected: Any, what: object, **options: Any) -> None:
    out = noise(expected.shape, expected.dtype)
    assert_same_bits(chosen.matmul(a, b, out=out, **options), expected, what)


@every_kernel
def test_ends_of_tiles(kernel: str) -> None:
    """Each extent below, at and above where panels, tiles, pieces of lines and tiles of the output end."""
    extents = (1, 15, 16, 17, 31, 32, 33, 63, 64, 65)
    for n, extent in enumerate(extents):
        for shape in ((extent, 70, 5), (5, extent, 70), (70, 5, extent)):
            a, b = operands("normal", *shape, seed=n)
            check(a, b, exact_matmul(a, b), shape, backend="int8", accuracy="scaled")
    for shape in ((3, 511, 4), (3, 512, 4), (3, 513, 4), (257, 3, 5), (5, 3, 257), (270, 40, 300)):
        a, b = operands("row-exponents", *shape)
        check(a, b, exact_matmul(a, b), shape, backend="int8", accuracy="scaled")


@pytest.mark.slow
@every_kernel
def test_a_long_inner_dimension(kernel: str) -> None:
    """Beyond what one multiplication takes: residues are carried from piece to piece."""
    for k in (32_704, 32_705, 70_001):
        a, b = operands("integers", 2, k, 3)
        check(a, b, exact_matmul(a, b), k, backend="int8", accuracy="scaled")
    a, b = np.full((2, 40_000), -1.0), np.full((40_000, 2), 1 + 2.0**-40)
    for backend, scheme in (("fp4", "II"), ("int8", "I")):
        check(a, b, exact_matmul(a, b), backend, backend=backend, scheme=scheme, accuracy="scaled")


@every_kernel
def test_int8_and_a_modulus(kernel: str) -> None:
    rng = np.random.default_rng(3)
    s, t = rng.integers(-128, 128, (33, 170), np.int8), rng.integers(-128, 128, (170, 25), np.int8)
    for products in (6, 9):
        assert_same_bits(ozfp4.int8_matmul(s, t, products=products), s.astype(np.int32) @ t.astype(np.int32))
    x, y = rng.integers(-(2**63), 2**63 - 1, (2, 50, 50))
    m = (1 << 40) - 87
    expected = modulo(exact(x[:5], y[:, :5]), m)
    assert_same_bits(ozfp4.matmul_mod(x[:5], y[:, :5], m, backend="int8"), expected)


@every_kernel
@pytest.mark.parametrize("other", SETTINGS)
def test_prepared_for_one_kernel_and_multiplied_by_another(
    kernel: str, other: str, variables: Callable[..., None]
) -> None:
    a, b = operands("phi8", 35, 70, 20)
    expected = exact_matmul(a, b)
    for backend in ("int8", "fp4"):
        variables(OZFP4_CPU_KERNEL=kernel)
        x, y = (
            ozfp4.prepare(p, side, backend=backend, accuracy="scaled")
            for p, side in ((a, "left"), (b, "right"))
        )
        variables(OZFP4_CPU_KERNEL=other)
        for left, right in ((x, y), (a, y), (x, b)):
            check(left, right, expected, other, backend=backend, accuracy="scaled")


def test_bytes_of_packed_planes(variables: Callable[..., None]) -> None:
    variables(OZFP4_CPU_KERNEL="portable")
    b = np.ones((70, 30))
    y = ozfp4.prepare(b, "right", backend="int8", accuracy="scaled")
    assert y.nbytes == b.nbytes + y.plan.planes_b * (32 * 128 + 32 * 4)
    x = ozfp4.prepare(b.T, "left", backend="int8", accuracy="scaled")
    assert x.nbytes == b.nbytes + x.plan.planes_a * 32 * 128


@every_kernel
def test_reports_name_what_ran(kernel: str) -> None:
    names = {setting: name for name, setting in _core.byte_kernels()} | {"sgemm": "FP32"}
    a, b = operands("normal", 40, 50, 30)
    for backend in ("int8", "fp4"):
        report = ozfp4.matmul(a, b, backend=backend, report=True)[1]
        assert report.kernel.startswith(names[kernel])
    assert ozfp4.matmul(a, b, backend="fp64", report=True)[1].kernel == "FP64 on residues"
    # No room for a tile of every plane: FP32 took them.
    tight = ozfp4.matmul(a, b, backend="int8", report=True, workspace_limit=3_000, accuracy="scaled")[1]
    assert tight.kernel.startswith("FP32")
