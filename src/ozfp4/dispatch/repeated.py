"""Products on a GPU like one that was made before: all that differs is the data, so that nothing is checked or decided anew.

A short product takes less time than all the checks.
"""

from __future__ import annotations

from typing import Any

from ..backends.cuda import pairs, variant
from ..backends.cuda.kept import NOTHING_KEPT, KeptSides
from ..backends.cuda.launch import enqueue
from ..backends.cuda.views import Prepared as Launchable
from ..request import complex as forms
from ..request.integers import words_of
from ..request.library import torch_module
from ..request.prepared import NEITHER, Prepared, Sides
from ..trust import guard

# By likeness: what is launched, the shape and the dtype of the result; of complex operands the product of their real form, if
# one launch makes it. matmul enters what it made.
made: dict[tuple[Any, ...], tuple[Launchable, tuple[int, ...], Any]] = {}
_MOST_MADE = 512


def likeness(a: Any, b: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What two products share that differ in their data alone; None where nothing is repeated. Of a prepared operand they share
    how it was prepared."""
    torch = torch_module()
    if torch is None:
        return None
    passed = a, b
    a, b = _entries(a), _entries(b)
    if (
        variant.forced is not variant.NOTHING
        or type(a) is not torch.Tensor
        or type(b) is not torch.Tensor
        or not a.is_cuda
    ):
        return None
    if a.layout != torch.strided or b.layout != torch.strided or a.is_nested or b.is_nested:
        return None
    if a.requires_grad or b.requires_grad or a.is_neg() or b.is_neg():
        return None
    if a is not passed[0] or b is not passed[1]:
        sides = [_preparation(x, side) for x, side in zip(passed, ("left", "right"), strict=True)]
        if None in sides:
            return None
        arguments = (*arguments, *sides)
    # Types because 2.0 == 2 and True == 1; the generation because a kernel may be disabled by now.
    return (
        guard.generation, a.shape, a.stride(), a.dtype, a.device, a.data_ptr() % 16, a.is_conj(), b.shape, b.stride(), b.dtype,
        b.device, b.data_ptr() % 16, b.is_conj(), *arguments, *map(type, arguments),
    )  # fmt: skip


def _entries(x: Any) -> Any:
    return x._entries if isinstance(x, Prepared) else x


def _preparation(x: Any, side: str) -> tuple[Any, ...] | None:
    """How an operand was prepared, () where it was not; None where matmul has to refuse it, or nothing is kept of it. Range: not
    prepared, or on a device."""
    if not isinstance(x, Prepared):
        return ()
    if x.side != side or x._held is None or x._library is not None:
        return None
    if x._tensor is not None and x._tensor._version != x._version:
        return None
    return (
        x.plan,
        x.accuracy,
        x.result_dtype,
        x._held.element,
        x._held.about["lines"],
        x._held.about["matrices"],
        x.other,
    )


def again(key: tuple[Any, ...], a: Any, b: Any) -> Any | None:
    """The product if one like it has been made before; None otherwise, also for whatever matmul may have to refuse."""
    try:
        before = made.get(key)
    except TypeError:  # an argument that is not hashable
        return None
    if before is None:
        if len(made) >= _MOST_MADE:
            made.clear()
        return None
    prepared, shape, dtype = before
    kept, sides = NOTHING_KEPT, NEITHER
    if isinstance(a, Prepared) or isinstance(b, Prepared):
        sides = Sides(*(x if isinstance(x, Prepared) else None for x in (a, b)))
        kept = KeptSides(*(None if x is None else x._held for x in sides))
        a, b = _entries(a), _entries(b)
    if not (dtype.is_complex or dtype.is_floating_point):
        a, b = words_of(a), words_of(b)
    if dtype.is_complex:
        a, b = forms.real_operands(*forms.with_matrix_axes(a, b), pairs.expand, sides)
    c = torch_module().empty(shape, dtype=dtype, device=a.device)
    enqueue(prepared, (a.data_ptr(), b.data_ptr(), c.data_ptr()), a.device, kept=kept)
    return c
