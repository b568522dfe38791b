"""Products of integers, exact: ``ozfp4.matmul_mod``, and what ``ozfp4.matmul``, ``gemm`` and ``gram`` make of integers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .._dispatch.product import empty_result, multiply_integers, results, to_caller
from .._options import Options, UnitOptions, check_taken, takes
from .._plans.plan import Plan
from .._report import Report
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import check_modulus, entry_bits, words_of
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


Integers = npt.NDArray[np.int64]


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
) -> Integers: ...
@overload
def matmul_mod(
    a: Arrays, b: Arrays, modulus: int, *, out: Array | None = ..., report: Yes, **options: Unpack[ModOptions]
) -> tuple[Integers, Report]: ...
# fmt: on
@takes(ModOptions, "report")
@any_library
def matmul_mod(a: Any, b: Any, modulus: int, *, out: Any = None, **options: Any) -> Any:
    """Matrix product of integers modulo `modulus`, exact: every entry is that of the integers' real product, in
    [0, modulus).

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        Integers or bool, of any size and sign, not necessarily of one dtype; shapes as in :func:`ozfp4.matmul`.
    modulus : int
        1 <= modulus < 2**63; it need not be prime.
    plan : Plan, optional
        As in :func:`ozfp4.matmul`; its bits are at least two more than those of modulus // 2, or one more than those of the
        entries' dtypes.
    out, scheme, backend, report, workspace_limit
        As in :func:`ozfp4.matmul`; `out` is int64, as the result is.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[2**62, -1], [3, 2**63 - 1]])
    >>> matmul_mod(a, a, 10**9 + 7)
    array([[829977020, 563242002],
           [310274008, 737564068]])

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; TypeError for floating-point operands and a `modulus` that is no integer, ValueError for one
        outside 1..2**63 - 1.
    """
    modulus = check_modulus(modulus)
    check_taken(matmul_mod, options)
    asked = Options.of(options)
    operands = library.take_operands(a, b, out, library.INTEGERS)
    # The core multiplies what is nearest to zero modulo the modulus.
    bits = min(bits_of(operands), max(modulus.bit_length(), 2))
    c, about = integer_product(operands, asked, np.dtype(np.int64), bits, modulus)
    library.mark_written(out)
    return results(asked, c if out is None else out, None, about)


def bits_of(operands: Operands) -> int:
    """The bits of an entry that a plan for the operands needs."""
    return max(entry_bits(operands.a.dtype), entry_bits(operands.b.dtype))


def integer_product(
    operands: Operands,
    asked: Options,
    dtype: Any,
    bits: int,
    modulus: int = 0,
    update: Update | None = None,
) -> tuple[Any, Report | None]:
    """The product of integers of less than `bits` bits, modulo 2^w of `dtype` or modulo `modulus`, or their `update`; and a
    report where one is asked for. Raises as :func:`ozfp4.matmul`; ValueError for a plan of too few bits."""
    request = replace(integer_request(operands, asked, dtype, bits), update=update)
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
    """The update in the caller's library, also in `out` if there is one, and a report of the product where it is asked for.

    `operands` are transposed as they are multiplied, `c` is as taken beside them or None, `dtype` what all promote to. Raises as
    :func:`ozfp4.gemm`; ValueError for overflow="raise" beside a product alpha B that 64 bits do not hold.
    """
    alpha, beta = check_integer_factor("alpha", alpha), check_integer_factor("beta", beta)
    if library.name_of(dtype) == "bool":
        _check_truth(alpha=alpha, beta=beta)
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


def _check_truth(**factors: int) -> None:
    for name, factor in factors.items():
        if factor not in (0, 1):
            raise ValueError(
                f"{name}: {factor} is neither 0 nor 1, and all operands are bool; convert one of them to an integer dtype"
            )


def _as_one_product(
    xp: Any, alpha: int, operands: Operands, beta: int, c: Any, shape: MatmulShape, is_signed: bool
) -> tuple[Any, Any]:
    """[A C] and [alpha B; beta I], whose product is alpha A B + beta C: its sums are checked as those of any product.
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
