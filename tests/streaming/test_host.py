"""Matrices on the host in chunks: every entry once, one behind the other where the whole is compact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ozfp4._streaming.copies import HostMatrices
from ozfp4._streaming.tiles import Box


@given(st.data())
def test_chunks_are_parts_of_the_compact_box(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.integers(1, 9)) for _ in range(data.draw(st.integers(2, 4))))
    x = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    if data.draw(st.booleans()):
        x = np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)
    if len(shape) == 4 and data.draw(st.booleans()):
        x = x.swapaxes(0, 1)  # a stack with axes that cannot be merged
    host = HostMatrices(x, data.draw(st.sampled_from([None, np.float32])))

    def some(extent: int) -> tuple[int, int]:
        first = data.draw(st.integers(0, extent - 1))
        return first, data.draw(st.integers(first + 1, extent))

    matrices, rows, columns = some(host.count), some(x.shape[-2]), some(x.shape[-1])
    box = host.box(matrices, rows, columns)
    whole = x.reshape(-1, *x.shape[-2:])[slice(*matrices), slice(*rows), slice(*columns)]
    assert box.entries == whole.size
    compact = np.full(box.entries, np.nan)
    most = data.draw(st.integers(1, 600))
    for chunk, first in host.chunks(box, most):
        assert chunk.entries * host.dtype.itemsize <= max(most, host.dtype.itemsize)
        place = compact[first : first + chunk.entries]
        assert np.isnan(place).all()
        place[...] = host.view(chunk).ravel()
    found = compact.reshape(box.shape)
    assert np.array_equal(found.swapaxes(-1, -2) if host.is_turned else found, whole)


@pytest.mark.parametrize(
    ("x", "is_turned"),
    [
        (np.ones((4, 5)), False),
        (np.ones((4, 5)).T, True),
        (np.ones((4, 5))[:, ::-1].T, True),
        (np.ones((4, 1)).T, False),
        (np.broadcast_to(np.ones(5), (4, 5)), True),
    ],
)
def test_lines_are_what_lies_together(x: np.ndarray, is_turned: bool) -> None:
    host = HostMatrices(x)
    assert host.is_turned == is_turned
    assert host.view(host.box((0, 1), (0, x.shape[0]), (0, x.shape[1]))).shape[0] == 1


def test_views_share_memory() -> None:
    x = np.zeros((2, 3, 4, 5))
    host = HostMatrices(x)
    host.view(Box((4, 6), (1, 3), (2, 5)))[...] = 1
    assert x.sum() == 2 * 2 * 3
    assert x[1, 1:, 1:3, 2:].all()
