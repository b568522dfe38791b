"""Exact products of integers: ``ozfp4.matmul_mod``, ``ozfp4.int8_matmul``, and the integer products of matmul, gemm and gram."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, overload

import numpy as np
import numpy.typing as npt

from .._backends.reports import make_integer_report
from .._dispatch import on_cuda
from .._dispatch.product import (
    began,
    empty_result,
    log,
    multiply_integers,
    planned,
    refuse_overflow,
    results,
    to_caller,
)
from .._options import Options, UnitOptions, check_integer, check_plan, check_taken, takes
from .._plans.plan import Plan, make_int8_plan
from .._report import Report
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import entry_bits, words_of
from .._request.library import Operands
from .._request.operands import (
    MatmulRequest,
    MatmulShape,
    Update,
    check_addend_given,
    check_addend_shape,
    check_integer_factor,
    matmul_request,
    matmul_shape,
    matrices,
    with_matrix_axes,
)
from .._request.out import check_out, is_same_place
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ModOptions(UnitOptions, total=False):
    """Options of :func:`matmul_mod`, without those that change its result's type."""

    plan: Plan | None


class Int8Options(TypedDict, total=False):
    """Options of :func:`int8_matmul`, without those that change its result's type."""

    plan: Plan | None
    overflow: str
    workspace_limit: int | None


Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]
_LIMIT = 2**31
_REASON = "int8 products are of FP4 limbs"


# fmt: off
@overload
def matmul_mod(a: T, b: T, modulus: int, *, out: T | None = ..., report: No = ..., **options: Unpack[ModOptions]) -> T: ...
@overload
def matmul_mod(
    a: T, b: T, modulus: int, *, out: T | None = ..., report: Yes, **options: Unpack[ModOptions]
) -> tuple[T, Report]: ...
@overload
def matmul_mod(
    a: Arrays, b: Arrays, modulus: int, *, out: Array | None = ..., report: No = ..., **options: Unpack[ModOptions]
) -> Int64: ...
@overload
def matmul_mod(
    a: Arrays, b: Arrays, modulus: int, *, out: Array | None = ..., report: Yes, **options: Unpack[ModOptions]
) -> tuple[Int64, Report]: ...
# fmt: on
@takes(ModOptions, "report")
@any_library
def matmul_mod(a: Any, b: Any, modulus: int, *, out: Any = None, **options: Any) -> Any:
    """Exact matrix product of integers modulo `modulus`, with entries in [0, modulus).

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        Integers or bool of any size and sign; the dtypes may differ. Shapes as in
        :func:`ozfp4.matmul`.
    modulus : int
        1 <= modulus < 2**63; it need not be prime.
    out : array or tensor, optional
        As in :func:`ozfp4.matmul`, int64.
    report : bool
        As in :func:`ozfp4.matmul`.
    plan : Plan, optional
        As in :func:`ozfp4.matmul`. It has at least two bits more than modulus // 2, or at least
        one bit more than the dtypes of the entries.
    scheme, backend, workspace_limit
        As in :func:`ozfp4.matmul`.

    Returns
    -------
    c, or (c, Report)
        int64.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; TypeError for floating-point operands and for a `modulus` that is
        not an integer, ValueError for one outside 1..2**63 - 1.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[2**62, -1], [3, 2**63 - 1]])
    >>> matmul_mod(a, a, 10**9 + 7)
    array([[829977020, 563242002],
           [310274008, 737564068]])
    """
    modulus = check_integer("modulus", modulus, 1, 2**63 - 1, "1..2**63 - 1")
    check_taken(matmul_mod, options)
    asked = Options.of(options)
    operands = library.take_operands(a, b, out, library.INTEGERS)
    # The core multiplies what is nearest to zero modulo the modulus.
    bits = min(bits_of(operands), max(modulus.bit_length(), 2))
    c, about = integer_product(operands, asked, np.dtype(np.int64), bits, modulus)
    library.mark_written(out)
    return results(asked, c if out is None else out, None, about)


