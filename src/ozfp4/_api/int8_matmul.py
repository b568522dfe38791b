"""``ozfp4.int8_matmul``: the integer GEMM of INT8 matrix units, bit for bit, from FP4 products."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from logging import DEBUG
from typing import TYPE_CHECKING, Any, TypedDict, overload

import numpy as np
import numpy.typing as npt

from .._backends.reports import integer_exponents
from .._dispatch import on_cuda, told
from .._dispatch.decision import Decision
from .._dispatch.product import empty_result, multiply_integers, refuse_overflow
from .._options import Options, check_plan, check_taken, takes
from .._plans.plan import Plan, make_int8_plan
from .._report import Report
from .._request import library
from .._request.dlpack import any_library
from .._request.operands import MatmulRequest, matmul_request
from .._request.types import Arrays, No, Yes
from .._request.types import TensorT as T
from .._request.written import mark_written
from .._support.logger import LOGGER

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
    out : array or tensor, optional
        Where to write the result: its exact shape, int32, no memory shared with the inputs.
    overflow : {"wrap", "raise"}
        Of an inner dimension above 131,071, from which on 128 · 128 · K could exceed INT32: it is cut into pieces, whose sum is
        exact. Where it does not fit INT32, "raise" is an OverflowError that leaves `out` unchanged (on a GPU it waits for the
        product, once); "wrap" keeps it modulo 2^32.
    report : bool
        Return ``(c, Report)`` instead of ``c``.
    workspace_limit : int, optional
        Bytes that may be used beside inputs and output, 2**30 by default; see :func:`ozfp4.matmul`.

    Examples
    --------
    >>> import numpy as np
    >>> int8_matmul(np.full((1, 3), -128, np.int8), np.full((3, 1), 127, np.int8))
    array([[-48768]], dtype=int32)

    Raises
    ------
    TypeError
        For dtypes other than int8, `out` of another than int32.
    ValueError
        For shapes that do not fit, `products` other than 6 and 9, a plan of another kind.
    OverflowError
        As `overflow` says.
    RuntimeError
        If the kernels that could serve failed their self-test (:func:`ozfp4.selftest`).
    """
    check_taken(int8_matmul, options)
    plan = _check_plan(products, options.pop("plan", None))
    asked = Options.of({**options, "accuracy": "scaled"})
    operands = library.take_operands(a, b, out, library.INT8)
    request = matmul_request(operands, asked, np.int32)
    if not operands.on_device:
        c, about = multiply_integers(replace(request, asked=asked._replace(plan=plan)), bits=8)
        mark_written(out)
        c = c if out is None else out
        return (c, about) if asked.report else c
    on_cuda.check_device(request.a.device)
    product = _Product(request, plan)
    began = told.begin(request) if LOGGER.isEnabledFor(DEBUG) else None
    c = product.exact()
    if began is not None:
        told.tell(request, Decision(plan, _REASON), began)
    overflows = 0
    if request.shape.k > plan.k_max:
        overflows = int(((c < -_LIMIT) | (c >= _LIMIT)).sum())
        if asked.raises:
            refuse_overflow(overflows, request.dtype)
        c = c.to(request.dtype)
    if out is not None:
        request.out[...] = c
        mark_written(out)
        c = out
    return (c, product.report(overflows)) if asked.report else c


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


class _Product:
    """The product on a device, by pieces of the inner dimension where it is too long for INT32, and what ran for it."""

    def __init__(self, request: MatmulRequest, plan: Plan) -> None:
        self._request = request
        self._plan = plan
        self._workspace = 0
        self._kernel = "none"

    def exact(self) -> Any:
        """A tensor: int32, or int64 of more than one piece. Range: K < 2^49, up to which sums fit 64 bits."""
        pieces = list(self._pieces())
        if len(pieces) == 1:
            return self._multiply(pieces[0])
        total: Any = 0
        for piece in pieces:
            total = total + self._multiply(piece).long()
        return total

    def report(self, overflows: int) -> Report:
        request = self._request
        device = f"{request.a.device} ({library.require_torch().cuda.get_device_name(request.a.device)})"
        return Report(
            backend=self._plan.backend,
            kernel=self._kernel,
            device=device,
            plan=self._plan,
            moduli_used=0,
            products=0 if _is_empty(request) else self._plan.products,
            bits=self._plan.bits,
            exponents=integer_exponents(request.a, request.b),
            special_rows=0,
            special_columns=0,
            workspace=self._workspace,
            reason=_REASON,
            accuracy="exact",
            kind="integer",
            overflows=overflows,
        )

    def _pieces(self) -> Iterator[MatmulRequest]:
        """The request by ranges of its inner dimension that INT32 holds."""
        request, most = self._request, self._plan.k_max
        most = (
            request.shape.k if request.shape.k <= most else most // 64 * 64
        )  # pieces begin where vectors do
        for first in range(0, max(request.shape.k, 1), max(most, 1)):
            k = min(most, request.shape.k - first)
            inner = slice(first, first + k)
            is_vector = request.b.ndim == 1
            yield replace(
                request,
                a=request.a[..., inner],
                b=request.b[inner] if is_vector else request.b[..., inner, :],
                out=None,
                shape=request.shape._replace(k=k),
            )

    def _multiply(self, request: MatmulRequest) -> Any:
        shape = request.shape
        # The kernel stores pairs of entries, and a matrix of a stack begins where 16 bytes do: what is more is cut off.
        multiple = 4 if shape.stack else 2
        extents = (*shape.stack, shape.m, shape.n + -shape.n % multiple)
        c = empty_result(request, extents, np.int32)
        if _is_empty(request):
            c.zero_()
        else:
            asked = request.asked._replace(plan=self._plan)
            multiply, is_reported = on_cuda.core_for(request).multiply_integers, request.asked.report
            outcome = multiply(
                request.a, request.b, c[..., : shape.n], asked, bits=0, is_reported=is_reported
            )
            if is_reported:
                self._workspace = max(self._workspace, outcome["workspace"])
                self._kernel = outcome["kernel"]
        return c[..., : shape.n].contiguous().reshape(shape.result)


def _is_empty(request: MatmulRequest) -> bool:
    """Whether there is nothing to multiply."""
    shape = request.shape
    return 0 in (shape.m, shape.n, shape.k, *shape.stack)
