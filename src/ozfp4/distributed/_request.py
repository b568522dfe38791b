"""The arguments of a product over a group: checked here on each rank, agreed upon by all, and then a :class:`Call`."""

from __future__ import annotations

import hashlib
import operator
import platform
from dataclasses import dataclass
from typing import Any

from .._api.matmul import matmul
from .._options import check_name
from .._plans.plan import Plan
from .._request import library
from .._request.library import require_torch
from .._request.operands import matmul_shape
from .._request.out import check_out
from .._torch_ops import agree
from ._cost import METHODS
from ._layout import LAYOUTS, Extents, Placed, Problem, axis_of

torch: Any = require_torch()

CHECKS = ("always", "first")
# Fields that may be others on each rank.
_OWN = ("a", "b", "host", "out")


@dataclass(frozen=True)
class Asked:
    """All arguments but the group, as they were passed to one rank."""

    a: Any
    b: Any
    out: Any
    layout: Any
    result: Any
    method: Any
    whole: Any
    check: Any
    placements: Any
    return_bound: Any
    options: dict[str, Any]


def fields_of(asked: Asked, device: str) -> agree.Fields:
    """The fields that all ranks must have alike for a product of parts or of DTensors, hashable; nothing is checked."""
    return {
        "library": agree.identity(),
        "device": device,
        "dtype of a": str(asked.a.dtype),
        "dtype of b": str(asked.b.dtype),
        "gradients": tuple(torch.is_grad_enabled() and bool(x.requires_grad) for x in (asked.a, asked.b)),
        "method": shown(asked.method),
        "return_bound": shown(asked.return_bound),
        **{name: shown(value) for name, value in asked.options.items()},
    }