# fmt: off
@overload
def int8_matmul(
    a: T, b: T, *, products: int = ..., out: T | None = ..., report: No = ..., **options: Unpack[Int8Options]
) -> T: ...
@overload
def int8_matmul(
    a: T, b: T, *, products: int = ..., out: T | None = ..., report: Yes, **options: Unpack[Int8Options]
) -> tuple[T, Report]: ...
@overload
def int8_matmul(
    a: Arrays, b: Arrays, *, products: int = ..., out: Array | None = ..., report: No = ..., **options: Unpack[Int8Options]
) -> Int32: ...
@overload
def int8_matmul(
    a: Arrays, b: Arrays, *, products: int = ..., out: Array | None = ..., report: Yes, **options: Unpack[Int8Options]
) -> tuple[Int32, Report]: ...
# fmt: on
@takes(Int8Options, "report")
@any_library
def int8_matmul(a: Any, b: Any, *, products: int = 6, out: Any = None, **options: Any) -> Any:
    """Exact int8 × int8 → int32 matrix product over FP4 limbs.

    Parameters
    ----------
    a, b : array_like or torch.Tensor of int8
        Shapes as for ``numpy.matmul``.
    products : {6, 9}
        6: limbs with the weights 1, 29, 37, and their pairwise sums are limbs as well
        (Karatsuba). 9: three limbs in base 13 (paper, section III).
    out : array or tensor, optional
        As in :func:`ozfp4.matmul`, int32.
    overflow : {"wrap", "raise"}
        As in :func:`ozfp4.matmul`. Sums of more than 131,071 terms may exceed int32. They are
        exact, and kept modulo 2^32 or refused.
    report : bool
        As in :func:`ozfp4.matmul`.
    plan : Plan, optional
        The plan of an earlier report, instead of `products`.
    workspace_limit
        As in :func:`ozfp4.matmul`.

    Returns
    -------
    c, or (c, Report)
        int32.

    Raises
    ------
    TypeError, ValueError, OverflowError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; TypeError for other dtypes than int8, ValueError for other
        `products` than 6 and 9 and for a plan of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> int8_matmul(np.full((1, 3), -128, np.int8), np.full((3, 1), 127, np.int8))
    array([[-48768]], dtype=int32)
    """
    check_taken(int8_matmul, options)
    plan = _check_plan(products, options.pop("plan", None))
    asked = Options.of({**options, "accuracy": "scaled"})
    operands = library.take_operands(a, b, out, library.INT8)
    request = matmul_request(operands, asked, np.int32)
    if operands.on_device:
        c, about = _on_device(request, plan)
    else:
        c, about = multiply_integers(replace(request, asked=asked._replace(plan=plan)), bits=8)
    library.mark_written(out)
    return results(asked, c if out is None else out, None, about)


# ---- Products for others --------------------------------------------------------------------------------------------


def bits_of(operands: Operands) -> int:
    """The bits of an entry that a plan for the operands needs."""
    return max(entry_bits(operands.a.dtype), entry_bits(operands.b.dtype))


def integer_product(
    operands: Operands, asked: Options, dtype: Any, bits: int, modulus: int = 0, update: Update | None = None
) -> tuple[Any, Report | None]:
    """The product of integers of less than `bits` bits, modulo 2^w of `dtype` or modulo `modulus`, or their `update`; and a
    report if one is wanted. Raises as :func:`ozfp4.matmul`; ValueError for a plan of too few bits.
    """
    request = integer_request(operands, asked, dtype, bits)
    if update is not None:  # the copy takes a tenth of a short call
        request = replace(request, update=update)
    return multiply_integers(request, bits, modulus)


def integer_request(operands: Operands, asked: Options, dtype: Any, bits: int) -> MatmulRequest:
    """The request for such a product. Raises as :func:`integer_product`."""
    plan = asked.plan
    if plan is not None and plan.bits < bits:
        raise ValueError(f"plan: its bits are {plan.bits}, these integers need {bits}")
    asked = asked._replace(bits=bits if plan is None else None, accuracy="scaled")
    if not isinstance(dtype, np.dtype):  # one of torch
        dtype = np.dtype(library.name_of(dtype))
    return matmul_request(operands, asked, dtype)


