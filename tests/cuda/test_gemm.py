"""alpha A B + beta C on a GPU: refusals, counts, long results. Bits are compared in tests/api/test_gemm*.py."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, on_device, torch

import ozfp4
from ozfp4.testing import assert_same_bits


def test_refusals():
    a, b, c = (torch.ones(s, dtype=torch.float64, device=DEVICE) for s in ((3, 4), (4, 5), (3, 5)))
    room = torch.zeros(40, dtype=torch.float64, device=DEVICE)
    with pytest.raises(RuntimeError, match="c: device cpu differs from cuda:0"):
        ozfp4.gemm(1, a, b, 1, c.cpu())
    with pytest.raises(TypeError, match=r"c: dtype torch\.float16"):
        ozfp4.gemm(1, a, b, 1, c.half())
    with pytest.raises(ValueError, match=r"c: shape \(5, 3\)"):
        ozfp4.gemm(1, a, b, 1, c.T)
    with pytest.raises(ValueError, match="shares memory with c"):
        ozfp4.gemm(1, a, b, 1, room[:15].view(3, 5), out=room[1:16].view(3, 5))
    assert (room == 0).all()


def test_report_and_residual():
    """What the pairs do not settle after cancellation goes to the exact sums, and is counted there."""
    rng = np.random.default_rng(6)
    a, x = rng.standard_normal((200, 300)), rng.standard_normal((300, 90))
    a[:, 0] *= 2.0**-40  # no line is exact
    x[0] *= 2.0**-40
    b = a @ x
    expected = ozfp4.gemm(-1, a, x, 1, b, accuracy="correct")
    found, report = ozfp4.gemm(
        -1, on_device(a), on_device(x), 1, on_device(b), accuracy="correct", report=True
    )
    assert_same_bits(found.cpu(), expected)
    assert report.certified.repaired_exactly > 0


def test_a_long_result():
    """More entries than are summed at a time, within the workspace that they are cut for."""
    rng = np.random.default_rng(5)
    a, b = (x[0] + 1j * x[1] for x in (rng.standard_normal((2, 1500, 3)), rng.standard_normal((2, 3, 1000))))
    expected = ozfp4.gemm(1 + 2j, a, b)
    assert_same_bits(ozfp4.gemm(1 + 2j, on_device(a), on_device(b)).cpu(), expected)
    limited = ozfp4.gemm(1 + 2j, on_device(a), on_device(b), workspace_limit=64 << 20)
    assert_same_bits(limited.cpu(), expected)
