"""Axes of a stack as a launch gets them: as few as visit the same matrices."""

from __future__ import annotations

import itertools

import pytest

from ozfp4.backends.cuda.views import collapse

Steps = tuple[int, ...]


def offsets(extents: list[int], steps: list[int]) -> list[int]:
    places = itertools.product(*map(range, extents))
    return [sum(i * step for i, step in zip(place, steps, strict=True)) for place in places]


@pytest.mark.parametrize(
    ("stack", "strides", "axes"),
    [
        ((), ((), ()), 0),
        ((1, 1), ((5, 7), (0, 3)), 0),
        ((2, 1, 3), ((30, 7, 10), (12, 0, 4)), 1),  # the middle one is none
        ((2, 3), ((30, 10), (0, 0)), 1),
        ((2, 3), ((30, 10), (0, 4)), 2),  # the second operand is broadcast along one
        ((2, 3, 4), ((120, 40, 10), (12, 4, 1)), 1),
        ((2, 3, 4), ((120, 40, 10), (1, 8, 2)), 2),
        ((4, 1, 3), ((10, 1, 40), (3, 1, 1)), 2),  # turned
    ],
)
def test_fewest_axes_visit_the_same_matrices(stack: Steps, strides: tuple[Steps, ...], axes: int) -> None:
    extents, merged = collapse(stack, *strides)
    assert len(extents) == axes
    for before, after in zip(strides, merged, strict=True):
        assert offsets(extents, after) == offsets(list(stack), list(before))
