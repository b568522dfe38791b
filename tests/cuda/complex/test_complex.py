"""Complex products on a GPU, by plans of complex products and by plain ones: the bits of the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from first_gpu import DEVICE, MODES, check, on_device, torch

from ozfp4._backends.cuda import extension
from ozfp4.testing import assert_same_bits, forced
from support import chosen, gpu_elements, operands

BACKENDS = ["int8", "fp4"]
each_backend = pytest.mark.parametrize("backend", BACKENDS)


def complex_operands(kind, m, k, n, dtype=np.complex128):
    real = np.float64 if dtype == np.complex128 else np.float32
    (a, b), (c, d) = (operands(kind, m, k, n, dtype=real, seed=seed) for seed in (1, 2))
    pair = np.empty((m, k), dtype), np.empty((k, n), dtype)
    for z, re, im in zip(pair, (a, b), (c, d), strict=True):
        z.real, z.imag = re, im  # 1j * infinity would be NaN
    return pair


def fp4_kernels():
    """Kernels of this device and build for the planes of a complex FP4 plan, as E2M1 codes or as bytes."""
    cuda, elements = extension.extension(), gpu_elements("II", "fp4")
    return [
        name
        for number, name in enumerate(cuda.kernels)
        if any(cuda.kernel_error(number, element, DEVICE.index) is None for element in elements)
    ]


@pytest.mark.parametrize("kernel", fp4_kernels())
def test_every_kernel_of_fp4(kernel):
    """Extents along K around those of a byte of codes, of 16 bytes of them and of tiles."""
    for dtype in (np.complex128, np.complex64):
        for k in (1, 2, 3, 7, 8, 9, 31, 32, 33, 63, 65, 255, 257, 1025):
            a, b = complex_operands("phi32", 67, k, 35, dtype)
            x, y = on_device(a), on_device(b)
            for mode in MODES[:3]:
                with forced(kernel):
                    c, report = chosen.matmul(x, y, **mode, backend="fp4", report=True)
                assert kernel in report.kernel
                assert report.plan.is_complex
                assert_same_bits(c.cpu(), chosen.matmul(a, b, **mode), (kernel, k, dtype, mode))


@each_backend
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_within_a_limit(mode, backend):
    """Turns of a stack, blocks of the result, pieces of K."""
    a, b = complex_operands("phi32", 2 * 130, 4000, 150)
    a = a.reshape(2, 130, 4000)
    expected = chosen.matmul(a, b, **mode)
    x, y = on_device(a), on_device(b)
    whole = chosen.matmul(x, y, **mode, backend=backend, report=True)[1].workspace
    for limit in (whole, whole // 2, whole // 3, whole // 5):
        try:
            c = chosen.matmul(x, y, **mode, backend=backend, workspace_limit=limit)
        except MemoryError:
            assert limit < whole // 2
            continue
        assert_same_bits(c.cpu(), expected, (mode, limit))


# ---- Tensors as torch makes them


PAIRS = [
    ("complex128", "complex128"),
    ("complex64", "complex64"),
    ("complex128", "float64"),
    ("float64", "complex128"),
]


def entries(shape, dtype, seed, spread=0):
    rng = np.random.default_rng([seed, spread, *shape])
    x = np.ldexp(rng.standard_normal((2, *shape)), rng.integers(-spread, spread + 1, (2, *shape)))
    return (x[0] + 1j * x[1] if dtype.startswith("complex") else x[0]).astype(dtype)


def resolved(x):
    return x.cpu().resolve_conj().resolve_neg().contiguous().numpy()


def pair(m, k, n, dtypes, spread=0, seed=0):
    return [
        torch.from_numpy(entries(shape, dtype, seed + side, spread)).to(DEVICE)
        for side, (shape, dtype) in enumerate((((m, k), dtypes[0]), ((k, n), dtypes[1])))
    ]


@pytest.mark.parametrize("dtypes", PAIRS, ids="-".join)
def test_lazy_and_strided(dtypes):
    x, y = pair(33, 66, 66, dtypes, 5)
    z = pair(66, 33, 1, dtypes)[0]
    views = {
        "conj": (x.conj(), y.conj()),
        "conj a": (x.conj(), y),
        "conj b": (x, y.conj()),
        "transposed": (z.mT, y.mT),
        "adjoint": (z.mH, y.mH),
        "negated": (torch._neg_view(x), torch._neg_view(y).conj()),
        "every second": (x[:, ::2], y[::2, ::3]),
        "one": (x[:1, :1], y[:1, :1]),
        "off by one": (x[:, 1:], y[1:, 3:]),
        "repeated": (x[:1].expand(20, 66), y[:, :1].expand(66, 9)),
    }
    for name, (a, b) in views.items():
        check(resolved(a), resolved(b), name, MODES[1:3], x=a, y=b)


def test_a_launch_that_waits_for_room_leaves_the_interpreter_free():
    program = Path(__file__).parents[1] / "programs" / "full_stream.py"
    subprocess.run([sys.executable, str(program)], check=True, timeout=120)
