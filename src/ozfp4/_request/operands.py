"""A product as a value: what was passed and asked for, checked, by NumPy's rules of shapes for arrays and tensors alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._options import Options
from .library import Operands, is_complex, name_of
from .out import check_out
from .prepared import NEITHER, Sides, check_others, check_result

Extents = tuple[int, ...]
Array = npt.NDArray[Any]


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
    stack_a, stack_b = a[:-2], b[:-2]
    if stack_a == stack_b:
        stack = stack_a
    else:
        common = broadcast(stack_a, stack_b)
        if common is None:
            raise ValueError(f"stacks do not broadcast: a has shape {a}, b has shape {b}")
        stack = common
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


def broadcast_operands(a: Array, b: Array, shape: MatmulShape) -> tuple[Array, Array]:
    """Both with the matrix axes and all axes of the stack, stride 0 along broadcast ones."""
    rows = a[np.newaxis, :] if shape.a_vector else a
    columns = b[:, np.newaxis] if shape.b_vector else b
    return broadcast_stack(rows, shape.stack), broadcast_stack(columns, shape.stack)


def broadcast_stack(x: Array, stack: Extents) -> Array:
    """Matrices with all axes of a stack; as they are where they have them, which takes a tenth of the time."""
    return x if x.shape[:-2] == stack else np.broadcast_to(x, (*stack, *x.shape[-2:]))


# Up to here csrc/arith/accuracy and arith/exact prove certificates, bounds and exact sums.
LONGEST_CERTIFIED = 2**31


def check_counted(asked: Options, k: int, pairs: bool) -> None:
    """ValueError for more entries in a row or a column than an accuracy counts; `pairs`: both operands are complex."""
    most, where = (30, " where both operands are complex") if pairs else (31, "")
    if k > 2**most and (asked.accuracy != "scaled" or asked.return_bound):
        raise ValueError(
            f"accuracy: {asked.accuracy!r}{' with a bound' if asked.return_bound else ''} counts the entries of rows and "
            f"columns up to K <= 2**{most}{where}, the inner dimension is {k}; accuracy='scaled' without a bound has no "
            "such limit"
        )


@dataclass(frozen=True, eq=False)
class MatmulRequest:
    """One product: operands, shape, dtype, where to, and how. Making one refuses what cannot be done.

    Attributes
    ----------
    a, b : array or tensor
        On the CPU arrays with both matrix axes and all axes of the stack; on a device tensors as they were passed.
    out : array, tensor or None
        Of the result's shape and dtype, apart from the operands in memory.
    shape : MatmulShape
    dtype : NumPy or torch dtype
        Of the result.
    single : bool
        The operands are float32 or complex64, and so is the result.
    torch : module or None
        torch where the operands are tensors.
    asked : Options
    upper : array, tensor or None
        As `out`, for a second result.
    prepared : Sides
        What was made of the operands before.
    is_complex : bool
        The result is complex.
    update : Update or None
        What the product is scaled by and added to (request/update.py).
    """

    a: Any
    b: Any
    out: Any
    shape: MatmulShape
    dtype: Any
    single: bool
    torch: Any
    asked: Options
    upper: Any = None
    prepared: Sides = NEITHER
    is_complex: bool = False
    update: Any = None

    def __post_init__(self) -> None:
        asked, k = self.asked, self.shape.k
        if self.prepared is not NEITHER:
            check_result(self.prepared, "float32" if self.single else "float64")
        pairs = self.is_complex and is_complex(self.a.dtype) and is_complex(self.b.dtype)
        check_counted(asked, k, pairs)
        beside = {"a": self.a, "b": self.b}
        if self.out is not None:
            check_out(self.out, self.shape.result, self.dtype, **beside)
            beside["out[0]"] = self.out
        if self.upper is not None:
            check_out(self.upper, self.shape.result, self.dtype, **beside)


def matmul_request(
    operands: Operands, asked: Options, dtype: Any = None, upper: Any = None, prepared: Sides = NEITHER
) -> MatmulRequest:
    """The request for a product of these operands; `dtype` of the result, by default the one that both promote to; `upper` as
    the operands' `out`, for a second result; `prepared` of what was prepared, whose entries the operands have.

    Raises
    ------
    TypeError, ValueError
        Shapes that do not fit; `out` of another shape or dtype, read-only or overlapping; a result of another dtype than was
        prepared for, an operand that is complex where real ones are prepared for, or the other way round.
    """
    a, b, out, torch, on_device = operands
    shape = matmul_shape(tuple(a.shape), tuple(b.shape))
    if prepared is not NEITHER:
        check_others(prepared, a.dtype, b.dtype)
    if on_device:
        dtype = (
            torch.promote_types(a.dtype, b.dtype) if dtype is None else getattr(torch, np.dtype(dtype).name)
        )
    else:
        dtype = np.promote_types(a.dtype, b.dtype) if dtype is None else np.dtype(dtype)
        a, b = broadcast_operands(a, b, shape)
    kind = name_of(dtype)
    single = kind in ("float32", "complex64")
    return MatmulRequest(a, b, out, shape, dtype, single, torch, asked, upper, prepared, is_complex(dtype))
