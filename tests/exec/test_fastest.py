"""The default mode on a CPU: products from its threshold on, and none from an address after one with many repairs."""

from __future__ import annotations

from pathlib import Path

import pytest
from preloaded import reported, rows

from ozfp4 import _core

PROGRAM = """
even, uneven = np.ones((96, 96)), np.ldexp(numbers((96, 96), float), rng.integers(-300, 300, (96, 96)))
def product(x, n=96):
    c = np.empty((n, n))
    fortran("scipy_dgemm_", b"N", b"N", n, n, n, 1, x, 96, x, 96, 0, c, n)
for _ in range(3): product(even)
product(even, 95)
for _ in range(3): product(uneven)  # no entry of which has a certificate
product(even)
"""


@pytest.fixture
def from_96(cache: Path) -> None:
    cache.mkdir()
    (cache / "thresholds").write_text(f"{_core.cpu_name()}\tfloat64\t96\n")


def test_products_from_the_threshold_on(from_96: None, tmp_path: Path) -> None:
    found = {(row[1], *row[4:]) for row in rows(reported(PROGRAM, tmp_path / "report"))}
    assert found == {
        (96, True, 4, "large enough to gain"),
        (95, False, 1, "an extent below what gains on this device"),
        (96, False, 3, "a product from its calling address needed many repairs"),
    }
    assert reported(PROGRAM, tmp_path / "report", accuracy="correct")["caught"] == 0  # from 192 on


def test_without_a_threshold_a_cpu_keeps_its_own(tmp_path: Path) -> None:
    if "amx" in dict(_core.byte_kernels()).values():
        pytest.skip("this CPU has AMX")
    assert reported(PROGRAM, tmp_path / "report")["caught"] == 0
