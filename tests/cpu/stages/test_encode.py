"""Stage 2 alone: planes of whole matrices, against residues and digits in Python's integers."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4 import stages
from ozfp4._plans.plan import make_int8_plan
from ozfp4.testing import assert_same_bits
from support import PATHS, Path


def integers(shape: tuple[int, ...], bits: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng([seed, *shape])
    top = 2**bits
    x = rng.integers(-top, top, shape, endpoint=True) >> rng.integers(0, bits + 1, shape)
    x.flat[:6] = [top, -top, top - 1, 1 - top, 0, -1][: x.size]
    return x


@pytest.mark.parametrize("bits", [2, 24, 53])
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_planes_of_matrices_are_those_of_plan_encode(path: Path, bits: int) -> None:
    plan = ozfp4.plan(1, 1, 600, bits=bits, accuracy="scaled", **path._asdict())
    for shape in ((1, 1), (5, 7), (17, 513), (3, 1025), (0, 4), (4, 0)):
        x = integers(shape, bits)
        planes = stages.encode(x, plan, "a")
        assert planes.dtype == (np.float64 if path.backend == "fp64" else np.int8)
        assert_same_bits(planes, plan.encode(x).astype(planes.dtype), (path, shape))
        assert_same_bits(stages.encode(x.T, plan, "b"), planes, (path, shape))


@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "II"], ids=str)
def test_a_prefix_of_the_moduli_gives_the_first_planes(path: Path) -> None:
    plan = ozfp4.plan(1, 1, 600, **path._asdict(), accuracy="scaled")
    x = integers((4, 30), 53)
    everything = stages.encode(x, plan)
    for count in range(1, len(plan.moduli) + 1):
        used = 1 + max(t.a_plane for t in plan.terms if t.modulus in plan.moduli[:count])
        assert_same_bits(stages.encode(x, plan, moduli=count), everything[:used], count)


@pytest.mark.parametrize("path", [p for p in PATHS if p.scheme == "I"], ids=str)
def test_digits_add_up(path: Path) -> None:
    plan = ozfp4.plan(1, 1, 600, **path._asdict(), accuracy="scaled")
    x = integers((9, 50), 53)
    planes = stages.encode(x, plan).astype(np.int64).astype(object)
    assert plan.base is not None
    assert (sum(plan.base**i * plane for i, plane in enumerate(planes)) == x).all()


@pytest.mark.parametrize("backend", ["int8", "fp64"])
def test_residues_are_balanced(backend: str) -> None:
    plan = ozfp4.plan(1, 1, 600, backend=backend, accuracy="scaled")
    x = integers((9, 50), 53)
    for m, plane in zip(plan.moduli, stages.encode(x, plan).astype(np.int64), strict=True):
        assert ((x - plane) % m == 0).all()
        assert (2 * plane >= -m).all()
        assert (2 * plane < m).all()


def test_any_layout() -> None:
    plan = ozfp4.plan(1, 1, 600, backend="fp4", accuracy="scaled")
    x = integers((20, 40), 53)
    expected = stages.encode(x[::-2, ::3].copy(), plan)
    assert_same_bits(stages.encode(x[::-2, ::3], plan), expected)
    assert_same_bits(stages.encode(np.asfortranarray(x[::-2, ::3]), plan), expected)
    assert_same_bits(stages.encode(x[::-2, ::3].astype(">i8"), plan), expected)


@pytest.mark.parametrize("products", [6, 9])
def test_int8_integers(products: int) -> None:
    plan = make_int8_plan(products)
    x = np.arange(-128, 128).reshape(2, 128)
    assert_same_bits(stages.encode(x, plan), plan.encode(x))
    for beyond in (128, -129):
        with pytest.raises(ValueError, match=rf"integers: .*{beyond}.*-128\.\.127"):
            stages.encode(np.array([[beyond]]), plan)
