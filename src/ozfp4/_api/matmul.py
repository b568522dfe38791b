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
    """Matrix product with a guaranteed accuracy and reproducible bits.

    Like ``numpy.matmul`` and ``torch.matmul``: 1-D, 2-D, or stacks with broadcasting. Each entry
    depends on its row of `a` and its column of `b` alone, not on the device, the number of
    threads, the method, or what else is multiplied.

    Parameters
    ----------
    a, b : array_like, torch.Tensor or Prepared
        float64, float32, complex128, complex64, integers or bool; any strides. Tensors may be
        conjugated or negated lazily. An operand of :func:`ozfp4.prepare` takes its side of the
        product; `scheme`, `backend`, `plan` and `accuracy` must agree with it.
    out : array or tensor, optional
        Where to write the result: its exact shape and dtype, no memory shared with the inputs.
        Errors in the arguments leave it unchanged. A product that ends early (no memory, a
        signal, an exception in a function of :func:`ozfp4.progress`) leaves it undefined.
    accuracy : {"standard", "correct", "scaled"}, optional
        The promise for every entry, see Notes. "standard" keeps the error bound of fused
        multiply-adds in the result type. "correct" is correctly rounded. "scaled" takes a time
        that does not depend on the data. The default is that of a prepared operand, or of
        :func:`ozfp4.default_accuracy`, or of :func:`ozfp4.set_default_accuracy`, or "standard".
    rounding : {"nearest", "down", "up", "zero"}
        Direction of rounding with accuracy="correct"; the other accuracies round to nearest.
        :func:`ozfp4.enclose` rounds down and up at once.
    dtype : dtype, optional
        dtype of the result. float32 (complex64) operands can have a float64 (complex128) result,
        rounded once. Integer operands can have any integer dtype of w bits, and the exact sum is
        reduced modulo 2^w; or float64 or float32, to which the operands are converted first.
    overflow : {"wrap", "raise"}
        "raise" is an OverflowError, and leaves `out` unchanged, if an entry of an exact product
        of integers does not fit the dtype of the result. A GPU is then synchronised once.
    return_bound : bool
        Return bounds of |C - AB| after `c`: float64, rounded up, infinite if the result is not
        finite. For complex operands they are complex128, one bound for each part.
    report : bool
        Return ``(c, Report)`` instead of ``c``. For integers the report counts the entries that
        wrapped, which may take more time.
    device : str, torch.device or sequence of these, optional
        Where to multiply operands that lie in host memory: "cuda", "cuda:1", several, or "cpu".
        Operands and result may be larger than the memory of the device; the result lies in host
        memory. Needs torch. Excludes `report`, prepared operands, tensors that require grad, and
        functions that torch traces or maps.
    scheme : {"II", "I"}
        *Advanced.* Ozaki scheme: residues and the Chinese remainder theorem, or digits.
    backend : {"auto", "fp4", "int8", "fp64"}
        *Advanced.* Number format of the low-precision products; "auto" takes the fastest.
    plan : Plan, optional
        *Advanced.* A plan of :func:`ozfp4.plan` or :func:`ozfp4.plan_for`. `scheme` and `backend`
        must be left out or agree with it. Its bits are the capacity of "scaled"; "standard" needs
        57 bits and "correct" 76 (28 and 47 for a float32 result).
    workspace_limit : int, optional
        *Advanced.* Bytes of workspace. The default is ``2**30`` on a CPU; on a GPU ``2**33`` or a
        quarter of its memory, whichever is less, or more if the smallest blocks need more. A
        product that needs more goes in blocks. With `device`: bytes on each device, by default
        four fifths of what is free there; with device="cpu" a limit cuts the product into tiles.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
        NumPy in, NumPy out; torch in, torch out; and so for every library that has
        ``__dlpack__``. float32 if both operands are float32, else float64; complex64 and
        complex128 in the same way if an operand is complex; for integers see Notes.

    Raises
    ------
    TypeError
        Unsupported dtypes, an invalid `dtype`, arrays of two libraries, masked arrays, arrays
        with products of their own (units), `out` of another dtype, tracers of JAX, a JAX `out`.
    ValueError
        - Shapes that do not fit; `out` of another shape, read-only or overlapping.
        - Unknown names, a `dtype` that the operands cannot have, `rounding` without "correct".
        - A plan of too few bits, or an inner dimension beyond its limit.
        - Options that a prepared operand does not have; options of floating-point numbers with
          integers.
    OverflowError
        With overflow="raise".
    RuntimeError
        - Tensors on a device without a kernel in this build, or after their storage was freed.
        - `device` with tensors that are on a device, or a `device` that does not exist.
        - `out` with a tensor that requires grad or has a tangent.
        - A backend without a kernel that passed its self-test (:func:`ozfp4.selftest`).
    MemoryError
        A workspace limit, or a device, too small for the smallest blocks.

    Notes
    -----
    **Accuracy.** Rows of `a` and columns of `b` are scaled by powers of two to integers of at
    most c bits. The product of these integers is exact, and is rounded once. Let u be the unit
    roundoff of the result type, 2^-53 or 2^-24. Then for all finite operands:

    - "standard": |C - AB| <= (n - 1) u (|A| |B|) + ulp(C) / 2 for every entry. n is the number
      of nonzero entries of the row or of the column, whichever is smaller. A chain of fused
      multiply-adds has this bound. c is chosen for each row and column; an entry without a
      certificate is computed again, as this chain.
    - "correct": every entry is the exact sum, rounded once in the direction `rounding`, also if
      the result is subnormal or overflows. An exact zero is +0, and -0 when rounding down.
    - "scaled": c is 53, or 24 if both operands are float32, or the bits of `plan`. The result is
      the exact product of the scaled integers, rounded to nearest.

    NaN and infinity follow IEEE dot products.

    **Complex** operands: this holds for the real and the imaginary part, each a sum of 2 n real
    products that is rounded once. Scales are those of whole rows and columns. A real operand
    multiplies the parts of a complex one separately.

    **Integers** are not scaled. The result has the dtype that the library promotes the operands
    to, and is the exact sum modulo 2^w for a dtype of w bits. A product of bool is True if any of
    its terms is. `accuracy`, `rounding` and `return_bound` are refused. Integers times
    floating-point numbers, and uint64 times a signed integer in NumPy, are first converted to the
    common dtype, each entry rounded once.

    **Autograd.** Tensors that require grad, and functions that torch traces or maps
    (``torch.compile``, ``export``, ``torch.jit.trace``, ``torch.func``), use the operator
    ``torch.ops.ozfp4.matmul``. Its derivatives are products with the same keywords; the same is
    true of :func:`ozfp4.gemm` and :func:`ozfp4.gram`. `report`, `return_bound` and prepared
    operands are then refused, and so is `plan` in compiled functions and for integers.

    **DTensors** (``torch.distributed.tensor``) work in matmul and gemm. The result is a DTensor
    with the bits of one device, whatever the placements; `out` is refused.

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

    Digits that cancel:

    >>> row, column = np.array([1e200, 1.0, -1e200]), np.array([1e100, 3.0, 1e100])
    >>> float(matmul(row, column, accuracy="scaled")), float(matmul(row, column, accuracy="correct"))
    (0.0, 3.0)
    >>> complex(matmul(row * (1 + 2j), column + 1j * column, accuracy="correct"))
    (-3+9j)

    Integers:

    >>> matmul(np.array([2**62, 5]), np.array([[4, 1], [3, 0]]))
    array([                 15, 4611686018427387904])
    >>> matmul(np.full((1, 3), -128, np.int8), np.full((3, 1), 127, np.int8), dtype=np.int32)
    array([[-48768]], dtype=int32)
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
    """The product itself. `is_asked`: torch may observe the operands, see :func:`is_watched`; this function is never traced."""
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
    """Lower and upper bounds of the exact product, entry by entry.

    No floating-point number lies between them. Both are equal where the exact value is a
    floating-point number, else they are neighbours.

    Parameters
    ----------
    a, b : array_like, torch.Tensor or Prepared
        As in :func:`ozfp4.matmul`, prepared for accuracy="correct"; no integers: their products
        are exact.
    out : (array, array) or (tensor, tensor), optional
        As in :func:`ozfp4.matmul`, for the lower and the upper bounds, which share no memory.
    report : bool
        As in :func:`ozfp4.matmul`; the report counts the entries of both.
    backend, scheme, workspace_limit
        As in :func:`ozfp4.matmul`.

    Returns
    -------
    (lower, upper) or (lower, upper, Report)

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; TypeError for an `out` that is not a pair.

    Notes
    -----
    The bounds are ``matmul(a, b, accuracy="correct")`` with ``rounding="down"`` and with
    ``rounding="up"``, from one multiplication. An exact zero is [-0, +0]. NaN and infinity follow
    IEEE arithmetic in both. For complex operands the real and the imaginary part are enclosed.

    Examples
    --------
    >>> import numpy as np
    >>> lower, upper = enclose(np.array([[1.0, 1.0]]), np.array([[1.0], [2.0**-80]]))
    >>> lower.item(), upper.item()
    (1.0, 1.0000000000000002)
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
