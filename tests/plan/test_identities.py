"""The identities of a plan: sum_r w_r l_r(x) k_r(y) is x y, modulo each modulus or plainly; limbs are legal."""

from __future__ import annotations

from math import gcd

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ozfp4
from ozfp4 import _testing
from ozfp4._plans.plan import Plan, make_int8_plan
from support import PATHS, Path

S = {0, 1, 2, 3, 4, 6, 8, 12, -1, -2, -3, -4, -6, -8, -12}
BITS = (2, 3, 8, 11, 24, 38, 52, 53)
ALL_BITS = [(path, bits) for path in PATHS for bits in BITS]

every_plan = pytest.mark.parametrize(
    ("path", "bits"), ALL_BITS, ids=[f"{path}-{bits}" for path, bits in ALL_BITS]
)


def plan_of(path: Path, bits: int = 53, k: int = 1024) -> Plan:
    return ozfp4.plan(1, 1, k, bits=bits, accuracy="scaled", **path._asdict())


def integers(bits: int, seed: int) -> np.ndarray:
    """Edges of the range, edges of digits and random integers of every size."""
    rng = np.random.default_rng(seed)
    top = 2**bits
    edges = [0, 1, -1, top, -top, top - 1, 1 - top, top // 2, -(top // 2), top // 2 + 1]
    powers = [b**i + d for b in (2, 13, 2**8, 2**23) for i in range(54) for d in (-1, 0, 1) if b**i < top]
    wide = rng.integers(-top, top, 400, endpoint=True)
    return np.concatenate([edges, powers, np.negative(powers), wide, wide >> rng.integers(0, bits + 1, 400)])


def check_identity(plan: Plan, x: np.ndarray, y: np.ndarray) -> None:
    """The identity for each pair x[i], y[i], in Python's integers."""
    of_x = plan.encode(x).astype(object)
    of_y = plan.encode(y, operand="b").astype(object)
    product = x.astype(object) * y.astype(object)
    if not plan.moduli:
        total = sum(t.weight * of_x[t.a_plane] * of_y[t.b_plane] for t in plan.terms)
        assert (total == product).all()
        return
    for m in plan.moduli:
        total = sum(t.weight * of_x[t.a_plane] * of_y[t.b_plane] for t in plan.terms if t.modulus == m)
        assert ((total - product) % m == 0).all(), m


def check_alphabet(plan: Plan, planes: np.ndarray) -> None:
    if plan.alphabet == "fp4":
        assert set(np.unique(planes).tolist()) <= S
        assert planes.dtype == np.int8
    elif plan.alphabet == "int8":
        assert planes.dtype == np.int8  # the type is the alphabet
    else:
        assert np.abs(planes).max() <= (max(plan.moduli) // 2 if plan.moduli else 2**22)
        assert planes.dtype == np.int32


@every_plan
def test_random_and_edge_integers(path: Path, bits: int) -> None:
    plan = plan_of(path, bits)
    x, y = integers(bits, 1), np.random.default_rng(2).permutation(integers(bits, 3))
    check_identity(plan, x, y)
    check_identity(plan, x, x)
    check_alphabet(plan, plan.encode(x))


@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "II" and p.backend != "fp64"], ids=str)
def test_all_pairs_of_residues(path: Path) -> None:
    plan = plan_of(path)
    for m in plan.moduli:
        residues = np.arange(m)
        limbs = plan.encode(residues).astype(np.int64)
        terms = [t for t in plan.terms if t.modulus == m]
        total = sum(t.weight * np.multiply.outer(limbs[t.a_plane], limbs[t.b_plane]) for t in terms)
        assert ((total - np.multiply.outer(residues, residues)) % m == 0).all(), m


@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "II"], ids=str)
def test_limbs_depend_on_the_residue_alone(path: Path) -> None:
    plan = plan_of(path)
    x = integers(53, 4)
    planes = plan.encode(x)
    for m in plan.moduli:
        of_modulus = sorted({t.a_plane for t in plan.terms if t.modulus == m})
        assert (planes[of_modulus] == plan.encode(x % m)[of_modulus]).all(), m


# With the moduli that only a long K needs; the paper's families are what they are.
CHAINED = [(p, 1024) for p in PATHS if p.scheme == "II" and p.backend != "fp64"]
CHAINED += [(Path("II", backend, "least"), 2**e) for backend in ("fp4", "int8") for e in (24, 32, 40, 50)]


