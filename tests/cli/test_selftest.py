"""``ozfp4 selftest``: the table, the exit status, the report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _cli as cli
from ozfp4 import _core, _testing
from ozfp4._api.machine import SelfTest
from ozfp4._measure import report as machine_report
from ozfp4._plans.plan import ALPHABETS

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def break_dgemm() -> Iterator[None]:
    """Make the kernel of fp64 planes seem off by one."""
    _core.break_kernels([("FP64 on residues", "fp64")])
    yield
    _core.break_kernels([])


def test_the_short_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["selftest", "--short"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    for element, kernel in (("fp64", "FP64 on residues"), ("fp4", "FP32 on decoded limbs")):
        (line,) = (line for line in shown.out.splitlines() if kernel in line)
        assert element in line
        assert line.rstrip().endswith("passed, short form")


@pytest.mark.slow
def test_the_long_form_serves_the_table_of_the_function() -> None:
    tested = ozfp4.selftest()
    assert tested
    assert all(verdict.form == "long" for verdict in tested.verdicts)
    assert {v.kernel.element for v in tested.verdicts if v.kernel.device == "cpu"} == {
        "fp4",
        "int8",
        "fp64",
        "integers",
        "words",
        *(["limbs"] if _core.has_limb_unit() else []),
    }
    assert str(tested).count("passed, long form") == len(tested.verdicts)
    assert {k.verdict for k in ozfp4.info().kernels if k.device.startswith("cpu")} == {"passed, long form"}


def test_progress() -> None:
    seen: list[float] = []
    ozfp4.selftest(short=True, progress=seen.append)
    assert seen[0] == 0
    assert seen == sorted(seen)
    assert all(0 <= x < 1 for x in seen)


@pytest.mark.usefixtures("break_dgemm")
def test_a_wrong_kernel_is_exit_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["selftest", "--short"]) == 1
    shown = capsys.readouterr()
    assert shown.err == ""
    (line,) = (line for line in shown.out.splitlines() if "FP64 on residues" in line)
    assert "FAILED: " in line
    assert "FAILED: every pair of limbs, K = 1: entry (" in line
    assert "no fp64 on cpu" in shown.out
    assert cli.main(["info"]) == 0
    assert "FAILED" in capsys.readouterr().out


@pytest.mark.usefixtures("break_dgemm")
def test_report(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    selftest = ozfp4.selftest
    monkeypatch.setattr(ozfp4, "selftest", lambda **options: selftest(**{**options, "short": True}))
    monkeypatch.setattr(machine_report, "CPU_SIZES", (16, 24))
    monkeypatch.setattr(machine_report, "GPU_SIZES", (64,))
    monkeypatch.setattr(machine_report, "SECONDS", 0.01)
    file = tmp_path / "machine_report.json"
    file.write_text("older")
    assert cli.main(["selftest", "--report", str(file)]) == 1
    assert f"wrote {file}" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "machine_report.json"]
    found = json.loads(file.read_text(encoding="utf-8"))
    assert list(found) == [
        *("schema", "machine", "environment", "gpus", "clocks before", "clocks after", "calibration"),
        *("verdicts", "times"),
    ]
    assert found["schema"] == machine_report.SCHEMA
    assert found["machine"]["numpy"] == np.__version__
    assert found["machine"]["ozfp4"] == ozfp4.__version__
    assert found["environment"]["OZFP4_CACHE_DIR"] == "(a folder)"
    assert found["calibration"] == []
    assert str(Path(__file__).parents[2]) not in file.read_text()
    verdicts = {(v["kernel"], v["element"]): v for v in found["verdicts"]}
    assert not verdicts["FP64 on residues", "fp64"]["passed"]
    failed = verdicts["FP64 on residues", "fp64"]
    name, entry = failed["reason"].split(": ")
    (case,) = (x for x in _testing.trust_cases("fp64", False) if x[0] == name)
    i, j, found_there, exact, wrong, m, n = map(int, re.findall(r"-?\d+", entry))
    assert found_there == case[3][i, j] + 1 == exact + 1
    assert (wrong, m, n) == (1, *case[3].shape)
    assert {"device", "build"} <= set(failed["failed on"])
    assert failed["failed on"]["build"].startswith(f"{Path(_core.__file__).name} ")
    exec(failed["repeat"])
    assert "entry (" in capsys.readouterr().out
    assert verdicts["FP32 on decoded limbs", "fp4"]["passed"]
    assert "failed on" not in verdicts["FP32 on decoded limbs", "fp4"]
    squares = [row for row in found["times"] if row["device"] == "cpu"]
    times = {(row["accuracy"], row.get("backend"), row["n"]): row for row in squares}
    asked = [*(("scaled", backend) for backend in ALPHABETS), ("standard", None), ("correct", None)]
    for accuracy, backend in asked:
        for n in (16, 24):
            row = times[accuracy, backend, n]
            if backend == "fp64":
                assert "every kernel of 'fp64' failed its self-test" in row["skipped"]
            else:
                assert row["ms"] > 0
                assert row["kernel"]


def test_a_report_names_no_people_and_no_serial_numbers() -> None:
    serial = "0123456789abcdef" * 2
    facts = {
        "build": "/home/jane.doe/venv/lib/ozfp4/_cuda.cpython-311-x86_64-linux-gnu.so 1234 5.6",
        "driver": "13000 /usr/lib/libcuda.so.580.1 99 1.5",
        "device": f"Some GPU 120 {serial}",
        "rows": [f"GPU-01234567-{'89ab-' * 3}0123456789ab", "/home/jane.doe", "cannot open '/tmp/jane.doe/x'"],
        "kept": [580, None, "least products / rate", "20260101-01", "int8/fp4", "0123456789abcdef" * 2 + "01234567"],
    }  # fmt: skip
    assert machine_report._without_names(facts) == {
        "build": "_cuda.cpython-311-x86_64-linux-gnu.so 1234 5.6",
        "driver": "13000 libcuda.so.580.1 99 1.5",
        "device": "Some GPU 120 (a serial number)",
        "rows": ["(a serial number)", "(a folder)", "cannot open '(a folder)'"],
        "kept": facts["kept"],
    }
    assert machine_report._without_names(f"MIG-01234567-{'89ab-' * 3}0123456789ab") == "(a serial number)"
    libraries = "/home/Jane Doe/a b/libfirst.so:/x/libsecond.so.2:ssh://jane@host/y"
    assert machine_report._variable(libraries) == "libfirst.so:libsecond.so.2:(a folder):(a folder)"
    assert machine_report._variable("0,1") == "0,1"


class Gpu:
    """The functions of torch that a report calls, for a GPU that is not there."""

    name, major, minor, total_memory, uuid = "Some GPU", 12, 0, 1 << 34, "0123"
    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 1,
        get_device_properties=lambda index: Gpu,
        mem_get_info=lambda index: (1 << 33, 1 << 34),
    )


def test_a_report_has_what_a_gpu_chooses_and_what_the_models_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def way_of(a: Any, b: Any, c: Any, **options: Any) -> dict[str, Any]:
        if options.get("backend") == "fp4":
            raise RuntimeError("backend: every kernel of 'fp4' failed")
        times = (12.0, float("inf"), 20.0, 40.5)
        return {"way": "direct", "tile": "128x128", "splits": 1, "microseconds": times}

    monkeypatch.setattr(machine_report.library, "torch_module", lambda: Gpu)
    monkeypatch.setattr(machine_report, "describe", lambda device: {"device": device})
    monkeypatch.setattr(machine_report, "CPU_SIZES", ())
    monkeypatch.setattr(machine_report, "GPU_SIZES", (8,))
    monkeypatch.setattr(machine_report.calibrate, "way_of", way_of)
    monkeypatch.setattr(machine_report.calibrate, "random_operands", lambda m, k, n: np.ones((3, 2, 2)))
    monkeypatch.setattr(machine_report.clocks, "event_times", lambda run, budget: [0.25])
    found = machine_report.report(SelfTest(()))
    shown = {"name": "Some GPU", "major": 12, "minor": 0, "total_memory": 1 << 34, "free_memory": 1 << 33}
    assert found["gpus"] == [shown]
    assert [row["m"] for row in found["times"][:4]] == [8] * 4
    assert len(found["times"]) == 4 + len(machine_report.GPU_SHAPES)
    for row in found["times"]:
        if row.get("backend") == "fp4":
            assert row["skipped"].startswith("backend: every kernel")
            continue
        assert (row["way"], row["ms"]) == ("direct", 0.25)
        assert row["model ms"] == {"direct": 0.012, "tiles": 0.02, "stages": 0.0405}
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize("file", ["missing/machine_report.json", ".", "/proc/card.json"])
def test_a_report_that_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["selftest", "--report", file]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith(f"ozfp4 selftest: --report: {Path(file)} cannot be written: ")
    assert complaint.count("\n") == 1
