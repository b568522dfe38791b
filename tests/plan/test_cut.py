"""Plans that cut integers in two: where they begin and end, what their planes hold, and that the products of parts join."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4 import stages
from ozfp4.plans import Plan
from ozfp4.testing import assert_same_bits

#: (backend, bits, K): the first bits that are cut at K = 1000, cuts at a byte and between, the last bits, long K.
CUT = [
    ("int8", 166, 1000), ("int8", 171, 1), ("int8", 176, 3), ("int8", 193, 100), ("int8", 200, 1000), ("int8", 165, 2**20),
    ("int8", 200, 2**31), ("fp4", 110, 1000), ("fp4", 128, 1), ("fp4", 150, 3), ("fp4", 177, 100), ("fp4", 200, 1000),
    ("fp4", 105, 2**20), ("fp4", 200, 2**20),
]  # fmt: skip
each_cut = pytest.mark.parametrize(("backend", "bits", "k"), CUT, ids=[f"{b}-{c}-{k}" for b, c, k in CUT])


def plan_of(backend: str, bits: int, k: int) -> Plan:
    return ozfp4.plan(1, 1, k, backend=backend, bits=bits, accuracy="scaled")


def integers(bits: int, cut: int, seed: int) -> np.ndarray:
    """Both ends, both sides of each multiple of 2^cut near them, and integers of every length."""
    rng = np.random.default_rng(seed)
    top, part = 2**bits, 2**cut
    edges = [
        0,
        1,
        part,
        top,
        top - 1,
        top - part,
        top - part + 1,
        part - 1,
        part + 1,
        part // 2,
        2 * part - 1,
    ]
    random = [
        int.from_bytes(rng.bytes(26), "little") >> int(rng.integers(208 - bits, 207)) for _ in range(300)
    ]
    return np.array([s * v for v in (*edges, *random) for s in (1, -1)], dtype=object)


def parts_of(x: np.ndarray, cut: int) -> dict[str | None, np.ndarray]:
    low, high = x % 2**cut, x // 2**cut
    return {"low": low, "high": high, "sum": low + high}


@each_cut
def test_every_part_obeys_the_identity(backend: str, bits: int, k: int) -> None:
    plan = plan_of(backend, bits, k)
    assert plan.cut is not None
    x = integers(bits, plan.cut, 1)
    y = np.random.default_rng(2).permutation(x)
    of_x, of_y = (plan.encode(v).astype(object) for v in (x, y))
    parts_x, parts_y = parts_of(x, plan.cut), parts_of(y, plan.cut)
    assert {(t.modulus, t.part) for t in plan.terms} == {(m, part) for m in plan.moduli for part in parts_x}
    for m in plan.moduli:
        for part in parts_x:
            terms = [t for t in plan.terms if (t.modulus, t.part) == (m, part)]
            total = sum(t.weight * of_x[t.a_plane] * of_y[t.b_plane] for t in terms)
            assert ((total - parts_x[part] * parts_y[part]) % m == 0).all(), (m, part)


@each_cut
def test_k_max_is_what_the_largest_part_admits(backend: str, bits: int, k: int) -> None:
    plan = plan_of(backend, bits, k)
    assert plan.cut is not None
    assert plan.cut % 8 == 0
    assert abs(2 * plan.cut - bits) <= 8  # in the middle, but for a byte
    largest = 2**plan.cut + 2 ** (bits - plan.cut)
    assert all(
        abs(part).max() <= largest for part in parts_of(integers(bits, plan.cut, 3), plan.cut).values()
    )
    assert k <= plan.k_max
    assert 2 * plan.k_max * largest**2 < plan.modulus_product <= 2 * (plan.k_max + 1) * largest**2


@pytest.mark.parametrize(("backend", "bits"), [("int8", 150), ("int8", 165), ("fp4", 90), ("fp4", 109)])
def test_integers_are_whole_as_long_as_moduli_are_there(backend: str, bits: int) -> None:
    everything = plan_of(backend, 109 if backend == "fp4" else 165, 1500)
    k = (everything.modulus_product - 1) // (2 * 4**bits)  # the longest K that all moduli together serve
    whole, cut = plan_of(backend, bits, k), plan_of(backend, bits, k + 1)
    assert whole.cut is None
    assert whole.k_max == k
    assert whole.products == len(whole.terms)
    assert cut.cut is not None
    assert cut.k_max > k
    assert cut != whole


@pytest.mark.parametrize("backend", ["int8", "fp4"])
def test_the_stages_join_the_products_of_parts(backend: str) -> None:
    """Encode, multiply and integers by themselves, against Python's integers; the ends of the range cancel or add up."""
    for bits, inner in ((112, 30), (171, 1), (177, 40), (200, 7)):
        plan = plan_of(backend, bits, inner)
        values = integers(bits, plan.cut or 104, bits)
        rng = np.random.default_rng(bits)
        a, b = (values[rng.integers(0, len(values), shape)] for shape in ((9, inner), (8, inner)))
        a[0], b[0], b[1] = 2**bits, 2**bits, -(2**bits)
        planes = stages.encode(a, plan), stages.encode(b.T, plan, operand="b")
        assert_same_bits(planes[0], plan.encode(a), (bits, "encode"))
        found = stages.integers(stages.multiply(*planes, plan), plan)
        assert found.tolist() == (a @ b.T).tolist(), bits


@pytest.mark.parametrize("backend", ["int8", "fp4"])
def test_cut_plans_run_whole(backend: str) -> None:
    a, b = np.zeros((2, 5)), np.zeros((5, 3))
    c, report = ozfp4.matmul(a, b, bits=190, accuracy="scaled", backend=backend, report=True)
    assert not c.any()
    assert report.moduli_used == len(report.plan.moduli)
    assert report.products == report.plan.products
    assert f"cut at 2^{report.plan.cut}" in str(report.plan)


def test_where_cut_plans_end() -> None:
    """INT8 has moduli for every K up to 2^62; FP4 ends at 200 bits and K = 1.8 million, in the words of every limit."""
    assert plan_of("int8", 200, 2**62).k_max == 2**62
    last = plan_of("fp4", 200, 2**20)
    k = last.k_max + 1
    message = rf"k = {k} breaks the CRT bound 2 K \(2\^104 \+ 2\^96\)\^2 < P .* at bits = 200: P has 230 bits .*K <= {k - 1}$"
    with pytest.raises(ValueError, match=message):
        plan_of("fp4", 200, k)
    assert plan_of("fp4", 192, 2**25).cut == 96
