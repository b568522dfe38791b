"""out=: what cannot hold the result is refused and keeps its bytes."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul
from support import noise

A = np.random.default_rng(0).standard_normal((3, 4))
B = np.random.default_rng(1).standard_normal((4, 5))


def read_only() -> np.ndarray:
    out = noise((3, 5))
    out.flags.writeable = False
    return out


def overlapping_entries() -> np.ndarray:
    return np.lib.stride_tricks.as_strided(np.zeros(40), (3, 5), (8, 8))


SHARE = "share memory with each other$"
OUTS = [
    ("shape", noise((5, 3)), ValueError, r"^out: shape \(5, 3\) is not the result's shape \(3, 5\)$"),
    ("flat", noise((15,)), ValueError, r"^out: shape \(15,\) is not the result's shape \(3, 5\)$"),
    ("extra axis", noise((1, 3, 5)), ValueError, r"^out: shape \(1, 3, 5\) is not"),
    ("float32", noise((3, 5), np.float32), TypeError, r"^out: dtype float32 is not .* float64$"),
    ("int64", noise((3, 5), np.int64), TypeError, r"^out: dtype int64 is not"),
    ("complex", noise((3, 5), complex), TypeError, r"^out: dtype complex128 is not"),
    ("swapped bytes", noise((3, 5), np.dtype("=f8").newbyteorder()), TypeError, r"^out: dtype .f8 is not"),
    ("read-only", read_only(), ValueError, r"^out: the array is read-only$"),
    ("broadcast", np.broadcast_to(noise((5,)), (3, 5)), ValueError, r"^out: the array is read-only$"),
    ("overlapping", overlapping_entries(), ValueError, rf"^out: entries of the array {SHARE}"),
    ("masked", np.ma.masked_array(noise((3, 5))), TypeError, r"^out: masked arrays"),
    ("list", [[0.0] * 5] * 3, TypeError, r"^out: list is neither a NumPy array nor a torch tensor$"),
    ("number", 3.5, TypeError, r"^out: float is neither a NumPy array nor a torch tensor$"),
]


@pytest.mark.parametrize(("out", "error", "pattern"), [pytest.param(*o[1:], id=o[0]) for o in OUTS])
def test_refused(check_refused, out, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, ozfp4.matmul, A, B, out=out)


def test_float64_for_a_float32_result(check_refused) -> None:
    pattern = r"^out: dtype float64 is not the result's dtype float32$"
    a, b = A.astype(np.float32), B.astype(np.float32)
    check_refused(TypeError, pattern, ozfp4.matmul, a, b, out=noise((3, 5)))


def test_0_d(check_refused) -> None:
    pattern = r"^out: shape \(1,\) is not the result's shape \(\)$"
    check_refused(ValueError, pattern, ozfp4.matmul, A[0], A[1], out=noise((1,)))


def test_memory_shared_with_an_operand(check_refused) -> None:
    memory = np.random.default_rng(2).standard_normal(400)
    x, y = memory[:100].reshape(10, 10), memory[100:200].reshape(10, 10)
    outs = {
        "a": [x, x.T, x[::-1], memory[50:150].reshape(10, 10), memory[:200:2].reshape(10, 10)],
        "b": [y, y.T, memory[199:299].reshape(10, 10), memory[101:301:2].reshape(10, 10)],
    }
    for name, candidates in outs.items():
        for out in candidates:
            pattern = rf"^out: the array shares memory with {name}$"
            check_refused(ValueError, pattern, ozfp4.matmul, x, y, out=out)
    stack = memory.reshape(4, 10, 10)
    pattern = r"^out: the array shares memory with a$"
    check_refused(ValueError, pattern, ozfp4.matmul, stack, y[0].copy(), out=stack[..., 0])


@pytest.mark.parametrize(
    "strides",
    [(32, 8), (36, 8), (39, 8), (8, 16), (8, 0), (0, 8), (40, 4), (40, 7), (-32, 8), (8, -16)],
    ids=str,
)
def test_entries_that_share_bytes(check_refused, strides: tuple[int, int]) -> None:
    """Rows that begin before the one above ends, or columns nearer than an entry is wide; one stride less than is fine."""
    memory = noise((400,))
    out = np.lib.stride_tricks.as_strided(memory[200:], (3, 5), strides)
    check_refused(ValueError, rf"^out: entries of the array {SHARE}", ozfp4.matmul, A, B, out=out)


@pytest.mark.parametrize("strides", [(40, 8), (8, 24), (-40, 8), (8, -24), (41, 8), (45, 9)], ids=str)
def test_entries_side_by_side_are_fine(strides: tuple[int, int]) -> None:
    out = np.lib.stride_tricks.as_strided(noise((400,))[200:], (3, 5), strides)
    ozfp4.matmul(A, B, out=out, accuracy="scaled")
    assert_same_bits(out, exact_matmul(A, B))


def test_memory_that_takes_too_long_to_compare_counts_as_shared(
    check_refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether two arrays of many axes share memory is a hard problem: NumPy gives up at the effort that it is allowed."""

    def give_up(x: np.ndarray, y: np.ndarray, max_work: int) -> bool:
        raise getattr(np, "exceptions", np).TooHardError("Exceeded max_work")

    monkeypatch.setattr(np, "shares_memory", give_up)
    pattern, wide = r"^out: the array shares memory with a$", noise((3, 9))
    wide[:, :4] = A  # outside `out`, but within the bytes that it spans
    check_refused(ValueError, pattern, ozfp4.matmul, wide[:, :4], B, out=wide[:, 4:])


def test_neighbours_of_an_operand_are_fine() -> None:
    memory = np.random.default_rng(3).standard_normal(400)
    x, y = memory[:200:2].reshape(10, 10), memory[200:300].reshape(10, 10)
    expected = exact_matmul(x, y)
    before = x.tobytes(), y.tobytes()
    for out in (memory[1:201:2].reshape(10, 10), memory[300:].reshape(10, 10)):
        ozfp4.matmul(x, y, out=out, accuracy="scaled")
        assert_same_bits(out, expected)
        assert (x.tobytes(), y.tobytes()) == before
