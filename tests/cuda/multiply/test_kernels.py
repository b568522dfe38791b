"""Every multiply kernel that runs on this GPU, in whole products, against the kernel that it uses by default."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, PATHS, torch

import ozfp4
from ozfp4._backends.cuda import extension
from ozfp4.testing import assert_same_bits, forced
from support import chosen, gpu_elements

CUDA = extension.extension()
# At and around the extents of tiles of rows and columns, and of steps along K.
EXTENTS = (1, 2, 7, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 191, 193, 255, 256, 257, 300)
INNER = (
    1, 2, *(at + i for at in (32, 64, 128, 256) for i in (-1, 0, 1)), 383, 385, 511, 513, 1023, 1025, 2047, 2049, 4097,
)  # fmt: skip


def runs_on(kernel, path):
    """Whether the kernel takes the planes of a path's plan on this device."""
    return any(
        CUDA.kernel_error(kernel, element, DEVICE.index) is None for element in gpu_elements(*path[:2])
    )


PAIRS = [
    pytest.param(name, path, id=f"{name} {path}")
    for number, name in enumerate(CUDA.kernels)
    for path in PATHS
    if runs_on(number, path)
]


def compare(kernel, path, m, k, n, seed, tile=None):
    generator = torch.Generator(DEVICE).manual_seed(seed)
    a = torch.randn(m, k, dtype=torch.float64, device=DEVICE, generator=generator)
    b = torch.randn(k, n, dtype=torch.float64, device=DEVICE, generator=generator)
    if seed % 3 == 1:  # largest limbs of either sign in long runs
        a.sign_()
        b.sign_()
    if seed % 3 == 2:
        a *= torch.exp2(torch.randint(-30, 30, a.shape, device=DEVICE, generator=generator))
    expected = chosen.matmul(a, b, accuracy="scaled")
    out = torch.full((m, n), float("nan"), dtype=torch.float64, device=DEVICE)
    with forced(kernel, tile=tile):
        chosen.matmul(a, b, out=out, **path._asdict(), accuracy="scaled")
    assert torch.equal(out, expected), (kernel, path, m, k, n, seed)
    return a, b, out


@pytest.mark.parametrize(("kernel", "path"), PAIRS)
def test_equals_the_kernel_that_serves(kernel, path):
    rng = np.random.default_rng(5)
    for seed in range(90):
        m, n, k = (int(rng.choice(extents)) for extents in (EXTENTS, EXTENTS, INNER))
        a, b, c = compare(kernel, path, m, k, n, seed)
        if seed < 6:
            assert_same_bits(c.cpu(), chosen.matmul(a.cpu().numpy(), b.cpu().numpy(), accuracy="scaled"))


@pytest.mark.parametrize(("kernel", "path"), PAIRS)
def test_every_tile(kernel, path):
    """More tiles than blocks, the last of them cut, so that each block takes several and stores one while it loads the next."""
    for tile in CUDA.tiles(list(CUDA.kernels).index(kernel)):
        for seed, (m, k, n) in enumerate(((1, 1, 1), (257, 1000, 193), (1030, 700, 1170), (3000, 130, 2000))):
            compare(kernel, path, m, k, n, seed, tile)


@pytest.mark.parametrize(("kernel", "path"), PAIRS)
def test_long_inner_dimensions(kernel, path):
    plan = ozfp4.plan(1, 1, 1, **path._asdict(), accuracy="scaled")
    for seed, k in enumerate((16_385, 65_536, 116_479, 116_480, 116_481, 250_000)):
        if k <= plan.k_max:
            compare(kernel, path, 19, k, 33, seed)


@pytest.mark.parametrize(("kernel", "path"), PAIRS)
def test_stacks_and_views(kernel, path):
    x = torch.randn(5, 40, 203, dtype=torch.float64, device=DEVICE)
    y = torch.randn(203, 70, dtype=torch.float64, device=DEVICE)
    for a, b in ((x, y), (x[:, ::2], y[:, 1:].T.contiguous().T), (x[:, :, :1], y[:1])):
        with forced(kernel):
            c, report = chosen.matmul(a, b, report=True, **path._asdict(), accuracy="scaled")
        assert kernel in report.kernel
        assert torch.equal(c, chosen.matmul(a, b, accuracy="scaled"))


def test_a_forced_kernel_that_cannot_serve_says_why():
    with pytest.raises(ValueError, match="kernel: 'no such'"), forced("no such"):
        pass
    a = torch.randn(8, 8, dtype=torch.float64, device=DEVICE)
    codes = [name for name in CUDA.kernels if "fp4" in name]
    if codes:
        with (
            forced(codes[-1]),
            pytest.raises((RuntimeError, ValueError), match=r"E2M1 codes|FP4 units|no code"),
        ):
            chosen.matmul(a, a, backend="int8", accuracy="scaled")
