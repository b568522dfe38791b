"""Operands and results by their strides: every layout of VIEWS, stride 0, distances beyond 2^31 bytes."""

from __future__ import annotations

import mmap
import sys

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul
from support import PATHS, VIEWS, Path, chosen, constant_columns, constant_rows, noise, operands
from support.devices import Device, arrays_and_gpu
from support.dtypes import both_types

NEXT = [*VIEWS][1:] + [*VIEWS][:1]


@arrays_and_gpu
@pytest.mark.parametrize(
    ("view_a", "view_b"), [*zip(VIEWS, VIEWS, strict=True), *zip(VIEWS, NEXT, strict=True)]
)
@both_types
def test_pairs_of_layouts(view_a: str, view_b: str, dtype: type, device: Device) -> None:
    a, b = operands("row-exponents", 19, 35, 18, dtype=dtype)
    expected = exact_matmul(a, b)
    x, y = VIEWS[view_a](a), VIEWS[view_b](b)
    assert x.shape == a.shape
    before = x.tobytes(), y.tobytes()
    assert_same_bits(device.matmul(x, y, accuracy="scaled"), expected, (view_a, view_b))
    assert (x.tobytes(), y.tobytes()) == before
    assert_same_bits(device.matmul(y.T, x.T, accuracy="scaled"), exact_matmul(b.T, a.T), "transposed")


@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize("view", VIEWS)
def test_every_path_takes_every_layout(view: str, path: Path, device: Device) -> None:
    if not device.has(path.backend):
        return
    a, b = operands("phi32", 5, 530, 17)
    expected = exact_matmul(a, b)
    assert_same_bits(
        device(chosen.matmul, VIEWS[view](a), VIEWS[view](b), **path._asdict(), accuracy="scaled"),
        expected,
        view,
    )


@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize("repeat", [constant_rows, constant_columns])
@both_types
def test_stride_zero(repeat, dtype: type, path: Path, device: Device) -> None:
    if not device.has(path.backend):
        return
    a, b = operands("normal", 18, 40, 21, dtype=dtype)
    for x, y in ((repeat(a), b), (a, repeat(b)), (repeat(a), repeat(b))):
        assert_same_bits(device(chosen.matmul, x, y, **path._asdict(), accuracy="scaled"), exact_matmul(x, y))


def test_the_same_array_twice_and_overlapping_views(device: Device) -> None:
    a = operands("normal", 20, 20, 1)[0]
    assert_same_bits(device.matmul(a, a, accuracy="scaled"), exact_matmul(a, a))
    assert_same_bits(device.matmul(a, a.T, accuracy="scaled"), exact_matmul(a, a.T))
    assert_same_bits(device.matmul(a[:, ::-1], a[::-1], accuracy="scaled"), exact_matmul(a[:, ::-1], a[::-1]))
    windows = np.lib.stride_tricks.sliding_window_view(a[0], 7)
    assert_same_bits(device.matmul(windows, windows.T, accuracy="scaled"), exact_matmul(windows, windows.T))


@pytest.mark.skipif(sys.platform != "linux", reason="needs sparse anonymous memory")
@both_types
def test_distances_beyond_32_bits(dtype: type) -> None:
    """Rows and columns several GiB apart, in memory of which only the touched pages exist."""
    gap = 3 * 2**30 + 8
    no_reserve = 0x4000  # MAP_NORESERVE of Linux, which mmap names from Python 3.13 on
    try:
        memory = mmap.mmap(-1, 3 * gap + 2**16, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | no_reserve)
    except (AttributeError, OSError) as error:
        pytest.skip(f"no sparse memory here: {error}")
    a, b = operands("phi8", 4, 5, 3, dtype=dtype)
    size = a.itemsize
    start = 64
    far_rows = np.ndarray((4, 5), dtype, memory, start, (gap, size))
    far_columns = np.ndarray((5, 4), dtype, memory, start, (size, gap)).T
    upwards = np.ndarray((4, 5), dtype, memory, start + 3 * gap, (-gap, size))
    out = np.ndarray((4, 3), dtype, memory, start + 2048, (gap, size))
    for view in (far_rows, far_columns, upwards):
        view[...] = a
        out[...] = 1
        ozfp4.matmul(view, b, out=out, accuracy="scaled")
        assert_same_bits(out, exact_matmul(a, b))
        assert_same_bits(ozfp4.matmul(b.T, view.T, accuracy="scaled"), exact_matmul(b.T, a.T))
        expected = exact_matmul(np.ones((1, 4), dtype), a)
        assert_same_bits(ozfp4.matmul(np.ones((1, 4), dtype), view, accuracy="scaled"), expected)
    del far_rows, far_columns, upwards, view, out
    memory.close()


@pytest.mark.parametrize("kind", ["specials", "infinities"])
@pytest.mark.parametrize("view", VIEWS)
@both_types
def test_specials_are_found_and_patched_through_views(
    view: str, kind: str, dtype: type, device: Device
) -> None:
    a, b = operands(kind, 17, 12, 19, dtype=dtype)
    x, y = VIEWS[view](a), VIEWS[view](b)
    out = VIEWS["reversed" if device.name == "numpy" else "strided"](noise((17, 19), dtype))
    device.matmul(x, y, out=out, accuracy="scaled")
    assert_same_bits(out, exact_matmul(a, b), view)
