"""What the core itself refuses, whoever calls it: extents that do not fit, and the output stays as it is."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._options import Options

Shape = tuple[int, ...]
ASKED = Options(accuracy="scaled")


def refused(a: Shape, b: Shape, c: Shape, reason: str) -> None:
    x, y = np.ones(a, np.int64), np.ones(b, np.int64)
    out = np.random.default_rng(1).integers(-9, 9, c)
    before = out.copy()
    calls = [lambda: _core.multiply_integers(x, y, out, ASKED, 64)]
    calls.append(lambda: _core.multiply_integers(x, y, out, ASKED, 64, gram=256))
    calls.append(
        lambda: _core.multiply_arrays(x * 1.0, y * 1.0, out.view(np.float64), ASKED, gram=(True, 256))
    )
    for call in calls:
        with pytest.raises(ValueError, match=reason):
            call()
    assert np.array_equal(out, before)


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ((3, 6), (5, 4), (3, 4)),
        ((3, 5), (6, 4), (3, 4)),
        ((2, 5), (5, 4), (3, 4)),
        ((3, 5), (5, 4), (2, 4)),
        ((3, 5), (5, 3), (3, 4)),
        ((3, 5), (5, 4), (3, 3)),
        ((4, 5), (5, 3), (3, 4)),
    ],
)
def test_matrices(a: Shape, b: Shape, c: Shape) -> None:
    refused(a, b, c, "matrix extents do not fit")
    refused((2, *a), (2, *b), (2, *c), "matrix extents do not fit")


@pytest.mark.parametrize(
    ("a", "b", "c"), [((2,), (3,), (3,)), ((3,), (2,), (3,)), ((3,), (3,), (2,)), ((2, 3), (2, 3), (3, 2))]
)
def test_stacks(a: Shape, b: Shape, c: Shape) -> None:
    refused((*a, 3, 5), (*b, 5, 4), (*c, 3, 4), "stack extents differ")


@pytest.mark.parametrize(("a", "b", "c"), [((), (2,), (2,)), ((2,), (), (2,)), ((2,), (2,), ())])
def test_axes(a: Shape, b: Shape, c: Shape) -> None:
    refused((*a, 3, 5), (*b, 5, 4), (*c, 3, 4), "equal numbers of axes")


def test_an_inner_dimension_beyond_the_plan() -> None:
    plan = ozfp4.plan(3, 4, 5, backend="int8", accuracy="scaled")
    k = plan.k_max + 1
    out = np.ones((1, 1))
    a, b = np.broadcast_to(1.0, (1, k)), np.broadcast_to(1.0, (k, 1))
    with pytest.raises(
        ValueError, match=f"^plan: its limit is K <= {k - 1}, the inner dimension is {k}, 1 too long"
    ):
        _core.multiply_arrays(a, b, out, ASKED._replace(plan=plan))
    assert out[0, 0] == 1
