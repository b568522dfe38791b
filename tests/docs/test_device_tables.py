"""The GPU tables of README.md and docs/ say what docs/data/h200.json says, and other data would change them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import device_tables  # noqa: E402

pytestmark = pytest.mark.slow

RESULTS = {
    "device": "NVIDIA H200", "driver": "1.2", "cuda": "13.0", "torch": "2.11", "date": "2026-01-01", "commit": "abc",
    "rows": [
        {"N": 1024, "method": "torch-cuda", "ms": 0.04, "TFLOPS": 51.26},
        {"N": 1024, "method": "cuda-II-int8-least", "ms": 0.08, "TFLOPS": 26.8, "products": 15, "scale ms": 0.01,
         "encode ms": 0.01, "multiply ms": 0.04, "reconstruct ms": 0.01, "multiply TOPS": 800},
        {"N": 2048, "method": "cuda-II-int8-least", "skipped": "out of memory"},
    ],
}  # fmt: skip


SCALING = {
    "machine": {name: RESULTS[name] for name in ("device", "driver", "cuda", "torch", "date", "commit")} | {"ranks": 2},
    "rows": [
        {"kind": "links", "N": 0, "ranks": 2, "a": "", "b": "", "method": "", "all-gather GB/s": 301.26, "all-to-all GB/s": 250.0,
         "start us": 20.0, "memory GB/s": 4000.0},
        {"kind": "one", "N": 8192, "ranks": 1, "a": "rows", "b": "replicated", "method": "auto", "ms": 12.0, "TFLOPS": 91.6},
        {"kind": "strong", "N": 8192, "ranks": 2, "a": "rows", "b": "columns", "method": "auto", "ms": 6.4, "bits equal": True,
         "TFLOPS": 171.8, "speed-up": 1.875, "efficiency": 0.9375, "received GB": 0.2684, "model ms": 6.2, "moving ms": 0.9,
         "hidden": 1.0, "percent": 3.23},
        {"kind": "strong", "N": 8192, "ranks": 2, "a": "columns", "b": "rows", "method": "reduce",
         "skipped": "Out of memory. Tried 66.43 GiB. GPU 0 has less."},
    ],
}  # fmt: skip


def test_scaling_is_taken_from_what_the_command_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, file in (
        ("ROOT", ""),
        ("DATA", "h200.json"),
        ("SCALING", "scaling.json"),
        ("FIGURES", "figures"),
    ):
        monkeypatch.setattr(device_tables, name, tmp_path / file)
    page = tmp_path / "page.md"
    monkeypatch.setattr(device_tables, "PAGES", (page,))
    (tmp_path / "h200.json").write_text(json.dumps(RESULTS))
    names = ("scaling-sentence", "scaling-links", "scaling-products")
    page.write_text("".join(f"<!-- {name} -->\n<!-- /{name} -->\n" for name in names))
    assert device_tables.main([]) == 0
    assert page.read_text().count("Not measured in the present data.") == 3
    (tmp_path / "out.json").write_text(json.dumps(SCALING))
    assert device_tables.main(["--take", str(tmp_path / "out.json")]) == 0
    text = page.read_text()
    skipped = "strong, A columns, B rows, reduce, N = 8192, 2 GPUs: Out of memory. Tried 66.43 GiB."
    assert [line for line in text.splitlines() if "Not measured" in line] == [f"Not measured: {skipped}"]
    assert "| 2 | 301.3 | 250.0 | 20.0 | 4000.0 |" in text
    line = "| strong | A rows, B columns | 8192 | 2 | 6.400 | 171.8 | 1.88 | 94 % | 0.27 | 6.200 | +3.2 % | 100 % |"
    assert line in text
    assert "2 × NVIDIA H200, N = 8192: **172 TFLOPS**, 1.88 times one (A rows, B columns)" in text
    assert "All bits are those of one GPU: yes." in text
    assert "Commit abc, 2026-01-01" in text
    assert json.loads((tmp_path / "scaling.json").read_text())["ranks"] == 2
    SCALING["rows"][2]["bits equal"] = False  # type: ignore[index]
    (tmp_path / "out.json").write_text(json.dumps(SCALING))
    assert device_tables.main(["--take", str(tmp_path / "out.json")]) == 0
    assert "All bits are those of one GPU: **no**." in page.read_text()
    changed = {"machine": SCALING["machine"] | {"commit": "abc-dirty"}}  # type: ignore[operator]
    (tmp_path / "out.json").write_text(json.dumps(SCALING | changed))
    assert device_tables.main(["--take", str(tmp_path / "out.json")]) == 2


@pytest.mark.skipif(not (ROOT / "docs" / "figures").is_dir(), reason="a source distribution holds no figures")
def test_pages_agree_with_the_data() -> None:
    assert device_tables.main(["--check"]) == 0


def test_a_changed_figure_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(device_tables, "ROOT", tmp_path)
    monkeypatch.setattr(device_tables, "DATA", tmp_path / "h200.json")
    monkeypatch.setattr(device_tables, "PAGES", (tmp_path / "README.md",))
    page, measured = tmp_path / "README.md", tmp_path / "bench.json"
    page.write_text("before\n<!-- gpu-table -->\n<!-- /gpu-table -->\nafter\n")
    measured.write_text(json.dumps(RESULTS))
    assert device_tables.main(["--take", str(measured)]) == 0
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "NVIDIA H200, driver 1.2, CUDA 13.0, torch 2.11, commit abc, 2026-01-01:" in text
    assert "| ozfp4 `int8` (15 products) | 26.8 |" in text
    assert "Not measured: ozfp4 `int8`, N = 2048: out of memory" in text
    assert device_tables.main(["--check"]) == 0
    page.write_text(text.replace("26.8", "28.6"))
    assert device_tables.main(["--check"]) == 1
    assert "README.md disagrees with h200.json" in capsys.readouterr().err
    assert page.read_text() != text  # --check writes nothing


@pytest.mark.parametrize(
    ("commit", "message"), [("abc-dirty", "changes that no commit has"), (None, "no commit")]
)
def test_what_nobody_can_repeat_is_not_published(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    commit: str | None,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(device_tables, "DATA", tmp_path / "h200.json")
    monkeypatch.setattr(device_tables, "PAGES", ())
    (tmp_path / "bench.json").write_text(json.dumps(RESULTS | {"commit": commit}))
    assert device_tables.main(["--take", str(tmp_path / "bench.json")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "h200.json").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "not JSON"), ("{}", "not a file of benchmarks/speed.py"), (None, "No such file")],
)
def test_bad_measurements(
    tmp_path: Path, content: str | None, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bench.json"
    if content is not None:
        path.write_text(content)
    assert device_tables.main(["--take", str(path)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_figures_of_a_tree_with_changes_are_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    import device_figures

    monkeypatch.setattr(device_tables, "ROOT", tmp_path)
    monkeypatch.setattr(device_tables, "DATA", tmp_path / "h200.json")
    monkeypatch.setattr(device_figures, "FOLDER", tmp_path)
    (tmp_path / "h200.json").write_text(json.dumps(RESULTS))
    (tmp_path / "accuracy.json").write_text(
        json.dumps({"machine": {"device": "X", "commit": "abc1234-dirty"}})
    )
    assert device_figures.main([]) == 2
    assert (
        "accuracy.json: measured with changes that no commit has (abc1234-dirty)" in capsys.readouterr().err
    )
    assert not list(tmp_path.glob("*.svg"))
