"""csrc/cpu/encode/residue.hpp and the lines of wide integers, against Python's integers at the edges of every range."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from ozfp4 import _core, _testing, stages
from ozfp4._plans.plan import make_plan
from ozfp4._support.integers import of_words, to_words
from ozfp4.testing import assert_same_bits
from support import PATHS, Path
from support.dtypes import both_types

BITS = (54, 63, 64, 76, 94, 103, 104, 116, 117, 128, 177, 199, 200)


def integers(bits: int, seed: int, count: int = 300) -> list[int]:
    """The ends of the range, the edges of pieces of 13 and 27 bits and of words, and integers of every size."""
    rng = random.Random(seed)
    top = 2**bits
    edges = {0, 1, top, top - 1}
    for width in (13, 27, 32):
        halves = sum(1 << (width * j + width - 1) for j in range(bits // width))
        edges |= {halves - 1, halves, halves + 1, top - halves, (1 << width * (bits // width)) - 1}
    edges |= {2**e + d for e in range(bits) for d in (-1, 1)}
    edges |= {13**e + d for e in range(int(bits / 3.7)) for d in (-1, 0, 1)}
    wide = [rng.randrange(top + 1) >> rng.randrange(bits) for _ in range(count)]
    found = sorted(x for x in edges if 0 <= x <= top) + wide
    return [*found, *(-x for x in found)]


def encoded(plan: _core.Plan, x: list[int]) -> np.ndarray:
    words = to_words(np.array([x], dtype=object))
    return _core.encode(plan, plan.count, words)[:, 0, :]


def check_residues(alphabet: str, m: int, bits: int, x: list[int]) -> None:
    plan = _testing.make_moduli_plan(alphabet, bits, [m])
    balanced = [(v + m // 2) % m - m // 2 for v in x]
    assert encoded(plan, x)[0].astype(np.int64).tolist() == balanced, (m, bits)


@pytest.mark.parametrize(
    "bits", [b if b in (54, 104, 200) else pytest.param(b, marks=pytest.mark.slow) for b in BITS]
)
def test_every_modulus_of_a_byte(bits: int) -> None:
    x = integers(bits, bits)
    for m in range(4, 257):
        some = x[m % 4 :: 4]  # others for the next modulus
        half = [v // m * m + m // 2 + d for v in some for d in (0, 1)]  # hardest for the quotient
        check_residues("int8", m, bits, [*some, *(v for v in half if abs(v) <= 2**bits)])


LARGE = [*make_plan("II", "fp64", "least", 200, 2**30).moduli, 5, 257, 65537, 2**22 - 1, 2**22 + 1]


@pytest.mark.parametrize("bits", BITS)
def test_moduli_of_23_bits(bits: int) -> None:
    x = integers(bits, bits)
    for m in LARGE:
        half = [v // m * m + m // 2 + d for v in x for d in (0, 1)]
        check_residues("fp64", m, bits, [*x, *(v for v in half if abs(v) <= 2**bits)])


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_sums_of_pieces(bits: int, sign: int) -> None:
    """Pieces at their ends, with the signs of the weights: the largest sums that a reduction sees."""
    for alphabet, width, moduli in (("int8", 13, range(4, 257)), ("fp64", 27, LARGE)):
        for m in moduli:
            x = 0
            for j in range(bits // width + 1):
                weight = pow(2, width * j, m)
                falls = (2 * weight > m) == (sign > 0)
                piece = -(2 ** (width - 1)) if falls else 2 ** (width - 1) - 1
                x += piece << (width * j) if abs(x + (piece << (width * j))) <= 2**bits else 0
            check_residues(alphabet, m, bits, [x, -x])


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "I" and p.family == "least"], ids=str)
def test_digits(path: Path, bits: int) -> None:
    plan = make_plan("I", path.backend, "least", bits, 1)
    x = integers(bits, bits)
    planes = encoded(plan._core, x)
    digits = planes.astype(np.int64).astype(object)
    assert plan.base is not None
    assert sum(plan.base**i * plane for i, plane in enumerate(digits)).tolist() == x
    assert np.abs(digits).max() <= (8 if plan.base == 13 else plan.base // 2)
    assert_same_bits(planes, plan.encode(np.array(x, dtype=object)).astype(planes.dtype))


@pytest.mark.parametrize("bits", [54, 76, 109])
@pytest.mark.parametrize("backend", ["fp4", "int8", "fp64"])
def test_planes_of_scheme_two_are_those_of_plan_encode(backend: str, bits: int) -> None:
    plan = make_plan("II", backend, "least", bits, 1000)
    x = np.array(integers(bits, bits), dtype=object)
    planes = encoded(plan._core, x.tolist())
    assert_same_bits(planes, plan.encode(x).astype(planes.dtype))


@pytest.mark.parametrize("bits", [2, 53, 54, 62, 63, 64, 94, 128, 200])
@both_types
def test_integers_of_entries(dtype: type, bits: int) -> None:
    """round(x 2^s), ties to even, for any shift of a line; and 0 for what is not finite."""
    info = np.finfo(dtype)
    rng = np.random.default_rng(bits)
    for top in (int(info.maxexp) - 1, 1, int(info.minexp), int(info.minexp) - info.nmant):
        down = rng.integers(0, bits + 70, 700)
        x = np.ldexp(rng.uniform(1, 2, 700), np.maximum(top - down, int(info.minexp) - info.nmant)).astype(
            dtype
        )
        x = np.minimum(x, np.ldexp(dtype(2.0 - info.eps), top)) * rng.choice([-1, 1], 700).astype(dtype)
        x[:4] = np.inf, -np.inf, np.nan, 0
        line = x[np.newaxis, :]
        for lower in (0, 7):  # a shift smaller than the capacity needs
            shift = bits - 1 - top - lower
            found = stages.quantise(line, np.array([shift], np.int32), bits)[0].tolist()
            wanted = [round(Fraction(float(v)) * Fraction(2) ** shift) if np.isfinite(v) else 0 for v in x]
            assert found == wanted, (top, shift)


def test_words_and_integers() -> None:
    for bits in (1, 31, 32, 33, 63, 64, 200):
        x = np.array([2**bits, -(2**bits), 2**bits - 1, 0, -1], dtype=object)
        assert of_words(to_words(x)).tolist() == x.tolist()
    x = np.arange(-3, 3, dtype=np.int16).reshape(2, 3)[:, ::-1]
    assert of_words(to_words(x)).tolist() == x.tolist()
