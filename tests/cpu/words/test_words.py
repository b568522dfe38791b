"""Products of floating-point numbers in machine words and by limbs: the bits of the oracle, and of products by planes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import ozfp4
from bits.corpus import CORPUS, Problem, arrays
from ozfp4 import _core
from ozfp4.testing import (
    Certificate,
    assert_same_bits,
    correct_matmul,
    exact_matmul,
    forced_on_cpu,
    standard_matmul,
)
from support import ACCURACIES, ROUNDINGS, chosen, noise, operands, reference


@pytest.fixture(autouse=True, params=["words", "limbs"])
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    with forced_on_cpu(**{request.param: True}):
        yield request.param


in_words = pytest.mark.parametrize("way", ["words"], indirect=True)
by_limbs = pytest.mark.parametrize("way", ["limbs"], indirect=True)


def test_every_small_shape() -> None:
    for m, k, n in itertools.product((0, 1, 3, 4, 5, 8, 70), (0, 1, 3, 4, 5, 67), (0, 1, 31, 32, 33, 64, 65)):
        a, b = operands("normal", m, k, n)
        c, about = ozfp4.matmul(a, b, accuracy="scaled", report=True)
        assert_same_bits(c, exact_matmul(a, b))
        assert about.backend == ("direct" if m * k * n else about.backend)


@in_words
@pytest.mark.parametrize("bridge", [1_048_573, 1_048_571])  # csrc/cpu/words/near_sum.hpp
@pytest.mark.parametrize("k", [2, 250, 4096])
def test_the_largest_residues(k: int, bridge: int) -> None:
    """Sums of few bits, from products with the largest residues and one sign. Half of a row has residues just below half of the
    bridge, the other half is negative with residues just above."""
    for bits in range(54, 77):
        unit = pow(2, 53 - bits, bridge)
        low, high = (float(2**52 + (half * unit - 2**52) % bridge) for half in (bridge // 2, bridge // 2 + 1))
        assert int(low) * 2 ** (bits - 53) % bridge == bridge // 2
        a, b = np.full((3, k), low), np.full((k, 5), low)
        a[:, ::2] = -high
        a[1] *= -1
        b[0, 1] = 1.0
        assert_same_bits(chosen.matmul(a, b, bits=bits, accuracy="scaled"), exact_matmul(a, b, bits), bits)


@pytest.mark.parametrize("accuracy", ACCURACIES)
def test_nothing_is_written_beside_the_results(accuracy: str) -> None:
    for m, n in ((1, 1), (15, 17), (16, 16), (33, 40), (40, 33), (3, 70)):
        a, b = operands("normal", m, 20, n)
        a[::2, 10:], b[10:] = -a[::2, :10], b[:10]  # all cancels in every other row
        expected = reference(a, b, accuracy)
        for step, is_turned in itertools.product((1, 2), (False, True)):
            whole = noise((160, 160))
            beside = whole.copy()
            (out, place) = ((x.T if is_turned else x)[3:, 5:][: m * step : step, :n] for x in (whole, beside))
            ozfp4.matmul(a, b, out, accuracy=accuracy)
            assert_same_bits(out, expected)
            place[...] = out
            assert_same_bits(whole, beside)


@in_words
def test_far_exponents_are_left_to_planes() -> None:
    for scale, words in ((2.0**900, True), (2.0**-800, True), (2.0**-1000, False)):
        a, b = operands("normal", 9, 10, 11)
        a *= scale
        c, about = ozfp4.matmul(a, b, report=True)
        assert_same_bits(c, standard_matmul(a, b)[0])
        assert (about.backend == "direct") is words
    a, b = operands("normal", 9, 10, 11, dtype=np.float32)
    a[0, 0] = 1e-40  # subnormal
    c, about = ozfp4.matmul(a, b, report=True)
    assert about.backend != "direct"
    assert_same_bits(c, standard_matmul(a, b)[0])


@in_words
def test_report_of_words() -> None:
    a, b = operands("normal", 16, 16, 16)
    for bits, residues in ((53, 0), (62, 1), (70, 2), (76, None), (77, None)):
        c, about = chosen.matmul(a, b, bits=bits, accuracy="scaled", report=True)
        assert_same_bits(c, exact_matmul(a, b, bits))
        if residues is None:
            assert about.backend != "direct"
            continue
        assert (about.backend, about.plan) == ("direct", ozfp4.plan_for(a, b, bits=bits, accuracy="scaled"))
        assert about.kernel == f"words of 64 bits, FP64 and {residues} residues"
        assert (about.moduli_used, about.products, about.bits) == (residues, 2 + residues, bits)


@by_limbs
def test_report_of_limbs() -> None:
    for dtype, bits, limbs in (
        (np.float64, 2, 4), (np.float64, 30, 4), (np.float64, 31, 7), (np.float64, 53, 7), (np.float64, 54, 7),
        (np.float64, 55, 8), (np.float64, 62, 8), (np.float64, 63, 9), (np.float64, 70, 9), (np.float64, 71, None),
        (np.float32, 24, 4),
    ):  # fmt: skip
        a, b = operands("normal", 18, 70, 33, dtype=dtype)
        c, about = chosen.matmul(a, b, bits=bits, accuracy="scaled", report=True)
        assert_same_bits(c, exact_matmul(a, b, bits))
        if limbs is None:
            assert about.kernel.startswith("words of 64 bits")
            continue
        assert (about.backend, about.plan) == ("direct", ozfp4.plan_for(a, b, bits=bits, accuracy="scaled"))
        assert about.kernel.startswith(f"{limbs} limbs of eight bits on ")
        assert (about.moduli_used, about.products, about.bits) == (0, limbs * limbs, bits)


@by_limbs
@pytest.mark.parametrize("k", [64, 65, 128, 129, 200, 4096, 4097])
def test_the_largest_limbs(k: int) -> None:
    """Integers of which all limbs are the largest or the least that there are, with sums of one sign and of both."""
    for bits, limbs in ((30, 4), (53, 7), (62, 8), (70, 9)):
        entries = [sum(limb * 256**i for i in range(limbs)) for limb in (127, -128, 64, -1)]
        values = [float(x % 2**bits if bits < 54 else x % 2**53) for x in entries] + [float(2**53 - 1), 1.0]
        a = np.resize(np.array([*values, *(-x for x in values[:3])]), (5, k))
        b = np.resize(np.array(values), (k, 4))
        a[1], b[:, 1] = 2.0**53 - 1, 2.0**53 - 1
        c, about = chosen.matmul(a, b, bits=bits, accuracy="scaled", report=True)
        assert_same_bits(c, exact_matmul(a, b, bits), (bits, k))
        assert (about.backend == "direct") is (k <= 4096)


@by_limbs
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_correct_results_by_nine_limbs(rounding: str) -> None:
    """Products of integers of 68 and 69 bits: they cancel, and some entries are left to repair. Longer lines are multiplied by
    words."""
    for kind, (m, k, n) in itertools.product(
        ("normal", "tiny-results", "specials", "cancelling"), ((5, 64, 33), (18, 130, 20), (2, 4096, 3))
    ):
        a, b = operands(kind, m, k, n)
        c, about = ozfp4.matmul(a, b, accuracy="correct", rounding=rounding, report=True)
        assert_same_bits(c, correct_matmul(a, b, rounding), (kind, k))
        assert about.kernel.startswith("9 limbs"), (kind, k)
    for power, kernel in ((-17, "9 limbs"), (-18, "words")):
        a, b = operands("uniform", 5, 40, 6)
        a[0], a[0, 0] = 1.3 * 2.0**power, 1.0  # 53 bits - power
        c, about = ozfp4.matmul(a, b, accuracy="correct", rounding=rounding, report=True)
        assert_same_bits(c, correct_matmul(a, b, rounding), kernel)
        assert about.kernel.startswith(kernel)


@by_limbs
@pytest.mark.parametrize("threads", [1, 3])
def test_limbs_repaired_results(threads: int) -> None:
    """Half of the results cancel to less than the error of their integers; tiles share words of what is listed."""
    rng = np.random.default_rng(7)
    p, q = np.sqrt(rng.random((70, 40))), np.sqrt(rng.random((40, 150)))
    p[:, ::9], q[::9] = 2.0**-18 * p[:, ::9], 2.0**-18 * q[::9]  # lines of more bits than are kept
    a = np.hstack([p, p * (1 + 2.0**-52 * rng.integers(-3, 4, p.shape))])
    sign = np.where(rng.random(150) < 0.5, -1.0, 1.0)
    b = np.vstack([q, q * sign])
    a[3, 5], a[40, 60], b[2, 100], b[7, 17] = np.nan, np.inf, -np.inf, np.nan
    ozfp4.set_num_threads(threads)
    try:
        c, about = ozfp4.matmul(a, b, accuracy="correct", report=True)
        with forced_on_cpu():
            expected, by_planes = ozfp4.matmul(a, b, accuracy="correct", report=True)
    finally:
        ozfp4.set_num_threads(None)
    assert_same_bits(c, expected)
    assert_same_bits(c, correct_matmul(a, b))
    assert about.kernel.startswith("9 limbs")
    assert about.certified == by_planes.certified
    assert about.certified is not None
    assert about.certified.repaired_exactly > 1000
    assert about.certified.result > 1000


@by_limbs
@pytest.mark.parametrize("odd", ["none", "a deeper line", "a line with zeros"])
def test_lines_of_several_capacities_may_certify_all_results(odd: str) -> None:
    """By what the worst of a group of lines have; where one line is too deep that decides nothing."""
    rng = np.random.default_rng(8)
    a, b = rng.standard_normal((40, 512)), rng.standard_normal((512, 50))
    a[::5] = rng.integers(1, 9, (8, 512))  # exact
    b[:, ::7] = 3
    if odd == "a deeper line":
        a[11, 1:] *= 2.0**-4
        a[4, 7], b[3, 9] = np.nan, np.inf
    if odd == "a line with zeros":
        a[11, ::2] = 0
    about = ozfp4.matmul(a, b, report=True)[1]
    c, with_bound = ozfp4.matmul(a, b, report=True, return_bound=True)[::2]
    expected, certificates = standard_matmul(a, b)
    assert "limbs of eight bits" in about.kernel
    assert_same_bits(c, expected)
    assert_same_bits(ozfp4.matmul(a, b), expected)
    assert about.certified is not None
    assert about.certified == with_bound.certified
    assert about.certified.exact == (certificates == Certificate.EXACT).sum() > 50
    assert about.certified.depth == (certificates == Certificate.DEPTH).sum() > 1000
    assert about.capacities[0] < about.capacities[1]
    if _core.has_limb_unit():  # it rounds results as they come
        assert (about.seconds["reconstruct"] == 0) == (odd != "a deeper line")


@pytest.mark.slow
@by_limbs
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("m", "n", "k"), [(100, 150, 1024), (150, 70, 700), (40, 60, 4096)])
def test_blocks_of_tiles(m: int, n: int, k: int, threads: int) -> None:
    """Four, five and one panel high and wide, with less at the edges."""
    a, b = operands("normal", m, k, n)
    ozfp4.set_num_threads(threads)
    try:
        for accuracy in ACCURACIES:
            c, about = ozfp4.matmul(a, b, accuracy=accuracy, out=noise((m, n), a.dtype), report=True)
            assert "limbs of eight bits" in about.kernel
            with forced_on_cpu():
                assert_same_bits(c, ozfp4.matmul(a, b, accuracy=accuracy), accuracy)
    finally:
        ozfp4.set_num_threads(None)


@pytest.mark.parametrize(
    "asked", [{"backend": "fp64"}, {"scheme": "I"}, {"family": "paper", "accuracy": "scaled"}, {"plan": True}]
)
def test_plans_and_families_are_made_by_planes(asked: dict[str, Any]) -> None:
    a, b = operands("normal", 5, 6, 7)
    if "plan" in asked:
        asked = {"plan": ozfp4.plan(5, 7, 6)}
    assert chosen.matmul(a, b, report=True, **asked)[1].backend != "direct"


def test_both_ways_at_once_are_refused() -> None:
    with pytest.raises(ValueError, match="limbs: True and words=True"), forced_on_cpu(words=True, limbs=True):
        pass


@in_words
def test_automatic_choice_of_words() -> None:
    small, large = np.ones((8, 8)), np.ones((1100, 1100))
    with forced_on_cpu(words=False):
        assert ozfp4.matmul(small, small, report=True)[1].backend != "direct"
    way = _core.force_way(None)
    try:
        assert ozfp4.matmul(small, small, report=True)[1].backend == "direct"
        assert ozfp4.matmul(large, large, report=True)[1].backend != "direct"
        about = ozfp4.matmul(np.ones((1, 4096)), np.ones((4096, 1)), report=True)[1]
        assert about.backend != "direct" or "limbs" in about.kernel  # where a unit multiplies them
    finally:
        _core.force_way(way)


def test_a_workspace_that_is_too_small_for_words() -> None:
    a, b = operands("normal", 40, 40, 40)
    c, about = ozfp4.matmul(a, b, workspace_limit=40_000, report=True)
    assert about.backend != "direct"
    assert about.workspace <= 40_000
    assert_same_bits(c, standard_matmul(a, b)[0])


@by_limbs
def test_a_workspace_that_is_too_small_for_limbs() -> None:
    a, b = operands("normal", 40, 40, 40)
    for limit, kernel in ((274_367, "words of 64 bits"), (274_368, "8 limbs of eight bits")):
        c, about = ozfp4.matmul(a, b, workspace_limit=limit, report=True)
        assert about.kernel.startswith(kernel)
        assert about.workspace <= limit
        assert_same_bits(c, standard_matmul(a, b)[0])


ABOUT = ("exponents", "capacities", "special_rows", "special_columns", "certified", "largest_bound")


@pytest.mark.parametrize("problem", [problem for problem in CORPUS if problem.numbers == "f"], ids=str)
def test_reports_and_bounds_equal_those_of_planes(problem: Problem) -> None:
    """Results, bounds and the report of a product by planes."""
    a, b = arrays(problem)
    for mode in problem.modes:
        asked = {**mode.options, "return_bound": True, "report": True}
        with forced_on_cpu():
            expected, bound, by_planes = chosen.matmul(a, b, **asked)
        out = noise(expected.shape, expected.dtype)
        c, found_bound, about = chosen.matmul(a, b, out=out, **asked)
        assert_same_bits(c, expected, mode)
        assert_same_bits(found_bound, bound, mode)
        assert [getattr(about, name) for name in ABOUT] == [getattr(by_planes, name) for name in ABOUT]


def test_swapped_bytes_and_what_is_no_array() -> None:
    a, b = operands("normal", 7, 9, 5)
    assert_same_bits(ozfp4.matmul(a.astype(a.dtype.newbyteorder()), b), ozfp4.matmul(a, b))
    with pytest.raises(TypeError, match="bits"):
        chosen.matmul(a, b, bits=True, accuracy="standard")
    with pytest.raises(TypeError):
        ozfp4.matmul(np.ma.masked_array(a), b)
