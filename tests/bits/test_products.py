"""Every problem of the corpus by every way, bit for bit: paths, kernels and stages have all of it, other entry points a part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ozfp4
from bits.corpus import CORPUS, LARGE, WIRING, Problem, arrays, expected
from bits.ways import WAYS, WIRED, Way
from device_names import CUDA, NUMPY
from ozfp4.testing import assert_same_bits
from support import chosen, noise
from support.devices import Device

#: Threads, and bytes of workspace: the same bits with any of them.
OPTIONS: dict[str, tuple[int | None, int | None]] = {
    "plain": (None, None), "one-thread": (1, None), "three-threads": (3, None), "40-kB": (None, 40_000), "1-MB": (3, 1_000_000),
}  # fmt: skip


def cases(ways: dict[str, Way], problems: list[Problem], options: list[str] | None = None) -> list[Any]:
    """Where no options are named each problem has the next ones."""
    return [
        pytest.param(place, way, problem, option, id=f"{name}-{problem}-{option}-{place}")
        for problem in problems
        for name, way in ways.items()
        if any(way.takes(problem, mode) for mode in problem.modes)
        for option in options or [list(OPTIONS)[problem.number % len(OPTIONS)]]
        for place in (NUMPY, CUDA)[: 1 + way.has_gpu]
    ]


def check(device: Device, way: Way, problem: Problem, option: str) -> None:
    if not device.has(way.backend) or (device.is_gpu and problem.numbers in "iu"):
        return
    threads, limit = OPTIONS[option]
    if device.is_gpu:  # by several tiles, which is too much for the references
        a, b, limit = *problem.operands(9 if problem.numbers == "c" else 3), None
    else:
        a, b = arrays(problem)
    given = {} if limit is None else {"workspace_limit": limit}
    before = a.tobytes(), b.tobytes()
    ozfp4.set_num_threads(threads)
    for mode in problem.modes:
        if not way.takes(problem, mode):
            continue
        asked = {} if problem.numbers in "iu" else mode.options
        wanted = chosen.matmul(a, b, **asked) if device.is_gpu else expected(problem, mode)
        out = noise(wanted.shape, wanted.dtype)
        found = way.multiply(device, a, b, out=out, **asked, **given)
        assert_same_bits(np.asarray(found), wanted, (mode, given))
    assert (a.tobytes(), b.tobytes()) == before


@pytest.fixture(autouse=True)
def threads_of_the_environment() -> Iterator[None]:
    yield
    ozfp4.set_num_threads(None)


@pytest.mark.parametrize(("device", "way", "problem", "option"), cases(WAYS, CORPUS), indirect=["device"])
def test_paths_kernels_and_stages(device: Device, way: Way, problem: Problem, option: str) -> None:
    check(device, way, problem, option)


@pytest.mark.parametrize(
    ("device", "way", "problem", "option"), cases(WIRED, WIRING, list(OPTIONS)), indirect=["device"]
)
def test_entry_points(device: Device, way: Way, problem: Problem, option: str) -> None:
    check(device, way, problem, option)


CUT = ["one-thread", "three-threads", "1-MB"]
THREADED = {name: WAYS[name] for name in ("II-int8-least", "I-fp64-least", "words", "limbs")}


@pytest.mark.parametrize(
    ("device", "way", "problem", "option"), cases(THREADED, LARGE, CUT), indirect=["device"]
)
def test_threads_blocks_and_pieces(device: Device, way: Way, problem: Problem, option: str) -> None:
    check(device, way, problem, option)


@pytest.mark.slow
@pytest.mark.parametrize(("device", "way", "problem", "option"), cases(WAYS, LARGE, CUT), indirect=["device"])
def test_threads_blocks_and_pieces_by_every_way(
    device: Device, way: Way, problem: Problem, option: str
) -> None:
    check(device, way, problem, option)
