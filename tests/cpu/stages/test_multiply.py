"""Stage 3 alone: folded sums of plane products against integers; worst limbs at every limit along K."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4 import stages
from ozfp4._plans.plan import Plan, Term, make_int8_plan
from ozfp4.testing import assert_same_bits
from support import PATHS, Path

SCHEME_TWO = [p for p in PATHS if p.scheme == "II"]


def expected(planes_a: np.ndarray, planes_b: np.ndarray, plan: Plan) -> np.ndarray:
    """Groups of outputs as objects: residues in [0, m), or plain sums."""
    # Small limbs' sums are below 2^53, where any order of additions is exact in FP64; others below 2^63.
    small = planes_a.dtype == np.int8 and planes_a.shape[2] < 2**53 // 128**2
    exact = np.float64 if small else np.int64
    a, b = planes_a.astype(exact), planes_b.astype(exact).transpose(0, 2, 1)

    def total(terms: list[Term], weighted: bool) -> np.ndarray:
        products = [(a[t.a_plane] @ b[t.b_plane]).astype(np.int64) for t in terms]
        weights = [t.weight if weighted else 1 for t in terms]
        return sum(w * product.astype(object) for w, product in zip(weights, products, strict=True))

    if plan.moduli:
        return np.array([total([t for t in plan.terms if t.modulus == m], True) % m for m in plan.moduli])
    if plan.scheme == "I":
        groups = range(2 * plan.planes_a - 1)
        return np.array([total([t for t in plan.terms if t.group == g], False) for g in groups])
    return np.array([total(list(plan.terms), True)])


def check(planes_a: np.ndarray, planes_b: np.ndarray, plan: Plan) -> None:
    output = stages.multiply(planes_a, planes_b, plan)
    types = {"int8": np.uint8, "fp4": np.uint8, "fp64": np.int32}
    dtype = types[plan.alphabet] if plan.moduli else np.int64
    assert_same_bits(output, expected(planes_a, planes_b, plan).astype(dtype), repr(plan))


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 40, 7), (17, 513, 3), (66, 30, 130)], ids=str)
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_random_integers(path: Path, shape: tuple[int, int, int]) -> None:
    m, k, n = shape
    rng = np.random.default_rng(shape)
    for bits in (53, 24):
        plan = ozfp4.plan(m, n, k, bits=bits, accuracy="scaled", **path._asdict())
        a, b = (rng.integers(-(2**bits), 2**bits, s, endpoint=True) for s in ((m, k), (k, n)))
        check(stages.encode(a, plan, "a"), stages.encode(b, plan, "b"), plan)


@pytest.mark.parametrize("path", PATHS, ids=str)
def test_empty(path: Path) -> None:
    plan = ozfp4.plan(3, 4, 5, **path._asdict(), accuracy="scaled")
    for m, k, n in ((3, 0, 4), (0, 5, 4), (3, 5, 0)):
        planes_a = stages.encode(np.zeros((m, k), np.int64), plan, "a")
        planes_b = stages.encode(np.zeros((k, n), np.int64), plan, "b")
        output = stages.multiply(planes_a, planes_b, plan)
        assert output.shape[1:] == (m, n)
        assert not output.any()


@pytest.mark.parametrize("path", SCHEME_TWO, ids=str)
def test_a_prefix_of_the_moduli_gives_the_first_outputs(path: Path) -> None:
    plan = ozfp4.plan(6, 5, 30, **path._asdict(), accuracy="scaled")
    rng = np.random.default_rng(1)
    a, b = rng.integers(-(2**53), 2**53, (6, 30)), rng.integers(-(2**53), 2**53, (30, 5))
    planes = stages.encode(a, plan, "a"), stages.encode(b, plan, "b")
    everything = stages.multiply(*planes, plan)
    for count in range(1, len(plan.moduli) + 1):
        first = [stages.encode(x, plan, o, moduli=count) for x, o in ((a, "a"), (b, "b"))]
        assert_same_bits(stages.multiply(*first, plan, moduli=count), everything[:count], count)


def test_planes_in_any_layout() -> None:
    plan = ozfp4.plan(6, 5, 30, backend="fp4", accuracy="scaled")
    rng = np.random.default_rng(2)
    planes_a = stages.encode(rng.integers(-(2**53), 2**53, (6, 30)), plan, "a")
    planes_b = stages.encode(rng.integers(-(2**53), 2**53, (30, 5)), plan, "b")
    output = stages.multiply(planes_a, planes_b, plan)
    backwards = np.ascontiguousarray(planes_b[..., ::-1])[..., ::-1]
    assert_same_bits(stages.multiply(np.asfortranarray(planes_a), backwards, plan), output)


# ---- Worst limbs -------------------------------------------------------------------------------------------


def extreme_planes(plan: Plan, which: int) -> np.ndarray:
    """One limb per plane: for each modulus those of the residue with the largest limb in one of its planes.

    `which` picks the plane and the sign. Each digit of scheme I is as large as the plan permits.
    """
    if plan.scheme == "I":
        assert plan.base is not None
        top = 8 if plan.base == 13 else -plan.base // 2
        return np.full(plan.planes_a, top if which % 2 == 0 or plan.base != 13 else -top)
    limbs = np.zeros(plan.planes_a, np.int64)
    for m in plan.moduli or (256,):
        planes = sorted({t.a_plane for t in plan.terms if t.modulus in (m, None)})
        if plan.alphabet == "fp64":
            table = np.array([[m // 2, -(m // 2)]])
        else:
            every = np.arange(m) if plan.moduli else np.arange(-128, 128)
            table = plan.encode(every).astype(np.int64)[planes]
        order = np.argsort(-np.abs(table[which % len(planes)]), kind="stable")
        limbs[planes] = table[:, order[which // len(planes) % 2]]
    return limbs


def check_worst(plan: Plan, k: int) -> None:
    """All limbs as large as they get, all of one sign or alternating, but for a pair of ones.

    Without the ones the sums would be multiples of large powers of two, exact far beyond the limits.
    """
    rows = np.stack([extreme_planes(plan, which) for which in range(4)], axis=1)
    rows = rows.astype(np.float64 if plan.alphabet == "fp64" else np.int8)
    planes = np.repeat(rows[:, :, np.newaxis], k, axis=2)
    planes[:, :, 0] = 1
    columns = np.concatenate([planes[:, :2], planes[:, :1]], axis=1)
    if plan.alphabet == "fp4":  # each of its limbs has a negative
        columns[:, 2, 1::2] *= -1
    check(planes, columns, plan)


# Around the longest pieces that FP32 (2^24) and FP64 (2^53) accumulators take, once and twice.
PIECES = {
    "int8": [1021, 1022, 1023, 1024, 1025, 2045, 2046, 2047, 2048, 2049],
    "fp64": [255, 256, 257, 510, 511, 512, 513, 1023, 1024, 1025, 1537],
    "fp4": [17476, 17477, 58255],
}


@pytest.mark.parametrize(
    ("path", "k"),
    [
        pytest.param(path, k, marks=[] if path.backend == "fp64" else pytest.mark.slow)
        for path in PATHS
        for k in PIECES[path.backend]
    ],
    ids=str,
)
def test_worst_limbs_around_the_pieces_of_k(path: Path, k: int) -> None:
    check_worst(ozfp4.plan(4, 4, k, **path._asdict(), accuracy="scaled"), k)


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["int8", "fp64"])
def test_worst_limbs_where_each_modulus_reaches_its_limit(backend: str) -> None:
    """The longest K that an accumulator takes at once, and one more."""
    plan = ozfp4.plan(4, 4, 2000, backend=backend, accuracy="scaled")
    exact = 2**24 if backend == "int8" else 2**53
    lengths = {exact // (m // 2) ** 2 + d for m in plan.moduli for d in (-1, 0, 1)}
    lengths |= {(exact - m - m // 2 - 2) // (m // 2) ** 2 + d for m in plan.moduli for d in (0, 1)}
    for k in sorted(lengths):
        check_worst(plan, k)


@pytest.mark.slow
@pytest.mark.parametrize("k", [116_508, 116_509])
@pytest.mark.parametrize("path", [Path("II", "fp4", "least"), Path("I", "fp4", "least")], ids=str)
def test_fp4_beyond_144_k(path: Path, k: int) -> None:
    check_worst(ozfp4.plan(4, 4, k, **path._asdict(), accuracy="scaled"), k)


@pytest.mark.slow
def test_fp4_beyond_64_k() -> None:
    """Moduli with limbs up to 8."""
    check_worst(ozfp4.plan(4, 4, 262_145, backend="fp4", accuracy="scaled"), 262_145)


@pytest.mark.slow
def test_fp4_where_each_modulus_fills_its_accumulator() -> None:
    """The longest K in one piece: what a fold between two products leaves must count, or the second one is inexact."""
    lengths = set()
    plan = ozfp4.plan(4, 4, 2**18, backend="fp4", accuracy="scaled")
    for m in plan.moduli:
        limbs = np.abs(plan.encode(np.arange(m)).astype(np.int64)).max(axis=1)
        most = max(limbs[t.a_plane] * limbs[t.b_plane] for t in plan.terms if t.modulus == m)
        if most == 64:
            lengths.add((2**24 - m - m // 2 - 2) // most)
    for k in sorted(lengths):
        check_worst(plan, k)


@pytest.mark.slow
@pytest.mark.parametrize("products", [6, 9])
@pytest.mark.parametrize("k", [1000, 116_508, 116_509, 131_071])
def test_int8_products_beyond_144_k(products: int, k: int) -> None:
    check_worst(make_int8_plan(products), k)


@pytest.mark.parametrize("bits", [8, 24, 53])
@pytest.mark.parametrize("backend", ["fp4", "int8", "fp64"])
def test_worst_limbs_of_short_plans(backend: str, bits: int) -> None:
    for k in (1, 300, 1100):
        check_worst(ozfp4.plan(4, 4, k, backend=backend, bits=bits, accuracy="scaled"), k)


def test_k_beyond_the_plan_is_refused() -> None:
    plan = ozfp4.plan(1, 1, 100, backend="int8", accuracy="scaled")
    planes = np.zeros((plan.planes_a, 1, plan.k_max + 1), np.int8)
    with pytest.raises(ValueError, match=rf"planes_a: .*{plan.k_max + 1} exceeds {plan.k_max}"):
        stages.multiply(planes, planes, plan)
