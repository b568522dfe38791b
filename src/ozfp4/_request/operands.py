"""A product as a value: what was passed and asked for, checked, by NumPy's rules of shapes for arrays and tensors alike."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .._options import DEFAULTS, Options
from . import library
from .library import Operands, is_complex, name_of, take_operands
from .out import check_out, is_same_place
from .prepared import DOUBLE, SIDES, SINGLE, Prepared
from .types import Array

Extents = tuple[int, ...]


# ---- Shapes ---------------------------------------------------------------------------------------------------------


class MatmulShape(NamedTuple):
    """Extents of one product: `stack` of m × k by k × n; `result` is what the caller sees, without the axes that 1-D
    operands lack."""

    stack: Extents
    m: int
    n: int
    k: int
    a_vector: bool
    b_vector: bool
    result: Extents


def matmul_shape(a: Extents, b: Extents) -> MatmulShape:
    """The product's extents; ValueError naming the shapes where they do not fit.

    >>> matmul_shape((5, 1, 3, 4), (2, 4)[::-1])
    MatmulShape(stack=(5, 1), m=3, n=2, k=4, a_vector=False, b_vector=False, result=(5, 1, 3, 2))
    """
    for name, shape in (("a", a), ("b", b)):
        if not shape:
            raise ValueError(f"{name}: a 0-d array is not a matrix; at least 1 dimension is needed")
    a_vector, b_vector = len(a) == 1, len(b) == 1
    m, k_a = (1, a[0]) if a_vector else a[-2:]
    k_b, n = (b[0], 1) if b_vector else b[-2:]
    if k_a != k_b:
        raise ValueError(f"inner dimensions differ: a has shape {a}, b has shape {b}: {k_a} != {k_b}")
    stack = a[:-2] if a[:-2] == b[:-2] else broadcast(a[:-2], b[:-2])
    if stack is None:
        raise ValueError(f"stacks do not broadcast: a has shape {a}, b has shape {b}")
    result = (*stack, *(() if a_vector else (m,)), *(() if b_vector else (n,)))
    return MatmulShape(stack, m, n, k_a, a_vector, b_vector, result)


def check_matrices(shape: Extents) -> None:
    """ValueError unless an operand of this shape is a matrix or a stack of them."""
    if len(shape) < 2:
        raise ValueError(
            f"a: a matrix or a stack of matrices is needed, its shape is {shape}; ozfp4.matmul multiplies vectors"
        )


def broadcast(x: Extents, y: Extents) -> Extents | None:
    """The shape that both broadcast to, None where there is none. Extents may be symbols of torch, which are compared alone.

    >>> broadcast((5, 1, 3), (2, 1)), broadcast((2,), (3,))
    ((5, 2, 3), None)
    """
    if len(x) < len(y):
        x, y = y, x
    missing = len(x) - len(y)
    common = list(x)
    for axis, extent in enumerate(y, missing):
        if common[axis] == 1:
            common[axis] = extent
        elif extent != 1 and extent != common[axis]:
            return None
    return tuple(common)


def matrices(shape: MatmulShape, result: Any) -> Any:
    """A result of the caller's shape with both matrix axes, as a view."""
    result = result[..., None] if shape.b_vector else result
    return result[..., None, :] if shape.a_vector else result


def with_matrix_axes(a: Any, b: Any) -> tuple[Any, Any]:
    """Views with both matrix axes and equally many axes of stacks."""
    rows = a[None, :] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    axes = max(rows.ndim, columns.ndim)
    return rows[(None,) * (axes - rows.ndim)], columns[(None,) * (axes - columns.ndim)]


def _broadcast_stack(x: Array, stack: Extents) -> Array:
    """Matrices with all axes of a stack; as they are where they have them, which takes a tenth of the time."""
    return x if x.shape[:-2] == stack else np.broadcast_to(x, (*stack, *x.shape[-2:]))


# ---- Prepared operands ----------------------------------------------------------------------------------------------


