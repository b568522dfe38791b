"""``ozfp4.matmul``: the way of one product, from the arguments to the result; and ``ozfp4.enclose``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from .._dispatch import plain
from .._dispatch.product import multiply, results
from .._options import (
    PROCESS,
    SCOPE,
    TypedOptions,
    UnitOptions,
    check_taken,
    check_unasked,
    current_accuracy,
    takes,
)
from .._report import Report
from .._request import dlpack, library
from .._request.integers import unify_to
from .._request.library import is_traced, is_watched, short_way
from .._request.operands import check_wraps, matmul_request, take
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T
from .integers import bits_of, integer_product

if TYPE_CHECKING:
    from typing_extensions import Unpack


class MatmulOptions(TypedOptions, total=False):
    """Options of :func:`matmul`, without those that change its result's type."""

    device: Any


# fmt: off
@overload
def matmul(
    a: T, b: T, out: T | None = ..., *, report: No = ..., return_bound: No = ..., **options: Unpack[MatmulOptions]
) -> T: ...
@overload
def matmul(
    a: T, b: T, out: T | None = ..., *, report: Yes, return_bound: No = ..., **options: Unpack[MatmulOptions]
) -> tuple[T, Report]: ...
@overload
def matmul(
    a: T, b: T, out: T | None = ..., *, report: No = ..., return_bound: Yes, **options: Unpack[MatmulOptions]
) -> tuple[T, T]: ...
@overload
def matmul(
    a: T, b: T, out: T | None = ..., *, report: Yes, return_bound: Yes, **options: Unpack[MatmulOptions]
) -> tuple[T, T, Report]: ...
@overload
def matmul(
    a: Arrays, b: Arrays, out: Array | None = ..., *, report: No = ..., return_bound: No = ..., **options: Unpack[MatmulOptions]
) -> Array: ...
@overload
def matmul(
    a: Arrays, b: Arrays, out: Array | None = ..., *, report: Yes, return_bound: No = ..., **options: Unpack[MatmulOptions]
) -> tuple[Array, Report]: ...
@overload
def matmul(
    a: Arrays, b: Arrays, out: Array | None = ..., *, report: No = ..., return_bound: Yes, **options: Unpack[MatmulOptions]
) -> tuple[Array, Array]: ...
@overload
def matmul(
    a: Arrays, b: Arrays, out: Array | None = ..., *, report: Yes, return_bound: Yes, **options: Unpack[MatmulOptions]
) -> tuple[Array, Array, Report]: ...
@overload
def matmul(
    a: Any, b: Any, out: Any = ..., *, report: bool = ..., return_bound: bool = ..., **options: Unpack[MatmulOptions]
) -> Any: ...
# fmt: on
@takes(MatmulOptions, "report", "return_bound")
def matmul(
    a: Any, b: Any, out: Any = None, *, device: Any = None, accuracy: str | None = None, **options: Any
) -> Any:
    """Matrix product of `a` and `b`, exact on the scaled integers and rounded once; of integers exact.

    Each row of `a` (column of `b`) is scaled by a power of two to integers of at most c bits; their product is computed without
    any rounding and rounded once to the result type. `accuracy` alone says what is promised of the result, with u the unit
    roundoff of the result type, 2^-53 or 2^-24:

    - "scaled": c is 53, or 24 where both operands are float32, or what `plan` has, and the result the exact product of the
      scaled integers, rounded to nearest, ties to even.
    - "standard": |C - AB| <= (n - 1) u (|A| |B|), n the fewer nonzero entries of the row and the column, and half a unit in
      the last place, entry by entry, for every finite input: what a chain of fused multiply-adds in the result type promises.
      Rows and columns choose their own c; an entry that this does not certify is such a chain.
    - "correct": every entry is the sum of its real products, rounded once in the direction `rounding`, subnormal and
      overflowing results included. An exact zero is +0, and -0 when rounding down.

    An entry depends on its row and its column alone: not on scheme, backend, family, device, workspace, threads, or what else
    is multiplied. NaN and infinity follow IEEE dot products.

    For complex operands all of this holds for each part of an entry: both are sums of 2 n real products, whose scales are those
    of whole rows and columns, and each is rounded once. A real operand multiplies the parts of a complex one separately.

    Integers are multiplied as they are: the result has the dtype that the library promotes the operands to, and is the exact sum
    modulo 2^w of its w bits; of bool, whether any product is True. A CPU multiplies them in machine words, which takes a fifth of
    the time of moduli, unless those are asked for or an overflow must be seen; so does a GPU where the product is small;
    elsewhere small integers cost few products.
    Where one operand holds integers and the other floating-point numbers, and for uint64 with another NumPy integer that has a
    sign, both are first converted to the common dtype, each entry rounded once.

    For tensors that require grad, and where torch traces or maps (``torch.compile``, ``export``, ``torch.jit.trace``,
    ``torch.func``), it is ``torch.ops.ozfp4.matmul``, an operator whose derivatives are products with the same keywords; so are
    :func:`ozfp4.gemm` and :func:`ozfp4.gram`. `report`, `return_bound` and prepared operands are then refused, `plan` where torch
    compiles or of integers. For DTensors (``torch.distributed.tensor``) matmul and gemm are operators as well: the result is a
    DTensor with the bits of one device, whatever the placements; `out` is then refused, too.

    Parameters
    ----------
    a, b : array_like, torch.Tensor or Prepared
        float64, float32, complex128, complex64, integers or bool, shapes as for ``numpy.matmul``: 1-D, 2-D, or stacks with
        broadcasting; any strides. Tensors may be conjugated or negated lazily. An operand that :func:`ozfp4.prepare` made stands
        for the array, on its side; `scheme`, `backend`, `plan` and `accuracy` are then those that it was prepared for.
    scheme : {"II", "I"}
        Ozaki scheme: residues and the Chinese remainder theorem, or positional digits.
    backend : {"auto", "fp4", "int8", "fp64"}
        Alphabet of the plane products; "auto" takes the fastest.
    plan : Plan, optional
        Use this plan, of :func:`ozfp4.plan` or :func:`ozfp4.plan_for`; scheme and backend must then be left at their defaults
        or agree with it. Its bits are the capacity of "scaled"; "standard" needs 57 of them, "correct" 76 (28 and 47 for a
        float32 result).
    out : array or tensor, optional
        Where to write the result: its exact shape and dtype, no memory shared with the inputs. Errors in the arguments leave it
        as it is; what ends a product between its blocks (no memory, a signal, an exception of what :func:`ozfp4.progress` calls)
        leaves it undefined.
    dtype : dtype, optional
        The result's: float64 (complex128) of float32 (complex64) operands, which rounds once to that; of integers any integer
        dtype, to whose w bits the exact sum is reduced, or float64 or float32, to which they are converted first.
    report : bool
        Return ``(c, Report)`` instead of ``c``. For integers it counts the entries that wrapped, for which a CPU takes moduli
        where the norms of rows and columns do not exclude them.
    workspace_limit : int, optional
        Bytes that may be used beside inputs and output, 2**30 by default; on a GPU 2**33 or a quarter of its memory, the less
        of both, or more where not even the smallest blocks have room in it. Larger products run in turns of matrices, blocks,
        and pieces of the inner dimension; a block of two complex operands has a copy of its part of B of twice the size. With
        `device`: bytes that the product takes on each device, by default four fifths of what is free there; beside
        device="cpu" the product is cut into tiles where a limit is given.
    accuracy : {"standard", "correct", "scaled"}, optional
        As above; by default "standard", or what :func:`ozfp4.set_default_accuracy` or :func:`ozfp4.default_accuracy` say, or
        that of a prepared operand.
    rounding : {"nearest", "down", "up", "zero"}
        For accuracy="correct"; the others round to nearest. :func:`ozfp4.enclose` rounds down and up at once.
    overflow : {"wrap", "raise"}
        "raise" is an OverflowError, and leaves `out` unchanged, where an entry of an exact product of integers does not fit the
        result's dtype. On a GPU it waits for the product, once. `accuracy`, `rounding` and `return_bound` are refused for
        integers.
    return_bound : bool
        Return bounds of |C - AB| after `c`: float64, rounded up, infinity where the result is not finite. For complex operands
        they are complex128: bounds of the errors of both parts.
    device : str, torch.device or sequence of these, optional
        Where operands that lie on the host are multiplied: "cuda", "cuda:1", several, or "cpu". Tiles with the whole inner
        dimension travel there while others are multiplied, so operands and result may be larger than the device's memory; the
        result lies on the host, too, once this returns. Needs torch; the arrays may be NumPy's. Not beside `report`, prepared
        operands, tensors that require grad, or where torch traces or maps.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
        NumPy in, NumPy out; torch in, torch out; and so of every library whose arrays have ``__dlpack__``. float32 if both
        operands are float32, else float64; complex64 or complex128 alike, if one of them is complex; of integers as above.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[1.0, 2.0**-40], [3.0, -1.0]])
    >>> matmul(a, a) - np.eye(2)
    array([[2.72848411e-12, 0.00000000e+00],
           [0.00000000e+00, 2.72848411e-12]])
    >>> c, report = matmul(a, a, backend="int8", report=True)
    >>> report.backend, report.special_rows, bool((c == matmul(a, a, scheme="I", backend="fp4")).all())
    ('int8', 0, True)
    >>> row, column = np.array([1e200, 1.0, -1e200]), np.array([1e100, 3.0, 1e100])
    >>> float(matmul(row, column, accuracy="scaled")), float(matmul(row, column, accuracy="correct"))
    (0.0, 3.0)
    >>> complex(matmul(row * (1 + 2j), column + 1j * column, accuracy="correct"))
    (-3+9j)
    >>> matmul(np.array([2**62, 5]), np.array([[4, 1], [3, 0]]))
    array([                 15, 4611686018427387904])
    >>> matmul(np.full((1, 3), -128, np.int8), np.full((3, 1), 127, np.int8), dtype=np.int32)
    array([[-48768]], dtype=int32)

    Raises
    ------
    TypeError
        Unsupported dtypes, a `dtype` that is none, arrays of two libraries, masked arrays, those with products of their own
        (units), `out` of another dtype; tracers of JAX, and an `out` of its.
    ValueError
        Shapes that do not fit, unknown names, a rounding other than "nearest" without "correct", a plan of too few bits, a
        `dtype` that no such product has, `out` of another shape, read-only or overlapping, an inner dimension beyond the plan's
        limit; what a prepared operand was not prepared for; of integers what is for floating-point numbers.
    OverflowError
        As `overflow` says.
    RuntimeError
        Tensors on a device without a kernel in this build, or beside `device`; a `device` that is not there; `out` beside a
        tensor that requires grad or has a tangent; tensors whose storage was freed or shortened; a backend whose every kernel
        failed its self-test (:func:`ozfp4.selftest`).
    MemoryError
        A workspace limit below what the smallest blocks need, or on a device below what the smallest tiles need.
    """
    traced = is_traced()
    if not traced and device is None and (short := short_way(a)) is not None:
        promised = (SCOPE.get() or PROCESS[0]) if accuracy is None else accuracy
        c = short(a, b, out, promised, options)
        if c is not NotImplemented:
            return c
    check_taken(matmul, options)
    given = options if accuracy is None else {**options, "accuracy": accuracy}
    if device is not None:
        is_here = isinstance(device, str) and device == "cpu" and given.get("workspace_limit") is None
        are_arrays = type(a) is type(b) is np.ndarray
        if not (is_here and are_arrays) or given.get("report", False):
            from .._streaming import call

            return call.matmul(a, b, out, device, given)
    if traced and is_watched(a, b, out):
        return by_operator("matmul", a, b, out, given)
    return product(a, b, out, given, True)


