"""What a product over a group was asked for: checked here on each rank, agreed upon by all, and then a value."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .._api.matmul import matmul
from .._plans.plan import Plan
from .._request import library, remedies
from .._request.library import require_torch
from .._request.operands import matmul_shape
from .._request.out import check_out
from . import _agree as agree
from ._collectives import Group
from ._inner import check_method, check_serves
from ._layout import Extents, Placed, Problem, axis_of, check_layout, chunk_sizes

CHECKS = ("always", "first")


@dataclass(frozen=True)
class Call:
    """A product as all ranks know it.

    Attributes
    ----------
    problem : Problem
    dtype : torch.dtype
        Of the result.
    options : dict
        Keywords of ``ozfp4.matmul``.
    method : str
    return_bound : bool
    needs_gradient : bool
        An operand requires grad.
    """

    problem: Problem
    dtype: Any
    options: dict[str, Any]
    method: str
    return_bound: bool
    needs_gradient: bool


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
    return_bound: Any
    options: dict[str, Any]

    @property
    def gradients(self) -> tuple[bool, bool]:
        """Of which operands they are asked for."""
        is_enabled = require_torch().is_grad_enabled()
        return is_enabled and bool(self.a.requires_grad), is_enabled and bool(self.b.requires_grad)

    def key(self, *, with_out: bool) -> Any:
        """What the messages of this rank follow from, and without `out` what those of all ranks do once they have agreed; no
        memory addresses. TypeError where it cannot be a key."""
        out = self.out if with_out else None
        tensors = [None if x is None else (x.shape, x.dtype, x.device) for x in (self.a, self.b, out)]
        grads = self.gradients
        rest = (self.layout, self.result, self.method, self.whole, self.return_bound)
        values = tuple((type(x), x) for x in (*rest, *self.options.values()))
        key = (*tensors, grads, values)
        hash(key)
        return key


def take(group: Group, asked: Asked, check: Any) -> Call:
    """The call that all ranks agree upon; each raises where one refuses its arguments or has other ones."""
    message, key, error = None, None, None
    known: Call | None = None
    try:
        if check not in CHECKS:
            raise ValueError(f"check: {check!r} is unknown; allowed are 'always', 'first'")
        if check == "first" and asked.whole is None:
            raise ValueError(
                "check: 'first' needs whole=(shape of a, shape of b): the shapes of one rank do not say those of the others"
            )
        _check_tensors(asked)
        key = _key(asked, with_out=False)
        if check == "first":
            known = agree.channel(group).known.get(key)
        if known is None:
            message = _message(group, asked, _key(asked, with_out=True))
    except Exception as refusal:
        error = refusal
    if known is not None:  # nobody exchanges anything
        if asked.out is not None:  # which other ranks may not have passed
            _check_out_of(group, known, asked)
        return known
    call: Call = agree.agree(group, message, error, lambda fields: _conclude(asked, fields))
    if key is not None and asked.whole is not None:
        agree.remember(agree.channel(group).known, key, call)
    return call


def _check_out_of(group: Group, call: Call, asked: Asked) -> None:
    """`out` of a call like one that all ranks have agreed upon."""
    if call.needs_gradient:
        raise RuntimeError(_NO_GRADIENT.format("out"))
    check_out(
        asked.out, call.problem.result.local(group.rank), call.dtype, a=asked.a.detach(), b=asked.b.detach()
    )


def _key(asked: Asked, *, with_out: bool) -> Any:
    try:
        return asked.key(with_out=with_out)
    except TypeError:  # an argument that is wrong, which _message says
        return None


def _check_tensors(asked: Asked) -> None:
    """What depends on more than shapes and dtypes."""
    torch = require_torch()
    for name, x in (("a", asked.a), ("b", asked.b), ("out", asked.out)):
        if x is None and name == "out":
            continue
        if not isinstance(x, torch.Tensor):
            raise TypeError(
                f"{name}: {type(x).__name__} is no torch tensor, and only tensors are multiplied over a group; "
                f"torch.from_numpy shares the memory of a NumPy array"
            )
        kind = type(x)
        if kind not in (torch.Tensor, torch.nn.Parameter) and (
            kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
        ):
            raise TypeError(remedies.of_tensor(name, x))
        library.check_kind(name, x)
        library.check_storage(name, x)
        if library.has_tangent(x):
            raise RuntimeError(
                f"{name}: the tensor has a tangent, and products over a group have gradients alone"
            )
        if x.device != asked.a.device:
            raise RuntimeError(f"{name}: device {x.device} differs from {asked.a.device}, where a lies")
    if asked.out is not None:
        library.check_not_lazy(asked.out)
        check_out(asked.out, tuple(asked.out.shape), asked.out.dtype, a=asked.a.detach(), b=asked.b.detach())


def _message(group: Group, asked: Asked, key: Any) -> bytes:
    """What this rank says of the call."""
    messages = agree.channel(group).messages
    message: bytes | None = None if key is None else messages.get(key)
    if message is None:
        message = agree.encode(_fields(group, asked))
        if key is not None:
            agree.remember(messages, key, message)
    return message


def _fields(group: Group, asked: Asked) -> agree.Fields:
    """What this rank was called with, checked as far as it can be by itself."""
    a, b, out = asked.a, asked.b, asked.out
    if not isinstance(asked.layout, (tuple, list)) or len(asked.layout) != 2:
        raise ValueError(f"layout: {asked.layout!r} is not a pair of names, one of a and one of b")
    words = [check_layout(f"layout of {name}", word) for name, word in zip("ab", asked.layout, strict=True)]
    result = natural(*words) if asked.result is None else check_layout("result", asked.result)
    check_method(asked.method)
    for name, x, word in (("a", a, words[0]), ("b", b, words[1])):
        if x.ndim < 2 + (word == "stack"):
            needs = "a stack of matrices" if word == "stack" else "a matrix or a stack of matrices"
            raise ValueError(f"{name}: layout {word!r} needs {needs}, its shape is {tuple(x.shape)}")
    if group.backend(a.device) == "":
        raise RuntimeError(
            f"a: device {a.device} is served by no backend of the group; it has {_backends(group)}"
        )
    needs_gradient = any(asked.gradients)
    if needs_gradient and (out is not None or asked.return_bound):
        name = "out" if out is not None else "return_bound"
        raise RuntimeError(_NO_GRADIENT.format(name))
    dry_run(asked, max(a.shape[-1], b.shape[-2]))
    options = {name: shown(value) for name, value in asked.options.items()}
    return {
        "library": agree.identity(),
        "device": a.device.type,
        "layout of a": words[0],
        "layout of b": words[1],
        "result": result,
        "method": asked.method,
        "dtype of a": str(a.dtype),
        "dtype of b": str(b.dtype),
        "gradients": list(asked.gradients),
        "return_bound": bool(asked.return_bound),
        "whole": None if asked.whole is None else _whole_shapes(asked.whole),
        **options,
        "a": list(a.shape),
        "b": list(b.shape),
        "host": platform.node(),
        "out": None if out is None else [list(out.shape), str(out.dtype)],
    }


_NO_GRADIENT = "{}: it is not for tensors that require grad; pass detached ones"
# Fields that may be others on each rank.
_OWN = ("a", "b", "host", "out")


def natural(a: str, b: str) -> str:
    """The layout of the result where none is asked for: as far as may be, that which leaves operands where they are."""
    if "stack" in (a, b):
        return "stack"
    if a == "rows":
        return "rows"
    if b == "columns":
        return "columns"
    return "rows" if a == "columns" or b == "rows" else "replicated"


def _backends(group: Group) -> str:
    torch = require_torch()
    found = {kind: group.backend(torch.device(kind)) for kind in ("cpu", "cuda")}
    return ", ".join(f"{name} for {kind}" for kind, name in found.items() if name) or "none"


def shown(value: Any) -> Any:
    """An option as all ranks can compare it."""
    if isinstance(value, Plan):
        digest = hashlib.blake2b(repr(value._key()).encode(), digest_size=8).hexdigest()
        return f"{value.scheme} {value.backend} {value.family} of {value.bits} bits, {len(value.terms)} products, {digest}"
    return value if value is None or isinstance(value, (str, bool)) else int(value)


def _whole_shapes(whole: Any) -> list[list[int]]:
    if not isinstance(whole, (tuple, list)) or len(whole) != 2:
        raise ValueError(
            f"whole: {whole!r} is not a pair of shapes, that of the whole a and that of the whole b"
        )
    return [[int(extent) for extent in shape] for shape in whole]


def dry_run(asked: Asked, k: int) -> Any:
    """The dtype of the result, from a product without entries: raises what ``ozfp4.matmul`` raises of arguments, dtypes, devices
    and of this inner dimension."""
    a, b = asked.a.detach().new_empty((0, k)), asked.b.detach().new_empty((k, 0))
    found = matmul(a, b, return_bound=asked.return_bound, **asked.options)
    return found[0].dtype if asked.return_bound else found.dtype


def _conclude(asked: Asked, fields: list[agree.Fields]) -> Call:
    """The call, of what all ranks said; or an error that is the same on each, as it follows from that alone."""
    first = fields[0]
    agree.check_alike(fields, ("library",))  # another one may say other things
    agree.check_alike(fields, tuple(name for name in first if name not in _OWN))
    a, b = (_placed(name, first[f"layout of {name}"], [each[name] for each in fields]) for name in "ab")
    whole = first["whole"]
    for name, placed, said in zip("ab", (a, b), whole or (None, None), strict=True):
        if said is not None and tuple(said) != placed.shape:
            raise ValueError(
                f"whole: {name} has shape {tuple(said)} there, and the parts of the ranks make {placed.shape}"
            )
    shape = matmul_shape(a.shape, b.shape)
    result = _placed_result(first["result"], shape.result, len(fields))
    for name, placed in (("a", a), ("b", b)):
        axes = len(shape.result)
        if placed.is_stack_cut and (len(placed.shape) != axes or placed.shape[0] != shape.result[0]):
            raise ValueError(
                f"layout of {name}: 'stack' cuts the first axis of the result, {shape.result}, and its shape is {placed.shape}; "
                "an operand that is repeated there is replicated"
            )
    dtype = dry_run(asked, shape.k)
    for rank, each in enumerate(fields):
        _check_result(rank, each["out"], result.local(rank), dtype)
    hosts = len({each["host"] for each in fields})
    items = asked.a.element_size(), asked.b.element_size(), dtype.itemsize
    problem = Problem(len(fields), a, b, result, *items, first["device"], hosts)
    check_serves(problem, first["method"], asked.a.dtype, asked.b.dtype, asked.options, first["return_bound"])
    return Call(
        problem, dtype, asked.options, first["method"], first["return_bound"], any(first["gradients"])
    )


def _placed(name: str, word: str, shapes: list[list[int]]) -> Placed:
    """How an operand lies; ValueError where the parts of the ranks are not those that ``torch.chunk`` makes."""
    axes = {len(shape) for shape in shapes}
    axis = axis_of(word, len(shapes[0]))
    others = [
        [extent for place, extent in enumerate(shape, -len(shape)) if place != axis] for shape in shapes
    ]
    if len(axes) > 1 or any(other != others[0] for other in others):
        agree.check_alike([{f"shape of {name}": tuple(shape)} for shape in shapes], (f"shape of {name}",))
    shape = list(shapes[0])
    if axis is None:
        return Placed(tuple(shape))
    sizes = tuple(each[axis] for each in shapes)
    shape[axis] = sum(sizes)
    expected = chunk_sizes(sum(sizes), len(shapes))
    if sizes != expected:
        raise ValueError(
            f"{name}: layout {word!r} has the parts that torch.chunk makes of {sum(sizes)}, {expected}; those of the "
            f"ranks are {sizes}"
        )
    return Placed(tuple(shape), axis, sizes)


def _placed_result(word: str, shape: Extents, ranks: int) -> Placed:
    if word == "stack" and len(shape) < 3:
        raise ValueError(f"result: 'stack' needs a stack of matrices, and its shape is {shape}")
    axis = axis_of(word, len(shape))
    return Placed(shape) if axis is None else Placed(shape, axis, chunk_sizes(shape[axis], ranks))


def _check_result(rank: int, out: Any, shape: Extents, dtype: Any) -> None:
    if out is None:
        return
    given, kind = tuple(out[0]), out[1]
    if given != shape:
        raise ValueError(f"out: shape {given} on rank {rank} is not that of its part of the result, {shape}")
    if kind != str(dtype):
        raise TypeError(f"out: dtype {kind} on rank {rank} is not the result's dtype {dtype}")


@lru_cache(maxsize=4)
def bound_dtype(is_complex: bool) -> Any:
    torch = require_torch()
    return torch.complex128 if is_complex else torch.float64
