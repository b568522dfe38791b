"""Copies by several threads: every entry, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ozfp4
from ozfp4._core import copy_entries


@pytest.fixture(params=[1, 4])
def threads(request: pytest.FixtureRequest) -> Iterator[None]:
    ozfp4.set_num_threads(request.param)
    yield
    ozfp4.set_num_threads(None)


@given(st.data())
def test_any_views(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(["i1", "u2", "f4", "i8", "c16", "?"])))
    axes = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.sampled_from([0, 1, 2, 5, 40])) for _ in range(axes))
    order = data.draw(st.permutations(range(axes)))

    def some(fill: int) -> tuple[Any, Any]:
        """An array, and a view of it of this shape, in any order and direction, with gaps."""
        whole = np.full([2 * shape[axis] + 3 for axis in order], fill).astype(dtype)
        steps = [data.draw(st.sampled_from([1, 2, -1])) for _ in order]
        view = whole[
            tuple(
                slice(shape[axis], None, -1) if step < 0 else slice(1, 1 + step * shape[axis], step)
                for axis, step in zip(order, steps, strict=True)
            )
        ]
        view = view[tuple(slice(shape[axis]) for axis in order)]
        return whole, view.transpose(np.argsort(order))

    before, source = some(1)
    source[...] = np.arange(source.size).reshape(shape).astype(dtype)
    whole, destination = some(3)
    expected = whole.copy()
    copied = source.copy()
    copy_entries(destination, source)
    assert np.array_equal(destination, copied)
    destination[...] = 3
    assert np.array_equal(whole, expected.astype(dtype))
    assert before.dtype == dtype


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(
    "shape", [(5_000_001,), (3, 700_001), (70_001, 30), (9, 300, 1000), (2, 2, 1_000_003)]
)
def test_large_ones(shape: tuple[int, ...]) -> None:
    source = np.random.default_rng(1).integers(0, 255, shape, np.uint8)
    wide = np.zeros((*shape[:-1], shape[-1] + 1), np.uint8)
    copy_entries(wide[..., :-1], source)
    assert np.array_equal(wide[..., :-1], source)
    assert not wide[..., -1].any()
    there = np.empty(shape, np.uint8)
    copy_entries(there, wide[..., :-1])
    assert np.array_equal(there, source)


@pytest.mark.usefixtures("threads")
def test_several_callers_at_once() -> None:
    sources = [np.full(400_000, i) for i in range(6)]
    there = [np.empty(400_000, int) for _ in sources]

    def copy(i: int) -> None:
        for _ in range(20):
            there[i][...] = -1
            copy_entries(there[i], sources[i])
            assert (there[i] == i).all()

    callers = [threading.Thread(target=copy, args=(i,)) for i in range(6)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join(60)
        assert not thread.is_alive()
    assert all((x == i).all() for i, x in enumerate(there))


@pytest.mark.parametrize(
    ("destination", "source", "words"),
    [
        (np.zeros(3), np.zeros(4), "extent 3 of axis 0 is not the source's, 4"),
        (np.zeros((2, 2)), np.zeros(4), "2 axes"),
        (np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 1, 1)), "at most 3"),
        (np.zeros(3), np.zeros(3, "f4"), "8 bytes, the source has 1 of 4"),
        (np.zeros(3, "S3"), np.zeros(3, "S3"), "entries of 3 bytes"),
        (np.broadcast_to(0.0, 3), np.ones(3), "not writeable"),
    ],
)
def test_refusals(destination: Any, source: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        copy_entries(destination, source)
