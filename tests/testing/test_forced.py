"""ozfp4.testing.forced reaches the problem, and leaves the choices as they were; OZFP4_DEBUG is read or refused."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import ozfp4
from ozfp4.backends.cuda import extension, variant
from ozfp4.backends.cuda.variant import Variant
from ozfp4.dispatch import on_cuda
from ozfp4.support import debug
from ozfp4.testing import forced
from ozfp4.trust import guard

PLAN = ozfp4.plan(1, 1, 1, backend="int8", accuracy="scaled")


@pytest.fixture(autouse=True)
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "extension", lambda: SimpleNamespace(kernels=("wgmma s8", "warp s8")))
    monkeypatch.setattr(guard, "serving_kernel", lambda plan, index: 0)


def test_what_is_forced_replaces_a_choice() -> None:
    assert on_cuda.serving_variant(PLAN, 0) == Variant(0)
    with forced(kernel="warp s8"):
        assert on_cuda.serving_variant(PLAN, 0) == Variant(1)
        with forced(tile="64x64", splits=3, overlap=False):
            assert on_cuda.serving_variant(PLAN, 0) == Variant(0, "64x64", 3, False)
        with forced(thin=True):
            assert on_cuda.serving_variant(PLAN, 0) == Variant(0, direct="thin")
        with forced(tiles=True):
            assert on_cuda.serving_variant(PLAN, 0) == Variant(0, direct="tiles")
        with forced(thin=False):
            assert on_cuda.serving_variant(PLAN, 0) == Variant(0)
        assert on_cuda.serving_variant(PLAN, 0) == Variant(1)
    assert variant.forced is variant.NOTHING
    with pytest.raises(KeyError), forced(splits=2):
        raise KeyError
    assert variant.forced is variant.NOTHING


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ({"kernel": "none such"}, ValueError, "^kernel: 'none such' is none of wgmma s8, warp s8$"),
        ({"splits": 0}, ValueError, "^splits: 0 is below 1$"),
        ({"splits": True}, TypeError, "^splits: True is not an integer$"),
        ({"tile": 128}, TypeError, "^tile: 128 is not a string$"),
        ({"overlap": 1}, TypeError, "^overlap: 1 is not a bool$"),
        ({"thin": 1}, TypeError, "^thin: 1 is not a bool$"),
        ({"tiles": 0}, TypeError, "^tiles: 0 is not a bool$"),
        (
            {"tiles": True, "thin": True},
            ValueError,
            "^tiles: True and thin=True are two ways to make a product$",
        ),
        (
            {"thin": True, "splits": 2},
            ValueError,
            "^thin: True leaves no stage that tile or splits could be of$",
        ),
        (
            {"thin": True, "direct": True},
            ValueError,
            "^thin: True and direct=True are two ways to make a product$",
        ),
    ],
)
def test_refusals(choice: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message), forced(**choice):
        pass
    assert variant.forced is variant.NOTHING


def test_words_of_debug() -> None:
    assert debug.read(None) == debug.read("") == frozenset()
    assert debug.read("sync") == debug.read(" sync,") == {"sync"}
    with pytest.raises(ValueError, match=r"^OZFP4_DEBUG: 'synch' is unknown; allowed is 'sync'$"):
        debug.read("sync,synch")


@pytest.mark.parametrize(("value", "expected"), [("sync", "{'sync_stages': True}"), ("", "{}")])
def test_debug_reaches_every_launch(value: str, expected: str) -> None:
    program = "from ozfp4.backends.cuda import launch; print(launch._DEBUG)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "OZFP4_DEBUG": value}, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert done.stdout.strip() == expected


def test_an_unknown_word_is_an_error_at_once() -> None:
    environment = {**os.environ, "OZFP4_DEBUG": "async"}
    done = subprocess.run(
        [sys.executable, "-c", "import ozfp4"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode != 0
    assert "ValueError: OZFP4_DEBUG: 'async' is unknown; allowed is 'sync'" in done.stderr
