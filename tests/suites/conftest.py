"""Markers that NumPy's own tests carry."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    for name in ("leaks_references", "thread_unsafe", "valgrind_error"):
        config.addinivalue_line("markers", f"{name}: of NumPy's own tests")
