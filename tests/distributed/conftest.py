"""Groups of processes, for all tests of several ranks."""

from __future__ import annotations

import pytest

pytest.importorskip("torch.distributed")

import meshes
import ranks as processes


@pytest.fixture(params=processes.KINDS, ids=lambda kind: f"{kind[0]}-{kind[1]}")
def ranks(request: pytest.FixtureRequest) -> processes.Ranks:
    """A group of 2, 3, 4 or 8 ranks: Gloo on the CPU, NCCL where there are as many GPUs."""
    device, size = request.param
    return processes.group(size, device)


@pytest.fixture(params=meshes.MESHED, ids=str)
def meshed(request: pytest.FixtureRequest) -> tuple[processes.Ranks, tuple[int, ...]]:
    """A group as `ranks`, and the extents of a mesh of all of it."""
    device, size, mesh = request.param
    return processes.group(size, device), mesh