class Sides(NamedTuple):
    """Which operands of a product are prepared."""

    a: Prepared | None = None
    b: Prepared | None = None


NEITHER = Sides()


def take(
    a: Any, b: Any, out: Any, options: Mapping[str, Any], allowed: tuple[type, ...]
) -> tuple[Options, Operands, Sides]:
    """The options of a product, its operands, and which of them are prepared."""
    if not (isinstance(a, Prepared) or isinstance(b, Prepared)):
        return Options.of(options), take_operands(a, b, out, allowed), NEITHER
    sides = Sides(*(x if isinstance(x, Prepared) else None for x in (a, b)))
    asked = _options_of(sides, options)
    x, y = (x if side is None else side._entries for x, side in zip((a, b), sides, strict=True))
    return asked, take_operands(x, y, out, allowed), sides


def _options_of(sides: Sides, given: Mapping[str, Any]) -> Options:
    """The options of a product, with the plan and the accuracy of a prepared operand. ValueError for options that it was not
    prepared for, and for one on the other side or modified since."""
    name, first = ("a", sides.a) if sides.a is not None else ("b", sides.b)
    assert first is not None
    asked = Options.of({**given, "accuracy": given.get("accuracy") or first.accuracy})
    for own, side, prepared in zip("ab", SIDES, sides, strict=True):
        if prepared is None:
            continue
        if prepared.side != side:
            raise ValueError(
                f"{own}: it was prepared for the {prepared.side} side; use ozfp4.prepare(x, side={side!r})"
            )
        tensor = None if prepared._watched is None else prepared._watched()
        if tensor is not None and tensor._version != prepared._version:
            raise ValueError(
                f"{own}: the tensor was modified in place since it was prepared; ozfp4.prepare it anew"
            )
    planned = {key: getattr(first.plan, key) for key in ("scheme", "backend", "bits", "family")}
    for key, value in {**planned, "plan": first.plan, "accuracy": first.accuracy}.items():
        if given.get(key, DEFAULTS[key]) not in (DEFAULTS[key], value):
            if key == "plan":
                raise ValueError(f"plan: {name} was prepared by another plan; prepare it with this one")
            asks = f"{given[key]!r} is not what {name} was prepared for, {value!r}"
            raise ValueError(f"{key}: {asks}; prepare it with {key}={given[key]!r}")
    return asked._replace(plan=first.plan, accuracy=first.accuracy)


def _check_prepared(sides: Sides, operands: Operands, is_single: bool) -> None:
    """ValueError for one that was prepared for other operands, or for results of another precision, and two of other plans."""
    for name, prepared, other in zip("ab", sides, "ba", strict=True):
        if prepared is None:
            continue
        kind = "complex" if is_complex(getattr(operands, other).dtype) else "real"
        if prepared.other not in ("any", kind):
            raise ValueError(
                f"{name}: it was prepared for {prepared.other} operands, and {other} is {kind}; prepare it with other={kind!r}"
            )
        if (prepared.result_dtype in SINGLE) != is_single:
            made = (SINGLE if is_single else DOUBLE)[prepared.other != "any"]
            raise ValueError(
                f"{name}: it was prepared for results of {prepared.result_dtype}, and all operands make it {made}; "
                f"prepare it with dtype={made!r}"
            )
    a, b = sides
    if a is not None and b is not None and (a.plan, a.accuracy) != (b.plan, b.accuracy):
        raise ValueError(
            f"b: it was prepared for another plan, or accuracy {b.accuracy!r}, a for {a.accuracy!r}; prepare both alike"
        )


# ---- Products -------------------------------------------------------------------------------------------------------


def check_wraps(asked: Options, given: Sequence[Any], used: Sequence[Any], dtype: str | None = None) -> None:
    """ValueError for overflow="raise" with operands, or None, that have no product of integers. `used`: as they are
    multiplied; `dtype`: the one that was asked for."""
    if asked.raises:
        before, after = ([name_of(x.dtype) for x in each if x is not None] for each in (given, used))
        made = f"promote to {np.result_type(*after)}" if dtype is None else f"become {dtype} by dtype"
        raise ValueError(f"overflow: 'raise' is for products of integers; {', '.join(before)} {made}")


