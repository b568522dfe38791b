"""Products on the CPU, by the core."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..plans.plan import Plan
from ..report import DIRECT, Certified, Report
from ..request.library import is_complex, new_array, tensor_of_array
from ..request.operands import MatmulRequest

Array = npt.NDArray[Any]

_FLOAT_KERNELS = {
    "fp4": "FP32 on decoded limbs",
    "int8": "FP32 on balanced residues",
    "fp64": "FP64 on residues",
}
SMALL = "so small a product takes less time without planes"
DEFAULT_WORKSPACE = 2**30


def kernel_name(alphabet: str, unit: tuple[str, str] | None) -> str:
    """The name of what multiplies the planes of an alphabet: floating point, or an INT8 unit as ``_core.byte_kernels`` names it.

    >>> kernel_name("int8", ("AVX-512 VNNI", "avx512_vnni")), kernel_name("fp64", ("AVX-512 VNNI", "avx512_vnni"))
    ('AVX-512 VNNI on packed residues', 'FP64 on residues')
    """
    if unit is None or alphabet == "fp64":
        return _FLOAT_KERNELS[alphabet]
    return f"{unit[0]} on packed {'limbs' if alphabet == 'fp4' else 'residues'}"


def serving_kernel(alphabet: str) -> str:
    """The name of what multiplies the planes of an alphabet now."""
    return kernel_name(alphabet, _core.serving_byte_kernel())


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


def name() -> str:
    """The processor's name and the number of threads that there are now, e.g. ``cpu (AMD EPYC, 2 threads)``."""
    return f"cpu ({model()}, {_core.thread_count()} threads)"


def int8_matmul(request: MatmulRequest, plan: Plan) -> tuple[Array, int]:
    """The int32 product of int8 matrices, an array of its own, and the bytes of the workspace. Raises as :func:`matmul`."""
    result = place(request, None)
    limit = request.asked.workspace_limit or DEFAULT_WORKSPACE
    return result, _core.int8_matmul(plan._core, request.a, request.b, matrix_view(request, result), limit)


def integer_matmul(request: MatmulRequest, plan: Plan, modulus: int = 0) -> tuple[Array, dict[str, Any]]:
    """The product of integers, in the dtype of the request or modulo a number: an array, `out` if it was given, and what the core
    says of it, how many entries that dtype does not hold among it. Raises as :func:`matmul`."""
    result, outcome = _of_integers(request, partial(_core.integer_matmul, plan._core), modulus=modulus)
    if request.dtype == np.bool_:
        outcome["overflows"] = 0
    return result, outcome


def direct_matmul(
    request: MatmulRequest, modulus: int = 0, *, counts: bool = False
) -> tuple[Array, dict[str, Any]] | None:
    """The same in machine words, without a plan; None, and nothing written, where words may wrap what is to be reduced
    or, if it `counts`, what they would not see, and where the workspace is too small for a tile."""
    result, outcome = _of_integers(request, _core.direct_matmul, modulus=modulus, wants_exact=counts)
    return None if outcome is None else (result, outcome)


def _of_integers(request: MatmulRequest, multiply: Callable[..., Any], **further: int) -> tuple[Array, Any]:
    is_bool = request.dtype == np.bool_  # true where the count of products of two, of 64 bits, is not 0
    result = np.empty(request.shape.result, np.int64) if is_bool else place(request, request.out)
    limit = request.asked.workspace_limit or DEFAULT_WORKSPACE
    a, b, (view,) = _flat_stack(request, [result])
    outcome = multiply(a, b, view, limit, request.asked.progress, **further)
    return (result != 0 if is_bool else result), outcome


def make_integer_report(plan: Plan, outcome: dict[str, Any], reason: str, fallback: str | None) -> Report:
    """What a product did, by what :func:`integer_matmul` returned of it."""
    return Report(
        backend=plan.backend,
        kernel=kernel_name(plan.alphabet, outcome["unit"]),
        plan=plan,
        moduli_used=outcome["moduli_used"],
        products=outcome["products"],
        bits=plan.bits,
        reason=reason,
        fallback=fallback,
        overflows=outcome["overflows"],
        **_about_integers(outcome),
    )


def make_direct_report(outcome: dict[str, Any], reason: str) -> Report:
    """The same of :func:`direct_matmul` that counts."""
    bits = outcome["word_bits"]
    return Report(
        backend=DIRECT,
        kernel=f"words of {bits} bits",
        plan=None,
        moduli_used=0,
        products=outcome["products"],
        bits=bits,
        reason=reason,
        overflows=0,
        **_about_integers(outcome),
    )


