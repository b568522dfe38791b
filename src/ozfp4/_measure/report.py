"""One file about a machine that its owner can send back: what it is, whether its kernels are exact, how fast they are."""

from __future__ import annotations

import dataclasses
import math
import os
import re
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
from . import calibrate, clocks
from .kept import kept_lines
from .machine import describe, output

SCHEMA = 3
CPU_SIZES = (512, 1024)
GPU_SIZES = (1024, 4096, 8192, 16384)
# m, k, n of products for which a GPU chooses among several ways, in the default accuracy.
GPU_SHAPES = (
    *(shape for _, shapes in calibrate.MEASURED_WAYS.values() for shape in shapes),
    (1024, 65536, 1024),
)
SECONDS = 0.5  # of measurement for each time
_CLOCKS = (
    "index", "name", "clocks.sm", "clocks.mem", "clocks.max.sm", "clocks.max.mem", "power.draw", "power.limit", "temperature.gpu",
    "ecc.mode.current",
)  # fmt: skip
_VARIABLES = re.compile("(OZFP4|OMP|CUDA|NVIDIA|PYTORCH)_|LD_PRELOAD$")  # of the environment, that matter
_PATH = re.compile(r"(?<![\w./])/[^\s/'\":]+(?:/[^\s/'\":]*)*")
_SHOWN_FILE = re.compile(r"[^/]+\.(?:so|py|json)[.\d]*$")
_SERIAL = re.compile(r"\b[0-9a-f]{32}\b|\b(?:GPU|MIG)-[0-9a-f-]{36}\b")


def _without_names(value: Any) -> Any:
    """The value without folders, which may have the names of people and hosts, and serial numbers of devices."""
    if isinstance(value, dict):
        return {name: _without_names(x) for name, x in value.items()}
    if isinstance(value, list):
        return [_without_names(x) for x in value]
    if not isinstance(value, str):
        return value

    def file_alone(path: re.Match[str]) -> str:
        shown = _SHOWN_FILE.search(path[0])
        return shown[0] if shown else "(a folder)"

    return _PATH.sub(file_alone, _SERIAL.sub("(a serial number)", value))


def _variable(value: str) -> str:
    """A variable's value, with the names of libraries instead of paths, which may have spaces."""
    if "/" not in value:
        return value
    shown = (_SHOWN_FILE.search(part) for part in value.split(":"))
    return ":".join(file[0] if file else "(a folder)" for file in shown)


def _gpu(torch: Any, index: int) -> dict[str, Any]:
    """The properties that torch has of a device, and its free memory."""
    about = torch.cuda.get_device_properties(index)
    facts = {name: getattr(about, name) for name in dir(about) if not name.startswith(("_", "uuid", "pci_"))}
    shown = {name: x for name, x in facts.items() if isinstance(x, (int, str))}
    return shown | {"free_memory": torch.cuda.mem_get_info(index)[0]}


def _clocks() -> list[dict[str, str]]:
    """Clocks, power and temperature of each GPU as nvidia-smi prints them; empty without it."""
    found = output("nvidia-smi", f"--query-gpu={','.join(_CLOCKS)}", "--format=csv,noheader")
    return [dict(zip(_CLOCKS, line.split(", "), strict=False)) for line in found.splitlines()]


def _verdict(verdict: Verdict) -> dict[str, Any]:
    kernel, about = verdict.kernel, dataclasses.asdict(verdict)
    about |= {"device": device_name(kernel.device), "kernel": kernel.name, "element": kernel.element}
    if not verdict.passed:
        is_cpu = kernel.device == "cpu"
        about["failed on"] = (
            _core.cpu_facts() if is_cpu else extension.require_cuda().device_facts(kernel.index)
        )
        about["repeat"] = (
            "from ozfp4._backends.kernels import DeviceKernel; from ozfp4._trust import guard; "
            f"print(guard.test({kernel!r}, short={verdict.form == 'short'}))"
        )
    return about


