"""How good the choice is: the times of every path for a product, and of the path that the library takes.

    python benchmarks/choice.py [--quick] [--device cpu|cuda] [--accuracy scaled|standard] [-o FOLDER]

Paths on a GPU: direct (one launch), thin (one pass over the larger operand), tiles (tile by tile), and the stages on each backend
with a kernel. All are replayed from a CUDA graph. The stages run with each tile of the default kernel (--quick: of one backend);
without --quick also with each split of K and each other kernel. On a CPU: each backend; products that would take long
are left out.

The regret is by how much the chosen path takes longer than the best one. `ozfp4 calibrate` before measures this machine for the
library.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

import ozfp4
from common import experiment
from common.methods import REFUSALS, gpu_backends
from common.turns import medians
from ozfp4._measure.calibrate import way_of
from ozfp4._measure.clocks import graph_seconds
from ozfp4._plans.plan import ALPHABETS
from ozfp4.testing import forced

# m, k, n, matrices
SHAPES = [
    *((n, n, n, 1) for n in (16, 32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)),
    (4096, 16, 4096, 1), (4096, 64, 4096, 1), (4096, 128, 4096, 1), (4096, 256, 4096, 1), (4096, 512, 4096, 1),
    (1000, 100, 1000, 1), (4000, 200, 4000, 1), (64, 512, 64, 1), (64, 8192, 64, 1),
    (64, 1024, 64, 1), (512, 64, 512, 1), (128, 16384, 128, 1),
    (256, 4096, 256, 1), (2048, 2048, 1, 1), (2048, 2048, 8, 1), (8192, 8192, 1, 1), (8192, 8192, 8, 1), (8192, 8192, 64, 1),
    (1, 4096, 4096, 1), (100000, 128, 1, 1), (50000, 64, 64, 1), (16, 4096, 2048, 1),
    (8, 8, 8, 1000), (16, 16, 16, 1000), (32, 32, 32, 100),
    (64, 64, 64, 64), (128, 128, 128, 64), (256, 256, 256, 16),
]  # fmt: skip
MOST_ON_CPU = {True: 2**27, False: 2**30}  # multiplications, quick or not
SPLITS = (1, 2, 4, 8)
WITHIN = 5.0  # percent


class Found(NamedTuple):
    """The seconds of one shape by path, and which path the library takes."""

    shape: tuple[int, int, int, int]
    seconds: dict[str, float]
    chosen: str

    @property
    def best(self) -> str:
        return min(self.seconds, key=self.seconds.__getitem__)

    @property
    def regret(self) -> float:
        """Percent by which the chosen path takes longer than the best one."""
        return 100 * (self.seconds[self.chosen] / self.seconds[self.best] - 1)


def text_of(shape: tuple[int, int, int, int]) -> str:
    m, k, n, stack = shape
    return f"{m} x {k} x {n}" + (f" x{stack}" if stack > 1 else "")


def summary(rows: list[Found]) -> str:
    """How many are chosen well, and the worst."""
    worst = max(rows, key=lambda row: row.regret)
    good = sum(row.regret <= WITHIN for row in rows)
    return (
        f"{good} of {len(rows)} within {WITHIN:g} % of the best; "
        f"worst: {text_of(worst.shape)}, {worst.chosen}, {worst.regret:.1f} % over {worst.best}"
    )


# ---- On a GPU ------------------------------------------------------------------------------------------------------


def name_of(about: Mapping[str, Any], backend: str) -> str:
    """A path's name: without planes, or the stages with the tile and the splits that multiply has."""
    if about["way"] != "stages":
        return str(about["way"])
    return f"{backend} {about['kernel']} {about['tile']} / {about['splits']}"


def ways_of_stages(about: Mapping[str, Any], quick: bool) -> Iterator[dict[str, Any]]:
    """Options that force each tile of the default kernel; where not quick, each split of K and each other kernel."""
    import torch

    from ozfp4._backends.cuda import extension

    cuda, index = extension.require_cuda(), torch.cuda.current_device()
    for number, kernel in enumerate(cuda.kernels):
        serves = kernel == about["kernel"]
        if (quick and not serves) or cuda.kernel_error(number, about["element"], index) is not None:
            continue
        for tile in cuda.tiles(number):
            yield {"kernel": kernel, "tile": tile}
            if not quick:
                yield from ({"kernel": kernel, "tile": tile, "splits": splits} for splits in SPLITS)


