"""The time of each accuracy on a CPU or a GPU, by operands, compared with the native product, and its entries by certificate.

    python benchmarks/modes.py [--device cpu|cuda] [--sizes N ...] [--kinds WORD ...] [--modes NAME ...] [--check ENTRIES]

Operands: those of KINDS below, and those of applications in common/real_matrices.py. "scaled" has 53 bits, "scaled57" as many as
"standard" takes. Medians of alternating calls; a call that takes seconds is not repeated. Then ratios of each mode to the
native product and to "scaled", and shares of the entries: exact, certified by depth or by magnitudes, chains (counted by the
CPU). Last the number of repaired entries.
--check: so many entries of "standard" and "correct", in blocks of random rows and columns, are compared with the definition, in
Python's integers; exit status 1 where one differs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

import ozfp4
from common import experiment, real_matrices, turns
from common.experiment import Row
from common.gpu import batch_for
from common.methods import REFUSALS, reason
from ozfp4.testing import correct_matmul, difference, standard_matmul
from support import chosen, spread
from support.grading import graded

Array = np.ndarray
SIZES = {"cpu": (1024, 2048), "cuda": (1024, 2048, 4096, 8192, 16384)}
LARGEST = 4096  # of graded operands, and of those that people multiply
EDGE = 24  # of a block of entries that is checked
SLOW = 2.0  # seconds

KINDS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: rng.standard_normal((n, n)),
    "uniform": lambda rng, n: rng.random((n, n)),  # multiples of 2^-53
    "rand": lambda rng, n: rng.integers(0, 2**54, (n, n)) / 2.0**54,  # as torch.rand has them
    "spread": lambda rng, n: spread(rng, (n, n), 32),
}
MODES: dict[str, Callable[[Any, Any], Any]] = {
    "native": lambda a, b: a @ b,
    "scaled": lambda a, b: ozfp4.matmul(a, b, accuracy="scaled"),
    "scaled57": lambda a, b: chosen.matmul(a, b, accuracy="scaled", bits=57),
    "standard": ozfp4.matmul,
    "correct": lambda a, b: ozfp4.matmul(a, b, accuracy="correct"),
    "enclose": ozfp4.enclose,
}


def pairs(n: int, words: Sequence[str] | None) -> Iterator[real_matrices.Pair]:
    """Names and operands: those with one of the words in their names, else the generated ones."""

    def is_asked(name: str) -> bool:
        return words is None or any(word in name for word in words)

    rng = np.random.default_rng(n)
    for kind, fill in KINDS.items():
        if is_asked(kind):
            yield kind, fill(rng, n), fill(rng, n)
    if n <= LARGEST:
        if is_asked("graded"):
            yield "graded", *graded(n, 504)  # rows by 2^±504, each turned
        yield from (pair for pair in real_matrices.pairs(n) if words is not None and is_asked(pair[0]))


def on_device(x: Array, device: str) -> Any:
    """In NumPy's order of memory: a transposed view stays one."""
    if device == "cpu":
        return x
    import torch

    if x.flags.f_contiguous and not x.flags.c_contiguous:
        return torch.from_numpy(x.T.copy()).cuda().T
    return torch.from_numpy(np.ascontiguousarray(x)).cuda()


def wrong_entries(mode: str, a: Array, b: Array, c: Any, entries: int) -> tuple[int, int]:
    """Entries compared with the reference, and how many differ."""
    rng = np.random.default_rng(entries)
    done = wrong = 0
    found = c if isinstance(c, np.ndarray) else c.cpu().numpy()
    while done < entries:
        i, j = (rng.choice(extent, min(EDGE, extent), replace=False) for extent in found.shape)
        x, y, block = a[i], b[:, j], found[np.ix_(i, j)]
        expected = correct_matmul(x, y) if mode == "correct" else standard_matmul(x, y)[0]
        done += expected.size
        if difference(block, expected) is not None:
            wrong += int((block.view(np.uint64) != expected.view(np.uint64)).sum())
    return done, wrong


def certified(mode: str, a: Any, b: Any) -> Row:
    """The backend, what the entries rest on, and how many were repaired."""
    if mode not in ("scaled", "standard", "correct"):
        return {}
    _, report = ozfp4.matmul(a, b, accuracy=mode, report=True)
    row: Row = {"backend": report.backend, "products": report.products}
    if (found := report.certified) is None:
        return row
    counts = {name: getattr(found, name) for name in ("exact", "depth", "magnitude", "chains")}
    entries = a.shape[0] * b.shape[1]
    row |= {name: round(count / entries, 6) for name, count in counts.items() if count is not None}
    return row | {"repaired": found.repaired, "repaired exactly": found.repaired_exactly}


def milliseconds(
    a: Any, b: Any, options: argparse.Namespace, device: str
) -> tuple[dict[str, float], list[Row]]:
    """The time of each mode; and rows of those that cannot be made, with the reason."""
    taken: dict[str, float] = {}
    skipped: list[Row] = []
    calls: dict[str, Callable[[], object]] = {}
    for mode in options.modes:
        call = partial(MODES[mode], a, b)
        try:
            taken[mode] = turns.seconds_of(call, device)
        except REFUSALS as error:
            skipped.append({"method": mode, "skipped": reason(error)})
            continue
        if taken[mode] < SLOW:
            calls[mode] = call
    if calls:
        taken |= turns.medians(calls, options.turns, device, 1 if device == "cpu" else batch_for(len(a)))
    return {mode: round(1e3 * seconds, 4) for mode, seconds in taken.items()}, skipped


def rows_of(name: str, a: Array, b: Array, options: argparse.Namespace, device: str) -> Iterator[Row]:
    x, y = on_device(a, device), on_device(b, device)
    about: Row = {"N": len(a), "operands": name}
    ms, skipped = milliseconds(x, y, options, device)
    for mode, taken in ms.items():
        row = about | {"method": mode, "ms": taken, "TFLOPS": round(2 * len(a) ** 3 / taken / 1e9, 4)}
        for other in ("scaled", "native"):
            if other in ms:
                row[f"x {other}"] = round(taken / ms[other], 3)
        row |= certified(mode, x, y)
        if options.check and mode in ("standard", "correct"):
            row["checked"], row["wrong"] = wrong_entries(mode, a, b, MODES[mode](x, y), options.check)
        yield row
    yield from (about | row for row in skipped)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    experiment.add_device_argument(parser)
    experiment.add_sizes_argument(parser, "multiples of 8; default 1024, 2048; GPU 1024 to 16384")
    parser.add_argument(
        "--kinds",
        nargs="+",
        metavar="WORD",
        help="those of all operands whose names hold a word, '' for all; default those that are generated",
    )
    parser.add_argument("--modes", nargs="+", choices=list(MODES), default=list(MODES))
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument(
        "--check", type=int, default=0, metavar="ENTRIES", help="compare so many of each product"
    )
    experiment.add_output_arguments(parser, figures=False)


def run(options: argparse.Namespace) -> int:
    device = experiment.device_of(options)
    every = (
        row
        for n in options.sizes or SIZES[device]
        for name, a, b in pairs(n, options.kinds)
        for row in rows_of(name, a, b, options, device)
    )
    rows = experiment.collect(options, "modes", "Accuracies", device, every, left=3)
    return int(any(row.get("wrong") for row in rows))


main = experiment.program(__file__, __doc__, add_arguments, run)

if __name__ == "__main__":
    sys.exit(main())