def _choice(a: Any, b: Any, c: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The way in which a GPU makes a product, and milliseconds by the models of those that it has."""
    made = calibrate.way_of(a, b, c, **options)
    times = dict(zip(calibrate.WAYS, made["microseconds"], strict=True))
    model = {way: round(us / 1e3, 4) for way, us in times.items() if math.isfinite(us)}
    return {"way": made["way"], "tile": made["tile"], "splits": made["splits"], "model ms": model}


def _time(device: str, shape: tuple[int, int, int], options: dict[str, Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"device": device, **dict(zip("mkn", shape, strict=True)), **options}
    try:
        if device == "cpu":
            a, b = clocks.operands(device, shape[0])
        else:
            a, b, c = calibrate.random_operands(*shape)
            row |= _choice(a, b, c, options)
            del c
        _, ran = matmul(a, b, report=True, **options)
        stages: dict[str, float] = {}
        if device == "cpu":
            times = [1e3 * t for t in clocks.call_times(lambda: matmul(a, b, **options), SECONDS)]
            stages = {name: 1e3 * seconds for name, seconds in ran.seconds.items()}
        else:
            times = clocks.event_times(lambda: matmul(a, b, **options), SECONDS)
            if row["way"] == "stages" and ran.plan is not None:
                measured = clocks.gpu_stages(ran.plan, a, b, SECONDS / 2, ran.accuracy)
                stages = dict(zip(clocks.STAGES, measured, strict=True))
    except (RuntimeError, MemoryError, ValueError) as error:  # no kernel, no memory
        return row | {"skipped": (str(error) or type(error).__name__).splitlines()[0]}
    row["ms"] = round(statistics.median(times), 4)
    row |= {f"{name} ms": round(ms, 4) for name, ms in stages.items()}
    return row | {"products": ran.products, "kernel": ran.kernel}


def report(tested: SelfTest, *, progress: Callable[[float], Any] | None = None) -> dict[str, Any]:
    """Measure this machine and put everything into one value, plain JSON without names of people, hosts and folders. `tested`: by
    the long form; `progress` takes the fraction done.

    "machine" is as of :func:`ozfp4._measure.machine.describe`, "gpus" as torch has them; their clocks are as nvidia-smi prints
    them before and after. "calibration" has the lines of the file that ``ozfp4 calibrate`` writes. A failed one of "verdicts" has
    "failed on", all that its "reason" depends on, and "repeat", a program. "times" are milliseconds of whole calls and of each
    stage, or why they were "skipped": for each device (the first GPU), size, backend of "scaled" and accuracy. On a GPU also
    the way that was chosen, and the models' predictions for each.
    """
    import scipy

    torch = library.torch_module()
    count = torch.cuda.device_count() if torch is not None and torch.cuda.is_available() else 0
    accuracies: list[dict[str, Any]] = [{"accuracy": "standard"}, {"accuracy": "correct"}]
    asked: list[tuple[str, tuple[int, int, int], dict[str, Any]]] = []
    for device, sizes, backends in (("cpu", CPU_SIZES, ALPHABETS), ("cuda", GPU_SIZES, GPU_BACKENDS)):
        products = [*({"accuracy": "scaled", "backend": backend} for backend in backends), *accuracies]
        if device == "cpu" or count:
            asked += [(device, (n, n, n), options) for n in sizes for options in products]
    if count:
        asked += [("cuda", shape, accuracies[0]) for shape in GPU_SHAPES]
    machine = describe("cuda" if count else "cpu") | {"scipy": scipy.__version__, "cpu": device_name("cpu")}
    if (cuda := extension.extension()) is not None:
        machine["kernels for"] = [f"{major}.{minor}" for major, minor in cuda.compute_capabilities]
    before = _clocks()
    times = []
    for done, each in enumerate(asked):
        if progress is not None:
            progress(done / len(asked))
        times.append(_time(*each))
    found: dict[str, Any] = _without_names(
        {
            "schema": SCHEMA,
            "machine": machine,
            "environment": {
                name: _variable(x) for name, x in sorted(os.environ.items()) if _VARIABLES.match(name)
            },
            "gpus": [_gpu(torch, index) for index in range(count)],
            "clocks before": before,
            "clocks after": _clocks(),
            "calibration": kept_lines(),
            "verdicts": [_verdict(verdict) for verdict in tested.verdicts],
            "times": times,
        }
    )
    return found