def integer_update(
    alpha: Any, operands: Operands, beta: Any, c: Any, dtype: Any, asked: Options
) -> tuple[Any, Report | None]:
    """The update in the caller's library, also in `out` if there is one, and a report of the product if one is wanted.

    `operands` are transposed as they are multiplied, `c` is as given or None, `dtype` is their common dtype. Raises as
    :func:`ozfp4.gemm`; ValueError for overflow="raise" if 64 bits do not hold alpha B.
    """
    alpha, beta = check_integer_factor("alpha", alpha), check_integer_factor("beta", beta)
    if library.name_of(dtype) == "bool":
        for name, factor in (("alpha", alpha), ("beta", beta)):
            if factor not in (0, 1):
                raise ValueError(
                    f"{name}: {factor} is neither 0 nor 1, and all operands are bool; convert one of them to an integer dtype"
                )
        asked = asked._replace(overflow="wrap")
    shape = matmul_shape(tuple(operands.a.shape), tuple(operands.b.shape))
    check_addend_given(c, beta)
    if c is not None:
        check_addend_shape(c, shape.result)
    out = operands.out
    if out is not None:
        check_out(out, shape.result, dtype, a=operands.a, b=operands.b)
        if beta != 0 and not is_same_place(out, c):
            check_out(out, shape.result, dtype, c=c)
    xp: Any = operands.torch if operands.on_device else np
    addend = None if beta == 0 else xp.broadcast_to(c, shape.result)
    if alpha == 0:  # an inner dimension of 0
        b = operands.b
        operands = operands._replace(a=operands.a[..., :0], b=b[:0] if b.ndim == 1 else b[..., :0, :])
    if not asked.raises or (beta == 0 and alpha in (0, 1)):
        update = Update(alpha, beta, addend)
        return integer_product(operands, asked, dtype, bits_of(operands), update=update)
    place = empty_result(operands, shape.result, dtype) if out is None else out
    is_signed = library.name_of(dtype) != "uint64"
    a, b = _as_one_product(xp, alpha, operands, beta, addend, shape, is_signed)
    given = operands._replace(a=a, b=b, out=matrices(shape, place))
    about = integer_product(given, asked, dtype, bits_of(given))[1]
    return to_caller(operands, place), about


def _as_one_product(
    xp: Any, alpha: int, operands: Operands, beta: int, c: Any, shape: MatmulShape, is_signed: bool
) -> tuple[Any, Any]:
    """[A C] and [alpha B; beta I]: their product is alpha A B + beta C, and its sums are checked as those of any product.
    `is_signed`: whether A and C are.

    ValueError where 64 bits do not hold the right one.
    """
    a, b = with_matrix_axes(operands.a, operands.b)
    least, most = _extremes(b)
    ends = [0, alpha * least, alpha * most, *([beta] if shape.n > 0 else [])]
    fits = min(ends) >= -(2**63) and max(ends) < 2**63
    if not fits and (min(ends) < 0 or max(ends) >= 2**64):
        raise ValueError(
            f"overflow: 'raise' needs alpha b and beta in 64 bits, and they reach from {min(ends)} to {max(ends)}; "
            "overflow='wrap' takes any factors"
        )
    left, right = [_words(a)], [_words(b) * _wrapped(alpha)]
    if beta != 0:
        where = {"device": a.device} if operands.on_device else {}
        right.append(xp.eye(shape.n, dtype=xp.int64, **where) * _wrapped(beta))
        left.append(_words(matrices(shape, c)))
    left = [xp.broadcast_to(x, (*shape.stack, shape.m, x.shape[-1])) for x in left]
    right = [xp.broadcast_to(x, (*b.shape[:-2], *x.shape[-2:])) for x in right]
    kinds = (xp.int64 if is_its else xp.uint64 for is_its in (is_signed, fits))
    return tuple(
        xp.concatenate(x, axis).view(kind)
        for x, axis, kind in zip((left, right), (-1, -2), kinds, strict=True)
    )


