"""Looks for warps that release a stage of shared memory while they still load from it.

    python tools/check_releases.py BINARY_OR_CUBIN...

A kernel that multiplies by mma.sync signals a stage's empty barrier once it has read the stage, and TMA then writes over it.
The hardware does not hold an arrival back for an ldmatrix in flight. Machine code, read as check_cubins.py does, shows whether
the kernel does. An ldmatrix counts up a scoreboard, and an instruction with that scoreboard in its wait mask waits for the
data. An ldmatrix without a scoreboard has ended when the next one with a scoreboard has, as they end in order. Exits with 1
where an arrival can be reached, along any path, before an ldmatrix has ended. Kernels without ldmatrix are passed over: wgmma
and tcgen05 read shared memory themselves, and commit their reads to barriers.
"""

import argparse
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from check_cubins import Sections, elf_images, short_name
from count_main_loop import BRANCH, branch_target

LDSM = 0x83B  # ldmatrix
ARRIVE = 0x9A7  # SYNCS.ARRIVE, mbarrier.arrive
UNIFORM_BRANCH = 0x547
BSSY, BSYNC = 0x945, 0x941  # names where threads meet again, and goes there
EXIT = 0x94D
# BRX, JMP, JMX, RET and CALL: where they go is not followed, and no kernel that is checked has any.
JUMPS = (0x949, 0x94A, 0x94C, 0x950, 0x344, 0x944, 0x343, 0x943)
NO_SCOREBOARD = 7
ALWAYS = 0x7000  # the guard PT, bits 12 to 15
PLAIN = 0xE0  # what a branch or an exit holds from bit 82 to bit 104 if no further predicate decides

Words = tuple[int, int]


def wait_mask(high: int) -> int:
    """The scoreboards, a bit each, that must be empty before the instruction is issued."""
    return high >> 52 & 0x3F


def scoreboard(high: int) -> int:
    """The scoreboard that is empty again once the result is there: 0 to 5, or NO_SCOREBOARD."""
    return high >> 46 & 7


def after(in_flight: int, low: int, high: int) -> int:
    """The scoreboards of loads in flight behind an instruction, a bit each, by those before it."""
    in_flight &= ~wait_mask(high)
    if low & 0xFFF != LDSM:
        return in_flight
    if scoreboard(high) != NO_SCOREBOARD:
        in_flight &= ~(1 << NO_SCOREBOARD)
    return in_flight | 1 << scoreboard(high)


def is_unconditional(low: int, high: int) -> bool:
    return low & 0xF000 == ALWAYS and high >> 18 & 0x7FFFFF == PLAIN


def successors(words: list[Words]) -> list[list[int]]:
    """Which instructions may follow each one, by index."""
    # A BSYNC goes on where the BSSY of its barrier says; which one that was is not followed, so it may be any.
    meetings: dict[int, list[int]] = {}
    for index, (low, _) in enumerate(words):
        if low & 0xFFF == BSSY:
            distance = (low >> 32 ^ 1 << 31) - (1 << 31)
            meetings.setdefault(low >> 16 & 0xF, []).append(index + 1 + distance // 16)
    found = []
    for index, (low, high) in enumerate(words):
        opcode = low & 0xFFF
        following = [index + 1]
        if opcode in (BRANCH, EXIT) and is_unconditional(low, high):
            following = []
        if opcode in (BRANCH, UNIFORM_BRANCH):
            following.append(branch_target(16 * index, low, high) // 16)
        elif opcode == BSYNC:
            following += meetings.get(low >> 16 & 0xF, [])
        found.append([other for other in following if 0 <= other < len(words)])
    return found


def early_releases(code: bytes) -> list[str]:
    """The arrivals at which an ldmatrix may be in flight, by offset; a jump that cannot be followed is a fault as well."""
    words = list(struct.iter_unpack("<QQ", code[: len(code) // 16 * 16]))
    faults = [
        f"a jump at {16 * index:#x} cannot be followed"
        for index, (low, _) in enumerate(words)
        if low & 0xFFF in JUMPS
    ]
    following = successors(words)
    reached: list[int | None] = [None] * len(words)  # scoreboards of loads in flight before each instruction
    reached[0] = 0
    waiting = [0]
    while waiting:
        index = waiting.pop()
        in_flight = after(reached[index] or 0, *words[index])
        for other in following[index]:
            before = reached[other]
            if before is None or in_flight & ~before:
                reached[other] = (before or 0) | in_flight
                waiting.append(other)
    for index, (low, high) in enumerate(words):
        if low & 0xFFF == ARRIVE and (reached[index] or 0) & ~wait_mask(high):
            faults.append(f"arrival at {16 * index:#x} while ldmatrix may be in flight")
    return faults


def releasing_kernels(data: bytes) -> Iterator[tuple[str, str, bytes]]:
    """Target, name and code of the kernels that hold both ldmatrix and arrivals."""
    for image in elf_images(data):
        sections = Sections(image)
        for name, header in sections.code():
            code = image[header[4] : header[4] + header[5]]
            opcodes = {low & 0xFFF for low, _ in struct.iter_unpack("<QQ", code)}
            if {LDSM, ARRIVE} <= opcodes:
                yield sections.target, name, code


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    count = bad = 0
    for path in parser.parse_args().files:
        for target, name, code in releasing_kernels(path.read_bytes()):
            faults = early_releases(code)
            count += 1
            bad += bool(faults)
            for fault in faults:
                print(f"FAULT: {target} {short_name(name)}: {fault}")
    if count == 0:
        print("no kernel was found that loads stages by ldmatrix and releases them", file=sys.stderr)
        return 1
    print(f"{count} kernels release stages that ldmatrix reads; {bad} may release one while it is read")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
