"""tools/check_releases.py finds warps that release a stage while ldmatrix still reads it."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
sys.path.insert(0, str(TOOLS))
from check_releases import early_releases  # noqa: E402

# As cuobjdump -sass prints the end of a stage of the tile 64 x 64 for sm_90a: two loads, the first without a scoreboard.
LOADS = """
    LDSM.16.M88.4 R68, [R51] ;                           /* 0x000000003344783b */
                                                         /* 0x000fe80000000200 */
    LDSM.16.M88.4 R72, [R51+0x400] ;                     /* 0x000400003348783b */
                                                         /* 0x000ea80000000200 */
"""
LOAD_WITHOUT_SCOREBOARD = LOADS[: LOADS.index("LDSM.16.M88.4 R72")]
LOAD_3 = """
    LDSM.16.M88.4 R84, [R49+0x400] ;                     /* 0x000400003154783b */
                                                         /* 0x0004e20000000200 */
"""
WAIT_2 = """
    LOP3.LUT R49, R72, R68, RZ, 0xfc, !PT ;              /* 0x0000004448317212 */
                                                         /* 0x004fca00078efcff */
"""
WAIT_3 = """
@!P0 LOP3.LUT R50, R84, R80, R49, 0xfe, !PT ;            /* 0x0000005054328212 */
                                                         /* 0x008fe400078efe31 */
"""
NOP = """
    NOP ;                                                /* 0x0000000000007918 */
                                                         /* 0x000fe20000000000 */
"""
ARRIVE = """
@!P0 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [R49+UR8+0xc030], RZ ; /* 0x00c030ff31ff89a7 */
                                                          /* 0x0001ea0008100008 */
"""
EXIT = """
    EXIT ;                                               /* 0x000000000000794d */
                                                         /* 0x000fea0003800000 */
"""


def branch(instructions: int, guard: str = "7") -> str:
    """To so many instructions behind the next one; guard: 7 for always, 0 for P0."""
    distance = 16 * instructions // 4
    low = (distance >> 8 & 0x3FFFFFFF) << 34 | (distance & 0xFF) << 16 | int(guard + "947", 16)
    high = 0x000FEA0003800000 | (0x3FFFF if instructions < 0 else 0)
    return f"/* {low:#018x} */\n/* {high:#018x} */\n"


def code(*parts: str) -> bytes:
    words = [int(word, 16) for word in re.findall(r"/\* (0x[0-9a-f]{16}) \*/", "".join(parts))]
    return struct.pack(f"<{len(words)}Q", *words)


@pytest.mark.parametrize(
    "parts",
    [
        (LOADS, WAIT_2, ARRIVE, EXIT),
        (LOADS, LOAD_3, WAIT_2, NOP, WAIT_3, ARRIVE, EXIT),
        (ARRIVE, LOADS, EXIT),
        (LOADS, branch(1), ARRIVE, EXIT),  # passes the arrival
        (LOADS, EXIT, ARRIVE, EXIT),
        (LOADS, branch(1, "0"), WAIT_2, WAIT_2, ARRIVE, EXIT),
        (ARRIVE, LOADS, WAIT_2, branch(-5), EXIT),
        (NOP, ARRIVE, EXIT),
    ],
)
def test_releases_of_what_was_read(parts: tuple[str, ...]) -> None:
    assert early_releases(code(*parts)) == []


@pytest.mark.parametrize(
    ("at", "parts"),
    [
        (0x20, (LOADS, ARRIVE, WAIT_2, EXIT)),
        (0x40, (LOADS, LOAD_3, WAIT_3, ARRIVE, WAIT_2, EXIT)),
        (0x20, (LOAD_WITHOUT_SCOREBOARD, WAIT_2, ARRIVE, EXIT)),
        (0x40, (LOADS, branch(1, "0"), WAIT_2, ARRIVE, EXIT)),  # where P0 passes the wait
        (0x40, (LOADS, branch(1), WAIT_2, ARRIVE, EXIT)),
        (0x00, (ARRIVE, LOADS, branch(-4), EXIT)),  # in the next turn of the loop
    ],
)
def test_early_releases(at: int, parts: tuple[str, ...]) -> None:
    assert early_releases(code(*parts)) == [f"arrival at {at:#x} while ldmatrix may be in flight"]


def test_threads_meet_again() -> None:
    bssy = """
        BSSY B0, 0x50 ;   /* 0x0000004000007945 */
                          /* 0x000fe20003800000 */
    """
    bsync = """
        BSYNC B0 ;        /* 0x0000000000007941 */
                          /* 0x000fea0003800000 */
    """
    assert early_releases(code(bssy, LOADS, bsync, WAIT_2, ARRIVE, EXIT)) != []
    assert early_releases(code(bssy, LOADS, bsync, NOP, WAIT_2, ARRIVE, EXIT)) == []


def test_a_jump_by_register_is_refused() -> None:
    brx = "/* 0x0000000002007949 */\n/* 0x000fea0003800000 */\n"
    assert early_releases(code(LOADS, WAIT_2, brx, ARRIVE, EXIT)) == ["a jump at 0x30 cannot be followed"]
