"""csrc/arith/limbs/e2m1.hpp: all 16 codes, all limbs."""

from __future__ import annotations

import numpy as np

from ozfp4._testing import arith

CODES = np.arange(16, dtype=np.uint32)
# E2M1 by its definition: exponent bias 1, subnormal numbers without the hidden bit.
MAGNITUDES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
S = [-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12]


def test_a_limb_is_twice_the_e2m1_value() -> None:
    for code in CODES:
        exponent, mantissa = (code >> 1) & 3, code & 1
        value = mantissa / 2 if exponent == 0 else (1 + mantissa / 2) * 2.0 ** (int(exponent) - 1)
        assert value == MAGNITUDES[code & 7]
        assert arith.e2m1_decode(code) == (-1 if code & 8 else 1) * int(2 * value)


def test_every_limb_comes_back_from_its_code() -> None:
    codes = arith.e2m1_encode(np.array(S))
    assert sorted(codes.tolist()) == [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15]
    assert arith.e2m1_decode(codes).tolist() == S


def test_zero_is_never_minus_zero() -> None:
    assert arith.e2m1_encode(0) == 0
    assert arith.e2m1_decode(8) == 0


def test_membership() -> None:
    limbs = np.arange(-200, 201)
    assert limbs[arith.e2m1_has(limbs)].tolist() == S
