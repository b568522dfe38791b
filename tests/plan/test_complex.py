"""Plans of complex products: roots of -1, that pairs multiply by two residues each, their products, refusals."""

from __future__ import annotations

import pickle
from functools import cache
from itertools import combinations
from math import gcd, log2, prod

import numpy as np
import pytest

from ozfp4 import stages
from ozfp4._dispatch.decision import MOST_COMPLEX_BITS, complex_plan
from ozfp4._plans.plan import Plan, make_plan

CASES = [
    ("int8", 53, 2**15), ("int8", 24, 2**15), ("int8", 76, 2**15), ("int8", 94, 2000), ("int8", 2, 2),
    ("fp64", 53, 2**15), ("fp64", 24, 2**15), ("fp64", 76, 2**31), ("fp64", 200, 2000), ("fp64", 2, 2),
    ("fp4", 53, 2**15), ("fp4", 24, 2**15), ("fp4", 76, 2**15), ("fp4", 82, 2**15), ("fp4", 53, 2**11), ("fp4", 2, 2),
]  # fmt: skip
each_case = pytest.mark.parametrize(("backend", "bits", "k"), CASES)


def plan_of(backend: str, bits: int, k: int) -> Plan:
    return make_plan("II", backend, "least", bits, k, is_complex=True)


def integers(bits: int, seed: int, count: int = 100) -> np.ndarray:
    rng = np.random.default_rng(seed)
    edges = [0, 1, 2**bits, 2**bits - 1, 2 ** (bits - 1)]
    random = [
        int.from_bytes(rng.bytes(26), "little") % 2 ** int(rng.integers(1, bits + 1)) for _ in range(count)
    ]
    values = np.array([s * v for v in (*edges, *random) for s in (1, -1)], dtype=object)
    return rng.permutation(values)


@cache
def factors(m: int) -> set[int]:
    found, p = set(), 2
    while p * p <= m:
        if m % p == 0:
            found.add(p)
            m //= p
        else:
            p += 1
    return found | ({m} if m > 1 else set())


def splits(m: int) -> bool:
    return all(p % 4 == 1 for p in factors(m))


def outputs(plan: Plan, of_a: np.ndarray, of_b: np.ndarray, m: int) -> list[np.ndarray]:
    """Both sums of products of the planes that belong to a modulus."""
    return [
        sum(
            t.weight * of_a[t.a_plane].astype(object) * of_b[t.b_plane].astype(object)
            for t in plan.terms
            if t.modulus == m and t.part == part
        )
        for part in ("first", "second")
    ]


