"""The way of a product on the CPU, of a shape that was not multiplied before: it enters five files of the package at most."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import gemm, matmul

ROOT = Path(ozfp4.__file__).parent
PRODUCTS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "matmul": lambda a, b, c: matmul(a, b),
    "bound": lambda a, b, c: matmul(a, b, return_bound=True),
    "out": lambda a, b, c: matmul(a, b, c),
    "gemm": lambda a, b, c: gemm(2, a, b, 3, c),
    "transposes": lambda a, b, c: gemm(2, a.T, b.T, trans_a="T", trans_b="T"),
}


def entered(call: Callable[[], object]) -> set[str]:
    """The files of the package whose functions a call calls."""
    found = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        file = Path(frame.f_code.co_filename)
        if event == "call" and ROOT in file.parents:
            found.add(file.relative_to(ROOT).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
@pytest.mark.parametrize("name", PRODUCTS)
def test_files(name: str, dtype: str) -> None:
    matmul(np.ones((2, 2)), np.ones((2, 2)), report=True)  # looks for what was measured
    for m, k, n in ((5, 7, 6), (37, 91, 53)):
        a, b, c = (np.ones(shape, dtype) for shape in ((m, k), (k, n), (m, n)))
        files = entered(lambda a=a, b=b, c=c: PRODUCTS[name](a, b, c))
        assert 0 < len(files) <= 5, sorted(files)
