"""Products of NumPy matrices like one that was made before, while others are made beside them."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.dispatch import repeated_on_cpu
from ozfp4.testing import assert_same_bits
from ozfp4.trust import guard


def test_the_last_product_is_not_taken_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by its own arguments, three times as asked, and then by what differs in one thing from it."""
    monkeypatch.setattr(repeated_on_cpu, "made", {})
    a, b = np.random.default_rng(3).standard_normal((2, 9, 9)) / 3

    def check(x: np.ndarray, y: np.ndarray, **asked: Any) -> None:
        assert_same_bits(
            ozfp4.matmul(x, y, **asked),
            ozfp4.matmul(x, y, out=np.full((len(x), y.shape[1]), np.nan), **asked),
        )

    for _ in range(3):
        check(a, b, bits=20, accuracy="scaled")
    assert len(repeated_on_cpu.made) == 1
    check(a, b, bits=21, accuracy="scaled")
    check(a, b, bits=20, scheme="I", accuracy="scaled")
    check(a, b, accuracy="correct")
    check(a, a, bits=20, accuracy="scaled")
    check(a.T, b[:, ::-1], bits=20, accuracy="scaled")
    check(a.astype(np.float32), b, bits=20, accuracy="scaled")
    check(
        np.vstack([a, a, a])[:25], b, bits=20, accuracy="scaled"
    )  # among the last ones it would stand where the first one does
    check(a, b.astype(">f8"), bits=20, accuracy="scaled")
    assert len(repeated_on_cpu.made) == 6  # the others are alike, or of a dtype that is not taken
    for wrong in (20.0, np.float64(20)):
        with pytest.raises(TypeError, match="bits"):
            ozfp4.matmul(a, b, bits=wrong, accuracy="scaled")
    for _ in range(3):
        check(a, b, bits=20, accuracy="scaled")
    guard.generation += 1  # a kernel was disabled, say: the decision is due again
    entered = len(repeated_on_cpu.made)
    check(a, b, bits=20, accuracy="scaled")
    assert len(repeated_on_cpu.made) == entered + 1


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
