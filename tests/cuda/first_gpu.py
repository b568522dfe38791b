"""The GPU of these tests. A module that imports this is skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import numpy as np
import pytest

from ozfp4.backends.cuda import extension

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

DEVICE = torch.device("cuda", 0)
if reason := extension.why_unavailable(DEVICE):
    pytest.skip(reason, allow_module_level=True)


def on_device(x):
    """A contiguous copy of an array of any shape."""
    return torch.from_numpy(np.ascontiguousarray(x).reshape(np.shape(x))).to(DEVICE)


def noisy(shape, dtype=torch.float64):
    """An `out` of NaNs: whatever is not written is seen."""
    return torch.full(shape, float("nan"), dtype=dtype, device=DEVICE)
