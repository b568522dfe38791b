"""Counts the main loop of the FP4 kernels for sm_120 in a build and sets it against the tensor cores' rate: modelled, not run.

    python tools/count_main_loop.py BINARY_OR_CUBIN... [--least 0.85] [--markdown]

Reads machine code as check_cubins.py does. The main loop is the shortest backward branch around FP4 instructions; it may hold
several stages. For each tile, clocks of one iteration of the loop on one multiprocessor, with its resident warps spread over
four schedulers:

- MMA: an m16n8k64 occupies a scheduler's tensor core for 16 clocks (4096 operations a clock and multiprocessor);
- issue: one instruction a clock and scheduler;
- alone: what one warp's instructions stall for by themselves, which the other warps of the scheduler fill;
- shared: ldmatrix.x4 moves 512 bytes, the multiprocessor's shared memory 128 a clock, and TMA writes each byte of a stage.

The share of MMA slots that can be issued is MMA over the largest of these. L2: bytes of the stages over MMA clocks, operands
alone, for constant scales need no loads. Exits with 1 where a share is below --least or a ring has fewer than three
stages. Exits with 1, too, where a tile of at least 128 x 128 needs more of L2 than L2_LIMIT. Smaller tiles are for small
matrices. Waits for barriers and for L2, what folds and stores take, clocks and power are not in this count.
"""

import argparse
import re
import struct
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from check_cubins import elf_images, opcode_name, read_sections

MMA_CLOCKS = 16
SCHEDULERS = 4
SHARED_BYTES = 128  # a clock
LDSM_BYTES = 512
# Bytes a clock and multiprocessor that 128 x 128 tiles of 4-bit codes load at the full rate of 2048 multiply-adds a clock.
# Each index of K takes (128 + 128) / 2 bytes and 128 x 128 / 2048 = 8 clocks.
L2_LIMIT = 16.0
LEAST_STAGES = 3
BRANCH = 0x947


@dataclass(frozen=True)
class Loop:
    """The main loop of one kernel, and its tile as the kernel's name gives it."""

    m: int
    n: int
    warps: int  # multipliers of a block
    row_bytes: int
    stages: int
    blocks: int  # of a multiprocessor
    counts: Counter[str]
    instructions: int
    stalls: int

    @property
    def warps_of_scheduler(self) -> float:
        return self.warps * self.blocks / SCHEDULERS

    @property
    def mma(self) -> float:
        return MMA_CLOCKS * self.counts["OMMA"] * self.warps_of_scheduler

    @property
    def mma_of_stage(self) -> int:
        """FP4 instructions of one warp for a stage, by the tile's size."""
        return self.m * self.n * self.row_bytes * 2 // (16 * 8 * 64) // self.warps

    @property
    def loaded_bytes(self) -> float:
        """From L2, by all blocks in one iteration of the loop."""
        turns = self.counts["OMMA"] / self.mma_of_stage
        return turns * (self.m + self.n) * self.row_bytes * self.blocks

    @property
    def limits(self) -> dict[str, float]:
        """Clocks of one iteration of the loop, by what limits it."""
        loads = LDSM_BYTES * self.counts["LDSM"] * self.warps * self.blocks
        return {
            "MMA": self.mma,
            "issue": self.instructions * self.warps_of_scheduler,
            "alone": self.stalls,
            "shared": (loads + self.loaded_bytes) / SHARED_BYTES,
        }

    @property
    def share(self) -> float:
        return self.mma / max(self.limits.values())

    @property
    def l2(self) -> float:
        return self.loaded_bytes / self.mma

    def faults(self, least: float) -> list[str]:
        found = []
        if self.counts["OMMA"] == 0 or self.counts["OMMA"] % self.mma_of_stage != 0:
            return [
                f"{self.counts['OMMA']} FP4 instructions, which are no whole stages of {self.mma_of_stage}"
            ]
        if self.share < least:
            found.append(f"{100 * self.share:.0f} % of the MMA slots")
        if self.stages < LEAST_STAGES:
            found.append(f"{self.stages} stages")
        if min(self.m, self.n) >= 128 and self.l2 > L2_LIMIT:
            found.append(f"{self.l2:.1f} bytes a clock from L2")
        return found