def joined(plan: Plan, first: np.ndarray, second: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """The parts from the two outputs of a modulus, by a root that is looked for here."""
    if not splits(m):
        return first % m, second % m
    # The outputs of i times 1 are r and -r.
    r = int(outputs(plan, plan.encode([[0, 1]]), plan.encode([[1, 0]], "b"), m)[0][0]) % m
    assert (r * r + 1) % m == 0
    half, of_im = pow(2, -1, m), pow(2 * r, -1, m)
    return (first + second) * half % m, (first - second) * of_im % m


@each_case
def test_the_outputs_of_every_modulus_are_the_parts_of_the_product(backend: str, bits: int, k: int) -> None:
    plan = plan_of(backend, bits, k)
    assert plan.is_complex
    assert plan.planes_a == plan.planes_b
    assert backend == "fp4" or len(plan.moduli) * 2 == plan.planes_a
    x, y, u, v = (integers(bits, seed) for seed in range(4))
    of_a = plan.encode(np.stack([x, y], axis=-1))
    of_b = plan.encode(np.stack([u, -v], axis=-1), "b")
    for planes in (of_a, of_b):
        if backend == "fp4":
            assert set(np.unique(planes)) <= {s * v for v in (0, 1, 2, 3, 4, 6, 8) for s in (1, -1)}
        else:
            assert abs(planes.astype(object)).max() <= max(plan.moduli) // 2
    for m in plan.moduli:
        re, im = joined(plan, *outputs(plan, of_a, of_b, m), m)
        assert (re == (x * u - y * v) % m).all()
        assert (im == (x * v + y * u) % m).all()


@each_case
def test_moduli_are_coprime_and_their_product_suffices(backend: str, bits: int, k: int) -> None:
    plan = plan_of(backend, bits, k)
    assert all(gcd(m, n) == 1 for m, n in combinations(plan.moduli, 2))
    assert 2 * k * 2 ** (2 * bits) < plan.modulus_product
    assert plan.k_max == min((plan.modulus_product - 1) // 2 ** (2 * bits + 1), 2**62)
    for m in plan.moduli:
        terms = [t for t in plan.terms if t.modulus == m]
        of_limbs = 1 if backend != "fp4" or m <= 13 else 3 if m <= 91 or m in (121, 169) else 4
        assert len(terms) == (2 if splits(m) else 4) * of_limbs
    if backend == "fp4":
        cost = [log2(m) / sum(t.modulus == m for t in plan.terms) for m in plan.moduli]
        assert cost == sorted(cost, reverse=True), "a prefix does without the dearest"


@pytest.mark.parametrize(
    ("backend", "bits", "k", "products", "of_real"),
    [("int8", 53, 16384, 34, 64), ("int8", 53, 1024, 34, 64), ("int8", 24, 16384, 18, 36),
     ("fp64", 53, 1024, 12, 24), ("fp64", 24, 1024, 6, 12),
     ("fp4", 53, 16384, 142, 240), ("fp4", 53, 1024, 134, 232), ("fp4", 24, 16384, 66, 116), ("fp4", 24, 1024, 62, 104)],
)  # fmt: skip
def test_products(backend: str, bits: int, k: int, products: int, of_real: int) -> None:
    """The products of a complex plan with inner dimension k, and four times those of a plan of real products."""
    assert plan_of(backend, bits, 2 * k).products == products
    assert 4 * make_plan("II", backend, "least", bits, 2 * k).products == of_real


def test_int8_takes_two_products_up_to_130_bits() -> None:
    moduli = plan_of("int8", 94, 2).moduli
    assert all(p % 4 == 1 for m in moduli[:18] for p in factors(m))
    assert log2(prod(moduli[:18])) > 130


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match=r"complex: .*'paper' over fp4"):
        make_plan("II", "fp4", "paper", 53, 2, is_complex=True)
    with pytest.raises(
        ValueError, match=r"k = 65536 .*over fp4 at bits = 82: P has 181 bits and admits K <= 39798"
    ):
        plan_of("fp4", 82, 2**16)
    with pytest.raises(ValueError, match="complex"):
        make_plan("I", "int8", "least", 53, 2, is_complex=True)
    with pytest.raises(
        ValueError, match=r"k = 65536 breaks the CRT bound.*bits = 100: P has 209 bits and admits K <= 241"
    ):
        plan_of("int8", 100, 2**16)
    plan = plan_of("int8", 53, 2)
    with pytest.raises(ValueError, match="pairs along the last axis"):
        plan.encode([1, 2, 3])
    with pytest.raises(ValueError, match="outside the plan's range"):
        plan.encode(np.array([[1, 2**53 + 1]]))
    with pytest.raises(ValueError, match="complex"):
        stages.encode(np.ones((2, 2), np.int64), plan, "a")


def test_where_there_is_none() -> None:
    for request in (
        ("I", "int8", "least", 53, 2), ("II", "fp4", "least", 82, 2**16), ("II", "fp4", "paper", 53, 2),
        ("II", "fp64", "least", MOST_COMPLEX_BITS + 1, 2), ("II", "int8", "least", 82, 2**45),
    ):  # fmt: skip
        assert complex_plan(*request) is None
    for backend, k in (("int8", 2**30), ("fp4", 2**15), ("fp64", 2**40)):
        found = complex_plan("II", backend, "least", 82, k)
        assert found is not None
        assert found.is_complex


def test_a_plan_is_a_value() -> None:
    plan = plan_of("int8", 53, 2048)
    assert pickle.loads(pickle.dumps(plan)) == plan != make_plan("II", "int8", "least", 53, 2048)
    assert "complex" in str(plan)
