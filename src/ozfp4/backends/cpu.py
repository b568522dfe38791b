"""Products on the CPU, by the core and SciPy's BLAS, which is connected on first use."""

from __future__ import annotations

import contextlib
import platform
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..plans.plan import Plan
from ..report import Report
from ..request.operands import MatmulRequest
from ..support.refusals import memory_error

Array = npt.NDArray[Any]

KERNELS = {"fp4": "SGEMM on decoded limbs", "int8": "SGEMM on balanced residues", "fp64": "DGEMM on residues"}
DEFAULT_WORKSPACE = 2**30


def ensure_blas() -> None:
    """Hand SciPy's dgemm and sgemm to the core, on first use: importing them takes a tenth of a second."""
    if not _core.have_blas():
        from scipy.linalg import cython_blas

        functions = cython_blas.__pyx_capi__
        _core.set_blas(functions["dgemm"], functions["sgemm"])


@lru_cache(maxsize=1)
def model() -> str:
    """The processor's name."""
    return cpuinfo("model name") or platform.processor() or platform.machine()


def cpuinfo(*names: str) -> str:
    """What Linux says about the first CPU under one of these names, "" elsewhere."""
    with contextlib.suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        for line in lines:  # no further than needed: each CPU's lines take time
            if line.startswith(names):
                return line.partition(":")[2].strip()
    return ""


@lru_cache(maxsize=1)
def name() -> str:
    """The processor's name and the number of threads, e.g. ``cpu (AMD EPYC, 2 threads)``."""
    return f"cpu ({model()}, {_core.thread_count()} threads)"


def matmul(request: MatmulRequest, plan: Plan) -> tuple[Any, dict[str, Any]]:
    """The product by a plan, in the caller's library, and what the core says of it.

    Raises
    ------
    MemoryError
        A workspace limit below what the smallest blocks need.
    """
    ensure_blas()
    result = _place(request)
    limit = request.asked.workspace_limit or DEFAULT_WORKSPACE
    try:
        outcome = _core.matmul(plan._core, *_flat_stack(request, result), limit, request.asked.progress)
    except ValueError as error:
        raise memory_error(error) from None
    return _like_input(request, result), outcome


def int8_matmul(request: MatmulRequest, plan: Plan) -> Any:
    """The int32 product of int8 matrices, in the caller's library. Raises as :func:`matmul`."""
    ensure_blas()
    result = _place(request)
    limit = request.asked.workspace_limit or DEFAULT_WORKSPACE
    try:
        _core.int8_matmul(plan._core, request.a, request.b, _matrix_view(request, result), limit)
    except ValueError as error:
        raise memory_error(error) from None
    return _like_input(request, result)


def make_report(plan: Plan, outcome: dict[str, Any], reason: str, fallback: str | None) -> Report:
    """What a product did, by what :func:`matmul` returned of it."""
    core = plan._core
    return Report(
        backend=core.alphabet,
        kernel=KERNELS[core.alphabet],
        device=name(),
        plan=plan,
        moduli_used=outcome["moduli_used"],
        products=outcome["products"],
        bits=core.bits,
        exponents=outcome["exponents"],
        special_rows=outcome["special_rows"],
        special_columns=outcome["special_columns"],
        workspace=outcome["workspace"],
        reason=reason,
        fallback=fallback,
        seconds={stage: outcome[stage] for stage in ("scale", "encode", "multiply", "reconstruct")},
    )


def _place(request: MatmulRequest) -> Array:
    """Where the result goes, in the shape that the caller sees."""
    if request.out is not None:
        out: Array = request.out
        return out
    return np.empty(request.shape.result, request.dtype)


def _matrix_view(request: MatmulRequest, result: Array) -> Array:
    """The result with both matrix axes, as a view."""
    if request.shape.b_vector:
        result = result[..., np.newaxis]
    if request.shape.a_vector:
        result = result[..., np.newaxis, :]
    return result


def _flat_stack(request: MatmulRequest, result: Array) -> tuple[Array, Array, Array]:
    """A stack of A times one B is one tall product, if A and C are contiguous: B is then encoded once."""
    a, b, c = request.a, request.b, _matrix_view(request, result)
    one_b = not any(b.strides[:-2])
    if a.ndim > 2 and c.size and one_b and a.flags.c_contiguous and c.flags.c_contiguous:
        rows = c.size // c.shape[-1]
        return a.reshape(rows, a.shape[-1]), b[(0,) * (b.ndim - 2)], c.reshape(rows, c.shape[-1])
    return a, b, c


def _like_input(request: MatmulRequest, result: Array) -> Any:
    """The result in the caller's library; a NumPy scalar for a product of two vectors, as np.matmul."""
    if request.torch is not None:
        return request.torch.from_numpy(result)
    return result[()] if result.ndim == 0 and request.out is None else result
