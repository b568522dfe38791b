"""The GPU of these tests. A module that imports this is skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4._backends.cuda import extension
from ozfp4.testing import assert_same_bits
from support import PATHS as ALL_PATHS
from support import chosen

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device", allow_module_level=True)

DEVICE = torch.device("cuda", 0)
if reason := extension.why_unavailable(DEVICE):
    pytest.skip(reason, allow_module_level=True)

PATHS = [path for path in ALL_PATHS if path.backend != "fp64" and path[::2] != ("I", "paper")]
CERTIFIED_MODES = [
    {"accuracy": "standard"},
    *({"accuracy": "correct", "rounding": r} for r in ("nearest", "down", "up", "zero")),
]
MODES = [{"accuracy": "scaled"}, *CERTIFIED_MODES]


def on_device(x):
    """A contiguous copy of an array of any shape."""
    return torch.from_numpy(np.ascontiguousarray(x).reshape(np.shape(x))).to(DEVICE)


def noisy(shape, dtype=torch.float64):
    """An `out` of NaNs: whatever is not written is seen."""
    return torch.full(shape, float("nan"), dtype=dtype, device=DEVICE)


def check(a, b, context="", modes=CERTIFIED_MODES, x=None, y=None, **options):
    """The CPU's products and bounds of NumPy operands; x and y are the same on the device where their strides matter."""
    x, y = on_device(a) if x is None else x, on_device(b) if y is None else y
    for mode in modes:
        expected, bound = ozfp4.matmul(a, b, **mode, return_bound=True)
        here = (context, *mode.values())
        c, c_bound = chosen.matmul(x, y, **mode, return_bound=True, **options)
        assert_same_bits(c.cpu(), np.asarray(expected), here)
        assert_same_bits(c_bound.cpu(), np.asarray(bound), (*here, "bound"))
        out = noisy(tuple(c.shape), c.dtype)
        # Without a bound another kernel runs.
        assert chosen.matmul(x, y, **mode, out=out, **options) is out
        assert_same_bits(out.cpu(), np.asarray(expected), (*here, "alone"))
