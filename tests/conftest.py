"""Profile and markers of the whole suite."""

from __future__ import annotations

import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ozfp4",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ozfp4")


# Verdicts of self-tests are kept there, in child processes too, and never in the user's folder.
_CACHE = tempfile.TemporaryDirectory(prefix="ozfp4-tests-")
os.environ["OZFP4_CACHE_DIR"] = _CACHE.name


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes seconds; deselect with -m 'not slow'")
    config.addinivalue_line("markers", "search: repeats a search for plans; select with -m search")
    config.addinivalue_line("markers", "huge: takes minutes and most of a GPU's memory; select with -m huge")