def branch_target(at: int, low: int, high: int) -> int:
    """Where a branch at offset `at` goes: a signed distance in words, bits 16 to 23 and from 34 on."""
    distance = (low >> 34 | (high & 0x3FFFF) << 30) << 8 | low >> 16 & 0xFF
    if distance >> 55 & 1:
        distance -= 1 << 56
    return at + 16 + 4 * distance


def main_loop(code: bytes) -> tuple[Counter[str], int, int]:
    """Opcodes, instructions and stalls of the shortest loop that holds FP4 instructions."""
    words = list(struct.iter_unpack("<QQ", code[: len(code) // 16 * 16]))
    best: tuple[int, int] | None = None
    for index, (low, high) in enumerate(words):
        if low & 0xFFF != BRANCH:
            continue
        begin = branch_target(16 * index, low, high) // 16
        if not 0 <= begin <= index or all(opcode_name(*w) != "OMMA" for w in words[begin : index + 1]):
            continue
        if best is None or index - begin < best[1] - best[0]:
            best = (begin, index)
    if best is None:
        return Counter(), 0, 0
    body = words[best[0] : best[1] + 1]
    counts = Counter(name for name in (opcode_name(*w) for w in body) if name is not None)
    # Bits 105 to 108: clocks until the warp's next instruction may issue, at least 1.
    return counts, len(body), sum(max(1, high >> 41 & 0xF) for _, high in body)


def loops(image: bytes) -> list[Loop]:
    """The main loops of the FP4 kernels of a cubin for sm_120."""
    found = []
    for name, code in read_sections(image, "sm_120"):
        if "Fp4Atom" not in name:
            continue
        m, n, warps_m, warps_n, row_bytes, stages, blocks = map(int, re.findall(r"Li(\d+)E", name)[:7])
        found.append(Loop(m, n, warps_m * warps_n, row_bytes, stages, blocks, *main_loop(code)))
    return sorted(found, key=lambda loop: (-loop.m * loop.n, -loop.m))


COLUMNS = (
    "tile", "stages", "warps", "instructions", "OMMA", "LDSM", "MMA clk", "issue", "alone", "shared", "MMA slots", "L2 B/clk",
)  # fmt: skip


def cells(loop: Loop) -> list[str]:
    limits = loop.limits
    return [
        f"{loop.m} × {loop.n}", str(loop.stages), f"{loop.warps} × {loop.blocks}", str(loop.instructions),
        str(loop.counts["OMMA"]), str(loop.counts["LDSM"]),
        *(f"{limits[name]:.0f}" for name in ("MMA", "issue", "alone", "shared")),
        f"{100 * loop.share:.0f} %", f"{loop.l2:.1f}",
    ]  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument(
        "--least", type=float, default=0.85, help="least share of MMA slots; default %(default)s"
    )
    parser.add_argument("--markdown", action="store_true", help="a table in Markdown")
    arguments = parser.parse_args()
    found = [
        loop for path in arguments.files for image in elf_images(path.read_bytes()) for loop in loops(image)
    ]
    if not found:
        print("no FP4 kernel for sm_120 found: build with nvcc --no-compress", file=sys.stderr)
        return 1
    lines = [list(COLUMNS), *(cells(loop) for loop in found)]
    if arguments.markdown:
        lines.insert(1, ["---"] * len(COLUMNS))
        print("\n".join(f"| {' | '.join(line)} |" for line in lines))
    else:
        widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
        print(
            "\n".join(
                "  ".join(cell.rjust(w) for cell, w in zip(line, widths, strict=True)) for line in lines
            )
        )
    bad = 0
    for loop in found:
        for fault in loop.faults(arguments.least):
            bad += 1
            print(f"FAULT: {loop.m} × {loop.n}: {fault}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
