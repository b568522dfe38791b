"""``ozfp4.gemm``: a product added to a matrix before it is rounded."""

from __future__ import annotations

from typing import Any

from ..plans.plan import Plan
from ..request import library
from ..request.arguments import check_arguments
from ..request.prepared import NEITHER, Prepared, check_addend, take_prepared
from ..request.update import update_request
from ..request.written import mark_written
from .matmul import _of_parts, _on_cpu, _on_cuda


def gemm(
    alpha: float,
    a: Any,
    b: Any,
    beta: float = 0.0,
    c: Any = None,
    *,
    trans_a: bool | str = False,
    trans_b: bool | str = False,
    out: Any = None,
    scheme: str = "II",
    backend: str = "auto",
    bits: int | None = None,
    family: str = "least",
    plan: Plan | None = None,
    report: bool = False,
    workspace_limit: int | None = None,
    accuracy: str | None = None,
    rounding: str = "nearest",
    return_bound: bool = False,
) -> Any:
    """alpha A B + beta C, rounded once: whatever the factors are, neither the product nor its sum with C is rounded before.

    So a residual, ``gemm(-1, a, x, 1, b)``, has no error from cancellation. `accuracy` says what is promised of the product, as
    for :func:`ozfp4.matmul`, with n the inner dimension and u the unit roundoff of the result type:

    - "scaled": alpha times the exact product of the scaled integers, plus beta C, rounded to nearest.
    - "fp64": the result is off by n u |alpha| (|A| |B|) at most and half a unit in its own last place. After cancellation the
      first may be all of it.
    - "correct": every entry is the real alpha A B + beta C, rounded once in the direction `rounding`.

    An exact zero is +0, and -0 when rounding down. An entry depends on its row, its column and its entry of C alone. NaN and
    infinity follow IEEE: what they make of the product is added to what they make of beta C, and finite numbers change nothing.

    Parameters
    ----------
    alpha, beta : float
        Finite and real. Where alpha is 0, A and B are not read; where beta is 0, C is not.
    a, b : array_like, torch.Tensor or Prepared
        float64, float32, complex128 or complex64, no integers; else as in :func:`ozfp4.matmul`, stacks and broadcasting included.
    c : array_like or torch.Tensor, optional
        Of the result's shape or one that broadcasts to it, real, or complex if the product is. Needed where beta is not 0.
    trans_a, trans_b : {False, True, "N", "T", "C"}
        Take the operand with its last two axes exchanged, and for "C" conjugated.
    out : array or tensor, optional
        Where to write the result: its exact shape and dtype. It may be `c` itself, to update that in place, and shares no
        memory with anything else.
    scheme, backend, bits, family, plan, report, workspace_limit, accuracy, rounding, return_bound
        As in :func:`ozfp4.matmul`; bounds are those of the error of the result.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
        float32 if `a`, `b` and `c` are float32, else float64; complex64 or complex128 likewise, each part rounded once.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[0.1, 0.3]])
    >>> b = np.array([[0.7], [0.9]])
    >>> c = a @ b
    >>> gemm(-1, a, b, 1, c).item()  # what the sum in float64 lost
    -2.7200464103316335e-17

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; also for a factor that is not a finite real number which float64 holds, a C that is missing or
        does not broadcast to the result, an `out` that overlaps C without being the same.
    """
    sides = NEITHER
    if isinstance(a, Prepared) or isinstance(b, Prepared):
        sides, a, b, plan, accuracy = take_prepared(
            a, b, plan, accuracy, scheme=scheme, backend=backend, bits=bits, family=family
        )
    asked = check_arguments(
        scheme, backend, bits, family, plan, workspace_limit, None, accuracy, rounding, return_bound
    )
    operands = library.take_operands(a, b, out, library.NUMBERS)
    if sides is not NEITHER and c is not None:
        check_addend(sides, operands, c)
    request = update_request(alpha, operands, beta, c, trans_a, trans_b, asked, sides)
    if request.is_complex:
        found, bound, _, about = _of_parts(request, operands.on_device, report)
    elif operands.on_device:
        found, bound, _, about = _on_cuda(request, report)
    else:
        found, bound, about = _on_cpu(request, report)
    mark_written(out)
    result = (
        found if out is None else out,
        *([bound] if return_bound else []),
        *([about] if report else []),
    )
    return result if len(result) > 1 else result[0]
