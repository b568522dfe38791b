"""``ozfp4.enclose``: the tightest enclosure of a product that floating-point numbers can hold."""

from __future__ import annotations

from functools import partial
from logging import DEBUG
from typing import Any, Literal, overload

import numpy.typing as npt

from ..backends import cpu
from ..backends.cuda import launch
from ..backends.cuda.findings import Findings, make_report
from ..backends.cuda.promise import promise_of
from ..dispatch import complex_product, on_cpu, on_cuda, told
from ..report import Report
from ..request import library
from ..request.arguments import check_arguments, check_pair
from ..request.dlpack import any_library
from ..request.operands import MatmulRequest, matmul_request
from ..request.prepared import NEITHER, Prepared, take_prepared
from ..request.types import TensorT
from ..request.written import mark_written
from ..support.logger import LOGGER


@overload
def enclose(
    a: TensorT,
    b: TensorT,
    *,
    out: tuple[TensorT, TensorT] | None = ...,
    backend: str = ...,
    scheme: str = ...,
    workspace_limit: int | None = ...,
    report: Literal[False] = ...,
) -> tuple[TensorT, TensorT]: ...
@overload
def enclose(
    a: TensorT,
    b: TensorT,
    *,
    out: tuple[TensorT, TensorT] | None = ...,
    backend: str = ...,
    scheme: str = ...,
    workspace_limit: int | None = ...,
    report: Literal[True],
) -> tuple[TensorT, TensorT, Report]: ...
@overload
def enclose(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    out: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = ...,
    backend: str = ...,
    scheme: str = ...,
    workspace_limit: int | None = ...,
    report: Literal[False] = ...,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]: ...
@overload
def enclose(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    out: tuple[npt.NDArray[Any], npt.NDArray[Any]] | None = ...,
    backend: str = ...,
    scheme: str = ...,
    workspace_limit: int | None = ...,
    report: Literal[True],
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Report]: ...
@overload
def enclose(
    a: Prepared,
    b: Any,
    *,
    out: Any = ...,
    backend: str = ...,
    scheme: str = ...,
    workspace_limit: int | None = ...,
    report: bool = ...,
) -> Any: ...
@overload
def enclose(
    a: Any,
    b: Prepared,
    *,
    out: Any = ...,
    backend: str = ...,
    scheme: str = ...,
    workspace_limit: int | None = ...,
    report: bool = ...,
) -> Any: ...
@any_library
def enclose(
    a: Any,
    b: Any,
    *,
    out: Any = None,
    backend: str = "auto",
    scheme: str = "II",
    workspace_limit: int | None = None,
    report: bool = False,
) -> Any:
    """Lower and upper bounds of the real product of `a` and `b`, entry by entry, with no floating-point number between them.

    Both are the product of ``matmul(a, b, accuracy="correct")``, the lower one with ``rounding="down"``, the upper one with
    ``rounding="up"``, from one multiplication: they are equal where the real product is a floating-point number, else
    neighbours. An exact zero is [-0, +0]. Where NaN or infinity takes part, both are what IEEE arithmetic gives. Of complex
    operands the real and the imaginary part are enclosed each.

    Parameters
    ----------
    a, b : array_like, torch.Tensor or Prepared
        float64, float32, complex128 or complex64; integers, whose products are exact, are for :func:`ozfp4.matmul`. Else as
        there, prepared for accuracy="correct".
    out : (array, array) or (tensor, tensor), optional
        Where to write the lower and the upper bounds; as in :func:`ozfp4.matmul`, and apart from each other in memory.
    backend, scheme, workspace_limit
        As in :func:`ozfp4.matmul`.
    report : bool
        Return ``(lower, upper, Report)``; it counts the entries of both.

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
    sides, plan = NEITHER, None
    if isinstance(a, Prepared) or isinstance(b, Prepared):
        sides, a, b, plan, _ = take_prepared(a, b, None, "correct", scheme=scheme, backend=backend)
    asked = check_arguments(
        scheme,
        backend,
        None,
        "least",
        plan,
        workspace_limit=workspace_limit,
        accuracy="correct",
        rounding="down",
    )
    lower, upper = check_pair("out", out)
    operands = library.take_operands(a, b, lower, library.NUMBERS)
    other = None if upper is None else library.take_operands(a, b, upper, library.NUMBERS).out
    request = matmul_request(operands, asked, upper=other, prepared=sides)
    run = partial(_on_cuda if operands.on_device else _on_cpu, report=report)
    if request.is_complex:
        decide = (on_cuda if operands.on_device else on_cpu).decide
        found = complex_product.multiply(request, decide, run, encloses=True)
    else:
        found = run(request)
    mark_written(lower, upper)
    result = found[:2] if out is None else (lower, upper)
    return (*result, found[2]) if report else result


def _on_cpu(request: MatmulRequest, report: bool) -> tuple[Any, Any, Report | None]:
    decision = on_cpu.decide(request)
    began = told.begin(request) if LOGGER.isEnabledFor(DEBUG) else None
    (lower, upper), _, outcome = cpu.matmul(request, decision.plan, ("down", "up"), decision.way)
    if began is not None:
        told.tell(request, decision, began)
    if not report:
        return lower, upper, None
    about = cpu.make_report(request, decision.plan, outcome, decision.reason, decision.fallback)
    return lower, upper, about


def _on_cuda(request: MatmulRequest, report: bool) -> tuple[Any, Any, Report | None]:
    promise = promise_of("correct", request.single, encloses=True)
    decision = on_cuda.decide(request)
    findings = Findings(decision.plan) if report else None
    began = told.begin(request) if LOGGER.isEnabledFor(DEBUG) else None
    lower, upper, made = launch.matmul(request, decision.plan, decision.variant, findings, promise)
    if began is not None:
        told.tell(request, decision, began)
    if request.upper is not None:
        request.upper.copy_(upper)
    if findings is None:
        return lower, upper, None
    problem = None if made is None else made.prepared.problem
    about = make_report(
        decision.plan, request.a, request.b, problem, findings, decision.reason, decision.fallback,
        request.asked.accuracy, 2 * lower.numel(),
    )  # fmt: skip
    return lower, upper, about
