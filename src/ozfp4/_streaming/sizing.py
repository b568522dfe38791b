"""What a product's entries take on a device."""

from __future__ import annotations

from math import prod

import numpy as np

from .._dispatch.decision import capacity, complex_plan
from .._plans.plan import Plan, make_plan
from .._request.operands import MatmulRequest
from .devices import Cpu
from .host import HostMatrices
from .tiles import Matrix, Sizes

_OUTPUTS = 24  # bytes of an entry of the workspace beside a byte for each modulus: lists of repair, words of certificates

_MOST_PLANES = 32  # where no plan is known
_MOST_CUT = 256  # products of plans that cut K on a GPU


def sizes_of(
    request: MatmulRequest, a: HostMatrices, b: HostMatrices, results: list[HostMatrices], device: Cpu
) -> Sizes:
    """A request that is not empty, as its cutter sees it."""
    shape = request.shape
    plan = _plan(request)
    planes = _MOST_PLANES if plan is None else max(plan.planes_a, plan.planes_b)
    # Complex entries have two parts, and B has the columns that both parts of A meet (csrc/cpu/complex), which are copied.
    a_parts, b_parts = (2 if x.dtype.kind == "c" else 1 for x in (a, b))
    is_paired = a_parts == b_parts == 2
    planes_a = a_parts * planes
    if is_paired:  # a plan of complex products may have more than twice the planes of a real one
        paired = plan and complex_plan(plan.scheme, plan.backend, plan.family, plan.bits, 2 * shape.k)
        planes_a = max(planes_a, paired.planes_a if paired else 0)
        planes_a += a.dtype.itemsize if a.is_turned else 0  # it is prepared of a copy
    planes_b = b_parts * (planes * a_parts if is_paired else planes)
    planes_b += b.dtype.itemsize * (2 if is_paired else b_parts - 1)  # it is copied
    planes_c = max(a_parts, b_parts) * (planes + _OUTPUTS)
    c_entry = sum(x.dtype.itemsize for x in results)
    result, *bounds = (x.dtype for x in results)
    c_copied = sum(x.itemsize for x in bounds)
    if result == np.bool_:
        c_copied += 9
    elif request.asked.raises:  # entries that wrap are refused
        c_copied += result.itemsize
    # A row and a column of complex entries are copied in half of the workspace, and plans of many products do not cut K.
    line = 2 * (a.dtype.itemsize + 4 * b.dtype.itemsize) if a_parts * b_parts > 1 else 0
    if plan is not None and plan.products > _MOST_CUT:
        line += 64 * planes * (a_parts + 2 * b_parts)
    return Sizes(
        prod(shape.stack),
        shape.m,
        shape.n,
        shape.k,
        a=Matrix(a.dtype.itemsize, planes_a, _words(a.dtype), a.count == 1, a.is_turned),
        b=Matrix(b.dtype.itemsize, planes_b, _words(b.dtype), b.count == 1, b.is_turned),
        c=Matrix(c_entry, planes_c, c_copied, is_turned=results[0].is_turned),
        operations=2 * a_parts * b_parts,
        keeps=device.keeps and result.kind in "fc",
        least_workspace=device.least_workspace + int(shape.k * (device.inner_workspace + line)),
        line_workspace=device.line_workspace,
    )


def _plan(request: MatmulRequest) -> Plan | None:
    """That of a product of the parts, or one like it: the device may take another backend. None where there is none."""
    asked = request.asked
    if asked.plan is not None:
        return asked.plan
    backend = asked.backend
    if backend == "auto":
        backend = "int8" if asked.family == "least" else "fp4"
    bits = capacity(asked, request.single)
    try:
        return make_plan(asked.scheme, backend, asked.family, bits, request.shape.k)
    except ValueError:
        return None


def _words(dtype: np.dtype[np.generic]) -> int:
    """Bytes of the integer of 64 bits that a device makes of one of fewer."""
    if dtype.kind not in "iub" or dtype.itemsize == 8:
        return 0
    return 16 if dtype.kind == "u" else 8
