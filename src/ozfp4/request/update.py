"""What a product is added to: alpha A B + beta C, checked, and then a value."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from . import library
from .arguments import Arguments
from .library import Operands
from .operands import MatmulRequest, matmul_request, matmul_shape
from .out import check_out, is_same_place
from .prepared import NEITHER, Sides

_TRANSPOSES = {"N": False, "T": True, "C": True}


@dataclass(frozen=True, eq=False)
class Update:
    """Finite factors, `alpha` not 0; `c` is an array or a tensor of the result's extents, None where `beta` is 0. It may be the
    result itself."""

    alpha: float
    beta: float
    c: Any


def check_factor(name: str, factor: object) -> float:
    """A factor as a float64; TypeError or ValueError unless it is a finite real number that float64 holds."""
    if isinstance(factor, bool) or not isinstance(factor, numbers.Real):
        raise TypeError(f"{name}: {factor!r}, of type {type(factor).__name__}, is not a real number")
    try:
        value = float(factor)
    except OverflowError:
        raise ValueError(f"{name}: {factor!r} is beyond the largest float64 number") from None
    if not math.isfinite(value):
        raise ValueError(f"{name}: {value} is not finite")
    if value != factor:
        raise ValueError(f"{name}: {factor!r} is not a float64 number, the nearest is {value!r}")
    return value


def check_transpose(name: str, asked: object) -> bool:
    """Whether an operand is taken transposed; ValueError for what says neither."""
    if isinstance(asked, (bool, np.bool_)):
        return bool(asked)
    if isinstance(asked, str) and asked.upper() in _TRANSPOSES:
        return _TRANSPOSES[asked.upper()]
    raise ValueError(f"{name}: {asked!r} is unknown; allowed are False, True, 'N', 'T', 'C'")


def _transposed(name: str, operand: Any, asked: object) -> Any:
    if not check_transpose(f"trans_{name}", asked):
        return operand
    if isinstance(asked, str) and asked.upper() == "C":
        operand = operand.conj()  # real operands themselves
    if operand.ndim < 2:
        raise ValueError(f"trans_{name}: {name} has shape {tuple(operand.shape)}; a transpose needs two axes")
    return operand.swapaxes(-1, -2)


def _take_addend(c: Any, operands: Operands) -> Any:
    """C as the operands are: an array, or a tensor on their device. Errors as those of take_operands."""
    if library.is_tensor(c) != (operands.torch is not None):
        kinds = (
            ["torch tensors", "a NumPy array"]
            if operands.torch is not None
            else ["NumPy arrays", "a torch tensor"]
        )
        raise TypeError(
            f"NumPy arrays and torch tensors cannot be mixed: a and b are {kinds[0]}, c is {kinds[1]}"
        )
    if not operands.on_device:
        return library.check_dtype("c", library.as_array("c", c), library.NUMBERS)
    library.check_tensor("c", c)
    if c.device != operands.a.device:
        raise RuntimeError(f"c: device {c.device} differs from {operands.a.device}, where a lies")
    if _name(c) not in [np.dtype(t).name for t in library.NUMBERS]:
        raise TypeError(
            f"c: dtype {c.dtype} is not supported; allowed are float64, float32, complex128, complex64"
        )
    return c.resolve_conj().resolve_neg()


def _as_complex(c: Any, product: np.dtype[Any]) -> Any:
    """C beside a complex product: with the parts that it has, and else 0. TypeError where C alone is complex."""
    is_complex = np.dtype(_name(c)).kind == "c"
    if product.kind != "c":
        if is_complex:
            raise TypeError(f"c: dtype {c.dtype}, and the product is real, of {product}; make a or b complex")
        return c
    if is_complex:
        return c
    dtype = np.promote_types(_name(c), np.complex64)
    return c.to(getattr(library.require_torch(), dtype.name)) if library.is_tensor(c) else c.astype(dtype)


def _name(x: Any) -> str:
    """Of a dtype, NumPy's or torch's."""
    return str(x.dtype).removeprefix("torch.")


def _without_terms(operands: Operands, fills: bool) -> Operands:
    """The operands with an inner dimension of 0, or, to be multiplied all the same, of one zero."""
    a = operands.a[..., :0]
    b = operands.b[:0] if operands.b.ndim == 1 else operands.b[..., :0, :]
    if fills:
        shapes = ((*a.shape[:-1], 1), (1,) if b.ndim == 1 else (*b.shape[:-2], 1, b.shape[-1]))
        if operands.on_device:
            torch = operands.torch
            a, b = (
                torch.zeros((), dtype=x.dtype, device=x.device).expand(shape)
                for x, shape in zip((a, b), shapes, strict=True)
            )
        else:
            a, b = (np.broadcast_to(x.dtype.type(0), s) for x, s in zip((a, b), shapes, strict=True))
    return operands._replace(a=a, b=b)


def update_request(
    alpha: Any,
    operands: Operands,
    beta: Any,
    c: Any,
    trans_a: Any,
    trans_b: Any,
    asked: Arguments,
    sides: Sides = NEITHER,
) -> MatmulRequest:
    """The request for alpha A B + beta C; its `update` is None where that is A B.

    Where `alpha` is 0 the operands are not read, where `beta` is 0 C is not. `sides` are those of the operands that were
    prepared.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As :func:`matmul_request`; factors that are not finite real numbers, a C that is missing, does not broadcast to the
        result, or shares memory with `out` without being the same.
    """
    alpha, beta = check_factor("alpha", alpha), check_factor("beta", beta)
    for name, side, asked_for in (("a", sides.a, trans_a), ("b", sides.b, trans_b)):
        if side is not None and check_transpose(f"trans_{name}", asked_for):
            raise ValueError(f"trans_{name}: {name} is prepared as it is; prepare its transpose")
    operands = operands._replace(
        a=_transposed("a", operands.a, trans_a), b=_transposed("b", operands.b, trans_b)
    )
    shape = matmul_shape(tuple(operands.a.shape), tuple(operands.b.shape))
    dtype = np.promote_types(_name(operands.a), _name(operands.b))
    if c is None and beta != 0:
        raise ValueError(f"c: is None, and beta is {beta}; without c beta is 0")
    if c is not None:
        c = _as_complex(_take_addend(c, operands), dtype)
        dtype = np.promote_types(dtype, _name(c))
        try:
            fits = np.broadcast_shapes(tuple(c.shape), shape.result) == shape.result
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(
                f"c: shape {tuple(c.shape)} does not broadcast to the result's shape {shape.result}"
            )
    if alpha == 0 or shape.k == 0:
        operands, alpha, sides = _without_terms(operands, fills=beta != 0), 1.0, NEITHER
    request = matmul_request(operands, asked, dtype, prepared=sides)
    if alpha == 1 and beta == 0:
        return request
    if beta == 0:
        return replace(request, update=Update(alpha, beta, None))
    if request.out is not None and not is_same_place(request.out, c):
        check_out(request.out, request.shape.result, request.dtype, c=c)
    whole = c.expand(shape.result) if operands.on_device else np.broadcast_to(c, shape.result)
    return replace(request, update=Update(alpha, beta, whole))