def by_operator(name: str, *given: Any) -> Any:
    """A product by its operator of ``torch.ops.ozfp4``."""
    from .._torch_ops import calls  # imports torch

    return getattr(calls, name)(*given)


def product(a: Any, b: Any, out: Any, options: Mapping[str, Any], is_asked: bool = False) -> Any:
    """The product itself. `is_asked`: somebody may watch the operands, as :func:`is_watched` has it; nobody traces this."""
    if not is_asked and (short := short_way(a)) is not None:
        c = short(a, b, out, current_accuracy(), options, False)
        if c is not NotImplemented:
            return c
    if is_asked and is_watched(a, b, out):
        return by_operator("matmul", a, b, out, options)
    if not dlpack.plain.issuperset(map(type, (a, b, out))) and dlpack.are_given(a, b, out):
        return dlpack.of_another(product, a, b, out, options)

    asked, taken, sides = take(a, b, out, options, library.TAKEN)
    operands, integer, dtype, bound = taken, None, None, None
    if asked.dtype is not None or taken.has_integers:
        operands, integer, dtype = unify_to(taken, asked.dtype)
    if integer is not None:
        check_unasked(options)
        c, about = integer_product(operands, asked, integer, bits_of(operands))
    else:
        check_wraps(asked, taken[:2], operands[:2], dtype)
        c, bound, about = multiply(matmul_request(operands, asked, dtype, prepared=sides))
    library.mark_written(out)
    return results(asked, c if out is None else out, bound, about)


