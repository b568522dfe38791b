"""Progress on stderr, tables on stdout, sizes on the command line."""

from __future__ import annotations

import io
import sys
import time

import pytest

from ozfp4._cli import display


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def work(monkeypatch: pytest.MonkeyPatch, stderr: io.StringIO, *, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(display, "PATIENCE", patience)
    monkeypatch.setattr(display, "INTERVAL", 0.01)
    with display.Progress("multiplying") as bar:
        bar.report(0.25)
        end = time.monotonic() + 10
        while patience == 0 and "25%" not in stderr.getvalue().replace(" ", "") and time.monotonic() < end:
            time.sleep(0.01)
    return stderr.getvalue()


def test_plain_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    text = work(monkeypatch, Terminal(), patience=0)
    first, *_, blanks, end = text.split("\r")
    assert first == ""
    assert "\rmultiplying  25 % " in text
    assert blanks.strip() == end == ""  # wiped


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert work(monkeypatch, Terminal(), patience=60) == ""


def test_no_terminal_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert work(monkeypatch, io.StringIO(), patience=0.0001) == ""


def test_progress_ends_with_the_work_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(display, "PATIENCE", 0)
    bar = display.Progress("x")

    def interrupted() -> None:
        with bar:
            time.sleep(0.05)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert terminal.getvalue().endswith("\r")
    assert bar._thread is not None
    assert not bar._thread.is_alive()


ROWS = [["a", "1", "20.5"], ["long name", "100", "3"]]


def test_plain_table(capsys: pytest.CaptureFixture[str]) -> None:
    display.show("Title", ["name", "n", "ms"], ROWS)
    assert capsys.readouterr().out.splitlines() == [
        "",
        "Title",
        "--------------------",
        "name         n    ms",
        "--------------------",
        "a            1  20.5",
        "long name  100     3",
        "--------------------",
    ]