def on_gpu(shape: tuple[int, int, int, int], accuracy: str, quick: bool) -> Found:
    import torch

    m, k, n, matrices = shape
    stack = () if matrices == 1 else (matrices,)
    a = torch.randn(*stack, m, k, dtype=torch.float64, device="cuda")
    b = torch.randn(*stack, k, n, dtype=torch.float64, device="cuda")
    c = torch.empty(*stack, m, n, dtype=torch.float64, device="cuda")
    preferred = ozfp4.plan(m, n, k, device="cuda", accuracy=accuracy).backend
    seconds: dict[str, float] = {}

    def time_way(forcing: dict[str, Any], backend: str) -> dict[str, Any] | None:
        def product() -> object:
            return ozfp4.matmul(a, b, out=c, accuracy=accuracy, backend=backend)

        try:
            with forced(**forcing):
                about = way_of(a, b, c, accuracy=accuracy, backend=backend)
                name = name_of(about, preferred if backend == "auto" else backend)
                if name not in seconds:
                    seconds[name] = graph_seconds(product)
        except REFUSALS:  # no kernel, no room, or splits that the product cannot have
            return None
        return about

    for way in ("direct", "thin", "tiles"):
        time_way({way: True}, "auto")
    for backend in sorted(gpu_backends()):
        about = time_way({"direct": False}, backend)
        if about is None or (quick and backend != preferred):
            continue
        for forcing in ways_of_stages(about, quick):
            time_way(forcing, backend)
    chosen = name_of(way_of(a, b, c, accuracy=accuracy), preferred)
    time_way({}, "auto")
    return Found(shape, seconds, chosen)


# ---- On a CPU ------------------------------------------------------------------------------------------------------


def on_cpu(shape: tuple[int, int, int, int], accuracy: str, quick: bool) -> Found:
    m, k, n, matrices = shape
    stack = () if matrices == 1 else (matrices,)
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((*stack, m, k)), rng.standard_normal((*stack, k, n))
    calls: dict[str, Callable[[], object]] = {
        backend: partial(ozfp4.matmul, a, b, accuracy=accuracy, backend=backend) for backend in ALPHABETS
    }
    chosen = ozfp4.matmul(a, b, accuracy=accuracy, report=True)[1].backend
    if chosen == "direct":  # in words, which no argument selects
        calls[chosen] = partial(ozfp4.matmul, a, b, accuracy=accuracy)
    return Found(shape, medians(calls, 3 if quick else 9), chosen)


# ---- Both ----------------------------------------------------------------------------------------------------------


def report(options: argparse.Namespace, machine: dict[str, Any], found: list[Found]) -> None:
    experiment.show_rows(
        "Microseconds of the chosen path and of the best",
        [
            {
                "m x k x n": text_of(row.shape),
                "chosen": row.chosen,
                "us": round(1e6 * row.seconds[row.chosen], 1),
                "best": row.best,
                "of the best": round(1e6 * row.seconds[row.best], 1),
                "regret %": round(row.regret, 1),
                "paths": len(row.seconds),
            }
            for row in found
        ],
    )
    if found:
        print(summary(found))
    rows = [{"shape": row.shape, "chosen": row.chosen, "seconds": row.seconds} for row in found]
    experiment.write_results(
        options, "choice", machine, {"settings": {"accuracy": options.accuracy}, "rows": rows}, rows
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    experiment.add_device_argument(parser)
    parser.add_argument("--quick", action="store_true", help="fewer paths; on a CPU smaller products")
    parser.add_argument("--accuracy", choices=("scaled", "standard"), default="scaled")
    experiment.add_output_arguments(parser, figures=False)


def run(options: argparse.Namespace) -> int:
    device = experiment.device_of(options)
    machine = experiment.begin(options, device)
    measure = on_gpu if device == "cuda" else on_cpu
    most = float("inf") if device == "cuda" else MOST_ON_CPU[options.quick]
    shapes = [shape for shape in SHAPES if prod(shape) <= most]
    found: list[Found] = []
    with experiment.report_at_the_end(lambda: report(options, machine, found)):
        for shape in experiment.in_turn(shapes, text_of):
            found.append(measure(shape, options.accuracy, options.quick))
    return 0


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
