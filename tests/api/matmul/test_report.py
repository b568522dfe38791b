"""report=True reports what ran, and nothing else."""

from __future__ import annotations

import math

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul, forced_on_cpu, integer_product
from support import PATHS, Path, chosen, operands


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_fields(path: Path) -> None:
    a, b = operands("phi8", 30, 40, 20)
    c, report = chosen.matmul(a, b, report=True, **path._asdict(), accuracy="scaled")
    assert_same_bits(c, exact_matmul(a, b))
    assert report.backend == path.backend
    assert report.plan == ozfp4.plan(30, 20, 40, **path._asdict(), accuracy="scaled")
    assert report.bits == 53
    assert report.device.startswith("cpu (")
    assert report.kernel
    assert report.fallback is None
    assert (report.special_rows, report.special_columns) == (0, 0)
    assert 0 < report.workspace <= 2**30
    assert set(report.seconds) == {"scale", "encode", "multiply", "reconstruct"}
    assert all(s >= 0 for s in report.seconds.values())
    assert sum(report.seconds.values()) > 0
    if path.scheme == "I":
        assert report.moduli_used == 0
        assert report.products == report.plan.products
    else:
        used = report.plan.moduli[: report.moduli_used]
        assert report.products == sum(t.modulus in used for t in report.plan.terms)


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_exponents_are_those_of_the_largest_entries(path: Path) -> None:
    a = np.array([[3.0, -100.0], [0.0, 0.0], [0.0, 2.0**-1074]])
    b = np.array([[1e300, 0.0], [7.0, 0.0]])
    report = chosen.matmul(a, b, report=True, **path._asdict(), accuracy="scaled")[1]
    assert report.exponents == (-1074, math.frexp(1e300)[1] - 1)


@pytest.mark.parametrize(
    ("a", "b", "exponents"),
    [
        ([[0.0, 0.0]], [[8.0], [1.0]], (3, 3)),
        ([[0.0, np.inf], [0.0, 4.0]], [[0.0], [0.0]], (2, 2)),
        ([[0.0, np.nan]], [[0.0], [-np.inf]], (0, 0)),
        (np.zeros((2, 0)), np.zeros((0, 3)), (0, 0)),
        ([[[0.0]], [[2.0**-9]]], [[2.0**-3]], (-9, -3)),
        ([[[2.0**-9]], [[0.0]]], [[[0.0]], [[0.0]]], (-9, -9)),
    ],
)
def test_zeros_have_no_exponent(a: object, b: object, exponents: tuple[int, int]) -> None:
    assert ozfp4.matmul(np.array(a), np.array(b), report=True, accuracy="scaled")[1].exponents == exponents


def check_prefix(a: np.ndarray, b: np.ndarray, report: ozfp4.Report) -> None:
    integers = integer_product(a, b, report.bits)[0]
    product = math.prod(report.plan.moduli[: report.moduli_used])
    assert 2 * max(abs(v) for v in integers.ravel()) < product
    assert 1 <= report.moduli_used <= len(report.plan.moduli)


@pytest.mark.parametrize("backend", ["fp4", "int8", "fp64"])
@pytest.mark.parametrize("kind", ["normal", "uniform", "spikes", "integers", "identity", "whole-range"])
def test_the_prefix_suffices_for_every_kind(kind: str, backend: str) -> None:
    for shape in ((20, 300, 15), (3, 5, 2), (1, 1, 1)):
        a, b = operands(kind, *shape)
        c, report = ozfp4.matmul(a, b, backend=backend, report=True, accuracy="scaled")
        assert_same_bits(c, exact_matmul(a, b))
        check_prefix(a, b, report)


def test_the_prefix_is_shorter_for_data_below_the_worst_case() -> None:
    """A row with a single entry has a norm of 2^53, not 2^53 sqrt(K)."""
    a, b = np.eye(4, 4000), operands("normal", 1, 4000, 4)[1]
    for backend in ("fp4", "int8", "fp64"):
        c, report = ozfp4.matmul(a, b, backend=backend, report=True, accuracy="scaled")
        assert_same_bits(c, exact_matmul(a, b))
        assert report.moduli_used < len(report.plan.moduli)
        assert report.products < report.plan.products
    for family in ("paper", "paper-karatsuba"):  # which always run whole
        report = chosen.matmul(a, b, family=family, report=True, accuracy="scaled")[1]
        assert report.moduli_used == 19


def test_normal_data_at_16384_take_15_int8_products_instead_of_16() -> None:
    a, b = operands("normal", 3, 16384, 3)
    c, report = ozfp4.matmul(a, b, backend="int8", report=True, accuracy="scaled")
    assert (report.products, report.plan.products) == (15, 16)
    assert_same_bits(c, exact_matmul(a, b))


def test_stacks_report_the_most_of_their_matrices() -> None:
    a, b = np.ones((3, 4, 5)), np.ones((3, 5, 6))
    a[1, 0, 0], b[2, 0, :2] = np.nan, np.inf
    a[0] *= 2.0**-30
    b[1] *= 2.0**40
    report = ozfp4.matmul(a, b, report=True, accuracy="scaled")[1]
    assert (report.special_rows, report.special_columns) == (1, 2)
    assert report.exponents == (-30, 40)


@pytest.mark.parametrize("way", ["words", "limbs"])
def test_stacks_whose_matrices_are_made_in_different_ways(way: str) -> None:
    """Words refuse a line as small as that of the second matrix, and planes take it."""
    x = np.random.default_rng(1).standard_normal((3, 64, 64))
    x[1, 3] *= 2.0**-950
    with forced_on_cpu(words=way == "words", limbs=way == "limbs"):
        stack = ozfp4.matmul(x, x, report=True)[1]
        first, second, third = (ozfp4.matmul(each, each, report=True)[1] for each in x)
    assert (first.backend, second.backend, third.backend) == ("direct", second.plan.backend, "direct")
    for name in ("backend", "moduli_used", "products", "plan", "reason", "fallback"):
        assert getattr(stack, name) == getattr(second, name), name
    assert stack.kernel.startswith(f"{second.kernel}; 2 of 3 matrices by ")
    assert ("words of 64 bits" if way == "words" else "limbs of eight bits") in stack.kernel


def test_blocks_that_are_made_in_different_ways() -> None:
    """The same of blocks of a complex product and of a Gram matrix, one of which alone has a line that words refuse."""
    x = np.random.default_rng(2).standard_normal((640, 64))
    x[400] *= 2.0**-950
    with forced_on_cpu(words=True):
        report = ozfp4.gram(x.T, report=True)[1]
    assert report.backend == report.plan.backend
    assert "words of 64 bits" in report.kernel
