"""Compares the FP4 instructions of Blackwell, as a published bit-accurate model computes them, with integers.

    python tools/check_mma_model.py [--mma-sim FOLDER]

The model is MMA-Sim (Xie, Wang, Yang, Yang, arXiv 2511.10909; github.com/microsoft/MMA-Sim): what tensor cores do to one
multiply-accumulate, fitted to hardware. It is a check, not a dependency: its folder comes from --mma-sim, from the variable
OZFP4_MMA_SIM, or it is importable as ``mmasim``; it needs torch. Without it this says so and exits with 0.

The kernels rely on two facts (csrc/cuda/multiply/{mma_sync/atom.cuh,tcgen05}): both block scales are 2, so the accumulator counts
products of limbs; sums are exact while they stay within 2^24. Checked, for mma.sync m16n8k64 (sm_120) and tcgen05 (sm_100,
sm_103), each entry against Python's integers:

- every pair of codes at every position along K;
- every selector of block scales, with one constant register for all lanes;
- partial sums up to 2^24 in magnitude: at the limit, around it, alternating in sign, random;
- dot products as long as a fold allows, of the largest limbs;
- that the checks can fail: beyond 2^24, and with scales that are not constant.

K = 96, which sm_103 adds, has no class in the model. The model's arithmetic is used with six groups of 16 products
where K = 64 has four. That is an extrapolation.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

LIMBS = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12]  # by code
LIMIT = 2**24
SCALE_OF_TWO = 0x80  # ue8m0
LARGEST = 7  # code of the limb 12; 15 of -12
NEGATIVE = 15


class Unit:
    """One instruction of the model, M x 8 x K, fed with codes and returning integers."""

    def __init__(self, torch: Any, name: str, instruction: Any) -> None:
        self.torch, self.name, self.instruction = torch, name, instruction
        self.m, self.n, self.k = instruction.m, instruction.n, instruction.k
        self.blocks = self.k // instruction.block_size

    def __call__(
        self,
        a: list[list[int]],
        b: list[list[int]],
        c: list[list[int]],
        scale_a: list[list[int]] | None = None,
        scale_b: list[list[int]] | None = None,
    ) -> list[list[float]]:
        """D = A B + C, with A (M rows of K codes), B (8 columns of K codes), C (M rows of 8 integers).

        Scales are ue8m0 codes, by row (column) and block; 2 by default.
        """
        torch = self.torch

        def packed(lines: list[list[int]]) -> Any:
            return torch.tensor(
                [[line[2 * i] | line[2 * i + 1] << 4 for i in range(self.k // 2)] for line in lines],
                dtype=torch.uint8,
            )

        def scales(codes: list[list[int]] | None, lines: int) -> Any:
            codes = codes or [[SCALE_OF_TWO] * self.blocks] * lines
            return torch.tensor(codes, dtype=torch.uint8).view(torch.float8_e8m0fnu)

        result = self.instruction(
            packed(a), packed(b).T, torch.tensor(c, dtype=torch.float32),
            scales(scale_a, self.m), scales(scale_b, self.n).T,
        )  # fmt: skip
        return [[float(x) for x in row] for row in result.tolist()]


def expected(a: list[list[int]], b: list[list[int]], c: list[list[int]]) -> list[list[int]]:
    """The same in integers."""
    return [
        [c[i][j] + sum(LIMBS[x] * LIMBS[y] for x, y in zip(a[i], b[j], strict=True)) for j in range(len(b))]
        for i in range(len(a))
    ]


def wrong(found: list[list[float]], right: list[list[int]]) -> int:
    """How many entries differ."""
    return sum(
        x != y for line, other in zip(found, right, strict=True) for x, y in zip(line, other, strict=True)
    )


# ---- Checks: each yields (entries, wrong entries) ----------------------------------------------------------------------


def code_pairs(unit: Unit, positions: list[int]) -> Iterator[tuple[int, int]]:
    """Every pair of codes, alone at a position along K."""
    for position in positions:
        for half in range(2):
            a = [[0] * unit.k for _ in range(unit.m)]
            b = [[0] * unit.k for _ in range(unit.n)]
            for row in range(unit.m):
                a[row][position] = row % 16
            for column in range(unit.n):
                b[column][position] = 8 * half + column
            c = [[0] * unit.n for _ in range(unit.m)]
            yield unit.m * unit.n, wrong(unit(a, b, c), expected(a, b, c))


def near_the_limit(unit: Unit, generator: random.Random, rounds: int) -> Iterator[tuple[int, int]]:
    """Sums that start or end at 2^24 or near it, or cross zero; groups of equal and of alternating signs."""
    for kind in range(4 * rounds):
        a, b = [], []
        for row in range(unit.m):
            if kind % 4 == 0:  # all products 144
                a.append([LARGEST] * unit.k)
            elif kind % 4 == 1:  # whole groups of 16 cancel each other
                a.append([LARGEST if k // 16 % 2 == row % 2 else NEGATIVE for k in range(unit.k)])
            elif kind % 4 == 2:  # one small product against a large sum
                a.append([generator.choice((1, 9)) if k == row % unit.k else 0 for k in range(unit.k)])
            else:
                a.append([generator.randrange(16) for _ in range(unit.k)])
        for column in range(unit.n):
            fill = {0: [LARGEST], 1: [LARGEST], 2: [1, 9, 3, 11]}.get(kind % 4)
            b.append([generator.randrange(16) if fill is None else fill[column % len(fill)]] * unit.k)
        sums = expected(a, b, [[0] * unit.n for _ in range(unit.m)])
        c = []
        for i in range(unit.m):
            line = []
            for j in range(unit.n):
                # The start stays within the limit, and so does the end.
                low, high = max(-LIMIT, -LIMIT - sums[i][j]), min(LIMIT, LIMIT - sums[i][j])
                step = generator.randrange(4)
                starts = (low, min(high, low + step), high, max(low, high - step))
                line.append(starts[(i * unit.n + j) % 4])
            c.append(line)
        yield unit.m * unit.n, wrong(unit(a, b, c), expected(a, b, c))


def selector_scales(
    registers: list[int], byte: int, thread_a: int, thread_b: int
) -> tuple[list[list[int]], list[list[int]]]:
    """The scales that mma.sync m16n8k64 with scale_vec::2X reads from the registers of 32 lanes, by row and by column.

    PTX ISA, block scaling: lane 4 (m % 8) + 2 thread_a + m / 8 holds the scales of row m, lane 4 n + thread_b those of
    column n. The bytes `byte` and `byte` + 1 are those of the two blocks.
    """

    def pair(lane: int) -> list[int]:
        return [registers[lane] >> 8 * (byte + block) & 0xFF for block in range(2)]

    rows = [pair(4 * (m % 8) + 2 * thread_a + m // 8) for m in range(16)]
    return rows, [pair(4 * n + thread_b) for n in range(8)]


SELECTORS = [(byte, a, b) for byte in (0, 2) for a in (0, 1) for b in (0, 1, 2, 3)]


def selectors(unit: Unit, generator: random.Random) -> Iterator[tuple[int, int]]:
    """Every selector reads the same scales from one constant register."""
    for byte, thread_a, thread_b in SELECTORS:
        a = [[generator.randrange(16) for _ in range(unit.k)] for _ in range(unit.m)]
        b = [[generator.randrange(16) for _ in range(unit.k)] for _ in range(unit.n)]
        c = [[generator.randrange(-LIMIT // 2, LIMIT // 2) for _ in range(unit.n)] for _ in range(unit.m)]
        scales = selector_scales([0x80808080] * 32, byte, thread_a, thread_b)
        yield unit.m * unit.n, wrong(unit(a, b, c, *scales), expected(a, b, c))


def longest_sums(arithmetic: Any, torch: Any, k: int) -> Iterator[tuple[int, int]]:
    """Dot products of as many steps as a fold allows, all products 144 or -144, by the model's arithmetic of one entry."""
    two = torch.full((k // 32,), 2.0, dtype=torch.float32).to(torch.float8_e8m0fnu)
    six = torch.full((k,), 6.0, dtype=torch.float32)
    for sign in (1, -1):
        total, sum_ = 0, torch.tensor(0.0, dtype=torch.float32)
        failed = 0
        while abs(total) + 144 * k <= LIMIT:
            sum_ = arithmetic.nv_fused_dot_add_with_block_scale(sign * six, six, sum_, two, two, 35)
            total += sign * 144 * k
            failed += sum_.item() != total
        yield abs(total) // (144 * k), failed


def one_entry(
    arithmetic: Any, torch: Any, generator: random.Random, k: int, rounds: int
) -> Iterator[tuple[int, int]]:
    """Random codes and starts up to the limit, by the model's arithmetic of one entry."""
    values = [limb / 2 for limb in LIMBS]
    two = torch.full((k // 32,), 2.0, dtype=torch.float32).to(torch.float8_e8m0fnu)
    for i in range(rounds):
        a = [generator.randrange(16) if i % 2 else generator.choice((LARGEST, NEGATIVE)) for _ in range(k)]
        b = [generator.randrange(16) if i % 3 else LARGEST for _ in range(k)]
        dot = sum(LIMBS[x] * LIMBS[y] for x, y in zip(a, b, strict=True))
        low, high = max(-LIMIT, -LIMIT - dot), min(LIMIT, LIMIT - dot)
        start = (low, high, generator.randint(low, high), 0)[i % 4]
        found = arithmetic.nv_fused_dot_add_with_block_scale(
            torch.tensor([values[x] for x in a]), torch.tensor([values[y] for y in b]),
            torch.tensor(float(start)), two, two, 35,
        )  # fmt: skip
        yield 1, int(found.item() != start + dot)


def noticed(unit: Unit) -> tuple[bool, bool]:
    """Whether a sum beyond 2^24, and scales that are not constant, are seen to be wrong."""
    a = [[1] + [0] * (unit.k - 1) for _ in range(unit.m)]
    b = [[1] + [0] * (unit.k - 1) for _ in range(unit.n)]
    beyond = [[LIMIT] * unit.n for _ in range(unit.m)]
    zero = [[0] * unit.n for _ in range(unit.m)]
    by_row = [[SCALE_OF_TWO + m % 2] * unit.blocks for m in range(unit.m)]
    return (
        wrong(unit(a, b, beyond), expected(a, b, beyond)) == unit.m * unit.n,
        wrong(unit(a, b, zero, by_row), expected(a, b, zero)) == unit.m * unit.n // 2,
    )


# ---- The table ---------------------------------------------------------------------------------------------------------


class Table:
    """Lines of results, printed as they come."""

    def __init__(self) -> None:
        self.failures = 0
        print(f"{'unit':<22} {'check':<52} {'entries':>8} {'wrong':>6} {'s':>5}")

    def add(self, unit: str, check: str, results: Iterator[tuple[int, int]]) -> None:
        start = time.monotonic()
        entries = failed = 0
        for count, bad in results:
            entries += count
            failed += bad
        self.failures += failed + (entries == 0)
        print(f"{unit:<22} {check:<52} {entries:>8} {failed:>6} {time.monotonic() - start:>5.0f}", flush=True)


def load(folder: str | None) -> tuple[Any, Any, Any] | str:
    """(torch, the simulator's nv_ptx, its arithmetic), or why they are not there."""
    if folder:
        if not (Path(folder) / "mmasim").is_dir():
            return f"{folder} holds no folder mmasim"
        sys.path.insert(0, folder)
    try:
        torch = import_module("torch")
        return torch, import_module("mmasim.simulator.nv_ptx"), import_module("mmasim.simulator.arithmetic")
    except ImportError as error:
        return str(error)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mma-sim", metavar="FOLDER", help="a checkout of MMA-Sim; else OZFP4_MMA_SIM")
    parser.add_argument("--few", action="store_true", help="a small part, for a first look")
    arguments = parser.parse_args()
    loaded = load(arguments.mma_sim or os.environ.get("OZFP4_MMA_SIM"))
    if isinstance(loaded, str):
        print(
            f"SKIPPED: the model of the tensor cores is not there ({loaded}): "
            "git clone https://github.com/microsoft/MMA-Sim, then --mma-sim FOLDER or OZFP4_MMA_SIM=FOLDER"
        )
        return 0
    torch, simulator, arithmetic = loaded
    torch.set_num_threads(1)
    warp = Unit(
        torch,
        "mma.sync m16n8k64",
        simulator.mma_block_scale("RTX Blackwell", "m16n8k64.block32.f32.e2m1.e2m1.f32.ue8m0"),
    )
    tcgen05 = Unit(
        torch,
        "tcgen05 m128n8k64",
        simulator.tcgen05mma_block_scale("Blackwell", "m128n8k64.block32.f32.e2m1.e2m1.ue8m0"),
    )
    generator = random.Random(20240611)
    few = arguments.few
    table = Table()
    everywhere = list(range(0, 64, 32 if few else 1))
    table.add(warp.name, f"256 code pairs at {len(everywhere)} positions", code_pairs(warp, everywhere))
    table.add(tcgen05.name, "256 code pairs at 4 positions", code_pairs(tcgen05, [0, 31, 32, 63]))
    table.add(warp.name, f"{len(SELECTORS)} scale selectors, constant register", selectors(warp, generator))
    table.add(warp.name, "partial sums up to 2^24", near_the_limit(warp, generator, 1 if few else 25))
    table.add(tcgen05.name, "partial sums up to 2^24", near_the_limit(tcgen05, generator, 1 if few else 2))
    for k in (64, 96):
        name = f"one entry, K = {k}"
        steps = LIMIT // (144 * k)
        table.add(name, f"{steps} steps of ±144, K = {steps * k}", longest_sums(arithmetic, torch, k))
        table.add(
            name,
            "random codes, sums up to 2^24",
            one_entry(arithmetic, torch, generator, k, 100 if few else 4000),
        )
    beyond, uneven = noticed(warp)
    print(f"a sum of 2^24 + 1 is seen to be wrong: {'yes' if beyond else 'NO'}")
    print(f"scales that are not constant are seen to be wrong: {'yes' if uneven else 'NO'}")
    good = table.failures == 0 and beyond and uneven
    print("all exact" if good else "NOT EXACT")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
