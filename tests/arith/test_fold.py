"""csrc/arith/fold.hpp: accumulator modulo m by one multiply-high, to the ends of both ranges."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._testing import arith
from ozfp4.testing import assert_same_bits

TOP = 2**31 - 1


def accumulators(m: int, limit: int, seed: int) -> np.ndarray:
    """Multiples of m and their neighbours, the ends of [0, limit], and random values."""
    rng = np.random.default_rng(seed)
    multiples = m * np.concatenate([rng.integers(0, limit // m + 1, 300), [0, limit // m]])
    near = np.concatenate([multiples - 1, multiples, multiples + 1, [limit, limit - 1, 0, 1]])
    x = np.concatenate([near, rng.integers(0, limit, 300, endpoint=True)])
    return x[(x >= 0) & (x <= limit)]


def test_unsigned() -> None:
    for m in (*range(2, 260), 2**15, 2**16 + 1, 2**23 - 1, 2**30, 2**30 + 1, TOP, 2**31):
        x = accumulators(m, TOP, m % 1000).astype(np.uint32)
        assert_same_bits(arith.fold_unsigned(x, m), x % np.uint32(m), m)


@given(st.integers(2, 2**31), st.integers(0, TOP))
def test_unsigned_any(m: int, x: int) -> None:
    assert arith.fold_unsigned(x, m) == x % m


@pytest.mark.parametrize("bound", [1, 144 * 16384, 2**24, 2**30 - 2**9])
def test_signed(bound: int) -> None:
    for m in range(2, 257):
        x = accumulators(m, bound, m)
        for signed in (x, -x):
            folded = arith.fold_signed(signed.astype(np.int32), m, bound)
            assert_same_bits(folded, (signed % m).astype(np.uint32), m)


@given(st.data())
def test_signed_any(data: st.DataObject) -> None:
    m = data.draw(st.integers(2, 2**20), "modulus")
    bound = data.draw(st.integers(1, 2**30 - m), "bound")  # so that offset + bound < 2^31
    x = data.draw(st.integers(-bound, bound), "accumulator")
    assert arith.fold_signed(x, m, bound) == x % m
