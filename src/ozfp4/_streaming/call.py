"""From the arguments of ``ozfp4.matmul(..., device=...)`` to a job, and from its results to the caller."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
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
from .._support.logger import LOGGER
from .._support.refusals import is_over_limit
from .devices import Cpu, Device
from .engine import Job, Moved, multiply
from .host import HostMatrices
from .named import devices_of
from .sizing import sizes_of
from .tiles import best_tiling

Array = npt.NDArray[Any]


@any_library
def matmul(a: Any, b: Any, out: Any, device: Any, limit: Any, options: dict[str, Any]) -> Any:
    """The product. Raises as :func:`ozfp4.matmul`."""
    _check_on_host(a, b, out, options.get("report", False))
    devices = devices_of(device)
    in_one_piece = partial(plain.products["matmul"], a, b, out, **options)
    if limit is None and all(isinstance(each, Cpu) for each in devices):
        return in_one_piece()
    asked = Options.of(options)
    operands = library.take_operands(a, b, out, library.TAKEN)
    dtypes, dtype, is_integer = _dtypes(operands, asked.dtype)
    if is_integer:
        check_unasked(options)
        asked = _of_integers(asked, dtypes)
    else:
        if asked.raises:
            raise ValueError("overflow: 'raise' is for products of integers")
        options = {**options, "accuracy": asked.accuracy}  # the threads that multiply have another default
    request = matmul_request(operands, asked, dtype)
    limit = _limit(limit, devices)
    if 0 in (*request.shape.stack, request.shape.m, request.shape.n, request.shape.k):
        return in_one_piece()
    for each in devices:
        each.check(request, is_integer)

    results = [
        request.out
        if request.out is not None and not asked.raises
        else library.new_array(request.torch, request.shape.result, dtype)
    ]
    if asked.return_bound:
        kind = np.complex128 if request.is_complex else np.float64
        results.append(library.new_array(request.torch, request.shape.result, kind))
    job = _job(request, dtypes, results, limit, devices, options)
    began = time.perf_counter()
    own: list[BaseException] = []  # of the caller's progress, which is told as it is
    if job.progress is not None:
        job = replace(job, progress=_watched(job.progress, own))
    try:
        moved = multiply(job, devices)
    except OverflowError as error:
        if not asked.raises or any(error is each for each in own):
            raise
        raise OverflowError(
            f"overflow: entries of the product do not fit {request.dtype}; nothing was written"
        ) from None
    except MemoryError as error:
        if not is_over_limit(error) or any(error is each for each in own):
            raise
        raise MemoryError(
            f"workspace_limit: {limit} bytes leave too few for a tile's workspace: {error}"
        ) from None
    finally:
        own.clear()  # an error that is raised holds this frame
    if LOGGER.isEnabledFor(DEBUG):
        _tell(job, devices, moved, time.perf_counter() - began)
    return _to_caller(request, results, out)


def _watched(progress: Callable[[float], object], raised: list[BaseException]) -> Callable[[float], object]:
    """The same; what it raises is in the list."""

    def told(fraction: float) -> None:
        try:
            progress(fraction)
        except BaseException as error:
            raised.append(error)
            raise

    return told


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


def _dtypes(
    operands: Operands, asked: Any
) -> tuple[tuple[np.dtype[Any], np.dtype[Any]], np.dtype[Any], bool]:
    """The dtypes of A and B on a device and that of the result, by the rules of the library that they come from; and whether the
    product is one of integers.

    A device multiplies tensors: integers that torch promotes otherwise are made of the common dtype first, which holds them;
    integers beside floating-point numbers are rounded to these.
    """
    own = operands.a.dtype, operands.b.dtype
    if asked is not None:
        name = result_dtype(asked, *own)
        real = np.dtype(np.float32 if name in ("float32", "complex64") else np.float64)
        is_integer = library.is_integer(name)
        first, second = (real if library.is_integer(x) and not is_integer else x for x in own)
        return (first, second), np.dtype(name), is_integer
    if not operands.has_integers:
        return own, np.promote_types(*own), False
    common = np.dtype(common_dtype(operands))
    if not library.is_integer(common):
        real = np.dtype(np.float32 if common.name in ("float32", "complex64") else np.float64)
        first, second = (real if library.is_integer(x) else x for x in own)
        return (first, second), np.promote_types(first, second), False
    return (own if own[0] == own[1] else (common, common)), common, True


def _of_integers(asked: Options, dtypes: tuple[np.dtype[Any], np.dtype[Any]]) -> Options:
    bits = max(map(entry_bits, dtypes))
    if asked.plan is not None:
        if asked.plan.bits < bits:
            raise ValueError(f"plan: its bits are {asked.plan.bits}, these integers need {bits}")
        return asked._replace(accuracy="scaled")
    return asked._replace(bits=bits, accuracy="scaled")


def _limit(given: Any, devices: list[Device]) -> int:
    """Bytes on each device."""
    if given is None:
        return min(device.default_limit() for device in devices)
    return check_workspace(given)


def _job(
    request: MatmulRequest,
    dtypes: tuple[np.dtype[Any], np.dtype[Any]],
    results: list[Array],
    limit: int,
    devices: list[Device],
    options: dict[str, Any],
) -> Job:
    """What is to be done for a request that is not empty. Raises MemoryError where the limit is too small."""
    shape, asked = request.shape, request.asked
    operands = [_one(x) for x in (request.a, request.b)]
    host = [HostMatrices(x, dtype) for x, dtype in zip(operands, dtypes, strict=True)]
    views = []
    for result in results:
        view = result[..., None] if shape.b_vector else result
        views.append(HostMatrices(view[..., None, :] if shape.a_vector else view))
    first = devices[0]
    sizes = sizes_of(request, host[0], host[1], views, first, overflow=asked.raises)
    slack = max(device.slack for device in devices)
    if limit <= slack:
        raise MemoryError(
            f"workspace_limit: {limit} bytes are too few; at least {slack} are needed for any product"
        )
    tiling = best_tiling(sizes, limit - slack)
    side = host[0] if tiling.resident == "a" else host[1]
    both_complex = all(x.dtype.kind == "c" for x in host)
    is_complex = side.dtype.kind == "c"
    names = ("complex64", "float32") if request.single else ("complex128", "float64")
    kept: dict[str, Any] = {
        **plan_options(options),
        "dtype": np.dtype(names[0] if is_complex else names[1]),
        "other": "complex" if both_complex else "real",
    }
    apart = ("return_bound", "report")
    of_tile = {name: value for name, value in options.items() if name not in apart}
    return Job(tiling, host[0], host[1], views, of_tile, kept, limit, 2**62, asked.progress)


def _one(x: Array) -> Array:
    """The matrix that a broadcast stack repeats, or the stack."""
    repeats = all(
        stride == 0 or extent == 1 for stride, extent in zip(x.strides[:-2], x.shape[:-2], strict=True)
    )
    return x[(0,) * (x.ndim - 2)] if repeats else x


def _to_caller(request: MatmulRequest, results: list[Array], out: Any) -> Any:
    made = []
    for result in results:
        given: Any = result
        if result is results[0] and out is not None:
            if result is not request.out:
                request.out[...] = result
            mark_written(out)
            given = out
        elif request.torch is not None:
            given = library.tensor_of_array(result)
        elif result.ndim == 0:
            given = result[()]
        made.append(given)
    return tuple(made) if len(made) > 1 else made[0]


def _tell(job: Job, devices: list[Device], moved: list[Moved], seconds: float) -> None:
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
