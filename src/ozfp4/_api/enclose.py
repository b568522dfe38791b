"""``ozfp4.enclose``: the tightest enclosure of a product that floating-point numbers can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from .._dispatch.product import multiply
from .._options import UnitOptions, check_taken, takes
from .._report import Report
from .._request import library
from .._request.dlpack import any_library
from .._request.operands import matmul_request, take
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T

if TYPE_CHECKING:
    from typing_extensions import Unpack


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
@any_library
def enclose(a: Any, b: Any, *, out: Any = None, **options: Any) -> Any:
    """Lower and upper bounds of the real product of `a` and `b`, entry by entry, with no floating-point number between them.

    Both are the product of ``matmul(a, b, accuracy="correct")``, the lower one with ``rounding="down"``, the upper one with
    ``rounding="up"``, from one multiplication: they are equal where the real product is a floating-point number, else
    neighbours. An exact zero is [-0, +0]. Where NaN or infinity takes part, both are what IEEE arithmetic gives. Of complex
    operands the real and the imaginary part are enclosed each.

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
