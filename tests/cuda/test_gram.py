"""gram on a GPU: the bits of matmul(a.T, a). Skipped where torch, a GPU or its kernels are missing."""

from __future__ import annotations

import pytest
from first_gpu import DEVICE, noisy, torch

import ozfp4
from ozfp4._dispatch import product


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128, torch.int32])
def test_blocks_that_are_chosen(dtype):
    """From 6144 rows on."""
    a = (100 * torch.randn(6200, 33, dtype=torch.float64, device=DEVICE)).to(dtype)
    a = a + 1j * a.flip(0) if dtype == torch.complex128 else a
    c, wanted = ozfp4.gram(a, left=True), ozfp4.matmul(a, a.mH)
    if dtype == torch.complex128:
        upper = torch.triu(torch.ones(6200, 6200, dtype=torch.bool, device=DEVICE), 1)
        assert bool((c.real == c.real.mT).all())
        assert bool((c[upper] == wanted[upper]).all())
    else:
        assert bool((c == wanted).all())


@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
@pytest.mark.parametrize("share", [0.5, 1.02, 1.3])
def test_a_device_without_room_for_all_planes(monkeypatch, share, accuracy):
    """Without room for the planes and a block's workspace, gram cuts into blocks, as matmul does, with the same bits."""
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
