"""``ozfp4.distributed.matmul`` of DTensors: calls that differ are found before data move, on every rank of the mesh, and equal
calls exchange nothing twice."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import torch
from cases import error_of
from meshes import mesh_of, placed, random
from ranks import Here, Ranks, group
from test_agreement import alike, exchanges, said

import ozfp4
import ozfp4.distributed
from ozfp4._torch_ops import agree

# By the name of what rank 1 does otherwise: the error of all ranks of the mesh. Rows by replicated: no data
# move that could show a difference.
OTHERWISE = {
    "dtype": "ValueError: dtype of b: the ranks differ: 'torch.float64' on {others}; 'torch.float32' on rank 1",
    "shape": "ValueError: shape of b: the ranks differ: [7, 5] on {others}; [7, 6] on rank 1",
    "operand": "ValueError: placements of a: the ranks differ: ",
    "result": "ValueError: placements: the ranks differ: None on {others}; ",
    "accuracy": "ValueError: accuracy: the ranks differ: None on {others}; 'correct' on rank 1",
    "method": "ValueError: method: the ranks differ: 'auto' on {others}; 'redistribute' on rank 1",
    "bound": "ValueError: return_bound: the ranks differ: False on {others}; True on rank 1",
    "gradient": "ValueError: gradients: the ranks differ: [False, False] on {others}; [True, False] on rank 1",
    "library": "ValueError: library: the ranks differ: ozfp4",
    "refused": "RuntimeError: rank 1 refused: ValueError: accuracy: 'best' is unknown",
    "tensor": "RuntimeError: rank 1 refused: TypeError: b: a Tensor together with a DTensor (a)",
    "array": "RuntimeError: rank 1 refused: TypeError: b: a ndarray together with a DTensor (a); pass a DTensor, torch.dist",
    "unhashable": "RuntimeError: rank 1 refused: ValueError: accuracy: ['standard'] is unknown",
}
OWN = {
    "refused": "ValueError: accuracy: 'best' is unknown",
    "tensor": "TypeError: b: a Tensor together with a DTensor (a)",
    "array": "TypeError: b: a ndarray together with a DTensor (a)",
    "unhashable": "ValueError: accuracy: ['standard'] is unknown",
}


def operands(here: Here, mesh: Any, words: tuple[Any, Any]) -> tuple[Any, Any]:
    a, b = (random(i, shape, torch.float64, here.device) for i, shape in enumerate(((8, 7), (7, 5))))
    return placed(here, a, mesh, words[0]), placed(here, b, mesh, words[1])


def differ(here: Here, extents: tuple[int, ...], name: str) -> str:
    from torch.distributed.tensor import Replicate

    mesh, rest = mesh_of(here, extents), ["R"] * (len(extents) - 1)
    x, y = operands(here, mesh, ((*rest, "S0"), (*rest, "R")))
    options: dict[str, Any] = {"workspace_limit": 2**29} if name == "library" else {}
    ozfp4.matmul(x, y)  # what it keeps is no agreement
    changes: list[Any] = []
    if here.rank == 1:
        options |= {
            "result": {"placements": [Replicate()] * len(extents)}, "accuracy": {"accuracy": "correct"},
            "method": {"method": "redistribute"}, "bound": {"return_bound": True}, "refused": {"accuracy": "best"},
            "unhashable": {"accuracy": ["standard"]},
        }.get(name, {})  # fmt: skip
        narrow, wide = (random(1, (7, n), torch.float64, here.device) for n in (5, 6))
        y = {
            "dtype": placed(here, narrow.float(), mesh, (*rest, "R")),
            "shape": placed(here, wide, mesh, (*rest, "R")),
            "tensor": narrow,
            "array": narrow.cpu().numpy(),
        }.get(name, y)
        x = x.detach().requires_grad_() if name == "gradient" else x
        if name == "operand":
            x = operands(here, mesh, ((*rest, "R"), (*rest, "R")))[0]
        if name == "library":
            changes = [(agree, "identity", lambda: "ozfp4 0.0.1, build 12")]
    return said(here, lambda: ozfp4.distributed.matmul(x, y, **options), *changes)


def check_raised_by_all(ranks: Ranks, extents: tuple[int, ...], name: str) -> None:
    others = {2: "rank 0", 3: "ranks 0 and 2", 4: "ranks 0, 2 and 3"}[ranks.size]
    told = OTHERWISE[name].format(others=others)
    found, expected = ranks.run(differ, extents, name), alike(ranks, told, OWN.get(name, told))
    assert all(text.startswith(start) for text, start in zip(found, expected, strict=True)), found


@pytest.mark.parametrize("name", OTHERWISE)
def test_different_arguments_are_raised_by_all(failing: Ranks, name: str) -> None:
    check_raised_by_all(failing, (failing.size,), name)


@pytest.mark.parametrize("name", ["dtype", "refused"])
@pytest.mark.parametrize("extents", [(2, 2), (1, 4)], ids=str)
def test_on_a_mesh_of_two_dimensions(extents: tuple[int, ...], name: str) -> None:
    """All ranks raise it, those that share no group with rank 1 as well."""
    check_raised_by_all(group(4), extents, name)


def of_some_ranks(here: Here) -> str:
    """A mesh of ranks 1 and 2, which are called so."""
    from torch.distributed.tensor import DeviceMesh

    mesh = DeviceMesh("cpu", [1, 2])
    if here.rank == 0:
        return ""
    x, y = operands(here, mesh, (["S0"], ["R"]))
    return error_of(lambda: ozfp4.distributed.matmul(x, y, workspace_limit=2**20 + here.rank))


def test_ranks_have_their_numbers_in_the_program() -> None:
    told = "ValueError: workspace_limit: the ranks differ: 1048577 on rank 1; 1048578 on rank 2"
    assert group(3).run(of_some_ranks) == ["", told, told]


def counted(here: Here, extents: tuple[int, ...]) -> list[int]:
    mesh, rest = mesh_of(here, extents), ["R"] * (len(extents) - 1)
    counts = []
    for options in (
        {"workspace_limit": 2**20 + 52},
        {"workspace_limit": 2**20 + 52},
        {"workspace_limit": True + 2**20 + 51},
        {"accuracy": "correct", "rounding": "up"},
    ):
        counts += exchanges(*operands(here, mesh, ((*rest, "S0"), (*rest, "R"))), [options])
    return counts


def test_equal_calls_exchange_nothing_twice(pair: Ranks) -> None:
    assert pair.run(counted, (2,)) == [[1, 0, 0, 1]] * 2


def test_an_exchange_a_dimension_of_the_mesh() -> None:
    assert group(4).run(counted, (2, 2)) == [[2, 0, 0, 2]] * 4


def other_calls(here: Here) -> str:
    """Rank 1 multiplies parts, the other one DTensors."""
    x, y = operands(here, mesh_of(here, (here.size,)), (["S0"], ["R"]))
    a, b = (random(i, shape, torch.float64, here.device) for i, shape in enumerate(((4, 7), (7, 5))))
    handle = x.device_mesh.get_group(0)
    if here.rank == 1:
        return said(here, lambda: ozfp4.distributed.matmul(a, b, group=handle))
    return said(here, lambda: ozfp4.distributed.matmul(x, y, workspace_limit=2**20 + 49))


def test_parts_and_dtensors_are_different_calls(pair: Ranks) -> None:
    told = "RuntimeError: the ranks are in different calls: a product of DTensors on rank 0; a product of parts on rank 1"
    assert pair.run(other_calls) == [told, told]


def forget(here: Here) -> str:
    """In between half of a mesh makes more calls than are remembered, on another mesh and with parts."""
    mesh = mesh_of(here, (2, 2))
    x, y = operands(here, mesh, (("R", "S0"), ("R", "R")))
    first = mesh.get_group(0)
    ozfp4.distributed.matmul(x, y, workspace_limit=2**20 + 47)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agree, "REMEMBERED", 2)
        if mesh.get_local_rank(1) == 0:
            from torch.distributed.tensor import DeviceMesh

            half = DeviceMesh.from_group(first, "cpu")
            for limit in (2**20 + 48, 2**20 + 49, 2**20 + 50):
                ozfp4.distributed.matmul(*operands(here, half, (["S0"], ["R"])), workspace_limit=limit)
                a, b = torch.ones(2, 5), torch.ones(5, 3)
                ozfp4.distributed.matmul(a, b, group=first, whole=((4, 5), (5, 3)), workspace_limit=limit)
        patch.setattr(agree.Group, "swap", no_swap)
        return error_of(lambda: ozfp4.distributed.matmul(x, y, workspace_limit=2**20 + 47))


def no_swap(*_: Any) -> None:
    raise AssertionError("an exchange")


def test_calls_of_a_part_of_the_mesh_are_kept_apart() -> None:
    assert group(4).run(forget) == [""] * 4


def put_otherwise(here: Here, name: str) -> list[str]:
    """Rank 1 has the same call in other words at first, and then as the other one."""
    from torch.distributed.tensor import DTensor, Shard

    mesh = mesh_of(here, (here.size,))
    x, y = operands(here, mesh, (["S0"], ["R"]))
    options: dict[str, Any] = {"workspace_limit": 2**20 + {"strides": 45, "numbers": 46}.get(name, 44)}
    if name == "placements":
        options |= {"placements": [Shard(0)]}
    others = {
        "numbers": {"workspace_limit": np.int64(2**20 + 46)},
        "placements": {"placements": (Shard(-2),)},
    }
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for is_first in (True, False):
            is_other = here.rank == 1 and is_first
            z = x
            if is_other and name == "strides":
                z = DTensor.from_local(
                    x.to_local(), mesh, x.placements, run_check=False, shape=x.shape, stride=(1, 8)
                )
            asked = options | (others.get(name, {}) if is_other else {})
            found.append(error_of(lambda z=z, asked=asked: ozfp4.distributed.matmul(z, y, **asked)))  # type: ignore[misc]
            patch.setattr(agree.Group, "swap", no_swap)
    return found


@pytest.mark.parametrize("name", ["strides", "numbers", "placements"])
def test_equal_calls_in_other_words_are_one_call(pair: Ranks, name: str) -> None:
    assert pair.run(put_otherwise, name) == [["", ""]] * 2


def other_calls_in_a_row(here: Here) -> str:
    """Rank 1 multiplies parts in one group of the mesh and in the other one."""
    mesh = mesh_of(here, (2, 2))
    x, y = operands(here, mesh, (("R", "S0"), ("R", "R")))
    a, b = torch.ones(2, 5), torch.ones(5, 3)
    if here.rank != 1:
        return said(here, lambda: ozfp4.distributed.matmul(x, y, workspace_limit=2**20 + 43))
    first = error_of(lambda: ozfp4.distributed.matmul(a, b, group=mesh.get_group(1)))
    said(here, lambda: ozfp4.distributed.matmul(a, b, group=mesh.get_group(0)))
    return first


def test_other_calls_are_told_along_the_next_dimension() -> None:
    told = (
        "RuntimeError: the ranks are in different calls: a product of {} on rank 0; a product of {} on rank 1"
    )
    start = time.monotonic()
    found = group(4).run(other_calls_in_a_row)
    first, second = told.format("DTensors", "parts"), told.format("parts", "DTensors")
    assert [found[0], found[1], found[3]] == [first, first, second]
    assert found[2].startswith(f"RuntimeError: rank 0 refused: {first}")
    assert time.monotonic() - start < 30
