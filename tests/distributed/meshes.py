"""DTensors of tests on a rank: cut from whole tensors by the definition of placements, without exchanges."""

from __future__ import annotations

from typing import Any

import torch
from ranks import KINDS, Here

PLACED = ("R", "S0", "S1", "P")  # of a matrix along one dimension of a mesh
MESHES: dict[int, list[tuple[int, ...]]] = {2: [(2,)], 3: [(3,)], 4: [(4,), (2, 2)], 8: [(8,), (2, 4)]}
# On the CPU four ranks for a mesh of two dimensions alone.
MESHED = [(device, size, mesh) for device, size in KINDS for mesh in MESHES[size]] + [("cpu", 4, (2, 2))]


def mesh_of(here: Here, extents: tuple[int, ...]) -> Any:
    from torch.distributed.tensor import init_device_mesh

    if extents not in _meshes:
        _meshes[extents] = init_device_mesh(here.device.partition(":")[0], extents)
    return _meshes[extents]


_meshes: dict[tuple[int, ...], Any] = {}


def placement(word: str) -> Any:
    from torch.distributed.tensor import Partial, Replicate, Shard

    if word == "R":
        return Replicate()
    return Partial() if word == "P" else Shard(int(word[1:]))


def piece(whole: torch.Tensor, mesh: Any, placements: Any) -> torch.Tensor:
    """This rank's part of a tensor, by the definition: cut along one dimension of the mesh after the other."""
    for dim, cut in enumerate(placements):
        size, here = mesh.size(dim), mesh.get_local_rank(dim)
        if cut.is_shard():
            extent = whole.shape[cut.dim]
            step = -(-extent // size)
            first = min(here * step, extent)
            whole = whole.narrow(cut.dim, first, min(step, extent - first))
        elif cut.is_partial():
            whole = summand(whole, here, size)
    return whole.contiguous()


def summand(x: torch.Tensor, rank: int, ranks: int) -> torch.Tensor:
    """A term of `x` as an exact sum over ranks: of each entry one rank has the high bits and another one the low bits."""
    if x.is_complex():
        return torch.complex(summand(x.real, rank, ranks), summand(x.imag, rank, ranks))
    if x.dtype.is_floating_point:
        words = x.contiguous().view(torch.int64 if x.dtype == torch.float64 else torch.int32)
        high = torch.where(x.isfinite(), (words & ~0xFFF).view(x.dtype), x)
        low = torch.where(x.isfinite(), x - high, 0)
    else:
        high = x & ~3
        low = x - high
    who = torch.arange(x.numel(), device=x.device).reshape(x.shape)
    return torch.where(who % ranks == rank, high, 0) + torch.where((who + 1) % ranks == rank, low, 0)


def placed(here: Here, whole: torch.Tensor, mesh: Any, words: Any) -> Any:
    from torch.distributed.tensor import DTensor

    placements = [placement(word) for word in words]
    local = piece(whole, mesh, placements)
    return DTensor.from_local(
        local, mesh, placements, run_check=False, shape=whole.shape, stride=whole.contiguous().stride()
    )


def bits(x: torch.Tensor) -> torch.Tensor:
    x = torch.view_as_real(x.resolve_conj()) if x.is_complex() else x
    words = {8: torch.int64, 4: torch.int32}.get(x.element_size())
    nan = x != x
    x = x.contiguous()
    return torch.where(nan, -1, x.view(words) if words and x.dtype.is_floating_point else x.long())


def assert_is(found: Any, whole: torch.Tensor, what: object) -> None:
    """The local part of a DTensor is that of `whole`, bit for bit, and no sum over ranks is left to be made."""
    assert tuple(found.shape) == tuple(whole.shape), what
    assert found.dtype == whole.dtype, what
    assert not any(p.is_partial() for p in found.placements), (what, found.placements)
    local, expected = found.to_local(), piece(whole, found.device_mesh, found.placements)
    assert local.shape == expected.shape, (what, found.placements, local.shape, expected.shape)
    assert torch.equal(bits(local), bits(expected)), (what, found.placements, local, expected)


def random(seed: int, shape: Any, dtype: torch.dtype, device: str, special: bool = True) -> torch.Tensor:
    """Entries over many binades, zeros, and in some rows infinity and NaN; of integers all bits."""
    generator = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return (torch.rand(shape, generator=generator) < 0.3).to(device)
    if not (dtype.is_floating_point or dtype.is_complex):
        info = torch.iinfo(dtype)
        return torch.randint(info.min, info.max, shape, generator=generator, dtype=dtype).to(device)
    x = torch.randn(shape, generator=generator, dtype=dtype)
    spread = 30 if dtype in (torch.float64, torch.complex128) else 8
    x = x * torch.exp2(torch.randint(-spread, spread, shape, generator=generator))
    x = torch.where(torch.rand(shape, generator=generator) < 0.1, 0, x)
    if special and x.numel() > 20 and seed % 3 == 0:
        x.flatten()[seed % x.numel()] = float("inf") if seed % 2 else float("nan")
    return x.to(dtype).to(device)


def stacks(generator: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of two operands: vectors, matrices, stacks that broadcast."""

    def extent() -> int:
        return int(torch.randint(0, 10, (), generator=generator)) % 9

    m, k, n = extent(), extent(), extent()
    stack = [1 + extent() % 5 for _ in range(int(torch.randint(0, 3, (), generator=generator)))]
    lines = []
    for _ in range(2):
        kept = stack[int(torch.randint(0, len(stack) + 1, (), generator=generator)) :]
        lines.append([1 if extent() == 0 else x for x in kept])
    a = (*lines[0], m, k) if lines[0] or extent() > 1 else (k,)
    b = (*lines[1], k, n) if lines[1] or extent() > 1 else (k,)
    return a, b


def words_for(shape: tuple[int, ...], dims: int, generator: Any, takes_sums: bool) -> list[str]:
    words = ["R", *(f"S{axis}" for axis in range(len(shape))), *(["P"] if takes_sums else [])]
    return [words[int(torch.randint(0, len(words), (), generator=generator))] for _ in range(dims)]
