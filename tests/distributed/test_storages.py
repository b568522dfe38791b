"""Storages that are freed between products: by fully_shard, which frees and fills those of its parameters, and by a fault."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from meshes import mesh_of, placed  # noqa: E402
from ranks import Here, Ranks  # noqa: E402
from test_agreement import alike, operands, said  # noqa: E402

import ozfp4  # noqa: E402
import ozfp4.distributed  # noqa: E402
from ozfp4.testing import assert_same_bits  # noqa: E402


class Exact(torch.nn.Linear):
    def forward(self, x: Any) -> Any:
        return ozfp4.matmul(x, self.weight.mT) + self.bias


def trained(here: Here, kind: Any, scope: Any, shards: bool) -> list[Any]:
    """The parameters of three layers after two steps, by one batch on each rank."""
    torch.manual_seed(7)
    layers = [kind(16, 16, dtype=torch.float64, device=here.device) for _ in range(3)]
    model = torch.nn.Sequential(*layers)
    if shards:
        from torch.distributed.fsdp import fully_shard

        mesh = mesh_of(here, (here.size,))
        for layer in layers:
            fully_shard(layer, mesh=mesh)
        fully_shard(model, mesh=mesh)
    x = torch.randn(4, 16, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(here.device)
    optimizer = torch.optim.SGD(model.parameters(), 2.0**-6)
    with scope:
        for _ in range(2):
            model(x).square().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    return [p.full_tensor().detach() if shards else p.detach() for p in model.parameters()]


def is_trained_alike(here: Here, kind: Any, emulates: bool) -> None:
    """With equal batches the mean of the gradients of two ranks is the gradient of one rank."""
    found = []
    for shards in (True, False):
        scope: Any = ozfp4.emulate(mode="always") if emulates else nullcontext()
        found.append(trained(here, kind, scope, shards))
    for own, expected in zip(*found, strict=True):
        assert_same_bits(own.cpu(), expected.cpu())


@pytest.mark.parametrize("emulates", [False, True])
def test_fully_shard_frees_and_fills_parameters(pair: Ranks, emulates: bool) -> None:
    if not hasattr(pytest.importorskip("torch.distributed.fsdp"), "fully_shard"):
        pytest.skip("fully_shard is public since torch 2.6")
    pair.run(is_trained_alike, torch.nn.Linear if emulates else Exact, emulates)


def freed_on_rank_1(here: Here, name: str) -> str:
    a, b = operands(here)
    out = torch.empty(2, 3, dtype=torch.float64, device=here.device)
    given = {"a": a, "b": b, "out": out}
    if here.rank == 1:
        given[name].untyped_storage().resize_(0)
    return said(here, lambda: ozfp4.distributed.matmul(**given))


@pytest.mark.parametrize("name", ["a", "b", "out"])
def test_freed_parts_are_refused_on_every_rank(failing: Ranks, name: str) -> None:
    size = {"a": 80, "b": 120, "out": 48}[name]
    own = f"RuntimeError: {name}: its entries reach over {size} bytes of its storage, which has 0: "
    found = failing.run(freed_on_rank_1, name)
    assert found[1].startswith(own)
    assert found == alike(failing, f"RuntimeError: rank 1 refused: {found[1]}", found[1])


def freed_dtensor(here: Here, placements: Any) -> str:
    x, y = (torch.ones(4, 4, dtype=torch.float64, device=here.device) for _ in range(2))
    mesh = mesh_of(here, (here.size,))
    a, b = (placed(here, z, mesh, ["S1" if z is x else "S0"]) for z in (x, y))
    if here.rank == 1:
        a.to_local().untyped_storage().resize_(0)
    return said(here, lambda: ozfp4.distributed.matmul(a, b, placements=placements))


def test_freed_dtensors_are_refused_on_every_rank(pair: Ranks) -> None:
    from torch.distributed.tensor import Replicate

    other, own = pair.run(freed_dtensor, [Replicate()])
    assert own.startswith("RuntimeError: a: its entries reach over 64 bytes of its storage, which has 0")
    assert other == f"RuntimeError: rank 1 refused: {own}"
