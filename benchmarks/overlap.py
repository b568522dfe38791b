"""Whether the stages of one product gain from running beside those of another: two streams against one, on a GPU.

    python benchmarks/overlap.py [--sizes N ...]

Microseconds, medians of replays of CUDA graphs; normal(0, 1) operands, N x N x N, accuracy "scaled". Results of both ways are
compared bit for bit.

    halves    a product in two halves of its rows, the right operand prepared before
    products  two whole products
    prepare   scale and encode of one operand (ozfp4.prepare) beside the product of two that are prepared
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Sequence

import torch

import ozfp4
from ozfp4.measure.clocks import milliseconds
from ozfp4.measure.machine import commit, driver

REPLAYS = 30
Work = Callable[[], object]


def in_turn(works: Sequence[Work]) -> None:
    for work in works:
        work()


def side_by_side(works: Sequence[Work], streams: Sequence[torch.cuda.Stream]) -> None:
    current = torch.cuda.current_stream()
    for work, stream in zip(works, streams, strict=True):
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            work()
    for stream in streams:
        current.wait_stream(stream)


def graph_of(work: Work, launches: int) -> torch.cuda.CUDAGraph:
    for _ in range(2):
        work()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(launches):
            work()
    return graph


def microseconds(graph: torch.cuda.CUDAGraph, launches: int) -> float:
    return 1e3 * statistics.median(milliseconds(graph.replay) for _ in range(REPLAYS)) / launches


def compare(name: str, size: int, works: Sequence[Work], results: Sequence[torch.Tensor]) -> None:
    """The works one after another and on a stream each, in turns, so that both meet the same clocks; the results are those of the
    latter, whatever was in them."""
    streams = [torch.cuda.Stream() for _ in works]
    launches = max(1, min(20, 2048**3 // size**3 * 4))
    graphs = [
        graph_of(lambda: in_turn(works), launches),
        graph_of(lambda: side_by_side(works, streams), launches),
    ]
    rounds = [[microseconds(graph, launches) for graph in graphs] for _ in range(3)]
    one, two = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(
        f"{name:9s} {size:5d}  one stream {one:9.1f}  two {two:9.1f}  {100 * (two / one - 1):+6.1f} %",
        flush=True,
    )
    for result in results:
        result.fill_(float("nan"))
    graphs[1].replay()
    torch.cuda.synchronize()


def measure(size: int) -> None:
    a, b, other = (torch.randn(size, size, dtype=torch.float64, device="cuda") for _ in range(3))
    c, d = torch.empty_like(a), torch.empty_like(a)

    def product(x: object, y: object, out: torch.Tensor) -> Work:
        return lambda: ozfp4.matmul(x, y, out=out, accuracy="scaled")

    def prepare() -> ozfp4.Prepared:
        return ozfp4.prepare(other, "right", backend="int8", accuracy="scaled")

    right = ozfp4.prepare(b, "right", backend="int8", accuracy="scaled")
    left = ozfp4.prepare(a, "left", backend="int8", accuracy="scaled")
    half = size // 2
    expected = ozfp4.matmul(a, b, accuracy="scaled")
    whole = graph_of(product(a, right, c), 1)
    print(f"whole     {size:5d}  one stream {microseconds(whole, 1):9.1f}  (prepared right operand)")
    compare("halves", size, [product(a[:half], right, c[:half]), product(a[half:], right, c[half:])], [c])
    if not torch.equal(c, expected):
        raise SystemExit("the halves differ from the whole product")
    compare("products", size, [product(a, b, c), product(a, b, d)], [c, d])
    if not (torch.equal(c, expected) and torch.equal(d, expected)):
        raise SystemExit("products on two streams differ")
    compare("prepare", size, [prepare, product(left, right, c)], [c])
    if not torch.equal(c, expected):
        raise SystemExit("the product beside an encode differs")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=[1024, 2048, 4096, 8192])
    sizes = parser.parse_args().sizes
    print(torch.cuda.get_device_name(), driver(), torch.__version__, commit(), flush=True)
    for size in sizes:
        measure(size)


if __name__ == "__main__":
    main()