def _about_integers(outcome: dict[str, Any]) -> dict[str, Any]:
    return {
        "device": name(),
        "exponents": outcome["exponents"],
        "special_rows": 0,
        "special_columns": 0,
        "workspace": outcome["workspace"],
        "seconds": {stage: outcome[stage] for stage in ("scale", "encode", "multiply", "reconstruct")},
        "accuracy": "exact",
        "kind": "integer",
    }


def make_report(request: MatmulRequest, plan: Plan, outcome: dict[str, Any]) -> Report:
    """The report of a product, made of the core's outcome."""
    core, asked, device = plan._core, request.asked, name()
    kernel, is_direct = _ways(core.alphabet, outcome)
    stages: tuple[str, ...] = ("scale", "encode", "multiply", "reconstruct")
    if asked.accuracy != "scaled":
        stages += ("repair",)
    seconds = {stage: outcome[stage] for stage in stages}
    certified = None
    if asked.accuracy != "scaled":
        counts = {name: outcome[f"certified_{name}"] for name in ("exact", "depth", "magnitude", "result")}
        counts |= {"chains": outcome["chains"], "repaired": outcome["repaired_pairs"]}
        counts["repaired_exactly"] = outcome["repaired_exact"]
        certified = Certified(**counts, total=sum(counts.values()))
    return Report(
        backend=DIRECT if is_direct else core.alphabet,
        kernel=kernel,
        device=device,
        plan=plan,
        moduli_used=outcome["moduli_used"],
        products=outcome["products"],
        bits=core.bits,
        exponents=outcome["exponents"],
        special_rows=outcome["special_rows"],
        special_columns=outcome["special_columns"],
        workspace=outcome["workspace"],
        reason=SMALL if is_direct else outcome["reason"],
        fallback=outcome["fallback"],
        seconds=seconds,
        accuracy=asked.accuracy,
        kind=_kind_of(request),
        capacities=outcome["capacities"],
        certified=certified,
        largest_bound=outcome["largest_bound"] if asked.return_bound else None,
    )


def _kind_of(request: MatmulRequest) -> str:
    """Which operands are real and which are complex."""
    names = ["complex" if is_complex(x.dtype) else "real" for x in (request.a, request.b)]
    return names[0] if names[0] == names[1] else " by ".join(names)


def _ways(alphabet: str, outcome: dict[str, Any]) -> tuple[str, bool]:
    """The names of what multiplied, first those that the report describes; and whether it was without planes."""
    counts = [outcome[name] for name in ("by_planes", "by_limbs", "in_words")]
    planes, limbs, words = counts
    names = [
        kernel_name(alphabet, outcome["unit"]),
        f"{_most(outcome['limbs'], limbs)} limbs of eight bits on {outcome['limb_unit']}",
        f"words of 64 bits, FP64 and {_most(outcome['word_moduli'], words)} residues",
    ]
    taken = [(name, count) for name, count in zip(names, counts, strict=True) if count] or [(names[0], 0)]
    others = (f"{count} of {sum(counts)} matrices by {name}" for name, count in taken[1:])
    return "; ".join((taken[0][0], *others)), planes == 0 < limbs + words


def _most(number: int, count: int) -> str:
    return f"up to {number}" if count > 1 else f"{number}"


def place(request: MatmulRequest, out: Array | None) -> Array:
    """Where a result goes, in the shape that the caller sees."""
    return new_array(request.torch, request.shape.result, request.dtype) if out is None else out


def matrix_view(request: MatmulRequest, result: Array) -> Array:
    """The result with both matrix axes, as a view."""
    if request.shape.b_vector:
        result = result[..., np.newaxis]
    if request.shape.a_vector:
        result = result[..., np.newaxis, :]
    return result


def _flat_stack(request: MatmulRequest, results: Sequence[Array]) -> tuple[Array, Array, list[Array]]:
    """A stack of A times one B is one tall product, if A and the results are contiguous: B is then encoded once."""
    a, b, views = request.a, request.b, [matrix_view(request, result) for result in results]
    if (
        a.ndim > 2
        and request.prepared.a is None
        and views[0].size
        and not any(b.strides[:-2])
        and all(x.flags.c_contiguous for x in (a, *views))
    ):
        rows = views[0].size // views[0].shape[-1]
        flat = [view.reshape(rows, view.shape[-1]) for view in views]
        return a.reshape(rows, a.shape[-1]), b[(0,) * (b.ndim - 2)], flat
    return a, b, views


def like_input(request: MatmulRequest, result: Array) -> Any:
    """The result in the caller's library; a NumPy scalar for a product of two vectors, as np.matmul."""
    if request.torch is not None:
        return tensor_of_array(result)
    return result[()] if result.ndim == 0 and request.out is None else result
