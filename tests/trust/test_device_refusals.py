"""Devices that a product refuses before it uses them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ozfp4._backends.cuda import extension
from ozfp4._dispatch import on_cuda
from ozfp4._request import library


@pytest.mark.parametrize("capturing", [False, True])
def test_kernels_are_not_loaded_while_a_graph_is_captured(monkeypatch: Any, capturing: bool) -> None:
    marked: list[int] = []
    cuda = SimpleNamespace(
        is_current_stream_capturing=lambda: capturing, get_device_capability=lambda device: (9, 0)
    )
    torch = SimpleNamespace(cuda=cuda)
    device = SimpleNamespace(type="cuda", index=7)
    monkeypatch.setattr(library, "require_torch", lambda: torch)
    monkeypatch.setattr(extension, "why_unavailable", lambda device: None)
    monkeypatch.setattr(on_cuda, "_ready", set())
    monkeypatch.setattr(on_cuda, "connected", lambda: SimpleNamespace(mark_ready=marked.append))
    if not capturing:
        on_cuda.check_device(device)
        assert on_cuda._ready == {*marked} == {7}
        return
    with pytest.raises(RuntimeError, match="cannot capture; run one product before the capture"):
        on_cuda.check_device(device)
    assert on_cuda._ready == set()
