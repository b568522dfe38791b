"""Stage 4 alone: the CRT against Garner's algorithm in Python's integers, digits against powers, rounding."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ozfp4
from ozfp4 import _testing, stages
from ozfp4._plans.plan import Plan, plan_of_core
from ozfp4.testing import assert_same_bits, round_to_float
from support import PATHS, Path
from support.dtypes import both_types

SCHEME_TWO = [p for p in PATHS if p.scheme == "II"]


def garner(residues: Sequence[int], moduli: Sequence[int]) -> int:
    """The integer of least magnitude with these residues, by mixed-radix digits."""
    x, radix = 0, 1
    for r, m in zip(residues, moduli, strict=True):
        digit = (r - x) * pow(radix, -1, m) % m
        x, radix = x + digit * radix, radix * m
    return x if 2 * x <= radix else x - radix


def output_of(values: list[int], plan: Plan, count: int) -> np.ndarray:
    """The output of multiply for these integers, as one row."""
    dtype = np.int32 if plan.alphabet == "fp64" else np.uint8
    return np.array([[[v % m for v in values]] for m in plan.moduli[:count]], dtype)


def interesting(product: int, seed: int) -> list[int]:
    rng = np.random.default_rng([seed, product % 2**32])
    half = (product - 1) // 2
    near = [sign * (half - d) for sign in (1, -1) for d in (0, 1, 2, 1000) if half >= d]
    small = [v for v in (0, 1, -1, 2, -3, 12345, -(2**52)) if abs(v) <= half]
    powers = [s * 2**e for e in range(0, half.bit_length() - 1, 7) for s in (1, -1)]
    # Halfway between two results of 24 or 53 bits, or one unit off: rounding twice would go wrong.
    ties = [
        (((2**precision - odd) * 2 + 1) << drop) + beside
        for precision in (24, 53)
        for drop in (2, 30, half.bit_length() - precision - 2)
        for odd in (1, 2)
        for beside in (-1, 0, 1)
        if 2 <= drop < half.bit_length() - precision - 1
    ]
    anywhere = [int.from_bytes(rng.bytes(80), "little") % (2 * half + 1) - half for _ in range(60)]
    return near + small + powers + ties + anywhere


def coprime(largest: int, step: int, count: int) -> list[int]:
    """The first so many pairwise coprime numbers from `largest` down, or all."""
    found: list[int] = []
    for m in range(largest, 1, -step):
        if len(found) < count and all(math.gcd(m, other) == 1 for other in found):
            found.append(m)
    return found


def plan_of(alphabet: str, moduli: list[int]) -> Plan:
    return plan_of_core(_testing.make_moduli_plan(alphabet, 53, moduli), plan_of, alphabet, moduli)


def long_plans() -> list[Plan]:
    """The largest product that moduli of a byte have, and as many of 23 bits as 640 bits hold: as prefixes, all lengths."""
    primes = [p for p in range(2, 256) if all(p % q for q in range(2, p))]
    powers = sorted((max(p**e for e in range(1, 9) if p**e <= 256) for p in primes), reverse=True)
    assert math.prod(powers) == math.lcm(*range(1, 257))
    return [plan_of("int8", powers), plan_of("fp64", coprime(2**23 - 1, 2, 26))]


def plans_of_scheme_two() -> list[Plan]:
    wide = [
        ozfp4.plan(1, 1, 2**40, backend=backend, accuracy="scaled") for backend in ("fp4", "int8", "fp64")
    ]  # above 160 bits
    widest = [
        ozfp4.plan(1, 1, 2**60, backend="int8", accuracy="scaled"),
        ozfp4.plan(1, 1, 2**60, backend="fp64", accuracy="scaled"),
    ]
    narrow = [
        ozfp4.plan(1, 1, 1, backend=backend, bits=2, accuracy="scaled") for backend in ("fp4", "int8", "fp64")
    ]
    return (
        [ozfp4.plan(1, 1, 16384, **p._asdict(), accuracy="scaled") for p in SCHEME_TWO]
        + wide
        + widest
        + narrow
        + long_plans()
    )


every_plan = pytest.mark.parametrize(
    "plan", plans_of_scheme_two(), ids=lambda p: f"{p!r} {len(p.moduli)} moduli"
)


@every_plan
def test_integers_of_every_prefix(plan: Plan) -> None:
    product = 1
    for count, m in enumerate(plan.moduli, start=1):
        product *= m
        values = interesting(product, count)
        output = output_of(values, plan, count)
        assert [garner(r, plan.moduli[:count]) for r in output[:, 0].T.tolist()] == values
        integers = stages.integers(output, plan, moduli=count)
        assert integers.shape == (1, len(values))
        assert integers[0].tolist() == values, count


@every_plan
def test_random_residues_give_the_integer_of_least_magnitude(plan: Plan) -> None:
    rng = np.random.default_rng(3)
    residues = np.array([rng.integers(0, m, 300) for m in plan.moduli])
    residues[:, 0], residues[:, 1] = 0, np.array(plan.moduli) - 1
    expected = np.array([garner(r, plan.moduli) for r in residues.T.tolist()], dtype=object)
    defined = 2 * np.abs(expected) < plan.modulus_product  # all but P / 2, which no bound admits
    output = residues[:, np.newaxis, defined].astype(np.int32 if plan.alphabet == "fp64" else np.uint8)
    assert stages.integers(output, plan)[0].tolist() == expected[defined].tolist()


@both_types
@every_plan
def test_rounding_of_every_prefix(plan: Plan, dtype: type) -> None:
    rng = np.random.default_rng(4)
    product = 1
    for count, m in enumerate(plan.moduli, start=1):
        product *= m
        values = interesting(product, count)
        exponents_a = np.array([0, 52, -971, 1126, 1075], np.int32)
        output = np.repeat(output_of(values, plan, count), 5, axis=1)
        # Any exponents, and such that no result of the first rows is near the ends of the format.
        for low, high in ((-971, 1127), (0, 100)):
            exponents_b = rng.integers(low, high, len(values)).astype(np.int32)
            actual = stages.reconstruct(output, plan, exponents_a, exponents_b, dtype=dtype, moduli=count)
            expected = [
                [round_to_float(v, -int(s + t), dtype) for v, t in zip(values, exponents_b, strict=True)]
                for s in exponents_a
            ]
            assert_same_bits(actual, np.array(expected, dtype), f"{plan!r}, {count} moduli")


@every_plan
def test_quotients_in_doubt_and_just_no_longer(plan: Plan) -> None:
    """Integers P / 2^s below P / 2. Each has its own row, as an entry in doubt sends its neighbours the exact way."""
    product = 1
    for count, m in enumerate(plan.moduli, start=1):
        product *= m
        half = (product - 1) // 2
        gaps = sorted({product >> s for s in range(2, 64)} | {(product >> s) * 5 // 7 for s in range(2, 64)})
        values = [sign * (half - gap) for sign in (1, -1) for gap in gaps if gap <= half]
        output = output_of(values, plan, count).reshape(count, len(values), 1)
        actual = stages.reconstruct(
            output, plan, np.zeros(len(values), np.int32), np.zeros(1, np.int32), moduli=count
        )
        expected = [[round_to_float(v, 0, np.float64)] for v in values]
        assert_same_bits(actual, np.array(expected), f"{plan!r}, {count} moduli")


@both_types
@pytest.mark.parametrize("path", SCHEME_TWO, ids=str)
def test_rounding_where_one_exponent_serves_whole_blocks(path: Path, dtype: type) -> None:
    """The cheap ways take a block when all of its exponents are in range: sums of exponents around both ends."""
    plan = ozfp4.plan(1, 1, 16384, **path._asdict(), accuracy="scaled")
    values = interesting(plan.modulus_product, 1)
    output = output_of(values, plan, len(plan.moduli))
    for s_plus_t in [-897, -896, *range(-872, -859), -1, 0, 1, 832, 833, *range(1016, 1030)]:
        t = np.full(len(values), s_plus_t // 2, np.int32)
        s = np.array([s_plus_t - s_plus_t // 2], np.int32)
        expected = [[round_to_float(v, -s_plus_t, dtype) for v in values]]
        actual = stages.reconstruct(output, plan, s, t, dtype=dtype)
        assert_same_bits(actual, np.array(expected, dtype), s_plus_t)


@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "I"], ids=str)
def test_digit_groups_add_up(path: Path) -> None:
    plan = ozfp4.plan(1, 1, 16384, **path._asdict(), accuracy="scaled")
    assert plan.base is not None
    groups = 2 * plan.planes_a - 1
    limb = 8 if plan.base == 13 else plan.base // 2
    rng = np.random.default_rng(5)
    for k in (1, 1000, 16384):
        largest = k * limb**2  # of one pair of digits; all groups at once stay within 160 bits
        sums = np.array([rng.integers(-largest, largest, (3, 40), endpoint=True) for _ in range(groups)])
        sums[:, 0, 0], sums[:, 0, 1], sums[:, 0, 2] = largest, -largest, 0
        expected = sum(plan.base**g * sums[g].astype(object) for g in range(groups))
        assert (stages.integers(sums, plan) == expected).all()
        s, t = (rng.integers(-971, 1127, size).astype(np.int32) for size in (3, 40))
        for dtype in (np.float64, np.float32):
            actual = stages.reconstruct(sums, plan, s, t, dtype=dtype)
            rounded = [
                [round_to_float(x, -int(s[i] + t[j]), dtype) for j, x in enumerate(row)]
                for i, row in enumerate(expected.tolist())
            ]
            assert_same_bits(actual, np.array(rounded, dtype), (path, k))


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_empty(path: Path) -> None:
    plan = ozfp4.plan(1, 1, 16, **path._asdict(), accuracy="scaled")
    groups = len(plan.moduli) or 2 * plan.planes_a - 1
    dtype = np.int64 if not plan.moduli else np.int32 if plan.alphabet == "fp64" else np.uint8
    for m, n in ((0, 3), (3, 0), (0, 0)):
        output = np.zeros((groups, m, n), dtype)
        exponents = np.zeros(m, np.int32), np.zeros(n, np.int32)
        assert stages.reconstruct(output, plan, *exponents).shape == (m, n)
        assert stages.integers(output, plan).shape == (m, n)


@given(st.sampled_from(SCHEME_TWO), st.data())
def test_any_integer_at_any_exponent(path: Path, data: st.DataObject) -> None:
    plan = ozfp4.plan(1, 1, 1024, **path._asdict(), accuracy="scaled")
    count = data.draw(st.integers(1, len(plan.moduli)), "moduli")
    product = 1
    for m in plan.moduli[:count]:
        product *= m
    half = (product - 1) // 2
    value = data.draw(st.integers(-half, half), "integer")
    s, t = data.draw(st.integers(-971, 1126), "s"), data.draw(st.integers(-971, 1126), "t")
    actual = stages.reconstruct(
        output_of([value], plan, count), plan, np.array([s], np.int32), np.array([t], np.int32), moduli=count
    )
    assert_same_bits(actual, np.array([[round_to_float(value, -(s + t))]]))


@pytest.mark.parametrize("plan", long_plans(), ids=lambda p: p.alphabet)
def test_long_plans_multiply(plan: Plan) -> None:
    """Encode, multiply and reconstruct with more moduli than any plan of 53 bits needs."""
    rng = np.random.default_rng(6)
    a, b = (rng.integers(-(2**53), 2**53, shape, endpoint=True) for shape in ((5, 700), (4, 700)))
    output = stages.multiply(stages.encode(a, plan, "a"), stages.encode(b.T, plan, "b"), plan)
    assert (stages.integers(output, plan) == a.astype(object) @ b.astype(object).T).all()


def test_moduli_beyond_the_longest_integers_are_refused() -> None:
    moduli = coprime(2**23 - 1, 2, 28)
    with pytest.raises(ValueError, match="plans hold products of 639"):
        plan_of("fp64", moduli)
    plan = plan_of("fp64", moduli[:27])
    output = np.zeros((27, 1, 1), np.int32)
    with pytest.raises(ValueError, match="need 650 bits; the longest integers have 640"):
        stages.integers(output, plan)
    assert stages.integers(output[:26], plan, moduli=26) == 0


@pytest.mark.parametrize(
    ("alphabet", "moduli", "message"),
    [
        ("int8", [], "none given"),
        ("int8", [257], r"257 is not one of the alphabet's, 2..256"),
        ("int8", [255, 1], "moduli: 1 is not"),
        ("int8", [250, 249, 15], "250 and 15 have a common factor"),
        ("fp64", [11863285], "11863285"),
        ("fp64", [16], "odd"),
        ("fp4", [13], "limbs"),
    ],
)
def test_given_moduli_are_checked(alphabet: str, moduli: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plan_of(alphabet, moduli)
