"""Products of operands on the host on a GPU, tile by tile: the bits of plain products, within the limit, in any memory."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import DEVICE, torch

import ozfp4
from ozfp4._streaming import copies
from ozfp4.testing import assert_same_bits

MIB = 2**20
LIMIT = 160 * MIB


def random(shape, dtype, seed):
    """Numbers of many exponents, with NaN and infinities; integers of all bits."""
    generator = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return generator.random(shape) < 0.01
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    x = generator.standard_normal(shape) * 2.0 ** generator.integers(-30, 30, (*shape[:-1], 1))
    if dtype.kind == "c":
        x = x + 1j * generator.standard_normal(shape)
    x = x.astype(dtype)
    x.flat[7], x.flat[-3] = np.inf, np.nan
    return x


def expected(a, b, **options):
    """The plain product on the same GPU, by the rules of promotion of NumPy."""
    found = ozfp4.matmul(torch.from_numpy(a).to(DEVICE), torch.from_numpy(b).to(DEVICE), **options)
    return tuple(x.cpu().numpy() for x in found) if isinstance(found, tuple) else found.cpu().numpy()


def check(found, wanted):
    if not isinstance(found, tuple):
        found, wanted = (found,), (wanted,)
    for x, y in zip(found, wanted, strict=True):
        assert_same_bits(x, y)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"accuracy": "correct", "rounding": "down"},
        {"accuracy": "scaled"},
        {"backend": "fp4"},
        {"scheme": "I"},
        {"return_bound": True},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "dtypes",
    [("f8", "f8"), ("f4", "f4"), ("f4", "f8"), ("c16", "c16"), ("f8", "c16"), ("c16", "f8"), ("c8", "c8")],
    ids="-".join,
)
def test_the_bits_are_those_of_one_product(dtypes, options):
    if options.get("scheme") == "I" and dtypes != ("f8", "f8"):
        pytest.skip("one is enough")
    a, b = random((2500, 700), dtypes[0], 1), random((700, 1900), dtypes[1], 2)
    check(ozfp4.matmul(a, b, device=DEVICE, workspace_limit=LIMIT, **options), expected(a, b, **options))


@pytest.mark.parametrize(
    "dtypes", [("i1", "i1"), ("i4", "i8"), ("u2", "u2"), ("u8", "u8"), ("?", "?")], ids="-".join
)
def test_integers(dtypes):
    a, b = random((2500, 700), dtypes[0], 1), random((700, 1900), dtypes[1], 2)
    assert_same_bits(ozfp4.matmul(a, b, device=DEVICE, workspace_limit=LIMIT), ozfp4.matmul(a, b))


def test_an_overflow_leaves_out_as_it_was():
    a = np.full((3000, 64), 2**20, np.int32)
    out = np.full((3000, 3000), 77, np.int32)
    with pytest.raises(OverflowError, match="int32"):
        ozfp4.matmul(a, a.T, out=out, device=DEVICE, overflow="raise")
    assert (out == 77).all()


@pytest.mark.parametrize("pins", ["neither", "operands", "out", "all"])
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
def test_pinned_and_pageable_memory_in_any_order(pins, turned, monkeypatch):
    monkeypatch.setattr(copies, "DIRECT_CHUNK", 2**19)
    a, b = (
        torch.from_numpy(random(shape[::-1] if is_turned else shape, "f8", seed))
        for shape, is_turned, seed in zip(((3000, 500), (500, 1000)), turned, (1, 2), strict=True)
    )
    out = torch.full((3000, 1000), float("nan"), dtype=torch.float64)
    if pins in ("operands", "all"):
        a, b = a.pin_memory(), b.pin_memory()
    if pins in ("out", "all"):
        out = out.pin_memory()
    a, b = (x.T if is_turned else x for x, is_turned in zip((a, b), turned, strict=True))
    assert ozfp4.matmul(a, b, out=out, device=DEVICE, workspace_limit=LIMIT) is out
    check(out.numpy(), expected(a.numpy(), b.numpy()))


@pytest.mark.parametrize(
    "shapes",
    [((40, 300, 200), (40, 200, 100)), ((40, 300, 200), (200, 100)), ((2, 1, 5, 900), (3, 900, 7))],
    ids=str,
)
def test_stacks(shapes):
    a, b = (random(shape, "f8", seed) for seed, shape in enumerate(shapes))
    check(ozfp4.matmul(a, b, device=DEVICE, workspace_limit=100 * MIB), expected(a, b))


@pytest.mark.parametrize(
    "dtypes",
    [("f8", "f8"), ("c16", "c16"), ("c16", "f8"), ("i2", "i2"), ("u4", "u4"), ("?", "?")],
    ids="-".join,
)
@pytest.mark.parametrize("limit", [128 * MIB, 400 * MIB])
@pytest.mark.parametrize("options", [{}, {"return_bound": True}], ids=str)
def test_no_more_memory_is_taken_than_the_limit(dtypes, limit, options):
    if options and dtypes[0] not in ("f8", "c16"):
        pytest.skip("integers have no bounds")
    a, b = random((6000, 1500), dtypes[0], 1), random((1500, 4000), dtypes[1], 2)
    ozfp4.matmul(a, b, device=DEVICE, workspace_limit=limit, **options)  # the kernels' self-test besides
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    held = torch.cuda.memory_reserved(DEVICE)
    torch.cuda.reset_peak_memory_stats(DEVICE)
    ozfp4.matmul(a, b, device=DEVICE, workspace_limit=limit, **options)
    assert torch.cuda.max_memory_reserved(DEVICE) - held <= limit


def test_operands_on_a_device_are_refused():
    a = torch.ones(3, 3, dtype=torch.float64, device=DEVICE)
    with pytest.raises(RuntimeError, match="a: it lies on cuda"):
        ozfp4.matmul(a, a, device=DEVICE)
    with pytest.raises(RuntimeError, match="out: it lies on cuda"):
        ozfp4.matmul(a.cpu(), a.cpu(), out=a, device=DEVICE)


def test_what_progress_raises_ends_the_product():
    a = random((4000, 700), "f8", 1)

    def stop(fraction):
        raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), ozfp4.progress(stop):
            ozfp4.matmul(a, a[:700], device=DEVICE, workspace_limit=LIMIT)
    check(ozfp4.matmul(a, a[:700], device=DEVICE, workspace_limit=LIMIT), expected(a, a[:700]))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_several_devices():
    a, b = random((5000, 900), "f8", 1), random((900, 1900), "f8", 2)
    names = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    check(ozfp4.matmul(a, b, device=names, workspace_limit=LIMIT), expected(a, b))
