"""One file about a machine that its owner can send back: what it is, whether its kernels are exact, how fast they are."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable
from typing import Any

from .. import _core
from .._api.machine import SelfTest
from .._api.matmul import matmul
from .._backends.cuda import extension
from .._backends.kernels import GPU_BACKENDS, device_name
from .._plans.plan import ALPHABETS
from .._request import library
from .._trust.guard import Verdict
from . import clocks
from .machine import describe, output

SCHEMA = 2
CPU_SIZES = (512, 1024)
GPU_SIZES = (1024, 4096, 8192, 16384)
SECONDS = 0.5  # of measurement for each time
_CLOCKS = (
    "index", "name", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "power.draw", "power.limit", "temperature.gpu",
    "ecc.mode.current",
)  # fmt: skip


def _clocks() -> list[dict[str, str]]:
    """Clocks, power and temperature of each GPU as nvidia-smi prints them; empty without it."""
    found = output("nvidia-smi", f"--query-gpu={','.join(_CLOCKS)}", "--format=csv,noheader")
    return [dict(zip(_CLOCKS, line.split(", "), strict=False)) for line in found.splitlines()]


def _verdict(verdict: Verdict) -> dict[str, Any]:
    kernel, about = verdict.kernel, dataclasses.asdict(verdict)
    about |= {"device": device_name(kernel.device), "kernel": kernel.name, "element": kernel.element}
    if not verdict.passed:
        is_cpu = kernel.device == "cpu"
        facts = _core.cpu_facts() if is_cpu else extension.require_cuda().device_facts(kernel.index)
        about["failed on"] = facts
    return about


def _time(device: str, n: int, options: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"device": device, "N": n, **options}
    try:
        a, b = clocks.operands(device, n)
        _, ran = matmul(a, b, report=True, **options)
        stages: dict[str, float] = {}
        if device == "cpu":
            times = [1e3 * t for t in clocks.call_times(lambda: matmul(a, b, **options), SECONDS)]
            stages = {name: 1e3 * seconds for name, seconds in ran.seconds.items()}
        else:
            times = clocks.event_times(lambda: matmul(a, b, **options), SECONDS)
            if ran.plan is not None:
                measured = clocks.gpu_stages(ran.plan, a, b, SECONDS / 2, ran.accuracy)
                stages = dict(zip(clocks.STAGES, measured, strict=True))
    except (RuntimeError, MemoryError, ValueError) as error:  # no kernel, no memory
        return row | {"skipped": (str(error) or type(error).__name__).splitlines()[0]}
    row["ms"] = round(statistics.median(times), 4)
    row |= {f"{name} ms": round(ms, 4) for name, ms in stages.items()}
    return row | {"products": ran.products, "kernel": ran.kernel}


def report(tested: SelfTest, *, progress: Callable[[float], Any] | None = None) -> dict[str, Any]:
    """Measure this machine and put everything into one value, plain JSON. `tested`: by the long form; `progress` takes the
    fraction done.

    "machine" is as of :func:`ozfp4._measure.machine.describe`, "gpus" as torch prints them; their clocks are as nvidia-smi prints
    them before and after. A failed one of "verdicts" has "failed on", all that its "reason" depends on. "times" are
    milliseconds of whole calls and of each stage, for each device (the first GPU), size, backend of "scaled" and accuracy, or why
    they were "skipped".
    """
    import scipy

    torch = library.torch_module()
    count = torch.cuda.device_count() if torch is not None and torch.cuda.is_available() else 0
    gpus = [str(torch.cuda.get_device_properties(index)) for index in range(count)]
    asked: list[tuple[str, int, dict[str, Any]]] = []
    for device, sizes, backends in (("cpu", CPU_SIZES, ALPHABETS), ("cuda", GPU_SIZES, GPU_BACKENDS)):
        products = [{"accuracy": "scaled", "backend": backend} for backend in backends]
        products += [{"accuracy": "standard"}, {"accuracy": "correct"}]
        if device == "cpu" or gpus:
            asked += [(device, n, options) for n in sizes for options in products]
    machine = describe("cuda" if gpus else "cpu") | {"scipy": scipy.__version__, "cpu": device_name("cpu")}
    before = _clocks()
    times = []
    for done, each in enumerate(asked):
        if progress is not None:
            progress(done / len(asked))
        times.append(_time(*each))
    return {
        "schema": SCHEMA,
        "machine": machine,
        "gpus": gpus,
        "clocks before": before,
        "clocks after": _clocks(),
        "verdicts": [_verdict(verdict) for verdict in tested.verdicts],
        "times": times,
    }