@pytest.mark.parametrize(("path", "k"), CHAINED, ids=[f"{path}-{k}" for path, k in CHAINED])
def test_chains_are_horner_s_rule_for_the_terms(path: Path, k: int) -> None:
    """The order in which the GEMM folds and multiplies gives the same residue as the terms."""
    plan = plan_of(path, k=k)
    for m, chain in zip(plan.moduli, _testing.chains(plan._core), strict=True):
        limbs = plan.encode(np.arange(m)).astype(np.int64)
        total = np.zeros((m, m), np.int64)
        for a_plane, b_plane, multiplier in chain:
            total += np.multiply.outer(limbs[a_plane], limbs[b_plane])
            if multiplier:
                total = total % m * multiplier
        assert ((total - np.multiply.outer(np.arange(m), np.arange(m))) % m == 0).all(), m
        terms = sorted((t.a_plane, t.b_plane) for t in plan.terms if t.modulus == m)
        assert sorted((a, b) for a, b, _ in chain) == terms


@pytest.mark.parametrize("products", [6, 9])
def test_int8_all_pairs(products: int) -> None:
    plan = make_int8_plan(products)
    v = np.arange(-128, 128)
    limbs = plan.encode(v).astype(np.int64)
    total = sum(t.weight * np.multiply.outer(limbs[t.a_plane], limbs[t.b_plane]) for t in plan.terms)
    assert (total == np.multiply.outer(v, v)).all()
    assert set(np.unique(limbs).tolist()) <= S
    assert plan.products == len(plan.terms) == products


@every_plan
def test_moduli_are_coprime_and_sufficient(path: Path, bits: int) -> None:
    plan = plan_of(path, bits)
    if not plan.moduli:
        assert plan.modulus_product == 1
        assert plan.base is not None
        assert plan.planes_a**2 == plan.products
        assert {t.group for t in plan.terms} == set(range(2 * plan.planes_a - 1))
        assert all(t.group == t.a_plane + t.b_plane and t.weight == plan.base**t.group for t in plan.terms)
        return
    assert all(gcd(p, q) == 1 for i, p in enumerate(plan.moduli) for q in plan.moduli[:i])
    product = 1
    for m in plan.moduli:
        product *= m
    assert plan.modulus_product == product
    assert 2 * 1024 * 4**bits < product
    assert {t.modulus for t in plan.terms} == set(plan.moduli)


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_every_plane_is_used(path: Path) -> None:
    plan = plan_of(path)
    assert {t.a_plane for t in plan.terms} == set(range(plan.planes_a))
    assert {t.b_plane for t in plan.terms} == set(range(plan.planes_b))
    assert len(plan.terms) == plan.products


@given(st.sampled_from(PATHS), st.integers(2, 53), st.data())
def test_any_pair_under_any_plan(path: Path, bits: int, data: st.DataObject) -> None:
    inside = st.integers(-(2**bits), 2**bits)
    x, y = np.array([data.draw(inside)]), np.array([data.draw(inside)])
    check_identity(plan_of(path, bits), x, y)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 3), (2, 3, 4)])
def test_encode_keeps_the_shape(shape: tuple[int, ...]) -> None:
    plan = plan_of(PATHS[0])
    x = np.random.default_rng(5).integers(-(2**53), 2**53, shape)
    planes = plan.encode(x)
    assert planes.shape == (plan.planes_a, *shape)
    for index in np.ndindex(shape):
        assert (planes[(slice(None), *index)] == plan.encode(x[index])).all()


def test_encode_takes_strides_lists_and_narrow_types() -> None:
    plan = plan_of(PATHS[0])
    x = np.arange(-60, 60).reshape(10, 12)
    assert (plan.encode(x.T[::-2]) == plan.encode(x.T[::-2].copy())).all()
    assert (plan.encode(x.tolist()) == plan.encode(x)).all()
    assert (plan.encode(x.astype(np.int8)) == plan.encode(x)).all()
    assert (plan.encode(x.astype(">i4")) == plan.encode(x)).all()
    assert (plan.encode(x, operand="b") == plan.encode(x, operand="a")).all()
