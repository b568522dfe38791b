"""Kernels that are wrong on purpose, and what is kept of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ozfp4 import _core

LIMBS = "numbers by limbs of eight bits", "limbs"  # in plain loops where there is no unit for them


@pytest.fixture
def break_kernel() -> Iterator[Callable[..., None]]:
    """break_kernel("fp64"): from now on the CPU's kernels of these elements, and no others, seem to be off by one in the last
    entry of each product."""

    def make(*what: str) -> None:
        every = {*_core.cpu_kernels(), LIMBS}
        _core.break_kernels([(name, element) for name, element in every if element in what])

    yield make
    _core.break_kernels([])


def kept_in(folder: Path) -> dict[str, str]:
    """For each element with a verdict in a folder, whether it passed: "yes" or "no"."""
    found = {}
    for file in folder.glob("*.verdict"):
        fields = dict(line.split(": ", 1) for line in file.read_text(encoding="utf-8").splitlines()[1:])
        found[fields["element"]] = fields["passed"]
    return found


@pytest.fixture
def kept(cache: Path) -> Callable[[], dict[str, str]]:
    return lambda: kept_in(cache)
