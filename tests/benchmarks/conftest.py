"""Programs of benchmarks run in the tests' process, plainly and without rests."""

from __future__ import annotations

import pytest

from common import turns


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test looks at how long a product takes, so that none waits until other threads sleep."""
    monkeypatch.setattr(turns, "REST", 0.0)
