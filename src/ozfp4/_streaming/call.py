"""From the arguments of ``ozfp4.matmul(..., device=...)`` to a job, and from its results to the caller."""

from __future__ import annotations

import time
from logging import DEBUG
from typing import Any

import numpy as np
import numpy.typing as npt

from .._dispatch import plain
from .._options import Options, check_unasked, check_workspace, plan_options
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import common_dtype, entry_bits, result_dtype
from .._request.library import Operands, mark_written
from .._request.operands import MatmulRequest, matmul_request
from .._request.prepared import Prepared
from .._support.environment import LOGGER
from .devices import Cpu, devices_of
from .engine import Job, Moved, multiply
from .host import HostMatrices
from .sizing import sizes_of
from .tiles import best_tiling

Array = npt.NDArray[Any]
_Dtypes = tuple[np.dtype[Any], np.dtype[Any]]


@any_library
def matmul(a: Any, b: Any, out: Any, device: Any, limit: Any, options: dict[str, Any]) -> Any:
    """The product. Raises as :func:`ozfp4.matmul`."""
    _check_on_host(a, b, out, options.get("report", False))
    devices = devices_of(device)
    if limit is None and [each.name for each in devices] == ["cpu"]:
        return plain.products["matmul"](a, b, out, **options)
    asked = Options.of(options)
    operands = library.take_operands(a, b, out, library.TAKEN)
    dtypes, dtype = _dtypes(operands, asked.dtype)
    is_integer = library.is_integer(dtype)
    if is_integer:
        check_unasked(options)
        asked = _of_integers(asked, dtypes)
    elif asked.raises:
        raise ValueError("overflow: 'raise' is for products of integers")
    else:
        options = {**options, "accuracy": asked.accuracy}  # the threads that multiply have another default
    request = matmul_request(operands, asked, dtype)
    if limit is not None:
        limit = check_workspace(limit)
    if 0 in (*request.shape.stack, request.shape.m, request.shape.n, request.shape.k):
        return plain.products["matmul"](a, b, out, **options)
    for each in devices:
        each.check(request, is_integer)

    is_in_place = request.out is not None and not asked.raises
    results = [request.out if is_in_place else library.new_array(request.torch, request.shape.result, dtype)]
    if asked.return_bound:
        kind = np.complex128 if request.is_complex else np.float64
        results.append(library.new_array(request.torch, request.shape.result, kind))
    job = _job(request, dtypes, results, limit, devices, options)
    began = time.perf_counter()
    moved = multiply(job, devices, asked.progress)
    if LOGGER.isEnabledFor(DEBUG):
        _log(job, devices, moved, time.perf_counter() - began)
    return _to_caller(request, results, out)


def _check_on_host(a: Any, b: Any, out: Any, report: Any) -> None:
    """Errors for what is not streamed."""
    if report:
        raise ValueError(
            "report: it tells of one product, and with device= there are many; leave out one of the two"
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

    A device multiplies tensors: integers that torch promotes otherwise are made of the common dtype first, which holds them;
    integers beside floating-point numbers are rounded to these.
    """
    own = operands.a.dtype, operands.b.dtype
    if asked is None and not operands.has_integers:
        return own, np.promote_types(*own)
    dtype = np.dtype(common_dtype(operands) if asked is None else result_dtype(asked, *own))
    if library.is_integer(dtype):
        return own if asked is not None or own[0] == own[1] else (dtype, dtype), dtype
    real = np.dtype(np.float32 if dtype.name in ("float32", "complex64") else np.float64)
    first, second = (real if library.is_integer(x) else x for x in own)
    return (first, second), dtype if asked is not None else np.promote_types(first, second)


def _of_integers(asked: Options, dtypes: _Dtypes) -> Options:
    bits = max(map(entry_bits, dtypes))
    if asked.plan is None:
        return asked._replace(bits=bits, accuracy="scaled")
    if asked.plan.bits < bits:
        raise ValueError(f"plan: its bits are {asked.plan.bits}, these integers need {bits}")
    return asked._replace(accuracy="scaled")


def _job(
    request: MatmulRequest,
    dtypes: _Dtypes,
    results: list[Array],
    limit: int | None,
    devices: list[Cpu],
    options: dict[str, Any],
) -> Job:
    """What is to be done for a request that is not empty. Raises MemoryError where the limit is too small."""
    shape = request.shape
    a, b = (HostMatrices(_one(x), dtype) for x, dtype in zip((request.a, request.b), dtypes, strict=True))
    views = []
    for result in results:
        view = result[..., None] if shape.b_vector else result
        views.append(HostMatrices(view[..., None, :] if shape.a_vector else view))
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
    of_tile = {name: value for name, value in options.items() if name not in ("return_bound", "report")}
    return Job(tiling, {"a": a, "b": b}, views, of_tile, kept, limit)


def _one(x: Array) -> Array:
    """The matrix that a broadcast stack repeats, or the stack."""
    repeats = all(
        stride == 0 or extent == 1 for stride, extent in zip(x.strides[:-2], x.shape[:-2], strict=True)
    )
    return x[(0,) * (x.ndim - 2)] if repeats else x


def _to_caller(request: MatmulRequest, results: list[Array], out: Any) -> Any:
    made: list[Any] = [
        library.tensor_of_array(x) if request.torch is not None else x[()] if x.ndim == 0 else x
        for x in results
    ]
    if out is not None:
        if results[0] is not request.out:
            request.out[...] = results[0]
        mark_written(out)
        made[0] = out
    return tuple(made) if len(made) > 1 else made[0]


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
