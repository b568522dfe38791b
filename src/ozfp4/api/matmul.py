"""``ozfp4.matmul``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _core
from ..backends import cpu
from ..backends.cuda import launch
from ..cost import model as cost
from ..plans.plan import Plan, check_names
from ..report import Report
from ..request.library import (
    FLOATS,
    Product,
    as_array,
    check_dtype,
    check_out,
    check_same_library,
    like_input,
    pair,
)
from .plan import check_device_operands, choose_plan, device_decision, serving_plan


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
    arguments = (scheme, backend, bits, family, workspace_limit)
    is_plain = plan is None and out is None and not report
    if is_plain:
        repeated = launch.repeat(a, b, arguments)
        if repeated is not None:
            return repeated
    check_names(scheme, backend, family)
    from_torch = check_same_library(a=a, b=b, out=out)
    if from_torch and (a.device.type != "cpu" or b.device.type != "cpu"):
        c, made = _device_matmul(a, b, scheme, backend, bits, family, plan, out, report, workspace_limit)
        if is_plain:
            launch.remember(a, b, arguments, c, made)
        return c
    array_a = check_dtype("a", as_array("a", a), FLOATS)
    array_b = check_dtype("b", as_array("b", b), FLOATS)
    product = pair(array_a, array_b)
    dtype = np.promote_types(array_a.dtype, array_b.dtype)
    request = (product.shape.k, dtype == np.float32, scheme, backend, bits, family, plan)
    chosen = choose_plan(*request)
    limit = check_workspace(workspace_limit)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: {progress!r} is not callable")

    if out is None:
        result = np.empty(product.shape.result, dtype)
    else:
        result = check_out(out, product.shape.result, dtype, a=array_a, b=array_b)
    cpu.ensure_blas()
    chosen, fallback = serving_plan(chosen, *request)
    with workspace_errors():
        outcome = _core.matmul(chosen._core, *_flat_stack(product, result), limit, progress)
    c = out if out is not None else like_input(result, from_torch)
    if not report:
        return c
    reason = cost.ASKED_FOR
    if plan is None and backend == "auto":
        reason = cost.cpu_choice(scheme, family, chosen.bits, max(product.shape.k, 1)).reason
    return c, _report(chosen, outcome, reason, fallback)


def _device_matmul(
    a: Any,
    b: Any,
    scheme: str,
    backend: str,
    bits: int | None,
    family: str,
    plan: Plan | None,
    out: Any,
    report: bool,
    workspace_limit: int | None,
) -> tuple[Any, launch.Launch | None]:
    """matmul for tensors on a GPU: what it returns, and its launch."""
    check_device_operands(a, b)
    if a.is_neg():
        a = a.resolve_neg()
    if b.is_neg():
        b = b.resolve_neg()
    shape, dtype, chosen, choice, fallback = device_decision(a, b, scheme, backend, bits, family, plan)
    limit = None if workspace_limit is None else check_workspace(workspace_limit)
    findings = launch.Findings(chosen) if report else None
    with workspace_errors():
        c, made = launch.matmul(chosen, a, b, shape, dtype, out, limit, findings)
    result = c if out is None else out
    if findings is None:
        return result, made
    reason = cost.ASKED_FOR if choice is None else choice.reason
    return (result, launch.make_report(chosen, a, b, made, findings, reason, fallback)), made


def check_workspace(limit: int | None) -> int:
    if limit is None:
        return cpu.DEFAULT_WORKSPACE
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)):
        raise TypeError(f"workspace_limit: {limit!r} is not an integer")
    if not 0 < limit < 2**62:
        raise ValueError(f"workspace_limit: {limit} is not a positive number of bytes below 2**62")
    return int(limit)


class workspace_errors:  # noqa: N801 - reads as a statement: with workspace_errors()
    """Turns the core's refusal of a workspace limit into the MemoryError that NumPy users expect."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueError) and str(error).startswith("workspace_limit"):
            raise MemoryError(str(error)) from None


def _flat_stack(product: Product, result: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
    """A stack of A times one B is one tall product, if A and C are contiguous: B is then encoded once."""
    a, b, c = product.a, product.b, product.matrix_view(result)
    one_b = not any(b.strides[:-2])
    if a.ndim > 2 and c.size and one_b and a.flags.c_contiguous and c.flags.c_contiguous:
        rows = c.size // c.shape[-1]
        return a.reshape(rows, a.shape[-1]), b[(0,) * (b.ndim - 2)], c.reshape(rows, c.shape[-1])
    return a, b, c


def _report(plan: Plan, outcome: dict[str, Any], reason: str, fallback: str | None) -> Report:
    return Report(
        backend=plan.backend,
        kernel=cpu.KERNELS[plan.backend],
        device=cpu.name(),
        plan=plan,
        moduli_used=outcome["moduli_used"],
        products=outcome["products"],
        bits=plan.bits,
        exponents=outcome["exponents"],
        special_rows=outcome["special_rows"],
        special_columns=outcome["special_columns"],
        workspace=outcome["workspace"],
        reason=reason,
        fallback=fallback,
        seconds={stage: outcome[stage] for stage in ("scale", "encode", "multiply", "reconstruct")},
    )
