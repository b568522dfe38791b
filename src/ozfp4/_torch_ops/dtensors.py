"""How the operators take DTensors: which placements of operands give which of the result, on one dimension of a mesh; and
products of DTensors from ``ozfp4.matmul`` and ``gemm``.

An entry of a product depends on its row of A and its column of B alone. A cut of the inner dimension is in no list, as a sum of
results that are already rounded is another number. DTensor then gathers an operand that is cut there, and reduces a partial
sum, before it multiplies.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from .._dispatch.plain import products
from .._request.library import check_kind, dtensor_class, is_dtensor, require_torch, unwatched
from .._request.operands import check_addend_shape, matmul_shape
from .._support import torch_private
from .agree import device_of, together

torch: Any = require_torch()

# Placements of the result, and of the arguments: None of what is no tensor.
Sharding = tuple[list[Any], list[Any]]


class Cut(NamedTuple):
    """Axes that are cut alike: of the result, and of each operand, None where an operand is there as a whole."""

    result: int
    a: int | None
    b: int | None


def cuts_of(a: tuple[int, ...], b: tuple[int, ...]) -> list[Cut]:
    """The cuts of operands of these shapes, their rows and columns first. Precondition: as ``matmul_shape`` takes them.

    >>> cuts_of((5, 6), (6, 7))
    [Cut(result=0, a=0, b=None), Cut(result=1, a=None, b=1)]
    >>> cuts_of((3, 5, 6), (6,))
    [Cut(result=1, a=1, b=None), Cut(result=0, a=0, b=None)]
    """
    has_rows, has_columns = len(a) > 1, len(b) > 1
    stack = max(len(a), len(b), 2) - 2
    found = []
    if has_rows:
        found.append(Cut(stack, len(a) - 2, None))
    if has_columns:
        found.append(Cut(stack + has_rows, None, len(b) - 1))
    for axis in range(stack):
        of_a, of_b = (_axis_of_stack(shape, axis - stack) for shape in (a, b))
        if of_a is not None or of_b is not None:
            found.append(Cut(axis, of_a, of_b))
    return found


def _axis_of_stack(shape: tuple[int, ...], from_last: int) -> int | None:
    """The axis of a stack, counted from the last of them, that an operand has entries along; None where it is repeated."""
    axis = len(shape) - 2 + from_last
    return axis if axis >= 0 and shape[axis] != 1 else None


def placed(axis: int | None) -> Any:
    placements = sys.modules["torch.distributed.tensor"]
    return placements.Replicate() if axis is None else placements.Shard(axis)


def _of_matmul(a: Any, b: Any, *others: Any, **settings: Any) -> list[Sharding]:
    whole = placed(None)
    rest = [None] * len(others)
    cuts = cuts_of(tuple(a.shape), tuple(b.shape))
    split = [([placed(cut.result)], [placed(cut.a), placed(cut.b), *rest]) for cut in cuts]
    return split if _is_split(a, b, cuts) else [*split, ([whole], [whole, whole, *rest])]


def _is_split(a: Any, b: Any, cuts: list[Cut]) -> bool:
    """Whether no rank should have the whole product: where both operands lie on several ranks along each dimension of the mesh,
    and some axis is long enough for a cut. DTensor rates what it sends alone, and would have every rank multiply all."""
    ranks = a.mesh.size()
    if not all(p.is_shard() and q.is_shard() for p, q in zip(a.placements, b.placements, strict=True)):
        return False
    shapes = tuple(a.shape), tuple(b.shape)
    return any(
        all(axis is None or shape[axis] >= ranks for axis, shape in zip(cut[1:], shapes, strict=True))
        for cut in cuts
    )


def _of_gemm(
    a: Any, b: Any, alpha: Any, beta: Any = 0, c: Any = None, *others: Any, **settings: Any
) -> list[Sharding]:
    """As of matmul; C, which broadcasts to the result, has the cuts of it that it has entries along."""
    shardings = []
    axes = max(len(a.shape), len(b.shape), 2) - (len(a.shape) == 1) - (len(b.shape) == 1)
    for (result,), (of_a, of_b) in _of_matmul(a, b):
        of_c = None if c is None else result
        if c is not None and result.is_shard():
            axis = result.dim - axes + len(c.shape)
            of_c = placed(axis if axis >= 0 and c.shape[axis] != 1 else None)
        shardings.append(([result], [of_a, of_b, None, None, of_c, *[None] * len(others)]))
    return shardings


def resolved(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with new DTensors for those that have lazily conjugated or negated local tensors: not all collectives
    take such."""

    def is_lazy(x: Any) -> bool:
        return bool(x.is_conj() or x.is_neg())

    return tuple(x.clone() if is_dtensor(x) and is_lazy(torch_private.local_of(x)) else x for x in arguments)


def whole_along(x: Any, axes: tuple[int, ...]) -> Any:
    """A tensor with none of these axes cut: DTensor joins no axes that are, unless their pieces are of one size."""
    if not is_dtensor(x) or not any(p.is_shard() and p.dim in axes for p in x.placements):
        return x
    return x.redistribute(
        placements=[placed(None) if p.is_shard() and p.dim in axes else p for p in x.placements]
    )