class Update(NamedTuple):
    """Finite factors, and C of the result's extents, None where `beta` is 0; it may be the result itself."""

    alpha: complex
    beta: complex
    addend: Any


@dataclass(frozen=True, eq=False)
class MatmulRequest:
    """One product: operands, shape, dtype, where to, and how. :func:`matmul_request` refuses what cannot be done."""

    a: Any  # on the CPU arrays with both matrix axes and all axes of the stack, on a device tensors as they were passed
    b: Any
    out: Any  # of the result's shape and dtype, apart from the operands in memory; or None
    shape: MatmulShape
    dtype: Any  # of the result, NumPy's or torch's
    single: bool  # whether the result is float32 or complex64
    torch: Any  # the module where the operands are tensors, else None
    asked: Options
    upper: Any = None  # as `out`, for a second result
    prepared: Sides = NEITHER
    is_complex: bool = False  # whether the result is
    update: Update | None = None


def matmul_request(
    operands: Operands, asked: Options, dtype: Any = None, upper: Any = None, prepared: Sides = NEITHER
) -> MatmulRequest:
    """The request for a product of these operands. `dtype` is that of the result, by default the one that both promote to.
    `upper`, like the operands' `out`, is for a second result. `prepared` are operands that were prepared; the operands have
    their entries."""
    a, b, out, torch, on_device = operands
    shape = matmul_shape(tuple(a.shape), tuple(b.shape))
    if on_device:
        dtype = (
            torch.promote_types(a.dtype, b.dtype) if dtype is None else getattr(torch, np.dtype(dtype).name)
        )
    else:
        dtype = np.promote_types(a.dtype, b.dtype) if dtype is None else np.dtype(dtype)
        a = _broadcast_stack(a[None, :] if shape.a_vector else a, shape.stack)
        b = _broadcast_stack(b[:, None] if shape.b_vector else b, shape.stack)
    single = name_of(dtype) in SINGLE
    if prepared is not NEITHER:
        _check_prepared(prepared, operands, single)
    if out is not None:
        check_out(out, shape.result, dtype, a=a, b=b)
    if upper is not None:
        check_out(upper, shape.result, dtype, a=a, b=b, **{"out[0]": out})
    return MatmulRequest(a, b, out, shape, dtype, single, torch, asked, upper, prepared, is_complex(dtype))


# ---- Updates --------------------------------------------------------------------------------------------------------


def check_factor(name: str, factor: Any) -> complex:
    """A factor with parts that are float64 numbers; TypeError or ValueError unless it is a finite number with such parts."""
    _check_number(name, factor)
    if isinstance(factor, numbers.Real):
        return complex(_part(name, factor))
    return complex(_part(f"{name}.real", factor.real), _part(f"{name}.imag", factor.imag))


def _check_number(name: str, factor: object) -> None:
    if isinstance(factor, bool) or not isinstance(factor, numbers.Complex):
        kind, shape = type(factor).__name__, getattr(factor, "shape", None)
        # torch reads a tensor to show it, and crashes where its storage is freed.
        what = f"{factor!r}, of type {kind}," if shape is None else f"{kind} of shape {tuple(shape)}"
        raise TypeError(f"{name}: {what} is not a number")


def _part(name: str, part: Any) -> float:
    if isinstance(part, numbers.Integral):  # NumPy compares its own integers with floats as floats
        part = int(part)
    try:
        value = float(part)
    except OverflowError:
        value = math.inf
    if value != part or not math.isfinite(value):
        raise ValueError(f"{name}: {part!r} is not a finite float64 number")
    return value


def check_integer_factor(name: str, factor: Any) -> int:
    """A factor of integers, of any size; TypeError for what is no number, ValueError for one that is no integer."""
    _check_number(name, factor)
    try:
        value = int(factor.real)
    except (OverflowError, ValueError):  # infinity and NaN
        value = None
    if value is None or value != factor:
        raise ValueError(
            f"{name}: {factor!r} is no integer, and all operands are; convert one of them to floating-point numbers"
        )
    return value


