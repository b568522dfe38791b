"""ozfp4.testing.forced reaches the core of GPUs, and leaves the choices as they were; OZFP4_DEBUG is read or refused."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from ozfp4._backends.cuda import extension
from ozfp4._dispatch import on_cuda
from ozfp4._request import library
from ozfp4._support import environment
from ozfp4.testing import forced

NOTHING = (None,) * 5  # kernel, tile, splits, overlap, a way without planes


class Core:
    """A core that keeps the choices forced on it."""

    kernels = ("wgmma s8", "warp s8")

    def __init__(self) -> None:
        self.forced: tuple[Any, ...] = NOTHING

    def force(self, *choices: Any) -> None:
        self.forced = choices


@pytest.fixture(autouse=True)
def core(monkeypatch: pytest.MonkeyPatch) -> Core:
    made = Core()
    monkeypatch.setattr(extension, "extension", lambda: made)
    return made


def test_what_is_forced_replaces_a_choice(core: Core) -> None:
    with forced(kernel="warp s8"):
        assert core.forced == (1, None, None, None, None)
        with forced(tile="64x64", splits=3, overlap=False):
            assert core.forced == (None, "64x64", 3, False, None)
        for way, name in (("direct", "always"), ("thin", "thin"), ("tiles", "tiles")):
            with forced(**{way: True}):
                assert core.forced == (None, None, None, None, name)
            with forced(**{way: False}):
                assert core.forced == (None, None, None, None, "never")
        assert core.forced == (1, None, None, None, None)
    assert core.forced == NOTHING
    with pytest.raises(KeyError), forced(splits=2):
        raise KeyError
    assert core.forced == NOTHING


@pytest.mark.parametrize(
    ("choice", "error", "message"),
    [
        ({"kernel": "none such"}, ValueError, "^kernel: 'none such' is none of wgmma s8, warp s8$"),
        ({"splits": 0}, ValueError, r"^splits: 0 is outside 1\.\."),
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
def test_refusals(core: Core, choice: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message), forced(**choice):
        pass
    assert core.forced == NOTHING


def test_words_of_debug() -> None:
    assert not environment.is_sync(None)
    assert not environment.is_sync("")
    assert environment.is_sync("sync")
    assert environment.is_sync(" sync,")
    with pytest.raises(ValueError, match=r"^OZFP4_DEBUG: 'synch' is unknown; allowed is 'sync'$"):
        environment.is_sync("sync,synch")


@pytest.mark.parametrize("waits", [False, True])
def test_debug_reaches_the_core(monkeypatch: pytest.MonkeyPatch, waits: bool) -> None:
    pytest.importorskip("torch")
    given: dict[str, Any] = {}
    core = SimpleNamespace(connect=lambda **about: given.update(about))
    monkeypatch.setattr(extension, "require_cuda", lambda: core)
    monkeypatch.setattr(library, "unwatched", lambda: None)
    monkeypatch.setattr(environment, "SYNC_STAGES", waits)
    assert on_cuda.connected.__wrapped__() is core
    assert given["waits_for_stages"] is waits


@pytest.mark.parametrize(("value", "expected"), [("sync", True), ("", False)])
def test_the_environment_asks_for_it(value: str, expected: bool) -> None:
    program = "from ozfp4._support import environment; print(environment.SYNC_STAGES)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "OZFP4_DEBUG": value}, capture_output=True, text=True, timeout=60
    )  # fmt: skip
    assert done.stdout.strip() == str(expected)
