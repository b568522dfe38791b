"""From tensors to the problem that the extension launches: element types, strides in bytes, the axes of a stack."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

from ... import _core
from ...request.operands import MatmulShape
from . import extension
from .device_plan import DevicePlan
from .variant import Variant


class Prepared:
    """A problem, how many bytes of workspace it needs, and the schedule on the device that its launches read (None: it travels
    with them); `limited` makes it under another workspace limit."""

    def __init__(self, problem: Any, steps: Any, limited: Callable[[int], Prepared]) -> None:
        self.problem = problem
        self.bytes = int(problem.bytes)
        self.steps = steps
        self._limited = limited

    def in_half(self) -> Prepared | None:
        """The same product in half of the workspace, in more blocks; None where its smallest blocks take more."""
        try:
            return self._limited(self.bytes // 2)
        except _core.WorkspaceError:
            return None

    @cached_property
    def relaunch(self) -> Any:
        """The problem's function, which is made anew wherever it is asked for."""
        return self.problem.relaunch


def collapse(stack: tuple[int, ...], *strides: tuple[int, ...]) -> tuple[list[int], list[list[int]]]:
    """Fewest axes that visit the same matrices: axes of extent 1 are dropped, adjacent ones merged where all can be."""
    extents: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for axis in range(len(stack)):
        extent = stack[axis]
        if extent == 1:
            continue
        steps = [s[axis] for s in strides]
        if extents and all(m[-1] == step * extent for m, step in zip(merged, steps, strict=True)):
            extents[-1] *= extent
            for m, step in zip(merged, steps, strict=True):
                m[-1] = step
        else:
            extents.append(extent)
            for m, step in zip(merged, steps, strict=True):
                m.append(step)
    return extents, merged


def _axis_strides(extents: tuple[int, ...], strides: tuple[int, ...], stack_rank: int) -> tuple[int, ...]:
    """Strides of an operand's stack axes as the output sees them: missing and broadcast axes have stride 0."""
    own = len(extents) - 2
    return (
        *(0 for _ in range(stack_rank - own)),
        *(0 if extents[i] == 1 else strides[i] for i in range(own)),
    )


# What a tensor's address does not say: shape, strides in entries, dtype.
Geometry = tuple[tuple[int, ...], tuple[int, ...], Any]


@lru_cache(maxsize=512)
def prepare(
    made: DevicePlan,
    shape: MatmulShape,
    a: Geometry,
    b: Geometry,
    c: Geometry,
    alignments: tuple[int, int, int],
    device: int,
    limit: int,
    variant: Variant,
    kept: tuple[Any, ...] = (),
    addend: Geometry | None = None,
) -> Prepared:
    """What is launched for a product, made once. `alignments` are the addresses modulo cuda.pointer_alignment, `kept` the shapes
    of KeptSides (none where nothing is kept); `addend` is of the result's shape."""
    cuda = extension.require_cuda()
    type_a, type_b, type_c = (getattr(cuda.ElementType, str(x[2]).removeprefix("torch.")) for x in (a, b, c))
    rank = len(shape.stack)
    in_bytes = [tuple(s * x[2].itemsize for s in x[1]) for x in (a, b, c)]
    strides: tuple[tuple[int, ...], ...] = (
        _axis_strides(a[0], in_bytes[0], rank),
        _axis_strides(b[0], in_bytes[1], rank),
        in_bytes[2][:rank],
    )
    further: dict[str, Any] = {}
    if addend is not None:
        steps = tuple(step * addend[2].itemsize for step in addend[1])
        further["addend"] = cuda.Result(
            0,
            getattr(cuda.ElementType, str(addend[2]).removeprefix("torch.")),
            shape.m,
            shape.n,
            steps[-2],
            steps[-1],
        )
        strides = (*strides, steps[:rank])
    extents, stacks = collapse(shape.stack, *strides) if rank else ([], [[] for _ in strides])
    stack_a, stack_b, stack_c = stacks[:3]
    if addend is not None:
        further["strides_addend"] = stacks[3]
    operand_a = cuda.Operand(alignments[0], type_a, shape.m, shape.k, in_bytes[0][-2], in_bytes[0][-1])
    operand_b = cuda.Operand(alignments[1], type_b, shape.n, shape.k, in_bytes[1][-1], in_bytes[1][-2])
    result = cuda.Result(alignments[2], type_c, shape.m, shape.n, in_bytes[2][-2], in_bytes[2][-1])
    choices = {
        name: value for name, value in variant._asdict().items() if name != "kernel" and value is not None
    }
    choices |= {
        name: lines for name, lines in zip(("kept_a", "kept_b"), kept, strict=False) if lines is not None
    }
    problem = cuda.Problem(
        made.cuda_plan, operand_a, operand_b, result, extents, stack_a, stack_b, stack_c, device, limit,
        made.steps_address(), **choices, **further,
    )  # fmt: skip

    def limited(other: int) -> Prepared:
        return prepare(made, shape, a, b, c, alignments, device, other, variant, kept, addend)

    return Prepared(problem, made.steps, limited)
