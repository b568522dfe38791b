"""Stacks of matrices in any memory: each product is the one of the two matrices alone, and nothing outside `out` is written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ozfp4
from ozfp4.testing import assert_same_bits
from support import noise
from support.devices import Device

DTYPES = (np.float64, np.float32, np.complex128, np.complex64)


def one_by_one(a: np.ndarray, b: np.ndarray, **options) -> np.ndarray:
    """Every product of the stack by itself, of two contiguous matrices."""
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    x, y = (np.broadcast_to(z, (*stack, *z.shape[-2:])) for z in (a, b))
    c = noise((*stack, a.shape[-2], b.shape[-1]), np.promote_types(a.dtype, b.dtype))
    for index in np.ndindex(stack):
        c[index] = ozfp4.matmul(x[index].copy(), y[index].copy(), **options)
    return c


def values(shape: tuple[int, ...], dtype: type, seed: int) -> np.ndarray:
    """Entries of another magnitude in every matrix."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, (*shape[:-2], 1, 1))
    if np.issubdtype(dtype, np.integer):
        return (1000 * x).astype(np.int64).astype(dtype)
    return np.asarray(x * (1 + 0.5j) if np.dtype(dtype).kind == "c" else x, dtype)


def in_memory(device: Device, shape: tuple[int, ...], dtype: type, random) -> tuple[np.ndarray, np.ndarray]:
    """Noise, and a view of this shape in it: axes in any order, with steps and gaps, some backwards where there are such."""
    order = random.sample(range(len(shape)), len(shape))
    steps = [random.choice([1, 1, 2, 3]) for _ in shape]
    memory = noise(tuple(steps[axis] * shape[axis] + random.choice([0, 1]) for axis in order), dtype)
    view = memory[tuple(slice(None, steps[axis] * shape[axis], steps[axis]) for axis in order)]
    view = view.transpose([order.index(axis) for axis in range(len(shape))])
    backwards = tuple(
        slice(None, None, random.choice([1, -1 if device.name == "numpy" else 1])) for _ in shape
    )
    assert view.shape == shape
    return memory, view[backwards]


extent = st.integers(0, 3)
stacks = st.lists(st.tuples(extent, st.sampled_from(["both", "a", "b"])), max_size=3)


@given(
    stacks,
    st.tuples(extent, extent, extent),
    st.sampled_from((*DTYPES, np.int64, np.uint8)),
    st.sampled_from(["scaled", "standard", "correct"]),
    st.randoms(use_true_random=False),
)
def test_any_stack_in_any_memory(device: Device, stack, sizes, dtype: type, accuracy: str, random) -> None:
    m, k, n = (13 * e if device.is_gpu else e for e in sizes)
    options = {"accuracy": accuracy} if dtype in DTYPES else {}
    outer = [tuple(e if who in ("both", name) else 1 for e, who in stack) for name in "ab"]
    dropped = random.choice([0, 0, 1])  # axes that a has and b lacks
    shapes = ((*outer[0], m, k), (*outer[1][dropped if outer[1][:1] == (1,) else 0 :], k, n))
    a, b = (in_memory(device, shape, dtype, random)[1] for shape in shapes)
    for seed, x in enumerate((a, b)):
        x[...] = values(x.shape, dtype, seed)
    if random.random() < 0.3:  # with stride 0 along the axes of b's stack
        a = np.broadcast_to(a, (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), m, k))
    expected = one_by_one(a, b, **options)
    before = a.tobytes(), b.tobytes()
    assert_same_bits(device.matmul(a, b, **options), expected)
    memory, out = in_memory(device, expected.shape, dtype, random)
    assert device.matmul(a, b, out=out, **options) is out
    assert_same_bits(out, expected)
    out[...] = noise(out.shape, dtype)
    assert_same_bits(memory.view(np.uint8), noise(memory.shape, dtype).view(np.uint8), "beside out")
    assert (a.tobytes(), b.tobytes()) == before


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_entries_at_every_distance(dtype: type) -> None:
    """The gaps between entries hold noise, which is not read."""
    for step in (*range(1, 10), 12, 16, -1, -2, -4, -8):
        memory = noise((2 * abs(step), 5 * abs(step)), dtype)
        a = memory[::step, :: abs(step)][:2, :5]
        a[...] = values((2, 5), dtype, 8)
        for x in (a, memory[:: abs(step), ::step][:2, :5]):
            x[...] = values((2, 5), dtype, 9)
            assert_same_bits(ozfp4.matmul(x, x.T), one_by_one(x, x.T), step)
            assert_same_bits(ozfp4.matmul(x.T, x), one_by_one(x.T, x), step)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_matrices_that_share_memory_with_each_other(dtype: type, accuracy: str) -> None:
    series = values((1, 40), dtype, 3)[0]
    windows = np.lib.stride_tricks.sliding_window_view(series, 12)  # 29 × 12, each entry in up to 12 rows
    a = np.lib.stride_tricks.as_strided(
        series, (5, 4, 6), (series.itemsize, 3 * series.itemsize, series.itemsize)
    )
    b = np.lib.stride_tricks.sliding_window_view(windows, (6, 3)).reshape(-1, 6, 3)[:5]
    for x, y in ((a, b), (a, a.swapaxes(1, 2)), (b.swapaxes(1, 2)[:, ::-1], a.swapaxes(1, 2))):
        expected = one_by_one(x, y, accuracy=accuracy)
        out = noise(expected.shape, dtype)
        assert_same_bits(ozfp4.matmul(x, y, out=out, accuracy=accuracy), expected)
    squares = np.lib.stride_tricks.sliding_window_view(values((9, 9), dtype, 4), (4, 4))
    assert_same_bits(
        ozfp4.matmul(squares, squares, accuracy=accuracy), one_by_one(squares, squares, accuracy=accuracy)
    )


def test_expanded_and_overlapping_tensors() -> None:
    torch = pytest.importorskip("torch")
    for dtype in DTYPES:
        series = values((1, 60), dtype, 7)[0]
        tensor = torch.from_numpy(series)
        a = tensor.as_strided((2, 3, 4, 5), (7, 0, 3, 1))
        b = tensor.as_strided((3, 5, 6), (2, 1, 4)).expand(2, 3, 5, 6)
        expected = one_by_one(a.numpy(), b.numpy())
        out = torch.from_numpy(noise((4, 6, 3, 2), dtype)).permute(3, 2, 0, 1)
        assert ozfp4.matmul(a, b, out=out) is out
        assert_same_bits(out, expected)
        assert_same_bits(ozfp4.matmul(a, b), expected)
