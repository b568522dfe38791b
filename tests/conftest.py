"""Profile and fixtures of the whole suite."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from device_names import CPU, CUDA, NUMPY, Name

settings.register_profile(
    "ozfp4", derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ozfp4")


# Verdicts of self-tests are kept there, in child processes too, and never in the user's folder.
_CACHE = tempfile.TemporaryDirectory(prefix="ozfp4-tests-")
os.environ["OZFP4_CACHE_DIR"] = _CACHE.name


# ---- Refusals: the exception's type, its message, and all that was passed in, byte for byte


def _arrays(arguments: Iterable[object]) -> list[np.ndarray]:
    return [x for x in arguments if isinstance(x, np.ndarray)]


def _check(error: type[Exception], pattern: str, function: Callable, *args: object, **names: object) -> None:
    arrays = _arrays(args) + _arrays(names.values())
    before = [x.tobytes() for x in arrays]
    with pytest.raises(error, match=pattern) as caught:
        function(*args, **names)
    assert caught.type is error
    assert "incompatible function arguments" not in str(caught.value)  # the binding's own words
    assert [x.tobytes() for x in arrays] == before


@pytest.fixture
def check_refused() -> Callable[..., None]:
    """check_refused(error, pattern, function, *arguments, **names)"""
    return _check


# ---- Devices


@pytest.fixture(scope="session", params=[NUMPY, CPU, CUDA])
def device(request: pytest.FixtureRequest) -> Any:
    """Arrays of NumPy, torch's tensors on the CPU, and on a GPU, where there are such: what a test multiplies by."""
    from support import devices

    if reason := devices.why_missing(request.param):
        pytest.skip(reason)
    return devices.Device(request.param)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where a device is missing, each test is skipped once, and not for all its parameters: thousands cost seconds."""
    from support import devices

    seen, kept, dropped = set(), [], []
    for item in items:
        params = item.callspec.params if hasattr(item, "callspec") else {}
        name = next((x for x in params.values() if isinstance(x, Name)), None)
        test = (item.location[0], getattr(item, "originalname", ""), name)
        is_missing = name is not None and devices.why_missing(name) is not None
        (dropped if is_missing and test in seen else kept).append(item)
        seen.add(test)
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = kept


# ---- Kernels


@pytest.fixture
def variables() -> Iterator[Callable[..., None]]:
    """variables(NAME=value) sets variables of the environment, or deletes those that are None, and has ozfp4 read them."""
    import ozfp4

    with pytest.MonkeyPatch.context() as patch:

        def change(**values: str | None) -> None:
            for name, value in values.items():
                if value is None:
                    patch.delenv(name, raising=False)
                else:
                    patch.setenv(name, value)
            ozfp4.read_environment()

        yield change
    ozfp4.read_environment()


@pytest.fixture
def no_int8_unit(variables: Callable[..., None]) -> None:
    """Planes of bytes are multiplied in FP32, whatever this CPU has, and "auto" takes fp64: here and in processes of the test."""
    variables(OZFP4_CPU_KERNEL="sgemm")


# ---- Verdicts


@pytest.fixture
def new_process() -> Iterator[Callable[[], None]]:
    """No verdicts and decisions in the process before and afterwards; the function clears them once more."""
    from ozfp4._trust import guard

    guard.forget()
    yield guard.forget
    guard.forget()


@pytest.fixture
def cache(tmp_path: Path, new_process: Callable[[], None]) -> Iterator[Path]:
    """An empty folder for the verdicts of kernels; the process has none yet."""
    folder = tmp_path / "cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OZFP4_CACHE_DIR", str(folder))
        new_process()
        yield folder
