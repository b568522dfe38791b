"""The pipeline's CUDA device by torch's CPU tensors: which bytes go where, with streams and events that do all at once."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._dispatch import on_cuda
from ozfp4._streaming import call, copies, devices
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")


class Stream:
    def wait_stream(self, other: Any) -> None:
        assert isinstance(other, Stream)

    def wait_event(self, event: Any) -> None:
        assert isinstance(event, Event)

    def synchronize(self) -> None:
        return


class Event:
    def __init__(self, blocking: bool = False) -> None:
        assert blocking  # who waits sleeps

    def record(self, stream: Any) -> None:
        assert isinstance(stream, Stream)

    def synchronize(self) -> None:
        return


@pytest.fixture
def pinned(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The addresses of host memory that is pinned."""
    found: set[int] = set()
    empty = torch.empty
    monkeypatch.setattr(torch, "empty", lambda *shape, pin_memory=False, **options: empty(*shape, **options))
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda x: x.data_ptr() in found)
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: Stream())
    streams = {kind: Stream() for kind in ("up", "product", "down")}
    monkeypatch.setattr(devices, "_streams_of", lambda index: streams)
    monkeypatch.setattr(on_cuda, "check_device", lambda device: None)
    monkeypatch.setattr(devices.Cuda, "check", lambda *_: None)
    monkeypatch.setattr(devices.Cuda, "slack", 0)
    monkeypatch.setattr(devices.Cuda, "least_workspace", 2**20)
    monkeypatch.setattr(call, "devices_of", lambda given: [devices.Cuda(torch.device("cpu"))])
    monkeypatch.setattr(copies, "CHUNK", 3_000)
    monkeypatch.setattr(copies, "DIRECT_CHUNK", 5_000)
    return found


@pytest.mark.parametrize("limit", [2**20 + 300_000, 2**23])
@pytest.mark.parametrize("pins", ["", "a", "ab", "c", "abc"])
@pytest.mark.parametrize(
    "dtypes",
    [("f8", "f8"), ("c16", "f8"), ("i4", "f8"), ("u2", "i2"), ("f4", "f4"), ("?", "?")],
    ids="-".join,
)
def test_bits(pinned: set[int], dtypes: tuple[str, str], pins: str, limit: int) -> None:
    random = np.random.default_rng(1)
    a, b = (
        (100 * random.standard_normal(shape)).astype("i2").astype(dtype)
        for shape, dtype in zip(((150, 70), (70, 190)), dtypes, strict=True)
    )
    wanted = ozfp4.matmul(a, b)
    out = np.full(wanted.shape, 1, wanted.dtype)
    pinned |= {x.ctypes.data for name, x in zip("abc", (a, b, out), strict=True) if name in pins}
    assert ozfp4.matmul(a, b, out=out, device="cuda", workspace_limit=limit) is out
    assert_same_bits(out, wanted)


@pytest.mark.parametrize(
    "options", [{}, {"return_bound": True}, {"accuracy": "correct", "rounding": "up"}], ids=str
)
def test_options(pinned: set[int], options: dict[str, Any]) -> None:
    random = np.random.default_rng(1)
    a, b = random.standard_normal((5, 80, 30)), random.standard_normal((5, 30, 90)) * 1j
    found, wanted = (
        ozfp4.matmul(a, b, **options, **more)
        for more in ({"device": "cuda", "workspace_limit": 2**20 + 200_000}, {})
    )
    for x, y in zip(found, wanted, strict=True) if isinstance(found, tuple) else [(found, wanted)]:
        assert_same_bits(x, y)


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_in_inference_mode(pinned: set[int], library: str) -> None:
    a, b = np.random.default_rng(3).standard_normal((2, 40, 40))
    expected = ozfp4.matmul(a, b)
    x, y = (a, b) if library == "numpy" else (torch.from_numpy(a), torch.from_numpy(b))
    with torch.inference_mode():
        found = ozfp4.matmul(x, y, device="cuda", workspace_limit=2**23)
    assert_same_bits(np.asarray(found), expected)


def test_entries_of_a_structured_array(pinned: set[int]) -> None:
    """Strides that are no multiple of an entry, of which torch has no view."""
    records = np.zeros((50, 30), [("p", "f8"), ("q", "f4")])
    records["p"] = np.random.default_rng(4).standard_normal((50, 30))
    b = np.random.default_rng(5).standard_normal((30, 20))
    found = ozfp4.matmul(records["p"], b, device="cuda", workspace_limit=2**23)
    assert_same_bits(found, ozfp4.matmul(records["p"].copy(), b))
