"""What a product is added to: alpha A B + beta C, checked, and then a value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._options import Options
from .._support.fp_mode import in_default_mode
from . import library
from .complex import is_complex
from .factors import check_factor
from .library import Operands
from .operands import MatmulRequest, broadcast, matmul_request, matmul_shape
from .out import check_out, is_same_place
from .prepared import NEITHER, Sides

_TRANSPOSES = {"N": False, "T": True, "C": True}


@dataclass(frozen=True, eq=False)
class Update:
    """Finite factors; `c` is an array or a tensor of the result's extents, None where
    `beta` is 0. It may be the result itself."""

    alpha: complex
    beta: complex
    c: Any


def check_transpose(name: str, asked: object) -> bool:
    """Whether an operand is taken transposed; ValueError for what says neither."""
    if isinstance(asked, (bool, np.bool_)):
        return bool(asked)
    if isinstance(asked, str) and asked.upper() in _TRANSPOSES:
        return _TRANSPOSES[asked.upper()]
    raise ValueError(f"{name}: {asked!r} is unknown; allowed are False, True, 'N', 'T', 'C'")


def transposed_operands(operands: Operands, trans_a: object, trans_b: object) -> Operands:
    """The operands, each with its last two axes exchanged where that is asked for; ValueError where it has but one."""
    a, b = transposed("a", operands.a, trans_a), transposed("b", operands.b, trans_b)
    return operands._replace(a=a, b=b)


def transposed(name: str, operand: Any, asked: object) -> Any:
    """The operand, or as `trans_` of its name asks a view of its transpose or adjoint; ValueError where there is none."""
    if not check_transpose(f"trans_{name}", asked):
        return operand
    if isinstance(asked, str) and asked.upper() == "C":
        operand = operand.conj()  # real operands themselves
    if operand.ndim < 2:
        raise ValueError(f"trans_{name}: {name} has shape {tuple(operand.shape)}; a transpose needs two axes")
    return operand.swapaxes(-1, -2)


def take_addend(c: Any, operands: Operands) -> Any:
    """C as the operands are: an array, or a tensor on their device; None where it is None. Errors as those of take_operands."""
    if c is None:
        return None
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
        return library.check_dtype("c", library.as_array("c", c), library.TAKEN)
    library.check_tensor("c", c)
    library.check_device("c", c, operands.a)
    return c.resolve_conj().resolve_neg()


@in_default_mode
def _as_complex(c: Any, product: np.dtype[Any]) -> Any:
    """C beside a complex product: with the parts that it has, and else 0. TypeError where C alone is complex."""
    if product.kind != "c":
        if is_complex(c):
            raise TypeError(f"c: dtype {c.dtype}, and the product is real, of {product}; make a or b complex")
        return c
    if is_complex(c):
        return c
    dtype = np.promote_types(library.name_of(c.dtype), np.complex64)
    return c.to(getattr(library.require_torch(), dtype.name)) if library.is_tensor(c) else c.astype(dtype)


def check_addend_shape(c: Any, shape: tuple[int, ...]) -> None:
    """ValueError unless C broadcasts to a result of this shape."""
    if broadcast(tuple(c.shape), shape) != shape:
        raise ValueError(f"c: shape {tuple(c.shape)} does not broadcast to the result's shape {shape}")


def check_addend_given(c: Any, beta: complex) -> None:
    """ValueError where C is needed and missing."""
    if c is None and beta != 0:
        shown = beta if beta.imag else beta.real
        raise ValueError(f"c: is None, and beta is {shown}; without c beta is 0")


def update_request(
    alpha: Any,
    operands: Operands,
    beta: Any,
    c: Any,
    trans_a: Any,
    trans_b: Any,
    asked: Options,
    sides: Sides = NEITHER,
) -> MatmulRequest:
    """The request for alpha A B + beta C; its `update` is None where that is A B.

    Where `alpha` is 0 the operands are not read, where `beta` is 0 C is not. `c` is what :func:`take_addend` returns, `sides` are
    those of the operands that were prepared.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As :func:`matmul_request`; factors that are not finite numbers, or imaginary where the product is real, a C that is
        missing, does not broadcast to the result, or shares memory with `out` without being the same; an imaginary alpha where
        every complex operand is prepared.
    """
    alpha, beta = check_factor("alpha", alpha), check_factor("beta", beta)
    for name, side, asked_for in (("a", sides.a, trans_a), ("b", sides.b, trans_b)):
        if side is not None and check_transpose(f"trans_{name}", asked_for):
            raise ValueError(f"trans_{name}: {name} is prepared as it is; prepare its transpose")
    operands = transposed_operands(operands, trans_a, trans_b)
    shape = matmul_shape(tuple(operands.a.shape), tuple(operands.b.shape))
    dtype = np.promote_types(*(library.name_of(x.dtype) for x in operands[:2]))
    check_complex(dtype, alpha=alpha, beta=beta)
    check_addend_given(c, beta)
    if c is not None:
        c = _as_complex(c, dtype)
        dtype = np.promote_types(dtype, library.name_of(c.dtype))
        check_addend_shape(c, shape.result)
    if alpha.imag != 0 and alpha.real == 0:
        _check_turned(operands, sides, alpha)
    request = matmul_request(operands, asked, dtype, prepared=sides)
    if beta == 0:
        return request if alpha == 1 else replace(request, update=Update(alpha, beta, None))
    if request.out is not None and not is_same_place(request.out, c):
        check_out(request.out, request.shape.result, request.dtype, c=c)
    whole = c.expand(shape.result) if operands.on_device else np.broadcast_to(c, shape.result)
    return replace(request, update=Update(alpha, beta, whole))


def check_complex(product: np.dtype[Any], **factors: complex) -> None:
    """TypeError for a factor with an imaginary part where the product is real."""
    for name, factor in factors.items():
        if factor.imag != 0 and product.kind != "c":
            raise TypeError(
                f"{name}: {factor} is complex, and the product is real, of {product}; make a or b complex"
            )


def _check_turned(operands: Operands, sides: Sides, alpha: complex) -> None:
    """ValueError where every complex operand is prepared, so that none can be taken i times. Range: one is complex."""
    names = [name for name in ("a", "b") if is_complex(getattr(operands, name))]
    if all(getattr(sides, name) is not None for name in names):
        raise ValueError(
            f"alpha: {alpha} is imaginary, and {names[0]} is prepared as it is; prepare 1j times it"
        )
