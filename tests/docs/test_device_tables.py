"""The GPU tables of README.md and docs/ say what docs/data/h200.json says, and other data would change them."""

from __future__ import annotations

import json
import re
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


MODES = {
    "device": "NVIDIA H200", "driver": "1.2", "cuda": "13.0", "torch": "2.11", "date": "2026-01-01", "commit": "abc",
    "rows": [
        {"N": 1024, "operands": "normal", "method": "native", "ms": 0.04, "TFLOPS": 51.26},
        {"N": 1024, "operands": "normal", "method": "scaled", "ms": 0.06, "TFLOPS": 34.0, "products": 15},
        {"N": 1024, "operands": "normal", "method": "standard", "ms": 0.07, "x scaled": 1.167, "products": 15, "repaired": 3},
        {"N": 1024, "operands": "normal", "method": "correct", "skipped": "out of memory"},
    ],
}  # fmt: skip


def test_what_the_modes_cost_is_taken_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_tables, "ROOT", tmp_path)
    monkeypatch.setattr(device_tables, "DATA", tmp_path / "h200.json")
    monkeypatch.setattr(device_tables, "MODES", tmp_path / "h200_modes.json")
    monkeypatch.setattr(device_tables, "PAGES", (tmp_path / "page.md",))
    (tmp_path / "h200.json").write_text(json.dumps(RESULTS))
    (tmp_path / "page.md").write_text("<!-- gpu-modes -->\n<!-- /gpu-modes -->\n")
    assert device_tables.main([]) == 0
    assert "Not measured" in (tmp_path / "page.md").read_text()
    (tmp_path / "modes.json").write_text(json.dumps(MODES))
    assert device_tables.main(["--take", str(tmp_path / "modes.json")]) == 0
    text = (tmp_path / "page.md").read_text()
    assert "| normal | 1024 | 0.040 | 0.060 | 0.070 | - | 1.167 | - | 15 | 15 | - | 3 | - |" in text
    assert json.loads((tmp_path / "h200_modes.json").read_text())["rows"] == MODES["rows"]


CUBLAS = {
    "device": "NVIDIA H200",
    "cuBLAS": "14.2",
    "rows": [{"N": 1024, "native": 44.4, "55 bits": 30.5, "dynamic": 12.5}],
}


def test_the_newest_cublas_stands_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_tables, "CUBLAS", tmp_path / "cublas.json")
    (tmp_path / "cublas.json").write_text(json.dumps(CUBLAS))
    assert "| cuBLAS 14.2 emulation, 55 bits (another card) | 30.5 | - |" in device_tables.whole_calls(
        RESULTS
    )
    assert "| cuBLAS 14.2 emulation, dynamic (another card) | 12.5 | 12.5 |" in device_tables.compute_stage(
        RESULTS
    )
    assert "14.2" not in device_tables.whole_calls(RESULTS | {"device": "NVIDIA H100"})


def test_the_comparison_has_the_same_figures_of_cublas() -> None:
    found = device_tables.read(device_tables.CUBLAS)
    text = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    for name in ("55 bits", "dynamic"):
        values = " | ".join(f"{row[name]:.1f}" for row in found["rows"])
        assert f"| cuBLAS {found['cuBLAS']}, {name}, eager | {values} |" in text


