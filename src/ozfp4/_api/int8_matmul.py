"""``ozfp4.int8_matmul``: the integer GEMM of INT8 matrix units, bit for bit, from FP4 products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from logging import DEBUG
from typing import TYPE_CHECKING, Any, TypedDict, overload

import numpy as np
import numpy.typing as npt

from .._backends.reports import make_integer_report
from .._dispatch import on_cuda, told
from .._dispatch.decision import Decision
from .._dispatch.product import empty_result, multiply_integers, refuse_overflow, results
from .._options import Options, check_plan, check_taken, takes
from .._plans.plan import Plan, make_int8_plan
from .._report import Report
from .._request import library
from .._request.dlpack import any_library
from .._request.operands import MatmulRequest, matmul_request
from .._request.types import Arrays, No, Yes
from .._request.types import TensorT as T
from .._support.environment import LOGGER

if TYPE_CHECKING:
    from typing_extensions import Unpack

_LIMIT = 2**31
_REASON = "int8 products are of FP4 limbs"


class Int8Options(TypedDict, total=False):
    """Options of :func:`int8_matmul`, without those that change its result's type."""

    plan: Plan | None
    overflow: str
    workspace_limit: int | None


Array = npt.NDArray[np.int32]


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
) -> Array: ...
@overload
def int8_matmul(
    a: Arrays, b: Arrays, *, products: int = ..., out: Array | None = ..., report: Yes, **options: Unpack[Int8Options]
) -> tuple[Array, Report]: ...
# fmt: on
@takes(Int8Options, "report")
@any_library
def int8_matmul(a: Any, b: Any, *, products: int = 6, out: Any = None, **options: Any) -> Any:
    """int8 × int8 → int32 matrix product, exact, over FP4 limbs.

    Parameters
    ----------
    a, b : array_like or torch.Tensor of int8
        Shapes as for ``numpy.matmul``.
    products : {6, 9}
        6: limbs with the weights 1, 29, 37 whose pairwise sums are limbs as well (Karatsuba); 9: three
        base-13 limbs (paper, section III).
    plan : Plan, optional
        The plan of an earlier report in place of `products`.
    overflow : {"wrap", "raise"}
        Of an inner dimension above 131,071, from which on 128 · 128 · K could exceed INT32: it is cut into pieces, whose sum is
        exact, and kept modulo 2^32, or refused as by :func:`ozfp4.matmul`.
    out, report, workspace_limit
        As in :func:`ozfp4.matmul`; `out` is int32.

    Examples
    --------
    >>> import numpy as np
    >>> int8_matmul(np.full((1, 3), -128, np.int8), np.full((3, 1), 127, np.int8))
    array([[-48768]], dtype=int32)

    Raises
    ------
    TypeError, ValueError, OverflowError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; TypeError for dtypes other than int8, ValueError for `products` other than 6 and 9 and a plan of
        another kind.
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


def _check_plan(products: Any, plan: Any) -> Plan:
    if not isinstance(products, (int, np.integer)) or products not in (6, 9):
        raise ValueError(f"products: {products!r} is unknown; allowed are 6 and 9")
    if plan is None:
        return make_int8_plan(int(products))
    if check_plan(plan).scheme != "INT8":
        raise ValueError(f"plan: one of scheme {plan.scheme!r} does not multiply int8 matrices as they are")
    if products not in (6, plan.products):
        raise ValueError(
            f"products: {products!r} contradicts the given plan, whose products are {plan.products}"
        )
    return make_int8_plan(plan.products)


def _on_device(request: MatmulRequest, plan: Plan) -> tuple[Any, Report | None]:
    """The product, also in `out` if there is one, and the report where it is asked for."""
    asked, shape = request.asked, request.shape
    on_cuda.check_device(request.a.device)
    began = told.begin(request) if LOGGER.isEnabledFor(DEBUG) else None
    outcome: dict[str, Any] = {
        "kernel": "none",
        "workspace": 0,
        "moduli_used": 0,
        "products": 0,
        "reason": _REASON,
        "fallback": None,
    }
    if 0 in (shape.m, shape.n, shape.k, *shape.stack):
        c = empty_result(request, shape.result, np.int32).zero_()
    else:
        outcome["products"] = plan.products
        parts = (_multiply(piece, plan, outcome) for piece in _pieces(request, plan.k_max))
        c = next(parts)
        for part in parts:  # sums fit 64 bits up to K = 2^49
            c = c.long() + part
    if began is not None:
        told.tell(request, Decision(plan, _REASON), began)
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


def _pieces(request: MatmulRequest, most: int) -> Iterator[MatmulRequest]:
    """The request by ranges of its inner dimension that INT32 holds, which begin where vectors do."""
    shape, b = request.shape, request.b
    step = shape.k if shape.k <= most else most // 64 * 64
    for first in range(0, shape.k, step):
        inner = slice(first, min(first + step, shape.k))
        yield replace(
            request,
            a=request.a[..., inner],
            b=b[inner] if shape.b_vector else b[..., inner, :],
            out=None,
            shape=shape._replace(k=inner.stop - first),
        )


def _multiply(request: MatmulRequest, plan: Plan, outcome: dict[str, Any]) -> Any:
    """A tensor of int32; the outcome of a reported product goes into `outcome`."""
    shape, asked = request.shape, request.asked._replace(plan=plan)
    # The kernel stores pairs of entries, and a matrix of a stack begins where 16 bytes do: what is more is cut off.
    multiple = 4 if shape.stack else 2
    c = empty_result(request, (*shape.stack, shape.m, shape.n + -shape.n % multiple), np.int32)
    c = c[..., : shape.n]
    multiply = on_cuda.core_for(request).multiply_integers
    made = multiply(request.a, request.b, c, asked, bits=0, is_reported=asked.report)
    if asked.report:
        outcome["workspace"] = max(outcome["workspace"], made["workspace"])
        outcome["kernel"] = made["kernel"]
    return c.contiguous().reshape(shape.result)
