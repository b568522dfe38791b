"""Arrays of other libraries on a GPU: the bits of the CPU, in kind, in the order of streams."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4.testing import assert_same_bits


class Own:
    """An array on the GPU of a library that has nothing but DLPack."""

    def __init__(self, entries):
        self.entries = entries

    def __dlpack_device__(self):
        return self.entries.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.entries.__dlpack__(**options)

    @property
    def dtype(self):
        return self.entries.dtype


Own.__module__ = "own"


@pytest.fixture(autouse=True)
def own(monkeypatch):
    """Counts what its from_dlpack takes."""
    module = ModuleType("own")
    module.taken = 0

    def from_dlpack(x):
        module.taken += 1
        return Own(torch.from_dlpack(x))

    module.from_dlpack = from_dlpack
    monkeypatch.setitem(sys.modules, "own", module)
    return module


def normal(*shape):
    return np.random.default_rng(7).standard_normal(shape)


def on_gpu(x):
    return Own(on_device(x))


PRODUCTS = [
    (ozfp4.matmul, (normal(70, 50), normal(50, 30))),
    (ozfp4.matmul, (normal(3, 1, 40, 50), normal(2, 50, 9))),
    (ozfp4.matmul, (normal(0, 5), normal(5, 3))),
    (ozfp4.matmul, (normal(9), normal(9))),
    (lambda a, b: ozfp4.matmul(a, b, return_bound=True), (normal(20, 30), normal(30, 4))),
    (
        lambda a, b, c: ozfp4.gemm(-2, a, b, 3, c, trans_a="T"),
        (normal(40, 30), normal(40, 20), normal(30, 20)),
    ),
    (ozfp4.gram, (normal(90, 40),)),
    (ozfp4.enclose, (normal(30, 40), normal(40, 20))),
    (lambda *x: ozfp4.einsum("ij,jk,kl->li", *x), (normal(30, 40), normal(40, 20), normal(20, 30))),
    (lambda a, b: ozfp4.tensordot(a, b, axes=([1, 2], [1, 0])), (normal(5, 6, 7), normal(7, 6))),
    (lambda a, b: ozfp4.matmul_mod(a, b, 97), (np.arange(12).reshape(3, 4), np.arange(8).reshape(4, 2))),
    (ozfp4.int8_matmul, (np.ones((9, 8), np.int8), np.ones((8, 5), np.int8))),
    (lambda a, b: ozfp4.matmul(a, ozfp4.prepare(b, "right")), (normal(70, 50), normal(50, 30))),
]


@pytest.mark.parametrize(("product", "operands"), PRODUCTS)
def test_the_same_bits_in_kind(product, operands):
    found, expected = product(*map(on_gpu, operands)), product(*operands)
    for x, y in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected)), strict=True):
        assert isinstance(x, Own)
        assert x.entries.device == DEVICE
        assert_same_bits(x.entries.cpu(), np.asarray(y))


def test_out_is_written_and_its_library_told(own):
    a, b = normal(70, 50), normal(50, 30)
    out = Own(noisy((70, 30)))
    assert ozfp4.matmul(on_gpu(a), on_gpu(b), out=out) is out
    assert own.taken == 1
    assert_same_bits(out.entries.cpu(), ozfp4.matmul(a, b))


def test_a_prepared_operand_is_no_view():
    a, b = (
        normal(70, 50),
        normal(50, 30) * 2.0 ** np.arange(0, -600, -12)[:, None],
    )  # some entries are repaired from those of b
    x = on_gpu(b)
    w = ozfp4.prepare(x, "right", accuracy="correct")
    x.entries.fill_(float("nan"))
    assert_same_bits(ozfp4.matmul(on_gpu(a), w).entries.cpu(), ozfp4.matmul(a, b, accuracy="correct"))


def test_a_prepared_operand_of_another_library_is_refused_though_the_product_was_made():
    a, b = normal(70, 50), normal(50, 30)
    w = ozfp4.prepare(on_gpu(b), "right")
    for _ in range(2):
        ozfp4.matmul(on_gpu(a), w)
    with pytest.raises(
        TypeError, match=r"^arrays of two libraries cannot be mixed: a is of torch, b is of own$"
    ):
        ozfp4.matmul(on_device(a), w)


def test_on_a_stream_of_its_own():
    a, b = normal(700, 500), normal(500, 300)
    stream = torch.cuda.Stream(DEVICE)
    with torch.cuda.stream(stream):
        x, y = on_gpu(a / 2), on_gpu(b)
        torch.cuda._sleep(50_000_000)  # what the operands come from is still to run
        x.entries.mul_(2)
        c = ozfp4.matmul(x, y)
        doubled = c.entries + c.entries
    stream.synchronize()
    assert_same_bits(doubled.cpu(), 2 * ozfp4.matmul(a, b))


def test_two_devices():
    with pytest.raises(RuntimeError, match=r"^b: device .* differs from .*, where a lies$"):
        ozfp4.matmul(on_gpu(normal(3, 4)), Own(torch.from_numpy(normal(4, 2))))


def test_cupy():
    cupy = pytest.importorskip("cupy")
    a, b = normal(70, 50), normal(50, 30)
    with cupy.cuda.Stream(non_blocking=True):
        c = ozfp4.matmul(cupy.asarray(a), cupy.asarray(b))
        assert isinstance(c, cupy.ndarray)
        out = cupy.full((70, 30), cupy.nan)
        assert ozfp4.matmul(cupy.asarray(a), cupy.asarray(b), out=out) is out
        for found in (c, out):
            assert_same_bits(cupy.asnumpy(found), ozfp4.matmul(a, b))