def test_speeds_of_cpus_have_one_place() -> None:
    """The sentence and the table come from one file; no other page repeats a figure of them."""
    sentence = device_tables.cpu_sentence(RESULTS)
    table = device_tables.cpu_table(RESULTS)
    for row in device_tables.read(device_tables.CPU)["rows"]:
        assert row["unit"] in sentence
        assert row["unit"] in table
    for name in ("docs/index.md", "docs/faq.md", "docs/limits.md", "docs/tutorials/numpy.md"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert "performance.md#measured-on-a-cpu" in text or name == "docs/index.md"
        assert not re.search(r"five to six|two to six|some six|0\.8 at 4096|2 to 2\.5", text)


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


def test_the_table_on_paper_is_what_the_model_says() -> None:
    from cluster import projections

    text = device_tables.scaling_paper(RESULTS)
    assert text.count("\n") == 1 + len(projections.rows())
    assert "| H200 | 512 | 512 × 1 | NVLink | 100 | " in text
    assert device_tables._rounded(317442) == "320 000"


@pytest.mark.skipif(not (ROOT / "docs" / "figures").is_dir(), reason="a source distribution holds no figures")
def test_pages_agree_with_the_data() -> None:
    assert device_tables.main(["--check"]) == 0


@pytest.mark.parametrize("path", device_tables.PAGES, ids=lambda path: path.name)
def test_every_page_has_a_table(path: Path) -> None:
    assert any(f"<!-- {name} -->" in path.read_text(encoding="utf-8") for name in device_tables.BLOCKS)


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


def test_compute_stage_beside_the_whole_call() -> None:
    text = device_tables.compute_stage(RESULTS)
    assert "| TFLOPS | 1024 compute | total |" in text
    assert "| native FP64 (cuBLAS DGEMM) | 51.3 | 51.3 |" in text
    assert f"| ozfp4 `int8` (15 products) | {2 * 1024**3 / 0.05 / 1e9:.1f} | 26.8 |" in text


def test_times_by_stage() -> None:
    text = device_tables.milliseconds(RESULTS)
    assert "| ozfp4 `int8` | 1024 | 15 | 0.010 | 0.010 | 0.040 | 0.010 | 800 |" in text
    without = RESULTS | {"rows": RESULTS["rows"][:1]}  # type: ignore[index]
    assert device_tables.milliseconds(without) == "No times by stage in the present data."


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


def test_model_beside_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_tables, "FIGURES", tmp_path)
    assert "No comparison" in device_tables.predicted(RESULTS)
    row = {"N": 4096, "method": "cuda-II-int8-least", "products": 15, "rate": 1.3e15, "model compute ms": 1.6,
           "compute ms": 1.648, "percent": 3.0}  # fmt: skip
    machine = {name: RESULTS[name] for name in ("device", "driver", "date")}
    model = {"machine": machine, "labels": {"cuda-II-int8-least": "ozfp4 II int8 (GPU)"}, "measured": [row]}
    (tmp_path / "model.json").write_text(json.dumps(model))
    assert "| ozfp4 II int8 (GPU) | 4096 | 15 | 1300 | 1.600 | 1.648 | +3.0 % |" in device_tables.predicted(
        RESULTS
    )


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


def test_a_caption_says_that_the_commit_is_unknown() -> None:
    from ozfp4._measure.machine import sentence

    assert sentence({"device": "X", "date": "2026-01-01"}) == "X, commit unknown, 2026-01-01"
    assert device_tables._machine({"device": "X", "date": "2026-01-01"}) == "X, commit unknown, 2026-01-01:"


def test_figures_of_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    import device_figures

    monkeypatch.setattr(device_tables, "ROOT", tmp_path)
    monkeypatch.setattr(device_tables, "DATA", tmp_path / "h200.json")
    monkeypatch.setattr(device_tables, "SCALING", tmp_path / "scaling.json")
    monkeypatch.setattr(device_figures, "FOLDER", tmp_path / "figures")
    (tmp_path / "h200.json").write_text(json.dumps(RESULTS))
    assert device_figures.main([]) == 0
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        f"{name}.{kind}" for name in ("speed", "stages") for kind in ("svg", "png")
    }
    (tmp_path / "scaling.json").write_text(json.dumps(SCALING))
    assert device_figures.main([]) == 0
    assert (tmp_path / "scaling.svg").exists()


def test_the_largest_size_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_tables, "CUBLAS", tmp_path / "cublas.json")
    monkeypatch.setattr(device_tables, "MODES", tmp_path / "modes.json")
    assert device_tables.sentence(RESULTS).startswith(
        '**26.8 TFLOPS** at N = 1024 on an NVIDIA H200 (`accuracy="scaled"`), where native FP64 has 51.3. Commit abc'
    )
    emulated = {"N": 1024, "method": "cublas-55", "ms": 0.1, "TFLOPS": 21.5}
    more = RESULTS | {"rows": [*RESULTS["rows"], emulated]}  # type: ignore[misc]
    older = "cuBLAS's emulation (55 bits) has 21.5 in the cuBLAS that torch 2.11 brings."
    assert older in device_tables.sentence(more)
    (tmp_path / "cublas.json").write_text(json.dumps(CUBLAS))
    newest = "cuBLAS's emulation (55 bits) has 30.5 in cuBLAS 14.2, on another card with native FP64 of 44.4, and 21.5"
    assert newest in device_tables.sentence(more)
    modes = MODES | {"rows": [MODES["rows"][0], MODES["rows"][2] | {"TFLOPS": 29.8}]}  # type: ignore[index,operator]
    (tmp_path / "modes.json").write_text(json.dumps(modes))
    assert '(`accuracy="scaled"`; 29.8 by default)' in device_tables.sentence(more)
    assert (
        device_tables.sentence(RESULTS | {"rows": RESULTS["rows"][:1]}) == "Not measured in the present data."
    )
