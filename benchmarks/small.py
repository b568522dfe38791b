"""What small products, and those of few columns or rows, cost on a GPU, replayed from a CUDA graph: in one launch, in one pass
over the larger operand, tile by tile, by the stages, and native.

    python benchmarks/small.py [--out FILE]

Microseconds a product, medians of replays of 2 to 20 of them; normal(0, 1) operands. `chosen` says which way the library takes
where it may choose, and how far that is from the best one. What csrc/cuda/direct/direct.cu and csrc/cuda/fused/tile.cu have
fitted comes from here, and what csrc/cuda/thin/thin.cu has is checked here.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

import torch

import ozfp4
from ozfp4.backends.cuda import extension
from ozfp4.dispatch import repeated
from ozfp4.measure.clocks import graph_seconds
from ozfp4.measure.machine import commit, driver
from ozfp4.testing import forced

# m, k, n, matrices
SHAPES = [
    *((n, n, n, 1) for n in (16, 32, 64, 96, 128, 192, 256, 512)), (64, 512, 64, 1), (64, 1024, 64, 1), (512, 64, 512, 1),
    (1, 1024, 1024, 1), (8, 8, 8, 1000), (16, 16, 16, 1000), (32, 32, 32, 100), (32, 32, 32, 1000), (64, 64, 64, 64),
    (64, 64, 64, 4096), (128, 128, 128, 1024), (256, 256, 256, 256), (1024, 64, 1024, 1), (1024, 128, 1024, 1),
    (4096, 64, 4096, 1),
    (64, 8192, 1, 1), (1024, 1024, 1, 1), (1024, 1024, 8, 1), (2048, 2048, 1, 1), (2048, 2048, 8, 1), (4096, 4096, 1, 1),
    *((8192, 8192, n, 1) for n in (1, 2, 4, 8)), (1, 8192, 8192, 1), (8, 8192, 8192, 1), (100000, 512, 1, 1), (100000, 128, 1, 1),
]  # fmt: skip
WAYS: dict[str, dict[str, Any]] = {"scaled": {"accuracy": "scaled"}, "standard": {"accuracy": "standard"}}


def microseconds(product: Callable[[], object]) -> float:
    return 1e6 * graph_seconds(product)


def chosen_way(a: torch.Tensor, b: torch.Tensor, way: dict[str, Any]) -> str:
    """How the library makes the product."""
    repeated.made.clear()
    ozfp4.matmul(a, b, **way)
    (made,) = repeated.made.values()
    about = made[0].problem.describe()
    return next((way for way in ("direct", "thin", "tiles") if about[way]), "stages")


def ways_to_make(m: int, k: int, n: int) -> dict[str, dict[str, bool]]:
    """What forces each of the ways that there are."""
    cuda = extension.require_cuda()
    ways = {"stages": {"direct": False}}
    if k <= cuda.most_direct_inner:
        ways["direct"] = {"direct": True}
    if min(m, n) <= cuda.most_thin_lines and cuda.has_thin_kernels(torch.cuda.current_device()):
        ways["thin"] = {"thin": True}
    if k <= cuda.most_tile_inner:
        ways["tiles"] = {"tiles": True}
    return ways


def row(m: int, k: int, n: int, matrices: int) -> dict[str, Any]:
    stack = () if matrices == 1 else (matrices,)
    a = torch.randn(*stack, m, k, dtype=torch.float64, device="cuda")
    b = torch.randn(*stack, k, n, dtype=torch.float64, device="cuda")
    c = torch.empty(*stack, m, n, dtype=torch.float64, device="cuda")
    found: dict[str, Any] = {"m": m, "k": k, "n": n, "matrices": matrices}
    found["native"] = round(microseconds(lambda: torch.matmul(a, b, out=c)), 1)
    for name, way in WAYS.items():
        times = {}
        for made, forcing in ways_to_make(m, k, n).items():
            with forced(**forcing):
                times[made] = microseconds(lambda way=way: ozfp4.matmul(a, b, out=c, **way))  # type: ignore[misc]
        chosen = chosen_way(a, b, way)
        found[name] = {
            **{made: round(time, 1) for made, time in times.items()},
            "chosen": chosen,
            "x best": round(times[chosen] / min(times.values()), 2),
        }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", metavar="FILE")
    arguments = parser.parse_args()
    about = {
        "device": torch.cuda.get_device_name(),
        "driver": driver(),
        "torch": torch.__version__,
        "commit": commit(),
    }
    print(about, flush=True)
    rows = []
    for shape in SHAPES:
        rows.append(row(*shape))
        print(rows[-1], flush=True)
    if arguments.out is not None:
        with open(arguments.out, "w") as file:
            json.dump({**about, "us": rows}, file, indent=1)


if __name__ == "__main__":
    main()
