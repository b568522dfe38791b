"""Products on the CPU, by the core."""

from __future__ import annotations

import contextlib
import platform
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._plans.plan import Plan
from .._report import DIRECT, Certified, Report
from .._request.library import is_complex, new_array, tensor_of_array
from .._request.operands import MatmulRequest

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


def make_report(request: MatmulRequest, plan: Plan, outcome: dict[str, Any]) -> Report:
    """The report of a product, made of the core's outcome."""
    core, asked = plan._core, request.asked
    kernel, is_direct = _ways(core.alphabet, outcome)
    certified, further = None, list[str]()
    if asked.accuracy != "scaled":
        counts = {name: outcome[f"certified_{name}"] for name in ("exact", "depth", "magnitude", "result")}
        counts |= {"chains": outcome["chains"], "repaired": outcome["repaired_pairs"]}
        counts["repaired_exactly"] = outcome["repaired_exact"]
        certified, further = Certified(**counts, total=sum(counts.values())), ["repair"]
    return Report(
        backend=DIRECT if is_direct else core.alphabet,
        kernel=kernel,
        plan=plan,
        bits=core.bits,
        reason=SMALL if is_direct else outcome["reason"],
        accuracy=asked.accuracy,
        kind=_kind_of(request),
        capacities=outcome["capacities"],
        certified=certified,
        largest_bound=outcome["largest_bound"] if asked.return_bound else None,
        **_about(outcome, *further),
    )


def make_integer_report(plan: Plan | None, outcome: dict[str, Any]) -> Report:
    """The same of integers; without a plan all was multiplied in words, beside one some of it may have been."""
    bits = outcome["word_bits"]
    kernels = [] if plan is None else [kernel_name(plan.alphabet, outcome["unit"])]
    if bits:
        kernels.append(f"words of {bits} bits")
    return Report(
        backend=DIRECT if plan is None else plan.backend,
        kernel="; ".join(kernels),
        plan=plan,
        bits=bits if plan is None else plan.bits,
        reason=outcome["reason"],
        accuracy="exact",
        kind="integer",
        overflows=outcome["overflows"],
        **_about(outcome),
    )


def _about(outcome: dict[str, Any], *further: str) -> dict[str, Any]:
    """The entries of a report that all products have; of the stages the usual ones and `further` ones."""
    names = (
        "moduli_used",
        "products",
        "exponents",
        "special_rows",
        "special_columns",
        "workspace",
        "fallback",
    )
    stages = ("scale", "encode", "multiply", "reconstruct", *further)
    about = {name: outcome[name] for name in names}
    return about | {"device": name(), "seconds": {stage: outcome[stage] for stage in stages}}


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


def like_input(request: MatmulRequest, result: Array) -> Any:
    """The result in the caller's library; a NumPy scalar for a product of two vectors, as np.matmul."""
    if request.torch is not None:
        return tensor_of_array(result)
    return result[()] if result.ndim == 0 and request.out is None else result