def shown(value: Any) -> Any:
    """An argument as all ranks can compare it."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Plan):
        digest = hashlib.blake2b(repr(value._key()).encode(), digest_size=8).hexdigest()
        return f"{value.scheme} {value.backend} {value.family} of {value.bits} bits, {len(value.terms)} products, {digest}"
    try:
        return operator.index(value)
    except TypeError:  # it will be refused
        return f"{type(value)}: {value!r}"


def take(group: agree.Group, asked: Asked) -> Problem:
    """The product that all ranks agree upon; each raises where one refuses its arguments or has other ones."""
    out = asked.out

    def describe() -> agree.Fields:
        check_name("check", asked.check, CHECKS)
        if asked.check == "first" and asked.whole is None:
            raise ValueError(
                "check: 'first' needs whole=(shape of a, shape of b): the shapes of one rank do not determine those of the others"
            )
        _check_tensors(asked)
        return _fields(asked)

    def check(fields: agree.Fields, is_new: bool) -> None:
        for name, is_given in (("out", out is not None), ("return_bound", asked.return_bound)):
            if is_given and any(fields["gradients"]):
                raise RuntimeError(f"{name}: it is not for tensors that require grad; pass detached ones")
        if is_new:
            _check_new(group, asked, fields)
        fields["out"] = None if out is None else (tuple(out.shape), str(out.dtype))

    known = group.known[asked.whole is None]
    always = asked.check != "first"
    problem: Problem = agree.agreed(
        group, "a product of parts", known, describe, check, lambda found, _: _conclude(asked, found), always
    )
    if not always and out is not None:  # which other ranks may not have passed
        shape = problem.result.local(group.rank)
        check_out(out, shape, problem.dtype, a=asked.a.detach(), b=asked.b.detach())
    return problem


def _check_tensors(asked: Asked) -> None:
    """Checks that depend on more than shapes and dtypes."""
    for name, x in (("a", asked.a), ("b", asked.b), ("out", asked.out)):
        if x is None and name == "out":
            continue
        if not isinstance(x, torch.Tensor):
            raise TypeError(
                f"{name}: {type(x).__name__} is no torch tensor, and only tensors are multiplied over a group; "
                f"torch.from_numpy shares the memory of a NumPy array"
            )
        with torch.no_grad():  # gradients are taken here
            library.check_tensor(name, x)
        library.check_device(name, x, asked.a)
    if asked.out is not None:
        library.check_not_lazy(asked.out)
        check_out(asked.out, tuple(asked.out.shape), asked.out.dtype, a=asked.a.detach(), b=asked.b.detach())


def _fields(asked: Asked) -> agree.Fields:
    """The arguments of this rank, but for its `out`."""
    a, b, layout, whole = asked.a, asked.b, asked.layout, asked.whole
    if not isinstance(layout, (tuple, list)) or len(layout) != 2:
        raise ValueError(f"layout: {layout!r} is not a pair of names, one of a and one of b")
    shapes = None
    try:
        if whole is not None:
            of_a, of_b = whole
            shapes = tuple(tuple(map(operator.index, shape)) for shape in (of_a, of_b))
    except (TypeError, ValueError):
        raise ValueError(
            f"whole: {whole!r} is not a pair of shapes, that of the whole a and that of the whole b"
        ) from None
    return {
        **fields_of(asked, a.device.type),
        "layout of a": shown(layout[0]),
        "layout of b": shown(layout[1]),
        "result": natural(*layout) if asked.result is None else shown(asked.result),
        "whole": shapes,
        "a": tuple(a.shape),
        "b": tuple(b.shape),
        "host": platform.node(),
    }


def natural(a: str, b: str) -> str:
    """The layout of the result where none is asked for: as far as may be, that which leaves operands where they are."""
    if "stack" in (a, b):
        return "stack"
    if b == "columns" and a != "rows":
        return "columns"
    return "replicated" if a == b == "replicated" else "rows"


def _check_new(group: agree.Group, asked: Asked, fields: agree.Fields) -> None:
    a, b = asked.a, asked.b
    for name in ("layout of a", "layout of b", "result"):
        check_name(name, fields[name], LAYOUTS)
    check_name("method", asked.method, METHODS)
    for name, x in (("a", a), ("b", b)):
        word = fields[f"layout of {name}"]
        if x.ndim < 2 + (word == "stack"):
            needs = "a stack of matrices" if word == "stack" else "a matrix or a stack of matrices"
            raise ValueError(f"{name}: layout {word!r} needs {needs}, its shape is {tuple(x.shape)}")
    if group.backend(a.device) == "":
        served = {kind: group.backend(torch.device(kind)) for kind in ("cpu", "cuda")}
        has = ", ".join(f"{name} for {kind}" for kind, name in served.items() if name) or "none"
        raise RuntimeError(f"a: the group has no backend for device {a.device}; it has {has}")
    result_dtype(a, b, max(a.shape[-1], b.shape[-2]), asked)


def result_dtype(a: Any, b: Any, k: int, asked: Asked) -> Any:
    """The dtype of the result, from a product without entries: raises what ``ozfp4.matmul`` raises of arguments, dtypes, devices
    and of this inner dimension."""
    a, b = a.detach().new_empty((0, k)), b.detach().new_empty((k, 0))
    found = matmul(a, b, return_bound=asked.return_bound, **asked.options)
    return found[0].dtype if asked.return_bound else found.dtype


def _conclude(asked: Asked, fields: list[agree.Fields]) -> Problem:
    """The product, from the arguments of all ranks; or an error that is the same on each, as it follows from these alone."""
    first, ranks = fields[0], len(fields)
    agree.check_alike(fields, range(ranks), _OWN)
    a, b = (
        _placed(name, first[f"layout of {name}"], [tuple(each[name]) for each in fields]) for name in "ab"
    )
    for name, placed, said in zip("ab", (a, b), first["whole"] or (None, None), strict=True):
        if said is not None and tuple(said) != placed.shape:
            raise ValueError(
                f"whole: {name} has shape {tuple(said)} there, and the parts of the ranks make {placed.shape}"
            )
    shape = matmul_shape(a.shape, b.shape)
    if first["result"] == "stack" and len(shape.result) < 3:
        raise ValueError(f"result: 'stack' needs a stack of matrices, and its shape is {shape.result}")
    result = Placed(shape.result).cut(axis_of(first["result"], len(shape.result)), ranks)
    for name, placed in (("a", a), ("b", b)):
        has_all = len(placed.shape) == len(shape.result) and placed.shape[0] == shape.result[0]
        if placed.is_stack_cut and not has_all:
            raise ValueError(
                f"layout of {name}: 'stack' cuts the first axis of the result, {shape.result}, and its shape is {placed.shape}; "
                "an operand that is repeated there is replicated"
            )
    dtype = result_dtype(asked.a, asked.b, shape.k, asked)
    for rank, each in enumerate(fields):
        given, kind = each["out"] or (result.local(rank), str(dtype))
        if tuple(given) != result.local(rank):
            raise ValueError(
                f"out: shape {tuple(given)} on rank {rank} is not that of its part of the result, {result.local(rank)}"
            )
        if kind != str(dtype):
            raise TypeError(f"out: dtype {kind} on rank {rank} is not the result's dtype {dtype}")
    hosts = len({each["host"] for each in fields})
    items = asked.a.element_size(), asked.b.element_size(), dtype.itemsize
    return Problem(
        ranks, a, b, result, *items, first["device"], hosts,
        dtype, asked.options, first["method"], first["return_bound"], any(first["gradients"]),
    )  # fmt: skip


def _placed(name: str, word: str, shapes: list[Extents]) -> Placed:
    """How an operand lies; ValueError where the parts of the ranks are not those that ``torch.chunk`` makes."""
    axis = axis_of(word, len(shapes[0]))
    if len({shape if axis is None else (*shape[:axis], *shape[axis:][1:]) for shape in shapes}) > 1:
        agree.check_alike([{f"shape of {name}": shape} for shape in shapes], range(len(shapes)))
    if axis is None:
        return Placed(shapes[0])
    sizes = tuple(shape[axis] for shape in shapes)
    whole = list(shapes[0])
    whole[axis] = sum(sizes)
    placed = Placed(tuple(whole)).cut(axis, len(shapes))
    if sizes != placed.sizes:
        raise ValueError(
            f"{name}: layout {word!r} has the parts that torch.chunk makes of {sum(sizes)}, {placed.sizes}; those of the "
            f"ranks are {sizes}"
        )
    return placed
