"""alpha x 2^e + beta c and alpha (sum a b) + beta c, rounded once (csrc/arith/update), against fractions, bit for bit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ozfp4._testing import exact
from ozfp4.testing import bits_of, round_to_float
from support import ROUNDINGS

Generator = np.random.Generator

WORDS = (5, 6, 8, 12, 20)
TYPES = [np.float64, np.float32]
all_results = pytest.mark.parametrize("dtype", TYPES, ids=["to64", "to32"])
FACTORS = [
    1.0,
    -1.0,
    2.0**-1074,
    -(2.0**1023),
    2.0**-60,
    2.0**40,
    0.1,
    -(1 - 2.0**-53),
    np.finfo(float).max,
    3 * 2.0**-1074,
]


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def rounded(x: Fraction, dtype: type, rounding: str) -> np.floating:
    with np.errstate(over="ignore"):
        return dtype(round_to_float(x.numerator, 1 - x.denominator.bit_length(), dtype, rounding))


def check(x: int, words: int, exponent: int, alpha: float, beta: float, c: float, dtype: type) -> None:
    value = Fraction(alpha) * x * power(exponent) + Fraction(beta) * Fraction(c)
    given = np.frombuffer(x.to_bytes(4 * words, "little", signed=True), np.uint32)
    for rounding in ROUNDINGS:
        found = exact.round_update(given, exponent, alpha, beta, c, rounding, np.dtype(dtype))
        expected = rounded(value, dtype, rounding)
        assert bits_of(found) == bits_of(expected), (x, words, exponent, alpha, beta, c, rounding)


def any_float(rng: Generator) -> float:
    """Any finite number, of few bits or many."""
    bits = int(rng.integers(0, 2**63, dtype=np.int64)) & ~(
        -1 << int(rng.integers(1, 64)) if rng.random() < 0.5 else 0
    )
    value = float(np.uint64(bits).view(np.float64))
    return value * (-1) ** int(rng.integers(2)) if np.isfinite(value) else 1.0


def any_integer(rng: Generator, words: int) -> int:
    length = int(rng.integers(0, 32 * words))
    x = int.from_bytes(rng.bytes(4 * words), "little") >> (32 * words - length)
    return x * (-1) ** int(rng.integers(2))


@all_results
@pytest.mark.parametrize("words", WORDS)
def test_anywhere(words: int, dtype: type) -> None:
    rng = np.random.default_rng(words)
    for _ in range(400):
        alpha, beta = (float(rng.choice(FACTORS)) if rng.random() < 0.5 else any_float(rng) for _ in range(2))
        check(
            any_integer(rng, words),
            words,
            int(rng.integers(-2300, 2300)),
            alpha or 1.0,
            beta,
            any_float(rng),
            dtype,
        )


@all_results
@pytest.mark.parametrize("words", WORDS)
def test_every_distance(words: int, dtype: type) -> None:
    """The addend's last bit from far below the integer's to far above its first, in the middle of the range."""
    rng = np.random.default_rng(words)
    for apart in range(-330, 32 * words + 250):
        exponent = -apart // 2 - 32 * words // 2
        x = any_integer(rng, words)
        significand = int(rng.integers(1, 2**53)) >> int(rng.integers(0, 53)) or 1
        c, beta = significand * 2.0 ** (exponent + apart), float(rng.choice([1.0, -1.0, 0.7, -3.3]))
        check(x, words, exponent, float(rng.choice([1.0, -1.0, 1.1])), beta, c, dtype)
        check(rng.choice([-1, 0, 1]).item(), words, exponent, 1.0, beta, c, dtype)


@all_results
def test_cancels(dtype: type) -> None:
    """All but a unit of 2^-106 of what there was, or all of it; then ties, made by the addend."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        factor, c = (float(rng.integers(2**52, 2**53)) for _ in range(2))
        exponent = int(rng.integers(-1100, 900))
        for rest in (-1, 0, 1, 2**53, 2**53 + 1, 3 * 2**52):
            x = int(factor) * int(c) + rest
            check(
                x,
                5,
                exponent,
                1.0,
                -factor * 2.0 ** (exponent // 2),
                c * 2.0 ** (exponent - exponent // 2),
                dtype,
            )
        check(
            int(c),
            5,
            exponent,
            -factor,
            factor * 2.0 ** (exponent // 2),
            c * 2.0 ** (exponent - exponent // 2),
            dtype,
        )


@all_results
def test_ties_made_by_the_addend(dtype: type) -> None:
    precision, lowest = (53, -1074) if dtype == np.float64 else (24, -149)
    for exponent in (0, lowest - 1, lowest, lowest + precision, 100 if dtype == np.float32 else 900):
        for x in (2**precision, 2**precision + 1, 2 ** (precision + 1) - 1, 1, 2, 3):
            for half in (0.5, -0.5, 0.25, 0.75, 1.5):
                for tiny in (0, 1, -1):
                    c = half * 2.0 ** max(exponent, -1073)
                    check((x << 60) + tiny, 5, exponent - 60, 1.0, 1.0, c, dtype)


@all_results
def test_sum_of_products(dtype: type) -> None:
    rng = np.random.default_rng(4)
    paths = set()
    for case in range(600):
        k = int(rng.integers(0, 40))
        reach = (0, 30, 500, 1000)[case % 4]
        types = [TYPES[int(rng.integers(2))] for _ in range(2)]
        with np.errstate(all="ignore"):
            a, b = (
                np.nan_to_num(
                    np.ldexp(rng.standard_normal(k), rng.integers(-reach, reach + 1, k)).astype(t),
                    posinf=1,
                    neginf=-1,
                )
                for t in types
            )
        alpha = float(rng.choice(FACTORS)) if case % 3 else float(rng.choice([1.0, -1.0, 0.3]))
        beta = float(rng.choice(FACTORS)) if case % 3 else float(rng.choice([1.0, -1.0, 0.3]))
        total = sum(
            (Fraction(x) * Fraction(y) for x, y in zip(a.tolist(), b.tolist(), strict=True)), Fraction(0)
        )
        near = -total * Fraction(alpha) / Fraction(beta)
        top = Fraction(float(np.finfo(np.float64).max))
        c = float(max(min(near, top), -top)) if case % 2 else any_float(rng)
        for rounding in ROUNDINGS:
            found, path, whole = exact.correct_update(a, b, alpha, beta, c, rounding, np.dtype(dtype))
            expected = rounded(Fraction(alpha) * total + Fraction(beta) * Fraction(c), dtype, rounding)
            assert bits_of(found) == bits_of(expected) == bits_of(whole), (case, rounding, path)
            paths.add(path)
    assert paths == {"pairs", "exact"}
