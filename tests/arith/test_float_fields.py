"""csrc/arith/float_fields.hpp: floor(log2 |x|) over every exponent, subnormal numbers included."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ozfp4._testing import arith

FORMATS = {
    "float64": (arith.exponent64, np.float64, -1074, 1023),
    "float32": (arith.exponent32, np.float32, -149, 127),
}


@pytest.mark.parametrize("name", FORMATS)
def test_powers_of_two_and_their_neighbours(name: str) -> None:
    exponent_of, dtype, lowest, highest = FORMATS[name]
    exponents = np.arange(lowest, highest + 1)
    powers = np.array([math.ldexp(1.0, int(e)) for e in exponents], dtype)
    for sign in (1, -1):
        assert exponent_of(sign * powers).tolist() == exponents.tolist()
        above = np.nextafter(powers[1:], dtype(np.inf))
        assert exponent_of(sign * above).tolist() == exponents[1:].tolist()
        below = np.nextafter(powers[1:], dtype(0))
        assert exponent_of(sign * below).tolist() == (exponents[1:] - 1).tolist()


@pytest.mark.parametrize("name", FORMATS)
def test_random_bit_patterns(name: str) -> None:
    exponent_of, dtype, _, _ = FORMATS[name]
    bits = np.random.default_rng(1).integers(0, 256, (5000, dtype().itemsize), dtype=np.uint8)
    x = bits.view(dtype)[:, 0]
    x = x[np.isfinite(x) & (x != 0)]
    assert exponent_of(x).tolist() == [math.frexp(float(v))[1] - 1 for v in x]
