"""The folder of verdicts: what was written comes back, and nothing that happens to it raises or is believed."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ozfp4._support import disk_cache

KEY = {"device": "cpu", "build": "1"}
VALUE = {"passed": True, "cases": 3}


def refuse(*_: object, **__: object) -> None:
    raise PermissionError(13, "Permission denied")


def test_round_trip(cache: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ozfp4")
    assert disk_cache.load(KEY) is None
    assert disk_cache.store(KEY, VALUE)
    assert disk_cache.load(KEY) == VALUE
    assert disk_cache.load({**KEY, "build": "2"}) is None
    assert disk_cache.store(KEY, {"passed": False})
    assert disk_cache.load(KEY) == {"passed": False}
    assert len(list(cache.iterdir())) == 1  # nothing is left beside it
    assert caplog.text == ""


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"null", b"[]", b"3", b'"key"', b"\x00\xff\xfe", b'{"key": 1, "value": {}}', b'{"value": {}}',
        b'{"key": {"device": "cpu", "build": "1"}, "value": 7}', b"[" * 100_000,
        b'{"key": {"device": "cpu", "build": "2"}, "value": {"passed": true}}',
    ],
    ids=range(12),
)  # fmt: skip
def test_a_damaged_file_is_no_verdict(cache: Path, content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "ozfp4")
    assert disk_cache.store(KEY, VALUE)
    file = disk_cache.file_of(KEY)
    assert file is not None
    file.write_bytes(content)
    assert disk_cache.load(KEY) is None
    assert [record.getMessage().split(": ")[0] for record in caplog.records] == [f"{file} is not taken"]
    assert disk_cache.store(KEY, VALUE)
    assert disk_cache.load(KEY) == VALUE


def test_a_file_or_a_folder_in_the_way(cache: Path) -> None:
    cache.write_text("no folder")
    assert not disk_cache.store(KEY, VALUE)
    assert disk_cache.load(KEY) is None
    cache.unlink()
    file = disk_cache.file_of(KEY)
    assert file is not None
    file.mkdir(parents=True)
    assert not disk_cache.store(KEY, VALUE)
    assert disk_cache.load(KEY) is None
    assert [path.name for path in cache.iterdir()] == [file.name]


@pytest.mark.parametrize(
    "place", [(os, "replace"), (Path, "write_text"), (Path, "mkdir")], ids=["move", "write", "make"]
)
def test_a_folder_that_cannot_be_written(
    cache: Path, monkeypatch: pytest.MonkeyPatch, place: tuple[object, str]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(*place, refuse)
        assert not disk_cache.store(KEY, VALUE)
    assert not cache.exists() or list(cache.iterdir()) == []
    assert disk_cache.load(KEY) is None


def test_a_file_that_cannot_be_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert disk_cache.store(KEY, VALUE)
    monkeypatch.setattr(Path, "read_text", refuse)
    assert disk_cache.load(KEY) is None


def test_where_the_folder_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OZFP4_CACHE_DIR", str(tmp_path))
    assert disk_cache.cache_folder() == tmp_path
    monkeypatch.delenv("OZFP4_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert disk_cache.cache_folder() == tmp_path / "xdg" / "ozfp4"
    monkeypatch.delenv("XDG_CACHE_HOME")

    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(Path, "home", homeless)
    assert disk_cache.cache_folder() is None
    assert disk_cache.load(KEY) is None
    assert not disk_cache.store(KEY, VALUE)


def test_the_file_is_plain_json(cache: Path) -> None:
    disk_cache.store(KEY, VALUE)
    file = disk_cache.file_of(KEY)
    assert file is not None
    assert json.loads(file.read_text(encoding="utf-8")) == {"key": KEY, "value": VALUE}
