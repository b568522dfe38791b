"""gram on a GPU: the bits of the CPU's matmul(a.T, a). Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4._dispatch import product
from ozfp4.testing import assert_same_bits
from support import operands


@pytest.fixture(autouse=True)
def narrow_blocks(monkeypatch):
    monkeypatch.setattr(product, "GRAM_COLUMNS", 64)


def expected(a, left, **options):
    other = a.swapaxes(-1, -2)
    return ozfp4.matmul(a, other, **options) if left else ozfp4.matmul(other, a, **options)


@pytest.mark.parametrize("backend", ["int8", "fp4"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
@pytest.mark.parametrize("kind", ["normal", "phi32", "whole-range", "subnormal", "specials", "zero-lines"])
def test_equals_cpu(kind, accuracy, dtype, backend):
    for left in (False, True):
        for m, k in ((201, 70), (1000, 129), (130, 1), (1, 9)):
            a = operands(kind, m, k, 1, dtype=dtype)[0]
            a = a if left else np.ascontiguousarray(a.T)
            out = noisy((m, m), on_device(a[:1]).dtype)
            assert ozfp4.gram(on_device(a), left=left, accuracy=accuracy, backend=backend, out=out) is out
            assert_same_bits(out.cpu(), expected(a, left, accuracy=accuracy), f"{kind} {left} {m} x {k}")


@pytest.mark.parametrize("left", [False, True])
def test_stacks_views_and_reports(left):
    a = np.random.default_rng(3).standard_normal((2, 3, 150, 140))
    a[1, 2, 99, 0] = np.inf
    tensor = on_device(a)
    for view, array in (
        (tensor, a),
        (tensor.mT, a.swapaxes(-1, -2)),
        (tensor[0, 0, ::2], a[0, 0, ::2]),
        (tensor[:0], a[:0]),
        (tensor[..., :0], a[..., :0]),
        (tensor[:, :, :0], a[:, :, :0]),
    ):
        c, report = ozfp4.gram(view, left=left, report=True)
        assert_same_bits(c.cpu(), expected(array, left))
        assert str(report)


@pytest.mark.parametrize("dtype", [np.complex128, np.complex64], ids=["complex128", "complex64"])
@pytest.mark.parametrize("left", [False, True])
def test_complex(left, dtype):
    rng = np.random.default_rng(8)
    a = (rng.standard_normal((150, 140)) + 1j * rng.standard_normal((150, 140))).astype(dtype)
    a[100, 90] = complex(1.0, np.inf)
    tensor = on_device(a)
    for view, array in ((tensor, a), (tensor.conj(), a.conj()), (tensor.mT, a.T)):
        for accuracy in ("scaled", "standard", "correct"):
            adjoint = array.conj().T
            want = (
                ozfp4.matmul(array, adjoint, accuracy=accuracy)
                if left
                else ozfp4.matmul(adjoint, array, accuracy=accuracy)
            )
            c = ozfp4.gram(view, left=left, accuracy=accuracy)
            assert_same_bits(c.real.cpu(), np.ascontiguousarray(want.real))
            assert_same_bits(c.imag.cpu() + 0.0, np.ascontiguousarray(want.imag) + 0.0)


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.complex128], ids=["float64", "float32", "complex128"]
)
@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
@pytest.mark.parametrize("left", [False, True])
def test_bounds_and_reports_are_those_of_the_cpu(left, accuracy, dtype):
    rng = np.random.default_rng(4)
    a = rng.standard_normal((2, 150, 140)).astype(dtype)
    if dtype == np.complex128:
        a.imag = rng.standard_normal(a.shape)
    a[1, 3] = 0
    for array in (a, a[0], a[:, ::2, ::-1], a[..., :0], a[:, :0]):
        options = {"left": left, "accuracy": accuracy, "return_bound": True, "report": True}
        wanted, wanted_bound, of_cpu = ozfp4.gram(array, **options)
        c, bound, about = ozfp4.gram(on_device(array), **options)
        assert_same_bits(c.cpu(), wanted)
        assert_same_bits(bound.cpu(), wanted_bound)
        assert (about.kind, about.special_rows) == (of_cpu.kind, about.special_columns)
        assert about.largest_bound == of_cpu.largest_bound
        if about.certified is not None:
            assert about.certified.total == of_cpu.certified.total


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_out_whose_entries_lie_apart(dtype):
    a = torch.randn(3, 150, 40, dtype=dtype, device=DEVICE)
    wanted = ozfp4.gram(a, left=True)
    for out in (
        noisy((3, 300, 450), dtype)[:, ::2, ::3],
        noisy((3, 150, 150), dtype).mT,
        noisy((150, 3, 150), dtype).transpose(0, 1),
    ):
        assert ozfp4.gram(a, left=True, out=out) is out
        assert_same_bits(out.contiguous().cpu(), wanted.cpu())


def test_several_blocks_in_a_graph():
    a = torch.randn(200, 70, dtype=torch.float64, device=DEVICE)
    wanted = ozfp4.gram(a, left=True)
    out, graph = noisy((200, 200), torch.float64), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ozfp4.gram(a, left=True, out=out)
    graph.replay()
    assert_same_bits(out.cpu(), wanted.cpu())


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128, torch.int32])
def test_blocks_that_are_chosen(monkeypatch, dtype):
    """From 6144 rows on."""
    monkeypatch.setattr(product, "GRAM_COLUMNS", 0)
    a = (100 * torch.randn(6200, 33, dtype=torch.float64, device=DEVICE)).to(dtype)
    a = a + 1j * a.flip(0) if dtype == torch.complex128 else a
    c, wanted = ozfp4.gram(a, left=True), ozfp4.matmul(a, a.mH)
    if dtype == torch.complex128:
        upper = torch.triu(torch.ones(6200, 6200, dtype=torch.bool, device=DEVICE), 1)
        assert bool((c.real == c.real.mT).all())
        assert bool((c[upper] == wanted[upper]).all())
    else:
        assert bool((c == wanted).all())


def test_refusals_leave_out_as_it_was():
    a = torch.randn(130, 20, dtype=torch.float64, device=DEVICE)
    out = torch.full((130, 130), 7.0, dtype=torch.float64, device=DEVICE)
    for error, options in ((MemoryError, {"workspace_limit": 10}), (ValueError, {"rounding": "up"})):
        with pytest.raises(error):
            ozfp4.gram(a, left=True, out=out, **options)
    with pytest.raises(ValueError, match=r"^rounding: 'up' gives no Hermitian result"):
        ozfp4.gram(a + 1j, accuracy="correct", rounding="up")
    assert bool((out == 7.0).all())


@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
@pytest.mark.parametrize("share", [0.5, 1.02, 1.3])
def test_a_device_without_room_for_all_planes(monkeypatch, share, accuracy):
    """Nor for the workspace of a block beside them: gram cuts into blocks, as matmul does, and the bits are the same."""
    monkeypatch.setattr(product, "GRAM_COLUMNS", 1024)
    a = torch.randn(4000, 4000, dtype=torch.float64, device=DEVICE)
    options = {"accuracy": accuracy, "backend": "int8"}
    expected = ozfp4.matmul(a.mT, a, **options)
    planes = ozfp4.prepare(a, "right", **options).nbytes
    out = noisy(expected.shape, torch.float64)
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    room = torch.cuda.memory_allocated(DEVICE) + int(share * planes)
    share_of_device = room / torch.cuda.get_device_properties(DEVICE).total_memory
    for multiply in (
        lambda: ozfp4.matmul(a.mT, a, out=out, **options),
        lambda: ozfp4.gram(a, out=out, **options),
    ):
        out.fill_(float("nan"))
        torch.cuda.set_per_process_memory_fraction(share_of_device)
        try:
            multiply()
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        assert bool((out.view(torch.int64) == expected.view(torch.int64)).all())
