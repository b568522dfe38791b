"""Products of NumPy matrices like one that was made before, while others are made beside them."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

import ozfp4
from ozfp4.dispatch import repeated_on_cpu
from ozfp4.testing import assert_same_bits


def test_what_multiplies_is_held_while_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may put a product like it in its place meanwhile, or throw all of them away."""
    monkeypatch.setattr(repeated_on_cpu, "made", {})
    a, b = np.random.default_rng(2).standard_normal((2, 700, 700))
    ozfp4.set_num_threads(1)  # which takes a while
    expected = ozfp4.matmul(a, b)
    ozfp4.matmul(a, b)  # from now on it is among the last ones, too, which are held
    (kept,) = repeated_on_cpu.made.values()
    at_rest = most = sys.getrefcount(kept)
    results: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: results.append(ozfp4.matmul(a, b)))
    thread.start()
    while thread.is_alive():
        most = max(most, sys.getrefcount(kept))
        time.sleep(0.001)
    ozfp4.set_num_threads(None)
    assert most > at_rest
    assert_same_bits(results[0], expected)
