"""Which plan and which kernel serve a product on a CUDA device: the cheapest backend with a kernel that can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from .._options import Options
from ..backends.cuda import extension, variant
from ..backends.cuda.launch import check_extents
from ..backends.cuda.variant import Forced, Variant
from ..cost.choice import Choice
from ..cost.peaks import GPU_BACKENDS
from ..plans.plan import Plan, make_plan
from ..request import library
from ..request.operands import MatmulRequest
from ..trust import guard
from . import this_machine
from .decision import ASKED_FOR, Decision, capacity, plan_asked_for

_ready: set[int] = set()  # devices that this build has kernels for


def decide(request: MatmulRequest) -> Decision:
    """The decision about a request.

    Raises
    ------
    ValueError
        An extent or an inner dimension that the plan or the device does not take.
    RuntimeError
        For a device that this build has no kernels for, and if no kernel that may serve passed its self-test, or it would
        have to be tested while a CUDA graph is captured.
    """
    device, shape, asked = request.a.device, request.shape, request.asked
    if device.index not in _ready or device.type != "cuda":
        check_device(device)
    check_extents(shape)
    # While a graph is captured nothing can be tested: what is decided without a verdict is not kept.
    how: Callable[..., Decision] = _decide
    if device.index not in guard.words_tested and device.type == "cuda":
        how = _decide.__wrapped__ if library.require_torch().cuda.is_current_stream_capturing() else _decide
    return how(
        shape.k, min(shape.m, shape.n, _MANY),
        request.single, request.is_paired, 0 in (shape.m, shape.n, shape.k, *shape.stack), asked.scheme,
        asked.backend,
        asked.bits, asked.family, asked.plan, asked.accuracy, device.index,
        variant.forced, guard.generation, this_machine.generation,
    )  # fmt: skip


def decide_piece(asked: Options, k: int, single: bool, index: int) -> tuple[Plan, int]:
    """The plan and the kernel of a product of which a device has a piece of K. Raises as :func:`decide`. Range:
    :func:`check_device` has nothing against the device."""
    backend = asked.backend
    if asked.plan is None and backend == "auto":
        choice = this_machine.gpu_choice("II", asked.family, capacity(asked, single), max(k, 1), index)
        backend, _ = serving_backend(choice, "II", index)
    plan = plan_asked_for(asked, backend, k, single)
    check_gpu_backend(plan.backend, f"cuda:{index}")
    return plan, serving_variant(plan, index).kernel


_MANY = 64  # rows or columns: no product of so many is made as one of few


@lru_cache(maxsize=512)
def _decide(
    k: int,
    few: int,
    single: bool,
    is_paired: bool,
    is_empty: bool,
    scheme: str,
    backend: str,
    bits: int | None,
    family: str,
    plan: Plan | None,
    accuracy: str,
    index: int,
    forced: Forced,
    verdicts: int,
    figures: int,
) -> Decision:
    """The same by what it depends on; the last two count changes of what is known."""
    reason, fallback = ASKED_FOR, None
    asked = Options(scheme, backend, bits, family, plan, accuracy=accuracy)
    if plan is None and backend == "auto":
        choice = this_machine.gpu_choice(scheme, family, capacity(asked, single), max(k, 1), index)
        reason = choice.reason
        backend, fallback = serving_backend(choice, scheme, index, forced)
    chosen = plan_asked_for(asked, backend, k, single, is_paired)
    check_gpu_backend(chosen.backend, f"cuda:{index}")
    if is_empty:
        return Decision(chosen, reason, fallback, None)
    serving = serving_variant(chosen, index, forced)
    if serving is not None and forced == variant.NOTHING and _may_be_direct(k, few, asked, index):
        serving = serving._replace(direct="where it pays", factors=this_machine.ways_of(index))
    return Decision(chosen, reason, fallback, serving)


def _may_be_direct(k: int, few: int, asked: Options, index: int) -> bool:
    """Whether a product that is small or has few rows or columns may be made without planes: nobody asked for what only the
    stages have."""
    return (
        asked.plan is None
        and asked.backend == "auto"
        and asked.scheme == "II"
        and asked.accuracy != "correct"
        and (
            few <= extension.require_cuda().most_thin_lines or k <= extension.require_cuda().most_direct_inner
        )
        and guard.serves_words(index)
    )


def serving_variant(plan: Plan, index: int, forced: Forced | None = None) -> Variant:
    """What multiplies the planes of a plan on a CUDA device: the forced kernel, or the best one that can be trusted.

    RuntimeError as :func:`ozfp4.trust.guard.serving_kernel`.
    """
    asked = variant.forced if forced is None else forced
    serving = guard.serving_kernel(plan, index) if asked.kernel is None else asked.kernel
    direct = "always" if asked.direct else "thin" if asked.thin else "tiles" if asked.tiles else None
    return Variant(serving, asked.tile, asked.splits, asked.overlap, direct)


def plan_of(scheme: str, backend: str) -> Plan:
    """Some plan of a backend: all of a scheme have planes of the same kind."""
    return make_plan(scheme, backend, "least", 53, 1)


def serving_backend(
    choice: Choice, scheme: str, index: int, forced: Forced = variant.NOTHING
) -> tuple[str, str | None]:
    """The first of the choice's backends that has a kernel on a CUDA device which passes its self-test, and why it is not
    the very first (None if it is).

    Raises
    ------
    RuntimeError
        If no kernel on the device passes its self-test, or it would have to be tested while a CUDA graph is captured.
    """
    fallback = None
    for backend in choice.order:
        try:
            serving_variant(plan_of(scheme, backend), index, forced)
            return backend, fallback
        except guard.AllFailedError as error:
            fallback = fallback or str(error)
    raise RuntimeError(f"{fallback}; no other backend is left on cuda:{index}")


def check_gpu_backend(backend: str, device: object) -> None:
    """RuntimeError for a backend that no GPU has."""
    if backend not in GPU_BACKENDS:
        raise RuntimeError(f"backend: {backend!r} has no GPU kernel; available on {device}: 'int8', 'fp4'")


def check_device(device: Any) -> None:
    """RuntimeError unless this build has kernels for a torch device."""
    if device.type != "cuda":
        held = "cpu" if extension.extension() is None else "cpu, cuda"
        raise RuntimeError(f"a: device {device} has no kernel in this build; it holds: {held}")
    if device.index in _ready:
        return
    reason = extension.why_unavailable(device)
    if reason is not None:
        raise RuntimeError(f"a: device {device}: {reason}")
    if library.require_torch().cuda.is_current_stream_capturing():
        raise RuntimeError(
            f"a: the first product on {device} loads its kernels, which a CUDA graph cannot capture; "
            "run one product before the capture"
        )
    _ready.add(device.index)
