"""A process that knows nothing about its kernels, and an empty folder for what it finds out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ozfp4.trust import guard, plane_products


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder; what the process knows is put back afterwards."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("OZFP4_CACHE_DIR", str(folder))
    known, serving = dict(guard._known), dict(guard._serving)
    guard._known.clear()
    guard._serving.clear()
    yield folder
    for now, before in ((guard._known, known), (guard._serving, serving)):
        now.clear()
        now.update(before)


@pytest.fixture
def break_kernel(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """break_kernel("fp64"): the kernel of that element is off by one in an odd sum above half of the largest."""
    multiply = plane_products.multiply

    def make(*elements: str) -> None:
        def wrong(pair: plane_products.Pair, case: plane_products.Case) -> list:
            outputs = multiply(pair, case)
            if pair.element not in elements:
                return outputs
            sums = case.expected()
            places = np.argwhere((sums % 2 == 1) & (abs(sums) > abs(sums).max() / 2))
            for modulus, matrix in outputs:
                for i, j in places[:1]:
                    matrix[i, j] = (int(sums[i, j]) + 1) % modulus if modulus else sums[i, j] + 1
            return outputs

        monkeypatch.setattr(plane_products, "multiply", wrong)

    return make
