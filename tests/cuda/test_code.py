"""The code of this build for this GPU decides how products are launched, not the abilities of the GPU."""

from __future__ import annotations

import pytest
from first_gpu import DEVICE, torch

import ozfp4
from ozfp4._backends.cuda import extension
from ozfp4._dispatch import on_cuda
from ozfp4._options import Options
from ozfp4.testing import assert_same_bits

CUDA = extension.extension()
PTX = CUDA.code_version(0)[0]
CAPABILITY = torch.cuda.get_device_capability(DEVICE)


def layout_of(m, k, n, **options):
    """How a product was laid out, after a comparison of its result with the CPU's."""
    a = torch.randn(m, k, dtype=torch.float64, device=DEVICE)
    b = torch.randn(k, n, dtype=torch.float64, device=DEVICE)
    c = torch.full((m, n), float("nan"), dtype=torch.float64, device=DEVICE)
    plan = ozfp4.plan(m, n, k, **options, accuracy="scaled")
    asked = Options(plan=plan, accuracy="scaled")
    about = on_cuda.ready(DEVICE).way_of(a, b, c, asked)
    ozfp4.matmul(a, b, out=c, plan=plan, accuracy="scaled")
    assert_same_bits(c.cpu(), ozfp4.matmul(a.cpu().numpy(), b.cpu().numpy(), accuracy="scaled"))
    return about


def test_the_version_is_that_of_the_code():
    ptx, binary = CUDA.code_version(0)
    made_from, made_for = divmod(ptx, 10), divmod(binary, 10)
    assert made_for[0] == CAPABILITY[0]
    assert made_from in CUDA.compute_capabilities
    if CAPABILITY in CUDA.compute_capabilities:
        assert made_from == CAPABILITY
    else:
        assert made_from < CAPABILITY


@pytest.mark.parametrize("backend", ["int8", "fp4"])
@pytest.mark.parametrize("k", [16, 700, 2048])
def test_short_lines_are_scaled_and_encoded_in_one_launch_by_code_with_clusters(backend, k):
    about = layout_of(19, k, 23, backend=backend)
    assert about["scales_and_encodes"] == (PTX >= 90)


def test_long_lines_are_scaled_and_encoded_in_two_launches():
    about = layout_of(19, 40_000, 23, backend="int8")
    assert not about["scales_and_encodes"]


def test_kernels_that_the_build_does_not_hold_say_so():
    held = [
        name
        for number, name in enumerate(CUDA.kernels)
        if any(CUDA.kernel_error(number, element, 0) is None for element in ("u8", "s8", "e2m1"))
    ]
    assert "warp s8 cp.async" in held
    if PTX < 90:
        assert not any("wgmma" in name or "tma" in name or "tcgen05" in name for name in held)
