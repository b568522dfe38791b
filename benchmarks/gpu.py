"""Products on a GPU: total and by stage, beside native FP64 and the emulations that the machine has.

    python benchmarks/gpu.py [--sizes 1024 2048 4096 8192 16384] [--methods ...] [--out results.json]

Times are CUDA events, warm, the median of repeated calls of `ozfp4.matmul` from Python on normal(0,1) float64 tensors;
TFLOPS = 2 N^3 / t. Board power and clock are sampled while each row runs. cuBLAS's FP64 emulation is measured in a process
of its own, by cuBLAS's environment variables; GEMMul8 likewise when --gemmul8 names its preload library. Nothing here is
a test.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import torch

from common import peers
from common.gpu import Sampler, stage_row, total_row
from ozfp4.measure.clocks import copy_bandwidth, operands
from ozfp4.measure.machine import describe
from support import chosen

Row = dict[str, Any]
SIZES = (1024, 2048, 4096, 8192, 16384)
OWN = {
    "int8": {"backend": "int8", "accuracy": "scaled"},
    "fp4 least": {"backend": "fp4", "accuracy": "scaled"},
    "fp4 paper": {"backend": "fp4", "family": "paper", "accuracy": "scaled"},
    "scheme I fp4": {"scheme": "I", "backend": "fp4", "accuracy": "scaled"},
    "scheme I int8": {"scheme": "I", "backend": "int8", "accuracy": "scaled"},
}


def peer_rows(name: str, sizes: list[int], environment: dict[str, str], budget: float) -> list[Row]:
    """torch's float64 matmul in a process of its own with these environment variables."""
    rows: list[Row] = []
    with peers.Peer(environment) as peer:
        for n in sizes:
            try:
                rows.append({**peer.ask(time=[n, budget]), "method": name})
            except peers.PeerError as error:
                rows.append({"N": n, "method": name, "skipped": str(error)})
                break
    return rows


def progress(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    sampler = Sampler()
    totals: list[Row] = []
    stages: list[Row] = []
    methods = arguments.methods
    for n in arguments.sizes:
        a, b = operands("cuda", n)
        if "native" in methods:
            progress(f"N = {n}: native")
            totals.append(total_row("native", n, lambda a=a, b=b: a @ b, sampler, arguments.budget))
        for name, options in OWN.items():
            if name not in methods or (name.startswith("scheme I") and n < 2048):
                continue
            progress(f"N = {n}: {name}")
            try:
                totals.append(
                    total_row(
                        name,
                        n,
                        lambda a=a, b=b, o=options: chosen.matmul(a, b, **o),
                        sampler,
                        arguments.budget,
                    )
                )
                stages.append(stage_row(name, n, a, b, options, arguments.budget / 2))
            except (RuntimeError, MemoryError) as error:  # say why the row is missing, keep the others
                totals.append({"N": n, "method": name, "skipped": str(error).splitlines()[0]})
        del a, b
        torch.cuda.empty_cache()
    sampler.close()
    for name, environment in (
        ("cuBLAS emulation, 55 bits", peers.CUBLAS_FIXED),
        ("cuBLAS emulation, dynamic", peers.CUBLAS_DYNAMIC),
    ):
        if "cublas" in methods:
            progress(name)
            totals += peer_rows(name, arguments.sizes, environment, arguments.budget)
    if arguments.gemmul8:
        environment = peers.gemmul8_environment(arguments.gemmul8)
        totals += peer_rows("GEMMul8, 15 moduli", arguments.sizes, environment, arguments.budget)
    return describe("cuda") | {
        "copy GB/s": round(1e-9 * copy_bandwidth("cuda")),
        "totals": totals,
        "stages": stages,
    }


def markdown(results: dict[str, Any]) -> str:
    """TFLOPS by method and size, then the stages."""
    sizes = sorted({row["N"] for row in results["totals"] if isinstance(row["N"], int)})
    lines = [
        f"{results['device']}, driver {results['driver']}, torch {results['torch']}, CUDA {results['cuda']}, {results['date']}; "
        f"copy {results['copy GB/s']} GB/s",
        "",
        "| TFLOPS = 2 N^3 / t | " + " | ".join(map(str, sizes)) + " |",
        "|---" * (len(sizes) + 1) + "|",
    ]
    for method in dict.fromkeys(row["method"] for row in results["totals"]):
        cells = {row["N"]: row for row in results["totals"] if row["method"] == method}
        lines.append(
            f"| {method} | " + " | ".join(str(cells.get(n, {}).get("TFLOPS", "-")) for n in sizes) + " |"
        )
        skipped = [row["skipped"] for row in cells.values() if "skipped" in row]
        if skipped:
            lines.append(f"| ({skipped[0]}) |" + " |" * len(sizes))
    lines += [
        "",
        "| N | method | products | scale | encode | multiply | reconstruct ms | multiply TOPS | workspace GiB |",
        "|---" * 9 + "|",
    ]
    for row in results["stages"]:
        names = (
            "N",
            "method",
            "products",
            "scale ms",
            "encode ms",
            "multiply ms",
            "reconstruct ms",
            "multiply TOPS",
            "workspace GiB",
        )
        lines.append("| " + " | ".join(str(row[name]) for name in names) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument(
        "--methods", nargs="+", choices=["native", "cublas", *OWN], default=["native", "cublas", *OWN]
    )
    parser.add_argument("--budget", type=float, default=0.6, help="seconds of measurement for each row")
    parser.add_argument("--gemmul8", help="GEMMul8's preload library")
    parser.add_argument("--out", help="write the rows as JSON to this file")
    arguments = parser.parse_args()
    results = measure(arguments)
    if arguments.out:
        with open(arguments.out, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    print(markdown(results))


if __name__ == "__main__":
    main()
