"""out=: written whole and nowhere else, in every layout; returned as it is."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, bits_of, exact_matmul
from support import LEAST, Path, chosen, noise, operands
from support.devices import Device
from support.dtypes import both_types

M, K, N = 18, 33, 21
LAYOUTS = {
    "contiguous": lambda big: big[:M, :N].copy(),
    "in-larger": lambda big: big[3 : 3 + M, 5 : 5 + N],
    "fortran": lambda big: big.T[:M, :N],
    "steps": lambda big: big[: 2 * M : 2, : 3 * N : 3],
    "backwards": lambda big: big[M - 1 :: -1, N - 1 :: -1],
    "reversed-rows": lambda big: big[M - 1 :: -1, :N],
    "transposed-steps": lambda big: big.T[2 : 2 + 2 * M : 2, N:0:-1],
}


def packed(big: np.ndarray) -> np.ndarray:
    """A field one byte off any alignment."""
    records = noise((M, N), np.dtype([("pad", np.uint8), ("value", big.dtype)]))
    return records["value"]


@pytest.mark.parametrize("path", LEAST, ids=str)
@pytest.mark.parametrize("layout", [*LAYOUTS, "unaligned"])
@both_types
def test_every_layout(layout: str, dtype: type, path: Path, device: Device) -> None:
    a, b = operands("row-exponents", M, K, N, dtype=dtype)
    big = noise((80, 80), dtype)
    out = packed(big) if layout == "unaligned" else LAYOUTS[layout](big)
    assert out.shape == (M, N)
    if not device.has(path.backend) or not device.takes(out):
        return
    c = device(chosen.matmul, a, b, out=out, **path._asdict(), accuracy="scaled")
    assert c is out
    assert_same_bits(out, exact_matmul(a, b), layout)
    if layout != "unaligned" and np.shares_memory(out, big):
        out[...] = noise((M, N), dtype)
        assert_same_bits(big.view(np.uint8), noise((80, 80), dtype).view(np.uint8), "beside out")


def test_bytes_between_unaligned_entries_stay() -> None:
    a, b = operands("normal", M, K, N)
    records = noise((M, N), np.dtype([("pad", np.uint8), ("value", np.float64)]))
    ozfp4.matmul(a, b, out=records["value"], accuracy="scaled")
    assert (records["pad"] == 0xAB).all()
    assert_same_bits(records["value"], exact_matmul(a, b))


def test_guards_around_a_vector_result(device: Device) -> None:
    a, b = operands("normal", 7, 9, 1)
    memory = noise((11,))
    device.matmul(a, b[:, 0], out=memory[2:9], accuracy="scaled")
    assert_same_bits(memory[2:9], exact_matmul(a, b[:, 0]))
    assert (bits_of(memory[[0, 1, 9, 10]]) == 0xABABABABABABABAB).all()


def test_a_0_d_out() -> None:
    out = noise(())
    assert ozfp4.matmul([1.5, 2.0], [4.0, 0.5], out=out, accuracy="scaled") is out
    assert out == 7.0


@pytest.mark.parametrize("path", LEAST, ids=str)
def test_a_stack_times_one_matrix_into_part_of_an_array(path: Path, device: Device) -> None:
    """Matrices that do not lie one behind the other are no single tall one."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((4, 3, 6)), rng.standard_normal((6, 5))
    expected = exact_matmul(a, b)
    for part in (np.s_[:, :3, :5], np.s_[:, 1:, :5], np.s_[::2, :3, 2:], np.s_[3::-1, :3, :5]):
        big = noise((8, 4, 7))
        out = big[part][:4]
        assert out.shape == expected.shape
        if not device.has(path.backend) or not device.takes(out):
            continue
        assert device(chosen.matmul, a, b, out=out, **path._asdict(), accuracy="scaled") is out
        assert_same_bits(out, expected, part)
        out[...] = noise(out.shape)
        assert_same_bits(big.view(np.uint8), noise((8, 4, 7)).view(np.uint8), "beside out")