def check_transpose(name: str, asked: object) -> bool:
    """Whether an operand is taken transposed; ValueError for what says neither."""
    if isinstance(asked, (bool, np.bool_)):
        return bool(asked)
    if isinstance(asked, str) and asked.upper() in ("N", "T", "C"):
        return asked.upper() != "N"
    raise ValueError(f"{name}: {asked!r} is unknown; allowed are False, True, 'N', 'T', 'C'")


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
        kinds = ("a NumPy array", "a torch tensor")
        a, b = kinds[operands.torch is not None], kinds[operands.torch is None]
        raise TypeError(f"NumPy arrays and torch tensors cannot be mixed: a is {a}, c is {b}")
    if not operands.on_device:
        return library.take_array("c", c, library.TAKEN)
    library.check_device("c", c, operands.a)
    return library.take_tensor("c", c, library.TAKEN).resolve_conj()


def check_addend_given(c: Any, beta: complex) -> None:
    """ValueError where C is needed and missing."""
    if c is None and beta != 0:
        raise ValueError(f"c: missing, but beta is {beta if beta.imag else beta.real}; pass c or beta=0")


def check_addend_shape(c: Any, shape: Extents) -> None:
    """ValueError unless C broadcasts to a result of this shape."""
    if broadcast(tuple(c.shape), shape) != shape:
        raise ValueError(f"c: shape {tuple(c.shape)} does not broadcast to the result's shape {shape}")


def update_request(
    alpha: complex, operands: Operands, beta: complex, c: Any, asked: Options, sides: Sides = NEITHER
) -> MatmulRequest:
    """The request for alpha A B + beta C; its `update` is None where that is A B. Where `alpha` is 0 the operands are not read,
    where `beta` is 0 C is not. The operands are transposed, `c` is as :func:`take_addend` returns it."""
    product = np.promote_types(*(name_of(x.dtype) for x in operands[:2]))
    check_addend_given(c, beta)
    dtype = product
    if product.kind != "c":
        _check_real(product, alpha, beta, c)
    elif c is not None and not is_complex(c.dtype):
        c = library.converted(c, np.promote_types(name_of(c.dtype), np.complex64).name)
    if c is not None:
        dtype = np.promote_types(product, name_of(c.dtype))
    if alpha.imag != 0 and alpha.real == 0:
        _check_turned(operands, sides, alpha)
    request = matmul_request(operands, asked, dtype, prepared=sides)
    extents = request.shape.result
    if c is not None:
        check_addend_shape(c, extents)
    if beta == 0:
        return request if alpha == 1 else replace(request, update=Update(alpha, beta, None))
    if request.out is not None and not is_same_place(request.out, c):
        check_out(request.out, extents, request.dtype, c=c)
    whole = c.expand(extents) if operands.on_device else np.broadcast_to(c, extents)
    return replace(request, update=Update(alpha, beta, whole))


def _check_real(product: np.dtype[Any], alpha: complex, beta: complex, c: Any) -> None:
    """TypeError for complex terms of a real product."""
    terms = [f"{name}: {x} is complex" for name, x in (("alpha", alpha), ("beta", beta)) if x.imag != 0]
    if c is not None and is_complex(c.dtype):
        terms.append(f"c: dtype {c.dtype}")
    if terms:
        raise TypeError(f"{terms[0]}, and the product is real, of {product}; make a or b complex")


def _check_turned(operands: Operands, sides: Sides, alpha: complex) -> None:
    """ValueError where every complex operand is prepared, so that none can be taken i times. Precondition: one is complex."""
    names = [name for name in ("a", "b") if is_complex(getattr(operands, name).dtype)]
    if all(getattr(sides, name) is not None for name in names):
        raise ValueError(
            f"alpha: {alpha} is imaginary, and cannot be combined with a prepared {names[0]}; prepare 1j * {names[0]} instead"
        )
