"""From the arguments of ``ozfp4.matmul(..., device=...)`` to a job, and from its results to the caller."""

from __future__ import annotations

import time
from logging import DEBUG
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from .._dispatch import plain
from .._dispatch.decision import capacity, complex_plan
from .._dispatch.product import empty_result, to_caller
from .._options import Options, check_unasked, plan_options
from .._plans.plan import Plan, make_plan
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import entry_bits, unify_to
from .._request.library import Operands, is_integer
from .._request.operands import MatmulRequest, matmul_request, matrices
from .._request.prepared import Prepared
from .._support.environment import LOGGER
from .copies import HostMatrices
from .devices import Cpu, devices_of
from .engine import Job, Moved, multiply
from .tiles import Matrix, Sizes, best_tiling

Array = npt.NDArray[Any]
_Dtypes = tuple[np.dtype[Any], np.dtype[Any]]


@any_library
def matmul(a: Any, b: Any, out: Any, device: Any, given: dict[str, Any]) -> Any:
    """The product, with the options that were given. Raises as :func:`ozfp4.matmul`."""
    _check_streamed(a, b, out, given.get("report", False))
    devices, options = devices_of(device), {name: x for name, x in given.items() if name != "report"}
    if options.get("workspace_limit") is None and [each.name for each in devices] == ["cpu"]:
        return plain.products["matmul"](a, b, out, **options)
    asked = Options.of(options)
    limit, asked = asked.workspace_limit, asked._replace(workspace_limit=None)
    operands = library.take_operands(a, b, out, library.TAKEN)
    dtypes, dtype = _dtypes(operands, asked.dtype)
    if is_integer(dtype):
        check_unasked(options)
        asked = _of_integers(asked, dtypes)
    elif asked.raises:
        raise ValueError("overflow: 'raise' is for products of integers")
    else:
        options = {**options, "accuracy": asked.accuracy}  # the threads that multiply have another default
    request = matmul_request(operands, asked, dtype)
    if 0 in (*request.shape.stack, request.shape.m, request.shape.n, request.shape.k):
        return plain.products["matmul"](a, b, out, **options)
    for each in devices:
        each.check(request, is_integer(dtype))

    is_in_place = request.out is not None and not asked.raises
    results = [request.out if is_in_place else empty_result(request, request.shape.result, dtype)]
    if asked.return_bound:
        kind = np.complex128 if request.is_complex else np.float64
        results.append(empty_result(request, request.shape.result, kind))
    job = _job(request, dtypes, results, limit, devices, options)
    began = time.perf_counter()
    moved = multiply(job, devices, asked.progress)
    if LOGGER.isEnabledFor(DEBUG):
        _log(job, devices, moved, time.perf_counter() - began)
    made = [to_caller(request, x) for x in results]
    if out is not None:
        if not is_in_place:
            request.out[...] = results[0]
        library.mark_written(out)
        made[0] = out
    return tuple(made) if len(made) > 1 else made[0]


def _check_streamed(a: Any, b: Any, out: Any, report: Any) -> None:
    """Errors for what is not streamed."""
    if library.is_traced() or library.is_watched(a, b, out):
        raise RuntimeError(
            "device: operands that require grad or have a tangent are not streamed, nor are those that torch traces or maps; "
            "pass a.detach() and b.detach(), or call it under torch.no_grad()"
        )
    if report:
        raise ValueError(
            "report: it describes one product, and with device= there are many; leave out one of the two"
        )
    for name, x in (("a", a), ("b", b)):
        if isinstance(x, Prepared):
            raise TypeError(f"{name}: a prepared operand is not streamed; pass the matrix itself")
    if library.is_from_torch(a=a, b=b, out=out):
        for name, x in (("a", a), ("b", b), ("out", out)):
            if x is not None and x.device.type != "cpu":
                raise RuntimeError(
                    f"{name}: it lies on {x.device}, and device= is for operands and results on the host; "
                    f"pass {name}.cpu(), or leave out device= to multiply where they lie"
                )


def _dtypes(operands: Operands, asked: Any) -> tuple[_Dtypes, np.dtype[Any]]:
    """The dtypes of A and B on a device and that of the result, by the rules of the library that they come from.

    A device multiplies tensors: integers that torch promotes otherwise are made of the common dtype first, which holds them.
    """
    a, b = (np.empty(0, x.dtype) for x in operands[:2])
    used, integer, name = unify_to(operands._replace(a=a, b=b), asked)
    own = used.a.dtype, used.b.dtype
    if integer is None:
        return own, np.promote_types(*own) if name is None else np.dtype(name)
    return (integer, integer) if asked is None and own[0] != own[1] else own, integer


def _of_integers(asked: Options, dtypes: _Dtypes) -> Options:
    bits = max(map(entry_bits, dtypes))
    if asked.plan is not None and asked.plan.bits < bits:
        raise ValueError(f"plan: its bits are {asked.plan.bits}, these integers need {bits}")
    return asked._replace(bits=bits if asked.plan is None else None, accuracy="scaled")


# ---- The job --------------------------------------------------------------------------------------------------------


def _job(
    request: MatmulRequest,
    dtypes: _Dtypes,
    results: list[Array],
    limit: int | None,
    devices: list[Cpu],
    options: dict[str, Any],
) -> Job:
    """The work of a request that is not empty. Raises MemoryError where the limit is too small."""
    a, b = (HostMatrices(x, dtype) for x, dtype in zip((request.a, request.b), dtypes, strict=True))
    views = [HostMatrices(matrices(request.shape, x)) for x in results]
    if limit is None:
        limit = min(device.default_limit() for device in devices)
    slack = max(device.slack for device in devices)
    if limit <= slack:
        raise MemoryError(
            f"workspace_limit: {limit} bytes are too few; at least {slack} are needed for any product"
        )
    tiling = best_tiling(sizes_of(request, a, b, views, devices[0]), limit - slack)
    are_complex = [x.dtype.kind == "c" for x in (a, b)]
    real, paired = ("float32", "complex64") if request.single else ("float64", "complex128")
    kept = {
        **plan_options(options),
        "dtype": np.dtype(paired if are_complex["ab".index(tiling.resident)] else real),
        "other": "complex" if all(are_complex) else "real",
    }
    return Job(tiling, {"a": a, "b": b}, views, options, kept, limit)


def _log(job: Job, devices: list[Cpu], moved: list[Moved], seconds: float) -> None:
    """The logger's line."""
    sizes, tiling = job.tiling.sizes, job.tiling
    LOGGER.debug(
        "streamed product %s × %d × %d × %d in tiles of %d × %d × %d, %s resident%s: %s: %.3f ms",
        sizes.matrices, sizes.m, sizes.n, sizes.k, tiling.matrices, tiling.rows, tiling.columns,
        tiling.resident.upper(), " and prepared" if tiling.is_kept else "",
        "; ".join(
            f"{device.name} made {each.tiles}, {each.up / 1e9:.3f} GB up, {each.down / 1e9:.3f} GB down"
            for device, each in zip(devices, moved, strict=True)
        ),
        1e3 * seconds,
    )  # fmt: skip


# ---- What entries take on a device ----------------------------------------------------------------------------------

# Bytes of an entry of the workspace in addition to a byte for each modulus: lists of repair, words of certificates.
_OUTPUTS = 24
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
