"""Numbers of products, moduli and the limits on K: the paper's, ozfp4's, and where they stop."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4._plans.plan import Plan
from ozfp4.testing import assert_same_bits, exact_matmul
from support import PATHS, Path

PAPER_MODULI = (169, 115, 113, 112, 111, 109, 107, 103, 101, 97, 89, 83, 79, 73, 71, 67, 61, 59, 53)


def plan_of(path: Path, bits: int, k: int) -> Plan:
    return ozfp4.plan(1, 1, k, bits=bits, accuracy="scaled", **path._asdict())


def test_the_paper_s_family() -> None:
    paper = ozfp4.plan(1, 1, 16384, backend="fp4", family="paper", accuracy="scaled")
    karatsuba = ozfp4.plan(1, 1, 16384, backend="fp4", family="paper-karatsuba", accuracy="scaled")
    assert paper.moduli == karatsuba.moduli == PAPER_MODULI
    assert (paper.products, karatsuba.products) == (75, 68)
    assert (paper.planes_a, karatsuba.planes_a) == (38, 45)
    counts = {m: sum(t.modulus == m for t in karatsuba.terms) for m in PAPER_MODULI}
    assert {m for m, count in counts.items() if count == 3} == {169, 83, 73, 71, 67, 61, 59, 53}
    assert set(counts.values()) == {3, 4}
    weights = {t.weight for t in paper.terms if t.modulus == 169}
    assert weights == {1, 13}
    assert paper.k_max == karatsuba.k_max == 76549


def test_scheme_one_has_the_paper_s_225_products() -> None:
    plan = ozfp4.plan(1, 1, 16384, scheme="I", backend="fp4", accuracy="scaled")
    assert (plan.planes_a, plan.planes_b, plan.products, plan.base) == (15, 15, 225, 13)
    assert plan == ozfp4.plan(1, 1, 16384, scheme="I", backend="fp4", accuracy="scaled")
    assert sum(t.group == 14 for t in plan.terms) == 15


@pytest.mark.parametrize("bits", [2, 7, 24, 53])
@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "II"], ids=str)
def test_k_max_is_the_largest_k_of_the_crt_condition(path: Path, bits: int) -> None:
    for k in (1, 1000, 30000):
        plan = plan_of(path, bits, k)
        assert plan.k_max >= k
        if plan.k_max < 2**62:
            assert 2 * plan.k_max * 4**bits < plan.modulus_product <= 2 * (plan.k_max + 1) * 4**bits


@pytest.mark.parametrize("bits", [2, 24, 53])
@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "I"], ids=str)
def test_k_max_of_scheme_one_keeps_group_sums_in_64_bits(path: Path, bits: int) -> None:
    plan = plan_of(path, bits, 1)
    largest = 8 if plan.base == 13 else plan.base // 2
    assert plan.k_max == min(2**62 // (plan.planes_a * largest**2), 2**40)


@pytest.mark.parametrize("backend", ["fp4", "int8", "fp64"])
def test_the_least_family_grows_with_k_and_bits(backend: str) -> None:
    for bits in range(2, 54):
        plans = [
            ozfp4.plan(1, 1, k, backend=backend, bits=bits, accuracy="scaled")
            for k in (1, 2**10, 2**14, 2**18)
        ]
        products = [plan.products for plan in plans]
        assert products == sorted(products)
    products = [
        ozfp4.plan(1, 1, 1024, backend=backend, bits=bits, accuracy="scaled").products
        for bits in range(2, 54)
    ]
    assert products == sorted(products)


@pytest.mark.parametrize("backend", ["fp4", "int8", "fp64"])
def test_plans_serve_the_k_they_are_made_for(backend: str) -> None:
    """From one modulus more to the next: k_max + 1 takes a larger plan."""
    k, products = 1, 0
    while k < 2**30:
        plan = ozfp4.plan(1, 1, k, backend=backend, bits=5, accuracy="scaled")
        assert plan.products > products
        products, k = plan.products, plan.k_max + 1


def largest_entries(bits: int, shape: tuple[int, ...], sign: float) -> np.ndarray:
    """Numbers that scale to 2^bits (2^53 - 1 at 53 bits, where nothing rounds up)."""
    return np.full(shape, sign * (2.0 - 2.0**-52))


TIGHT = [
    (Path("II", "fp4", "least"), 53, 1),
    (Path("II", "fp4", "least"), 53, 1024),
    (Path("II", "fp4", "least"), 24, 1),
    (Path("II", "fp4", "least"), 2, 1),
    (Path("II", "fp4", "paper"), 53, 1),
    (Path("II", "fp4", "paper-karatsuba"), 53, 1),
    (Path("II", "int8", "least"), 53, 1),
    (Path("II", "int8", "least"), 24, 1),
    (Path("II", "int8", "least"), 5, 1),
    (Path("II", "fp64", "least"), 53, 1),
    (Path("II", "fp64", "least"), 30, 1),
    (Path("II", "fp64", "least"), 3, 1),
]


@pytest.mark.slow
@pytest.mark.parametrize(("path", "bits", "k"), TIGHT, ids=[f"{p}-{bits}-{k}" for p, bits, k in TIGHT])
def test_exact_at_k_max_and_refused_beyond(path: Path, bits: int, k: int) -> None:
    plan = plan_of(path, bits, k)
    k = min(plan.k_max, 150_000)
    a = np.concatenate([largest_entries(bits, (1, k), 1.0), largest_entries(bits, (1, k), -1.0)])
    b = largest_entries(bits, (k, 1), 1.0)
    assert_same_bits(
        ozfp4.matmul(a, b, plan=plan, accuracy="scaled"), exact_matmul(a, b, bits=bits), repr(plan)
    )
    if k < plan.k_max:
        return
    longer = np.zeros((1, k + 1)), np.zeros((k + 1, 1))
    with pytest.raises(ValueError, match=rf"{plan.k_max}.* {k + 1}.* 1 too long"):
        ozfp4.matmul(*longer, plan=plan, accuracy="scaled")


def test_k_beyond_every_plan_is_refused() -> None:
    for backend in ("fp4", "int8", "fp64"):
        k = 2**62 + 1
        with pytest.raises(ValueError, match=rf"k = {k} breaks the CRT bound"):
            ozfp4.plan(1, 1, k, backend=backend, accuracy="scaled")
    for backend in ("fp4", "int8", "fp64"):
        with pytest.raises(ValueError, match=r"digit group bound"):
            ozfp4.plan(1, 1, 2**41, scheme="I", backend=backend, accuracy="scaled")


@pytest.mark.parametrize(
    ("backend", "bits", "k"),
    [
        ("fp4", 109, 1024),
        ("fp4", 104, 2**20),
        ("int8", 165, 1024),
        ("int8", 160, 2**20),
        ("fp64", 200, 2**62),
    ],
)
def test_how_far_the_moduli_reach(backend: str, bits: int, k: int) -> None:
    """All moduli of an alphabet together; beyond, the message names K, bits and the bits of P. Scheme I goes on."""
    everything = ozfp4.plan(1, 1, k, backend=backend, bits=bits, accuracy="scaled")
    assert k <= everything.k_max < 4 * k
    k = everything.k_max + 1
    size = everything.modulus_product.bit_length()
    with pytest.raises(
        ValueError,
        match=rf"k = {k} breaks the CRT bound .* at bits = {bits}: P has {size} bits .*K <= {k - 1}$",
    ):
        ozfp4.plan(1, 1, k, backend=backend, bits=bits, accuracy="scaled")
    assert ozfp4.plan(1, 1, 1000, scheme="I", backend=backend, bits=200, accuracy="scaled").products > 0


@pytest.mark.parametrize("bits", [53, 54, 76, 128, 200])
@pytest.mark.parametrize("backend", ["fp4", "int8", "fp64"])
def test_the_digits_of_scheme_one_reach_and_one_fewer_do_not(backend: str, bits: int) -> None:
    plan = ozfp4.plan(1, 1, 1, scheme="I", backend=backend, bits=bits, accuracy="scaled")
    assert plan.base is not None
    reach = [
        (13**p - 1) // 3 if backend == "fp4" else (plan.base // 2 - 1) * (plan.base**p - 1) // (plan.base - 1)
        for p in (plan.planes_a - 1, plan.planes_a)
    ]
    assert reach[1] >= 2**bits
    assert reach[0] < 2 ** (bits + 1)  # the rule for balanced digits requires a bit more than they need
    assert backend != "fp4" or reach[0] < 2**bits
