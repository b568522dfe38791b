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
    """alpha A B + beta C, rounded once.

    Neither the product nor its sum with C is rounded before the end, whatever the factors are.
    A residual needs accuracy="correct": ``gemm(-1, a, x, 1, b, accuracy="correct")``.

    Parameters
    ----------
    alpha, beta : complex
        Finite; their parts are float64 numbers. They are real if the product is real, integers if
        all operands are, and 0 or 1 for bool. If alpha is 0, A and B are not read; if beta is 0,
        C is not.
    a, b : array_like, torch.Tensor or Prepared
        As in :func:`ozfp4.matmul`, stacks and broadcasting included.
    c : array_like or torch.Tensor, optional
        Has the shape of the result or one that broadcasts to it; complex only if the product is.
        Needed unless beta is 0.
    trans_a, trans_b : {False, True, "N", "T", "C"}
        Take the transpose of the operand (its last two axes), and for "C" the conjugate
        transpose.
    out : array or tensor, optional
        As in :func:`ozfp4.matmul`. It may be `c` itself, to update it in place.
    accuracy, rounding
        As in :func:`ozfp4.matmul`, for alpha A B + beta C; see Notes.
    overflow : {"wrap", "raise"}
        As in :func:`ozfp4.matmul`. "raise" multiplies [A C] by [alpha B; beta I], and alpha B must
        fit 64 bits.
    return_bound : bool
        As in :func:`ozfp4.matmul`: bounds of the error of the result.
    report : bool
        As in :func:`ozfp4.matmul`: a report of A B.
    scheme, backend, plan, workspace_limit
        As in :func:`ozfp4.matmul`.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
        float32 if `a`, `b` and `c` are float32, else float64; complex64 or complex128 likewise;
        for integers see Notes.

    Raises
    ------
    TypeError, ValueError, OverflowError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`, and for:

        - a factor that is not finite, has parts that are not float64 numbers, is complex in a
          real product, or is not an integer in a product of integers;
        - a missing C, or one that does not broadcast to the result;
        - an `out` that overlaps C without being C;
        - a direction of rounding with a factor that has a real and an imaginary part;
        - an imaginary alpha if every complex operand is prepared.

    Notes
    -----
    **Accuracy**, with n and u of :func:`ozfp4.matmul`, for every entry:

    - "standard": the error is at most n u |alpha| (|A| |B|), plus half a unit in the last place
      of the result. After cancellation the first term may be larger than the result.
    - "correct": the exact alpha A B + beta C, rounded once in the direction `rounding`.
    - "scaled": alpha times the exact product of the scaled integers, plus beta C, rounded to
      nearest.

    An exact zero is +0, and -0 when rounding down. An entry depends on its row, its column and
    its entry of C alone. NaN and infinity follow IEEE: those of A B and of beta C are added, and
    finite numbers change nothing.

    **Complex** products: this holds for each part if the factors are real or imaginary. If a
    factor has both parts, A B is first rounded to T, as by
    ``matmul(a, b, accuracy=accuracy)``; then each part of alpha T + beta C is rounded to nearest.
    "correct" keeps T as the sum of two numbers, within u^2 of each part of A B, and multiplies A
    and B twice for it.

    **Integers** are exact: the result is alpha A B + beta C modulo 2^w, in the dtype of w bits
    that `a`, `b` and `c` promote to. For bool it is True if A B or C is. Integers and
    floating-point numbers are converted as by :func:`ozfp4.matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[0.1, 0.3]])
    >>> b = np.array([[0.7], [0.9]])
    >>> gemm(-1, a, b, 1, [[0.1 * 0.7 + 0.3 * 0.9]], accuracy="correct").item()  # what the sum in float64 lost
    2.831068712794149e-17
    >>> gemm(2, np.array([[2**62, 3]]), np.array([[4], [5]]), -1, [[1]])
    array([[29]])
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
    """The update itself. `is_asked`: torch may observe the operands, see :func:`is_watched`; this function is never traced."""
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
            raise ValueError(
                f"trans_{name}: a prepared {name} cannot be transposed; prepare its transpose instead"
            )
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
