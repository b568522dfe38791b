"""One file about a machine that its owner can send back: what it is, whether its kernels are exact, how fast they are."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..api.selftest import SelfTest
from ..backends import cpu
from ..backends.kernels import device_name
from ..request import library
from ..trust.identity import identity
from . import speed
from .methods import own_methods
from .provenance import describe

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


def _clocks() -> list[dict[str, str]]:
    """Clocks, power and temperature of each GPU as nvidia-smi prints them; empty without it."""
    query = ["nvidia-smi", f"--query-gpu=index,name,{','.join(_CLOCKS)}", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, check=False, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = ("index", "name", *_CLOCKS)
    lines = [line.split(", ") for line in done.stdout.splitlines()] if done.returncode == 0 else []
    return [dict(zip(names, line, strict=True)) for line in lines if len(line) == len(names)]


def _verdicts(tested: SelfTest) -> list[dict[str, Any]]:
    rows = []
    for verdict in tested.verdicts:
        kernel = verdict.kernel
        row: dict[str, Any] = {
            "device": device_name(kernel.device),
            "kernel": kernel.name,
            "element": kernel.element,
            "passed": verdict.passed,
            "form": verdict.form,
            "cases": verdict.cases,
            "seconds": verdict.seconds,
            "reason": verdict.reason,
        }
        if verdict.failure is not None:
            about = identity(kernel)
            of_the_device = {name: about[name] for name in about if name not in ("kernel", "element")}
            row["failure"] = dataclasses.asdict(verdict.failure) | of_the_device
        rows.append(row)
    return rows


def report(tested: SelfTest, *, progress: Callable[[float], Any] | None = None) -> dict[str, Any]:
    """Measure this machine and put everything into one value, plain JSON.

    Parameters
    ----------
    tested : SelfTest
        The long form's verdicts.
    progress : callable, optional
        Called with the fraction done.

    Returns
    -------
    dict
        - ``schema``: 1.
        - ``machine``: device, driver and power limit, versions, commit, date, as every file of results begins
          (:func:`ozfp4.bench.machine.describe`); ``cpu`` is the processor with its number of threads.
        - ``gpus``: for each device its name, compute capability, multiprocessors, memory.
        - ``clocks before``, ``clocks after``: for each GPU its clocks, power and temperature as nvidia-smi prints them,
          around the measurements.
        - ``verdicts``: for each (device, kernel, element) ``passed``, ``form``, ``cases``, ``seconds`` and, where it failed,
          the ``reason``: the case and the first wrong entry; and ``failure``, all that it takes to repeat it: the case's name
          and extents, from which :mod:`ozfp4.trust.exact_cases` makes its operands, plan, modulus, entry, what was found and
          what is exact, the first wrong stage, tile and splits, with device, driver and build.
        - ``times``: for each method (scheme, backend, family; "cuda-" on the first GPU) and size N what
          :func:`ozfp4.bench.speed.measure` returns, on a GPU with power ``W`` and clock ``MHz`` while it ran; or
          ``skipped`` and why.
    """
    import scipy

    gpus = _gpus()
    methods = [(method, n) for n in CPU_SIZES for method in own_methods("cpu")]
    if gpus:
        methods += [(method, n) for n in GPU_SIZES for method in own_methods("cuda")]
    machine = describe("cuda" if gpus else "cpu") | {"scipy": scipy.__version__, "cpu": cpu.name()}
    before = _clocks()
    times = []
    for done, (method, n) in enumerate(methods):
        if progress is not None:
            progress(done / len(methods))
        times.append(speed.attempt(method, n, SECONDS))
    return {
        "schema": SCHEMA,
        "machine": machine,
        "gpus": gpus,
        "clocks before": before,
        "clocks after": _clocks(),
        "verdicts": _verdicts(tested),
        "times": times,
    }


def write(file: Path, value: dict[str, Any]) -> None:
    """Write the report, replacing what is there only when all of it is written."""
    beside = file.with_name(f".{file.name}.part")
    beside.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
    os.replace(beside, file)
