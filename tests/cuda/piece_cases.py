"""Products of pieces of K, one by one with shared scales and summed residues, against the whole product: for tests of any
device."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ozfp4._options import Options
from support.chosen import matmul

torch = pytest.importorskip("torch")

from ozfp4._backends.partial import Partial  # noqa: E402
from ozfp4._dispatch.decision import capacity  # noqa: E402
from ozfp4._plans.plan import make_plan  # noqa: E402


@dataclasses.dataclass(frozen=True)
class Case:
    m: int
    n: int
    cuts: tuple[int, ...]  # the pieces of K
    kind: str
    accuracy: str
    backend: str = "fp64"
    rounding: str = "nearest"
    bits: int | None = None
    dtype: str = "float64"
    regions: tuple[int, ...] = ()  # of rows
    seed: int = 0


def operands(case: Case) -> list[Any]:
    random = np.random.default_rng([case.seed, case.m, case.n, sum(case.cuts)])
    k = sum(case.cuts)
    pair = []
    for shape in ((case.m, k), (k, case.n)):
        x = random.standard_normal(shape)
        if case.kind == "spread":
            x *= 2.0 ** random.integers(-30, 31, shape)
        elif case.kind == "wild":
            x *= 2.0 ** random.integers(-1000, 1000, shape).clip(-60, 60)
            x[random.random(shape) < 0.1] *= 2.0**-900
        elif case.kind == "sparse":
            x[random.random(shape) < 0.8] = 0
        elif case.kind == "small":
            x *= 2.0**-1060 if len(pair) else 2.0**-30
        elif case.kind == "integers":
            x = random.integers(-9, 10, shape).astype(float)
        elif case.kind == "pieces":  # of magnitudes far from each other
            axis = 1 if len(pair) == 0 else 0
            scale = np.repeat(2.0 ** random.integers(-90, 90, len(case.cuts)), case.cuts)
            x *= np.expand_dims(scale, 1 - axis)
        elif case.kind == "crossed":  # large entries across from small ones
            axis = 1 if len(pair) == 0 else 0
            steps = 2.0 ** (np.linspace(-40, 40, k) * (1 if axis else -1)).round()
            x *= np.expand_dims(steps, 1 - axis)
        elif case.kind == "zeros":
            x[...] = 0
        elif case.kind == "special":
            x[random.random(shape) < 0.02] = np.inf
            x[random.random(shape) < 0.02] = -np.inf
            x[random.random(shape) < 0.02] = np.nan
        x = np.array(x, case.dtype, order="F" if (case.seed >> len(pair)) & 1 else "C")
        pair.append(torch.from_numpy(x))
    return pair


def product(case: Case, a: Any, b: Any, make: Any = Partial) -> tuple[Any, Any]:
    """The result by pieces, and which entries are to be made elsewhere."""
    asked = Options(backend=case.backend, bits=case.bits, accuracy=case.accuracy, rounding=case.rounding)
    k, m, n = a.shape[1], case.m, case.n
    plan = make_plan("II", case.backend, "least", capacity(asked, case.dtype == "float32"), k)
    begins = np.cumsum((0, *case.cuts))
    pieces = [make(a[:, i:j], b[i:j], k, plan, asked, a.dtype) for i, j in itertools.pairwise(begins)]
    facts = torch.stack([piece.facts() for piece in pieces])
    for piece in pieces:
        piece.settle(facts)
    if case.accuracy == "correct":
        counts = sum(piece.rounded() for piece in pieces)
        for piece in pieces:
            piece.set_rounded(counts)
    sizes = case.regions or (m,)
    places = np.cumsum((0, *sizes))
    parts = [((int(i), size), (0, n)) for i, size in zip(places, sizes, strict=False)]
    size = sum(pieces[0].bytes_of(part[0][1], n) for part in parts)
    sent = torch.empty(len(pieces), size, dtype=torch.uint8, device=a.device).fill_(255)
    for piece, memory in zip(pieces, sent, strict=True):
        piece.residues(parts, list(memory.split([piece.bytes_of(rows[1], n) for rows, _ in parts])))
    out = torch.full((m, n), 7.0, dtype=a.dtype, device=a.device)
    at = 0
    for rows, columns in parts:
        if not rows[1]:
            continue
        size = pieces[0].bytes_of(rows[1], n)
        received = torch.cat([sent[:, at : at + size].reshape(-1), sent.new_zeros(pieces[0].tail(size))])
        at += size
        pieces[0].finish(received, len(pieces), rows, columns, out[rows[0] : rows[0] + rows[1]])
    left = torch.zeros((m, n), dtype=torch.bool)
    places = pieces[0].listed()
    left[places[:, 0], places[:, 1]] = True
    rows, columns = pieces[0].special_lines
    left[rows], left[:, columns] = True, True
    return out.cpu(), left


def check(case: Case, make: Any = Partial, device: str = "cpu") -> Any:
    """The entries that are left, which need not have the bits of the whole product; of whole tensors on the CPU."""
    a, b = (x.to(device) for x in operands(case))
    found, left = product(case, a, b, make)
    expected = matmul(a.cpu(), b.cpu(), accuracy=case.accuracy, bits=case.bits, rounding=case.rounding)
    kind = torch.int64 if found.dtype == torch.float64 else torch.int32
    same = (found.view(kind) == expected.view(kind)) | left
    assert same.all(), (case, int((~same).sum()))
    return left


MOST_BITS = {"fp4": 104, "int8": 160}  # of moduli, up to K = 2^20
KINDS = ("normal", "spread", "wild", "sparse", "small", "integers", "pieces", "special", "crossed", "zeros")


def cases(count: int, seed: int) -> Iterator[Case]:
    random = np.random.default_rng(seed)
    for i in range(count):
        pieces = int(random.integers(1, 9))
        cuts = tuple(int(x) for x in random.integers(0, random.choice([2, 9, 70, 400]), pieces))
        if sum(cuts) == 0:
            cuts = (*cuts[:-1], 1)
        accuracy = str(random.choice(["scaled", "standard", "correct"]))
        rounding = (
            str(random.choice(["nearest", "down", "up", "zero"])) if accuracy == "correct" else "nearest"
        )
        regions = tuple(int(x) for x in random.integers(0, 9, int(random.integers(1, 5))))
        backend = str(random.choice(["fp64", "int8", "fp4"]))
        yield Case(
            max(1, sum(regions)), int(random.integers(1, 20)), cuts, str(random.choice(KINDS)), accuracy,
            backend, rounding, int(random.integers(2, MOST_BITS.get(backend, 200) + 1)) if accuracy == "scaled" else None,
            str(random.choice(["float64", "float32"])), regions if sum(regions) else (), i,
        )  # fmt: skip