# Not gram: DTensor keeps what it has found of an operator by its tensors and whole numbers, and would take the shape of A A^H for
# that of A^H A. No other argument of a product or update says where and of what shape the result is.
def reshaped(x: Any, shape: tuple[Any, ...]) -> Any:
    """A tensor in another shape. Precondition: of a DTensor with entries, no axis that is joined with others is cut."""
    if is_dtensor(x):
        if tuple(x.shape) == tuple(shape):
            return x
        if x.numel() == 0:  # DTensor cannot tell its axes apart, and that of torch 2.11 and before finds none
            x = whole_along(x, tuple(range(x.ndim)))
            local = x.to_local().reshape(shape)
            return type(x).from_local(local, x.device_mesh, x.placements, run_check=False)
        # DTensor views local entries as the strides of the whole tensor allow, which need not be theirs (torch 2.11).
        x = x.clone(memory_format=torch.contiguous_format)
    return x.reshape(shape)


RULES: dict[str, Callable[..., list[Sharding]]] = {"matmul": _of_matmul, "gemm": _of_gemm}


@lru_cache(maxsize=1)
def register() -> None:
    """Make the lists known to DTensor; RuntimeError where this torch has no way to. Precondition: the program has imported
    ``torch.distributed.tensor``, as whoever has a DTensor has."""
    try:
        from torch.distributed.tensor.experimental import register_sharding
    except ImportError:
        raise RuntimeError(
            f"torch: version {torch.__version__}; products of DTensors need 2.6 or later"
        ) from None
    for name, rule in RULES.items():
        register_sharding(getattr(torch.ops.ozfp4, name).default)(rule)


# ---- Products. One like another that needed no exchange multiplies the local tensors at once: torch's way to an operator takes
# as long as several small products.

_results: dict[tuple[Any, ...], Any] = {}  # how the result lies, by the operator and how its tensors lie
_MOST_RESULTS = 512


def check(**given: Any) -> None:
    """Errors for operands that a product of DTensors refuses: tensors together with DTensors, other meshes, shapes and
    dtypes."""
    tensors = {name: x for name, x in given.items() if x is not None}
    first = next(name for name, x in tensors.items() if is_dtensor(x))
    mesh = tensors[first].device_mesh
    for name, x in tensors.items():
        if not is_dtensor(x):
            if name == "c" and x.ndim == 0:
                continue
            raise TypeError(
                f"{name}: a {type(x).__name__} together with a DTensor ({first}); pass a DTensor, "
                f"torch.distributed.tensor.distribute_tensor({name}, {first}.device_mesh)"
            )
        if x.device_mesh != mesh:
            raise ValueError(
                f"{name}: lies on {x.device_mesh}, and {first} on {mesh}; the operands of a product share one mesh"
            )
    for name, x in tensors.items():
        check_kind(name, x)
    result = matmul_shape(tuple(tensors["a"].shape), tuple(tensors["b"].shape)).result
    if "c" in tensors:
        check_addend_shape(tensors["c"], result)


def again(key: Any, name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any | None:
    """The product if one with this key has been made before and needed no exchange; None otherwise. Settings are those of the
    operator, checked as the local tensors are multiplied."""
    spec = None if key is None else _results.get(key)
    if spec is None:
        return None
    local = [torch_private.local_of(x) if isinstance(x, torch.Tensor) else x for x in arguments]
    return torch_private.dtensor_of(dtensor_class(), products[name](*local, **settings), spec)


def product(key: Any, name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> Any:
    """The product by the operator `name`. Precondition: arguments that :func:`check` has passed, in the order of the schema."""
    register()
    arguments = resolved(arguments)
    operator = getattr(torch.ops.ozfp4, name).default
    first = next(x for x in arguments if is_dtensor(x))
    if settings.get("overflow") == "raise" and first.device_mesh.get_coordinate() is not None:
        with device_of(torch_private.local_of(first)):
            return together(first.device_mesh, lambda: operator(*arguments, **settings))
    result = operator(*arguments, **settings)
    if key is not None and _stays(name, arguments, result):
        if len(_results) >= _MOST_RESULTS:
            _results.clear()
        _results[key] = torch_private.spec_of(result)
    return result


def key_of(name: str, arguments: tuple[Any, ...], settings: dict[str, Any]) -> tuple[Any, ...] | None:
    """The key of products that differ in numbers alone. None for products that may have to be refused, for arguments that
    are not DTensors of plain tensors, and if torch has something to do with the product."""
    if settings.get("overflow") == "raise" or "dtype" in settings:
        return None
    kind: Any = dtensor_class()
    found: list[Any] = [name]
    local: list[Any] = []
    for x in arguments:
        if type(x) is kind:
            if x.requires_grad and torch.is_grad_enabled():
                return None
            found.append(torch_private.spec_of(x))
            local.append(torch_private.local_of(x))
        elif isinstance(x, torch.Tensor):
            return None
        else:
            found.append(x is None)
    return tuple(found) if unwatched().are(tuple(local)) else None


def _stays(name: str, arguments: tuple[Any, ...], result: Any) -> bool:
    """Whether the result is made of local tensors without any exchange: along each dimension of the mesh its placement and
    those of the operands are in the operator's list. An axis that is cut twice may be so in either order, and is left out."""
    lying = [torch_private.spec_of(x) if isinstance(x, torch.Tensor) else x for x in arguments]
    specs = [result, *(spec for spec, x in zip(lying, arguments, strict=True) if isinstance(x, torch.Tensor))]
    if result.device_mesh.get_coordinate() is None:  # a rank that has no part of it
        return False
    try:
        torch_private.dtensor_of(type(result), torch_private.local_of(result), torch_private.spec_of(result))
    except TypeError:
        return False
    for x in specs:
        axes = [p.dim for p in x.placements if p.is_shard()]
        if len(set(axes)) < len(axes):
            return False
    alike = [(out[0], *(p for p in each if p is not None)) for out, each in RULES[name](*lying)]
    return all(found in alike for found in zip(*(x.placements for x in specs), strict=True))
