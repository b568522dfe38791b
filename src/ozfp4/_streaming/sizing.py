"""What a product's entries take on a device."""

from __future__ import annotations

from math import prod

import numpy as np

from .._dispatch.decision import capacity, complex_plan
from .._plans.plan import Plan, make_plan
from .._request.operands import MatmulRequest
from .devices import Device
from .host import HostMatrices
from .tiles import Sizes

_OUTPUTS = 24  # bytes of an entry of the workspace beside a byte for each modulus: lists of repair, words of certificates

_MOST_PLANES = 32  # where no plan is known
_MOST_CUT = 256  # products of plans that cut K on a GPU


def sizes_of(
    request: MatmulRequest,
    a: HostMatrices,
    b: HostMatrices,
    results: list[HostMatrices],
    device: Device,
    *,
    overflow: bool,
) -> Sizes:
    """A request that is not empty, as its cutter sees it; `overflow`: entries that wrap are refused."""
    shape = request.shape
    plan = _plan(request)
    planes = _MOST_PLANES if plan is None else max(plan.planes_a, plan.planes_b)
    # Of complex entries both parts, and of B the columns that both parts of A meet (csrc/cpu/complex), which are copied.
    a_parts = 2 if a.dtype.kind == "c" else 1
    b_parts = 2 if b.dtype.kind == "c" else 1
    is_paired = a_parts == b_parts == 2
    b_copy = 2 * b.dtype.itemsize if is_paired else b.dtype.itemsize * (b_parts - 1)
    bounds = sum(x.dtype.itemsize for x in results[1:])
    result = results[0].dtype
    # A row and a column of complex entries are copied in half of the workspace, and plans of many products do not cut K.
    line = 2 * (a.dtype.itemsize + 4 * b.dtype.itemsize) if a_parts * b_parts > 1 else 0
    if plan is not None and plan.products > _MOST_CUT:
        line += 64 * planes * (a_parts + 2 * b_parts)
    return Sizes(
        matrices=prod(shape.stack),
        m=shape.m,
        n=shape.n,
        k=shape.k,
        a_shared=a.count == 1,
        b_shared=b.count == 1,
        a=a.dtype.itemsize,
        b=b.dtype.itemsize,
        c=sum(x.dtype.itemsize for x in results),
        a_planes=_planes_of_a(request, plan, a_parts * planes, is_paired=is_paired)
        + (a.dtype.itemsize if is_paired and a.is_turned else 0),  # it is prepared of a copy
        b_planes=b_parts * (2 if is_paired else 1) * planes + b_copy,
        c_planes=max(a_parts, b_parts) * (planes + _OUTPUTS),
        a_copied=_words(a.dtype),
        b_copied=_words(b.dtype),
        c_copied=bounds + (9 if result == np.bool_ else result.itemsize if overflow else 0),
        a_turned=a.is_turned,
        b_turned=b.is_turned,
        c_turned=results[0].is_turned,
        operations=2 * a_parts * b_parts,
        keeps=device.keeps and result.kind in "fc",
        least_workspace=device.least_workspace + int(shape.k * (device.inner_workspace + line)),
        line_workspace=device.line_workspace,
    )


def _planes_of_a(request: MatmulRequest, plan: Plan | None, estimate: int, *, is_paired: bool) -> int:
    """Bytes of the planes of an entry of A: a plan of complex products may have more than twice those of a real one."""
    if plan is None or not is_paired:
        return estimate
    paired = complex_plan(plan.scheme, plan.backend, plan.family, plan.bits, 2 * request.shape.k)
    return estimate if paired is None else max(estimate, paired.planes_a)


def _plan(request: MatmulRequest) -> Plan | None:
    """That of a product of the parts, or one like it: the device may take another backend. None where there is none."""
    asked = request.asked
    if asked.plan is not None:
        return asked.plan
    backend = asked.backend
    if backend == "auto":
        backend = "int8" if asked.family == "least" else "fp4"
    try:
        return make_plan(
            asked.scheme, backend, asked.family, capacity(asked, request.single), request.shape.k
        )
    except ValueError:
        return None


def _words(dtype: np.dtype[np.generic]) -> int:
    """Bytes of the integer of 64 bits that a device makes of one of fewer."""
    if dtype.kind not in "iub" or dtype.itemsize == 8:
        return 0
    return 16 if dtype.kind == "u" else 8
