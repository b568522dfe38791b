"""What the code of this build holds that runs on the GPU at hand decides how products are launched, whatever the GPU could do."""

from __future__ import annotations

import pytest
from first_gpu import DEVICE, torch

import ozfp4
from ozfp4.backends.cuda import extension, launch
from ozfp4.dispatch import on_cuda
from ozfp4.plans import make_int8_plan
from ozfp4.request.operands import matmul_shape
from ozfp4.testing import assert_same_bits

CUDA = extension.extension()
PTX = CUDA.code_version(0)[0]
CAPABILITY = torch.cuda.get_device_capability(DEVICE)


def layout_of(m, k, n, **options):
    """How a product was laid out, whose result is the CPU's."""
    a = torch.randn(m, k, dtype=torch.float64, device=DEVICE)
    b = torch.randn(k, n, dtype=torch.float64, device=DEVICE)
    c = torch.full((m, n), float("nan"), dtype=torch.float64, device=DEVICE)
    plan = ozfp4.plan(m, n, k, **options, accuracy="scaled")
    variant = on_cuda.serving_variant(plan, DEVICE.index)
    made = launch.run(plan, variant, a, b, c, matmul_shape((m, k), (k, n)), launch.UNLIMITED)
    assert_same_bits(c.cpu(), ozfp4.matmul(a.cpu().numpy(), b.cpu().numpy(), accuracy="scaled"))
    return made.problem.describe()


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


def test_long_lines_never_are():
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


def problem(plan, a, b, result):
    return CUDA.Problem(plan, a, b, result, [], [], [], [], 0, 2**40, 0)


def test_a_result_that_int8_products_cannot_store_is_refused():
    plan = CUDA.CudaPlan(make_int8_plan(6)._core, 64, CUDA.kernels.index("warp s8 cp.async"))
    kinds = CUDA.ElementType
    a = CUDA.Operand(0, kinds.int8, 8, 64, 64, 1)
    b = CUDA.Operand(0, kinds.int8, 8, 64, 64, 1)
    assert problem(plan, a, b, CUDA.Result(0, kinds.float32, 8, 8, 32, 4)).bytes > 0
    with pytest.raises(ValueError, match="result: its columns are 8 bytes apart"):
        problem(plan, a, b, CUDA.Result(0, kinds.float32, 8, 8, 64, 8))


def test_a_refused_product_says_which_stage_and_why():
    plan = CUDA.CudaPlan(
        ozfp4.plan(8, 8, 64, backend="int8", accuracy="scaled")._core,
        64,
        CUDA.kernels.index("warp s8 cp.async"),
    )
    kinds = CUDA.ElementType
    a = CUDA.Operand(0, kinds.float64, 8, 64, 512, 8)
    b = CUDA.Operand(0, kinds.float64, 8, 32, 256, 8)
    with pytest.raises(ValueError, match="the operands differ along K: 64 and 32"):
        problem(plan, a, b, CUDA.Result(0, kinds.float64, 8, 8, 64, 8))
