"""``ozfp4.matmul``: the way of one product, from the arguments to the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy.typing as npt

from ..backends import cpu
from ..backends.cuda import launch
from ..backends.cuda.findings import Findings, make_report
from ..dispatch import on_cpu, on_cuda, repeated
from ..plans.plan import Plan
from ..report import Report
from ..request import library
from ..request.arguments import check_arguments
from ..request.operands import MatmulRequest, matmul_request
from ..request.types import TensorT


@overload
def matmul(
    a: TensorT,
    b: TensorT,
    *,
    scheme: str = ...,
    backend: str = ...,
    bits: int | None = ...,
    family: str = ...,
    plan: Plan | None = ...,
    out: TensorT | None = ...,
    report: Literal[False] = ...,
    workspace_limit: int | None = ...,
    progress: Callable[[float], object] | None = ...,
) -> TensorT: ...
@overload
def matmul(
    a: TensorT,
    b: TensorT,
    *,
    scheme: str = ...,
    backend: str = ...,
    bits: int | None = ...,
    family: str = ...,
    plan: Plan | None = ...,
    out: TensorT | None = ...,
    report: Literal[True],
    workspace_limit: int | None = ...,
    progress: Callable[[float], object] | None = ...,
) -> tuple[TensorT, Report]: ...
@overload
def matmul(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    scheme: str = ...,
    backend: str = ...,
    bits: int | None = ...,
    family: str = ...,
    plan: Plan | None = ...,
    out: npt.NDArray[Any] | None = ...,
    report: Literal[False] = ...,
    workspace_limit: int | None = ...,
    progress: Callable[[float], object] | None = ...,
) -> npt.NDArray[Any]: ...
@overload
def matmul(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    scheme: str = ...,
    backend: str = ...,
    bits: int | None = ...,
    family: str = ...,
    plan: Plan | None = ...,
    out: npt.NDArray[Any] | None = ...,
    report: Literal[True],
    workspace_limit: int | None = ...,
    progress: Callable[[float], object] | None = ...,
) -> tuple[npt.NDArray[Any], Report]: ...
def matmul(
    a: Any,
    b: Any,
    *,
    scheme: str = "II",
    backend: str = "auto",
    bits: int | None = None,
    family: str = "least",
    plan: Plan | None = None,
    out: Any = None,
    report: bool = False,
    workspace_limit: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Any:
    """Matrix product of `a` and `b`, exact on the scaled integers and rounded once.

    Each row of `a` (column of `b`) is scaled by a power of two to integers of at most `bits` bits; their
    product is computed without any rounding and rounded once to the result type (ties to even). The bits of
    the result do not depend on scheme, backend, family, device, workspace or threads. NaN and infinity follow
    IEEE dot products.

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        float64 or float32, shapes as for ``numpy.matmul``: 1-D, 2-D, or stacks with broadcasting; any
        strides.
    scheme : {"II", "I"}
        Ozaki scheme: residues and the Chinese remainder theorem, or positional digits.
    backend : {"auto", "fp4", "int8", "fp64"}
        Alphabet of the plane products; "auto" takes the fastest.
    bits : int, optional
        Capacity of the scaled integers, 2..53; by default 53, or 24 when both operands are float32.
    family : {"least", "paper", "paper-karatsuba"}
        Fewest products, or the paper's moduli.
    plan : Plan, optional
        Use this plan; scheme, backend, bits and family must then be left at their defaults or agree with it.
    out : array or tensor, optional
        Where to write the result: its exact shape and dtype, no memory shared with the inputs.
    report : bool
        Return ``(c, Report)`` instead of ``c``.
    workspace_limit : int, optional
        Bytes that may be used beside inputs and output, 2**30 by default (on a GPU no limit, but 2**34 for stacks of
        matrices); larger products run in turns of matrices, blocks, and pieces of the inner dimension.
    progress : callable, optional
        Called between blocks with the fraction done. Not called for tensors on a GPU, whose products are only enqueued.

    Returns
    -------
    c or (c, Report)
        NumPy in, NumPy out; torch in, torch out. float32 if both operands are float32, else float64.

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

    Raises
    ------
    TypeError
        Unsupported dtypes, NumPy mixed with torch, masked arrays, `out` of another dtype.
    ValueError
        Shapes that do not fit, unknown names, bits outside 2..53, `out` of another shape, read-only or
        overlapping, an inner dimension beyond the plan's limit.
    RuntimeError
        Tensors that require grad, or on a device without a kernel in this build; a backend whose every kernel failed its
        self-test (:func:`ozfp4.selftest`).
    MemoryError
        A workspace limit below what the smallest blocks need.
    """
    like = None
    if plan is None and out is None and not report:
        like = repeated.likeness(a, b, (scheme, backend, bits, family, workspace_limit))
        if like is not None and (again := repeated.again(like, a, b)) is not None:
            return again

    asked = check_arguments(scheme, backend, bits, family, plan, workspace_limit, progress)
    operands = library.take_operands(a, b, out, library.FLOATS)
    request = matmul_request(operands, asked)
    if operands.on_device:
        c, made, about = _on_cuda(request, report)
        if like is not None and made is not None:
            repeated.made[like] = (made.prepared, request.shape.result, request.dtype)
    else:
        c, about = _on_cpu(request, report)
    result = c if out is None else out
    return result if about is None else (result, about)


def _on_cpu(request: MatmulRequest, report: bool) -> tuple[Any, Report | None]:
    decision = on_cpu.decide(request)
    c, outcome = cpu.matmul(request, decision.plan)
    if not report:
        return c, None
    return c, cpu.make_report(decision.plan, outcome, decision.reason, decision.fallback)


def _on_cuda(request: MatmulRequest, report: bool) -> tuple[Any, launch.Launch | None, Report | None]:
    decision = on_cuda.decide(request)
    findings = Findings(decision.plan) if report else None
    c, _, made = launch.matmul(request, decision.plan, decision.variant, findings)
    if findings is None:
        return c, made, None
    problem = None if made is None else made.prepared.problem
    about = make_report(
        decision.plan, request.a, request.b, problem, findings, decision.reason, decision.fallback
    )
    return c, made, about
