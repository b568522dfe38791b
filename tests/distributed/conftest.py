"""Groups of processes, for all tests of several ranks. Without torch.distributed there are none of these tests."""

from __future__ import annotations

import pytest
import ranks as processes

try:
    from meshes import MESHED  # imports torch
    from torch import distributed

    IS_THERE = distributed.is_available()
except ImportError:
    MESHED, IS_THERE = [], False

collect_ignore_glob = [] if IS_THERE else ["test_*.py"]


@pytest.fixture(params=processes.KINDS, ids=processes.named)
def ranks(request: pytest.FixtureRequest) -> processes.Ranks:
    """A group of 2, 3 or 8 ranks: Gloo on the CPU, NCCL where there are as many GPUs, also together with Gloo."""
    device, size = request.param
    return processes.group(size, device)


@pytest.fixture(params=processes.FAILING, ids=processes.named)
def failing(request: pytest.FixtureRequest) -> processes.Ranks:
    """A group for what goes wrong on rank 1: of three ranks on the CPU, of two GPUs."""
    device, size = request.param
    return processes.group(size, device)


@pytest.fixture(params=processes.PAIRS, ids=processes.named)
def pair(request: pytest.FixtureRequest) -> processes.Ranks:
    """A group of two ranks."""
    device, size = request.param
    return processes.group(size, device)


@pytest.fixture(params=MESHED, ids=str)
def meshed(request: pytest.FixtureRequest) -> tuple[processes.Ranks, tuple[int, ...]]:
    """A group as `ranks`, and the extents of a mesh of all of it."""
    device, size, mesh = request.param
    return processes.group(size, device), mesh
