"""One file about a machine that its owner can send back: what it is, whether its kernels are exact, how fast they are."""

from __future__ import annotations

import dataclasses
import json
import os
import statistics
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .. import _core
from .._api.matmul import matmul
from .._api.selftest import SelfTest
from .._backends import cpu
from .._backends.cuda import extension
from .._backends.kernels import GPU_BACKENDS, device_name
from .._plans.plan import ALPHABETS
from .._request import library
from .._trust.verdict import Verdict
from . import clocks
from .machine import describe

SCHEMA = 1
CPU_SIZES = (512, 1024)
GPU_SIZES = (1024, 4096, 8192, 16384)
SECONDS = 0.5  # of measurement for each time
_CLOCKS = (
    "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "power.draw", "power.limit", "temperature.gpu",
    "ecc.mode.current",
)  # fmt: skip


def _gpus() -> list[dict[str, Any]]:
    """One entry for each CUDA device that torch sees."""
    torch = library.torch_module()
    if torch is None or not torch.cuda.is_available():
        return []
    found = []
    for index in range(torch.cuda.device_count()):
        about = torch.cuda.get_device_properties(index)
        found.append(
            {
                "device": f"cuda:{index}",
                "name": about.name,
                "capability": f"{about.major}.{about.minor}",
                "multiprocessors": about.multi_processor_count,
                "memory GiB": round(about.total_memory / 2**30, 1),
            }
        )
    return found


def _clocks() -> list[dict[str, Any]]:
    """Clocks, power and temperature of each GPU as nvidia-smi prints them; empty without it."""
    query = ["nvidia-smi", f"--query-gpu=index,name,{','.join(_CLOCKS)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = ("index", "name", *_CLOCKS)
    lines = [line.split(", ") for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return [dict(zip(names, line, strict=True)) for line in lines if len(line) == len(names)]


def _verdict(verdict: Verdict) -> dict[str, Any]:
    kernel, about = verdict.kernel, dataclasses.asdict(verdict)
    failure = about.pop("failure")
    about |= {"device": device_name(kernel.device), "kernel": kernel.name, "element": kernel.element}
    if failure is not None:
        is_cpu = kernel.device == "cpu"
        facts = _core.cpu_facts() if is_cpu else extension.require_cuda().device_facts(kernel.index)
        about["failure"] = failure | facts
    return about


def _products(backends: Iterable[str]) -> list[dict[str, Any]]:
    """Keyword arguments of ``ozfp4.matmul``: each backend of the scaled contract, and each other accuracy."""
    scaled: list[dict[str, Any]] = [{"accuracy": "scaled", "backend": backend} for backend in backends]
    return [*scaled, {"accuracy": "standard"}, {"accuracy": "correct"}]


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
    found = {"ms": statistics.median(times), **{f"{name} ms": ms for name, ms in stages.items()}}
    rounded = {name: round(ms, 4) for name, ms in found.items()}
    return row | rounded | {"products": ran.products, "kernel": ran.kernel}


def report(tested: SelfTest, *, progress: Callable[[float], Any] | None = None) -> dict[str, Any]:
    """Measure this machine and put everything into one value, plain JSON. `tested`: by the long form; `progress` takes the
    fraction done.

    "machine" is as of :func:`ozfp4._measure.machine.describe`; clocks of GPUs are as nvidia-smi prints them around the
    measurements. "verdicts" hold of a "failure" all that repeats it. "times" are milliseconds of whole calls and of each stage,
    for each device (the first GPU), size, backend of "scaled" and accuracy, or why they were "skipped".
    """
    import scipy

    gpus = _gpus()
    asked = [("cpu", n, options) for n in CPU_SIZES for options in _products(ALPHABETS)]
    if gpus:
        asked += [("cuda", n, options) for n in GPU_SIZES for options in _products(GPU_BACKENDS)]
    machine = describe("cuda" if gpus else "cpu") | {"scipy": scipy.__version__, "cpu": cpu.name()}
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


def write(file: Path, value: dict[str, Any]) -> None:
    """Write the report, replacing what is there only when all of it is written."""
    beside = file.with_name(f".{file.name}.part")
    beside.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(beside, file)