plain.products["matmul"] = lambda a, b, out=None, **options: product(a, b, out, options)


# ---- Enclosures -----------------------------------------------------------------------------------------------------


Pair = tuple[Array, Array]


# fmt: off
@overload
def enclose(a: T, b: T, *, out: tuple[T, T] | None = ..., report: No = ..., **options: Unpack[UnitOptions]) -> tuple[T, T]: ...
@overload
def enclose(a: T, b: T, *, out: tuple[T, T] | None = ..., report: Yes, **options: Unpack[UnitOptions]) -> tuple[T, T, Report]: ...
@overload
def enclose(
    a: Arrays, b: Arrays, *, out: Pair | None = ..., report: No = ..., **options: Unpack[UnitOptions]
) -> Pair: ...
@overload
def enclose(
    a: Arrays, b: Arrays, *, out: Pair | None = ..., report: Yes, **options: Unpack[UnitOptions]
) -> tuple[Array, Array, Report]: ...
@overload
def enclose(a: Any, b: Any, *, out: Any = ..., report: bool = ..., **options: Unpack[UnitOptions]) -> Any: ...
# fmt: on
@takes(UnitOptions, "report")
@dlpack.any_library
def enclose(a: Any, b: Any, *, out: Any = None, **options: Any) -> Any:
    """Lower and upper bounds of the real product of `a` and `b`, entry by entry, with no floating-point number between them.

    Both are the product of ``matmul(a, b, accuracy="correct")``, the lower one with ``rounding="down"``, the upper one with
    ``rounding="up"``, from one multiplication: they are equal where the real product is a floating-point number, else
    neighbours. An exact zero is [-0, +0]. Where NaN or infinity takes part, both are what IEEE arithmetic gives. For
    complex operands the real and the imaginary part are enclosed each.

    Parameters
    ----------
    a, b : array_like, torch.Tensor or Prepared
        As in :func:`ozfp4.matmul`, prepared for accuracy="correct"; no integers, whose products are exact.
    out : (array, array) or (tensor, tensor), optional
        As in :func:`ozfp4.matmul`, for the lower and the upper bounds, apart from each other in memory.
    backend, scheme, workspace_limit, report
        As in :func:`ozfp4.matmul`; the report counts the entries of both.

    Returns
    -------
    (lower, upper) or (lower, upper, Report)

    Examples
    --------
    >>> import numpy as np
    >>> lower, upper = enclose(np.array([[1.0, 1.0]]), np.array([[1.0], [2.0**-80]]))
    >>> lower.item(), upper.item()
    (1.0, 1.0000000000000002)

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; TypeError for `out` that is no pair.
    """
    check_taken(enclose, options)
    lower, upper = _pair(out)
    given = {**options, "accuracy": "correct", "rounding": "down"}
    asked, operands, sides = take(a, b, lower, given, library.NUMBERS)
    other = None if upper is None else take(a, b, upper, given, library.NUMBERS)[1].out
    request = matmul_request(operands, asked, upper=other, prepared=sides)
    found = multiply(request, encloses=True)
    library.mark_written(lower, upper)
    result = found[:2] if out is None else (lower, upper)
    return (*result, found[2]) if asked.report else result


def _pair(out: Any) -> tuple[Any, Any]:
    """Both of a tuple or list of two, (None, None) for None; TypeError for anything else."""
    if out is None:
        return None, None
    if not isinstance(out, (tuple, list)) or len(out) != 2 or any(x is None for x in out):
        text = f"{len(out)} of them" if isinstance(out, (tuple, list)) else type(out).__name__
        raise TypeError(
            f"out: a pair of arrays is needed, for the lower and the upper bounds; given is {text}"
        )
    return out[0], out[1]
