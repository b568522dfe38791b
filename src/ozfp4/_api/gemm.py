"""``ozfp4.gemm``: a product added to a matrix before it is rounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._dispatch.plain import products
from .._dispatch.product import multiply, results
from .._options import ReportedOptions, check_taken, check_unasked, current_accuracy, takes
from .._request import dlpack, library
from .._request.integers import unify_update
from .._request.library import is_integer, is_traced, is_watched, mark_written, short_way
from .._request.operands import (
    check_factor,
    check_transpose,
    check_wraps,
    take,
    take_addend,
    transposed,
    update_request,
)
from .integers import integer_update
from .matmul import by_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(ReportedOptions)
def gemm(
    alpha: complex,
    a: Any,
    b: Any,
    beta: complex = 0.0,
    c: Any = None,
    *,
    trans_a: bool | str = False,
    trans_b: bool | str = False,
    out: Any = None,
    **options: Unpack[ReportedOptions],
) -> Any:
    """alpha A B + beta C, rounded once: whatever the factors are, neither the product nor its sum with C is rounded before.

    `accuracy` says what is promised, as for :func:`ozfp4.matmul`, with n the fewer nonzero entries of row and column, and u the
    unit roundoff of the result type. A residual, ``gemm(-1, a, x, 1, b, accuracy="correct")``, keeps what is left after
    cancellation; by the other two it need not:

    - "scaled": alpha times the exact product of the scaled integers, plus beta C, rounded to nearest.
    - "standard": the result is off by n u |alpha| (|A| |B|) at most and half a unit in its own last place. After cancellation the
      first may be all of it.
    - "correct": every entry is the real alpha A B + beta C, rounded once in the direction `rounding`.

    An exact zero is +0, and -0 when rounding down. An entry depends on its row, its column and its entry of C alone. NaN and
    infinity follow IEEE: what they make of the product is added to what they make of beta C, and finite numbers change nothing.

    For a complex product all of this holds for each part, with factors that are real or imaginary. Where one has both parts, A B
    is rounded to T first, as ``matmul(a, b, accuracy=accuracy)`` does to the result's dtype, and then alpha T + beta C, each part
    once more, to nearest. "correct" keeps T as the sum of two numbers, at most u^2 of each part of A B away from it, and
    multiplies A and B twice for that.

    Integers are exact: the result is alpha A B + beta C modulo 2^w of the w bits of the dtype that `a`, `b` and `c` promote to,
    and of bool whether A B or C is True. Integers beside floating-point numbers are converted as by :func:`ozfp4.matmul`.

    Parameters
    ----------
    alpha, beta : complex
        Finite, their parts float64 numbers; real beside a real product. Any integers for integers, 0 or 1 for bool. Where alpha
        is 0, A and B are not read; where beta is 0, C is not.
    a, b : array_like, torch.Tensor or Prepared
        As in :func:`ozfp4.matmul`, stacks and broadcasting included.
    c : array_like or torch.Tensor, optional
        It has the result's shape or one that broadcasts to it, real, or complex if the product is. Needed where beta is not 0.
    trans_a, trans_b : {False, True, "N", "T", "C"}
        Take the operand with its last two axes exchanged, and for "C" conjugated.
    out : array or tensor, optional
        As in :func:`ozfp4.matmul`; it may be `c` itself, to update that in place.
    overflow : {"wrap", "raise"}
        As in :func:`ozfp4.matmul`. "raise" multiplies [A C] by [alpha B; beta I], whose right operand has to fit 64 bits.
    scheme, backend, plan, report, workspace_limit, accuracy, rounding, return_bound
        As in :func:`ozfp4.matmul`; bounds are those of the error of the result, a report is one of A B.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
        float32 if `a`, `b` and `c` are float32, else float64; complex64 or complex128 likewise, each part rounded once; of
        integers as above.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[0.1, 0.3]])
    >>> b = np.array([[0.7], [0.9]])
    >>> gemm(-1, a, b, 1, [[0.1 * 0.7 + 0.3 * 0.9]], accuracy="correct").item()  # what the sum in float64 lost
    2.831068712794149e-17
    >>> gemm(2, np.array([[2**62, 3]]), np.array([[4], [5]]), -1, [[1]])
    array([[29]])

    Raises
    ------
    TypeError, ValueError, OverflowError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; also for a factor that is not a finite number with parts that float64 holds, a complex one beside
        a real product, one of integers that is no integer, a C that is missing or does not broadcast to the result, an `out` that
        overlaps C without being the same, a direction of rounding with a factor of both parts, an imaginary alpha where every
        complex operand is prepared.
    """
    check_taken(gemm, options)
    if is_traced() and is_watched(a, b, c, out):
        return by_operator("gemm", alpha, a, b, beta, c, trans_a, trans_b, out, options)
    return _gemm(alpha, a, b, beta, c, trans_a, trans_b, out, options, True)


def _gemm(
    alpha: Any,
    a: Any,
    b: Any,
    beta: Any,
    c: Any,
    trans_a: bool | str,
    trans_b: bool | str,
    out: Any,
    options: Mapping[str, Any],
    is_asked: bool = False,
) -> Any:
    """The update itself. `is_asked`: somebody may watch the operands, as :func:`is_watched` has it; nobody traces this."""
    if (short := short_way(a)) is not None:
        found = short(a, b, out, current_accuracy(), options, is_asked, alpha, beta, c, trans_a, trans_b)
        if found is not NotImplemented:
            return found
    if is_asked and is_watched(a, b, c, out):
        return by_operator("gemm", alpha, a, b, beta, c, trans_a, trans_b, out, options)
    if not dlpack.plain.issuperset(map(type, (a, b, c, out))) and dlpack.are_given(a, b, c, out):
        return dlpack.of_another(_gemm, alpha, a, b, beta, c, trans_a, trans_b, out, options)

    asked, taken, sides = take(a, b, out, options, library.TAKEN)
    given = take_addend(c, taken)
    operands, addend, integer = taken, given, None
    if taken.has_integers or (given is not None and is_integer(given.dtype)):
        operands, addend, integer = unify_update(taken, given)
    for name, side, is_turned in (("a", sides.a, trans_a), ("b", sides.b, trans_b)):
        if side is not None and check_transpose(f"trans_{name}", is_turned):
            raise ValueError(f"trans_{name}: {name} is prepared as it is; prepare its transpose")
    x, y = transposed("a", operands.a, trans_a), transposed("b", operands.b, trans_b)
    operands = operands._replace(a=x, b=y)
    bound = None
    if integer is not None:
        check_unasked(options)
        found, about = integer_update(alpha, operands, beta, addend, integer, asked)
    else:
        check_wraps(asked, (taken.a, taken.b, given), (operands.a, operands.b, addend))
        alpha, beta = check_factor("alpha", alpha), check_factor("beta", beta)
        for name, factor in (("alpha", alpha), ("beta", beta)):
            if factor.real != 0 and factor.imag != 0 and asked.rounding != "nearest":  # rounded twice
                raise ValueError(
                    f"rounding: {asked.rounding!r} is not for {name} = {factor}, which has a real and an imaginary part: A B is "
                    "rounded before the sum; allowed is 'nearest'"
                )
        found, bound, about = multiply(update_request(alpha, operands, beta, addend, asked, sides))
    mark_written(out)
    return results(asked, found if out is None else out, bound, about)


products["gemm"] = lambda a, b, alpha, beta=0.0, c=None, out=None, **options: _gemm(
    alpha, a, b, beta, c, False, False, out, options
)
