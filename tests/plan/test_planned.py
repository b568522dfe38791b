"""TI16 has plans and no kernel: their arithmetic is that of Python's integers, and products refuse it by name."""

from __future__ import annotations

from math import gcd, prod

import numpy as np
import pytest

import ozfp4
from ozfp4 import stages
from ozfp4._plans.plan import ALPHABETS, PLANNED, Plan, make_plan

LARGEST = 2047  # of TI16 in magnitude
FOLD = 512  # products that INT32 sums exactly


def ti16(scheme: str, bits: int, k: int, is_complex: bool = False) -> Plan:
    return make_plan(scheme, "ti16", "least", bits, k, is_complex)


def test_int32_sums_a_fold_and_no_product_more() -> None:
    assert FOLD * LARGEST**2 <= 2**31 - 1 < (FOLD + 1) * LARGEST**2


@pytest.mark.parametrize(
    ("bits", "k", "moduli"),
    [(53, 1, 9), (53, 2, 10), (53, 7780, 10), (53, 7781, 11), (53, 2**20, 11), (53, 31505268, 11), (53, 31505269, 12),
     (57, 16384, 11), (24, 2**20, 6), (76, 2**20, 15), (200, 2**62, 39)],
)  # fmt: skip
def test_moduli_by_bits_and_k(bits: int, k: int, moduli: int) -> None:
    plan = ti16("II", bits, k)
    assert plan.products == plan.planes_a == len(plan.moduli) == moduli
    assert max(plan.moduli) // 2 <= LARGEST
    assert all(gcd(m, n) == 1 for m in plan.moduli for n in plan.moduli if m != n)
    assert 2 * k * 4**bits < prod(plan.moduli)
    if moduli > 1:  # one fewer is not enough
        assert 2 * k * 4**bits >= prod(plan.moduli[:-1])


def test_k_beyond_every_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="breaks the CRT bound"):
        ti16("II", 53, 2**62 + 1)


@pytest.mark.parametrize(("scheme", "is_complex"), [("I", False), ("II", False), ("II", True)])
def test_dot_products_are_exact(scheme: str, is_complex: bool) -> None:
    """A dot product of the largest and of random integers, by planes with sums folded within INT32."""
    k = 1100
    plan = ti16(scheme, 53, 2 * k if is_complex else k, is_complex)
    rng = np.random.default_rng(1)
    x, y = rng.integers(-(2**53), 2**53, (2, k, 2), endpoint=True)
    x[: k // 2], y[: k // 2] = 2**53, -(2**53)
    if not is_complex:
        x, y = x[:, 0], y[:, 0]
    of_x, of_y = plan.encode(x).astype(np.int64), plan.encode(y, operand="b").astype(np.int64)
    assert max(np.abs(of_x).max(), np.abs(of_y).max()) <= LARGEST
    exact = x.astype(object), y.astype(object)
    if not plan.moduli:
        assert plan.base == 2048
        sums = [t.weight * int(of_x[t.a_plane] @ of_y[t.b_plane]) for t in plan.terms]
        assert sum(sums) == exact[0] @ exact[1]
        return
    for m in plan.moduli:
        totals = dict.fromkeys((None, "first", "second"), 0)
        for t in (t for t in plan.terms if t.modulus == m):
            for begin in range(0, k, FOLD):
                part = slice(begin, begin + FOLD)
                total = int(of_x[t.a_plane, part] @ of_y[t.b_plane, part])
                assert abs(total) < 2**31
                totals[t.part] = (totals[t.part] + t.weight * total) % m
        if not is_complex:
            assert totals[None] == exact[0] @ exact[1] % m
            continue
        # y holds (re, -im) of B: the product's parts by the definition, and P + Q = 2 re, P - Q = 2 r im.
        (re_x, im_x), (re_y, minus) = exact[0].T, exact[1].T
        re, im = re_x @ re_y + im_x @ minus, im_x @ re_y - re_x @ minus
        first, second = totals["first"], totals["second"]
        assert (first + second - 2 * re) % m == 0
        assert ((first - second) ** 2 + 4 * im**2) % m == 0  # r^2 = -1


def test_products_name_the_backend_and_its_lack() -> None:
    assert "ti16" in PLANNED
    assert "ti16" not in ALPHABETS
    x = np.ones((9, 9))
    plan = ti16("II", 57, 9)
    planes = stages.encode(np.ones((9, 9), np.int64), plan)
    for request in (
        lambda: ozfp4.matmul(x, x, backend="ti16"),
        lambda: ozfp4.matmul(x, x, plan=plan),
        lambda: ozfp4.plan(9, 9, 9, backend="ti16"),
        lambda: ozfp4.plan_for(x, x, backend="ti16"),
        lambda: stages.multiply(planes, planes, plan),
    ):
        with pytest.raises(RuntimeError, match=r"^backend: 'ti16' has no kernel"):
            request()