def _words(x: Any) -> Any:
    """As integers of 64 bits, int64; those of uint64 by their bits."""
    return words_of(x) if library.is_tensor(x) else x.astype(np.int64)


def _wrapped(factor: int) -> int:
    """A factor modulo 2^64, as int64 holds it."""
    return (factor + 2**63) % 2**64 - 2**63


def _extremes(x: Any) -> tuple[int, int]:
    """Least and largest entry, (0, 0) without any; waits for a GPU."""
    if 0 in x.shape:
        return 0, 0
    above = 2**63 if library.name_of(x.dtype) == "uint64" else 0
    words = _words(x) ^ -above  # in the order of unsigned numbers, from -2^63 on
    return int(words.min()) + above, int(words.max()) + above


# ---- Operands of eight bits -----------------------------------------------------------------------------------------


def _check_plan(products: Any, plan: Any) -> Plan:
    if not isinstance(products, (int, np.integer)) or products not in (6, 9):
        raise ValueError(f"products: {products!r} is unknown; allowed are 6 and 9")
    if plan is None:
        return make_int8_plan(int(products))
    if check_plan(plan).scheme != "INT8":
        raise ValueError(f"plan: scheme {plan.scheme!r} is not that of int8 products; leave out plan")
    if products not in (6, plan.products):
        raise ValueError(
            f"products: {products!r} contradicts the given plan, whose products are {plan.products}"
        )
    return make_int8_plan(plan.products)


def _on_device(request: MatmulRequest, plan: Plan) -> tuple[Any, Report | None]:
    """The product, also in `out` if there is one, and the report where it is asked for."""
    asked, shape = request.asked, request.shape
    on_cuda.check_device(request.a.device)
    since = began(request)
    outcome: dict[str, Any] = {
        "kernel": "none",
        "workspace": 0,
        "moduli_used": 0,
        "products": 0,
        "reason": _REASON,
        "fallback": None,
    }
    if 0 in (shape.m, shape.n, shape.k, *shape.stack):
        c: Any = empty_result(request, shape.result, np.int32).zero_()
    else:
        outcome["products"] = plan.products
        step = shape.k if shape.k <= plan.k_max else plan.k_max // 64 * 64  # of vectors
        c = None
        for first in range(0, shape.k, step):  # sums fit 64 bits up to K = 2^49
            part = _multiply(request, plan, first, min(first + step, shape.k), outcome)
            c = part if c is None else c.long() + part
    if since is not None:
        log(request, since, planned(plan), _REASON)
    overflows = 0
    if shape.k > plan.k_max:
        overflows = int(((c < -_LIMIT) | (c >= _LIMIT)).sum())
        if asked.raises:
            refuse_overflow(overflows, request.dtype)
        c = c.to(request.dtype)
    if request.out is not None:
        request.out[...] = c
    about = make_integer_report(request, plan, outcome, overflows) if asked.report else None
    return c, about


def _multiply(request: MatmulRequest, plan: Plan, first: int, last: int, outcome: dict[str, Any]) -> Any:
    """A tensor of int32, of a range of the inner dimension; the outcome of a reported product goes into `outcome`."""
    asked, b = request.asked, request.b[..., first:last, :] if request.b.ndim > 1 else request.b[first:last]
    request = replace(request, shape=request.shape._replace(k=last - first))
    shape = request.shape
    multiply = on_cuda.core_for(request).multiply_integers
    # The kernel stores pairs of entries, and a matrix of a stack begins where 16 bytes do: what is more is cut off.
    multiple = 4 if shape.stack else 2
    c = empty_result(request, (*shape.stack, shape.m, shape.n + -shape.n % multiple), np.int32)
    c = c[..., : shape.n]
    planned = asked._replace(plan=plan)
    made = multiply(request.a[..., first:last], b, c, planned, bits=0, is_reported=asked.report)
    if asked.report:
        outcome["workspace"] = max(outcome["workspace"], made["workspace"])
        outcome["kernel"] = made["kernel"]
    return c.contiguous().reshape(shape.result)
