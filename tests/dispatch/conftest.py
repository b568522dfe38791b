from __future__ import annotations

import pytest

from ozfp4._dispatch import on_cuda
from support.integer_core import IntegerCore


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> IntegerCore:
    made = IntegerCore()
    monkeypatch.setattr(on_cuda, "ready", lambda device: made)
    return made
