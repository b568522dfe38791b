"""`ozfp4 exec` itself: how it hands over, and what it refuses."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import preloaded
import pytest
from preloaded import LIBRARY, PREFIX, processes

COMMAND = [sys.executable, "-m", "ozfp4", "exec"]


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, "LD_PRELOAD"))}


def exec_(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env={**environment(), **variables}
    )


def test_the_program_gets_its_arguments_and_gives_its_status() -> None:
    done = exec_("--always", "--", "sh", "-c", 'echo "$0" "$1"; exit 7', "--summary", "b c")
    assert (done.returncode, done.stdout, done.stderr) == (7, "--summary b c\n", "")
    assert exec_("sh", "-c", "kill -9 $$").returncode == -9


def test_start_imports_no_numpy() -> None:
    """The start of a program that takes a second is noticed."""
    command = [sys.executable, "-X", "importtime", "-m", "ozfp4", "exec", "--", "/no/such/program"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 127  # so that it ends, and reports all
    assert "ozfp4._cli" in imported
    assert not imported & {"numpy", "ozfp4._cli.display"}  # the last by other commands


def test_signals_are_those_of_the_program_alone() -> None:
    """Python ignores SIGPIPE and SIGXFSZ, and what is ignored outlives exec."""
    command = f"trap '' INT; exec {sys.executable} -m ozfp4 exec grep SigIgn /proc/self/status"  # as nohup
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    mask = int(done.stdout.split()[1], 16)
    ignored = {each for each in signal.valid_signals() if mask >> (each - 1) & 1}
    assert signal.SIGINT in ignored
    assert not ignored & {signal.SIGPIPE, signal.SIGXFSZ}


def test_unwritable_stderr_and_report_change_no_status(report: Path) -> None:
    """A closed stderr or a disk without room for the report neither ends the program nor damages reports of other processes."""
    program = ["--summary", "--report", report, "--", sys.executable, "-c", "raise SystemExit(7)"]
    assert exec_(*program).returncode == 7
    before = report.read_bytes()

    def run(room: int | None = None, **options: Any) -> int:
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (room, room)) if room is not None else None
        command = [*COMMAND, *map(str, program)]
        return subprocess.run(command, env=environment(), timeout=120, preexec_fn=limit, **options).returncode

    reader, writer = os.pipe()
    os.close(reader)
    assert run(stderr=writer) == 7
    os.close(writer)
    assert len(processes(report)) == 2
    for room, held in ((0, before), (len(before) + 20, before), (20, b"")):
        report.write_bytes(held)
        assert run(room, stderr=subprocess.DEVNULL) == 7
        assert report.read_bytes() == held


@pytest.mark.parametrize(
    "locale", [{}, {"LC_CTYPE": "C"}, {"LC_CTYPE": "POSIX", "LANG": "C"}, {"LC_ALL": "C"}]
)
def test_the_environment_is_that_of_the_program(locale: dict[str, str]) -> None:
    """Where the locale is C, Python sets LC_CTYPE."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith((PREFIX, "LC_", "LANG", "LD_PRELOAD"))
    } | locale
    command = [*COMMAND, "env", "-0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=kept)
    found = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
    assert found.pop("LD_PRELOAD") == str(LIBRARY)
    assert found.pop("OZFP4_EXEC_ROOT").isdigit()
    assert found == kept


def test_settings_reach_the_program_and_those_that_it_starts(tmp_path: Path) -> None:
    report = tmp_path / "a b.json"
    given = {
        "MIN_SIZE": "10", "ACCURACY": "correct", "DTYPES": "float32,float64", "VERIFY": "3", "ONLY": "dgemm,lib*",
        "SPARE": "zgemm", "REPORT": str(report),
    }  # fmt: skip
    flags = [word for name, value in given.items() for word in (f"--{name.lower().replace('_', '-')}", value)]
    show = (sys.executable, "-c", "import json, os; print(json.dumps(dict(os.environ)))")
    done = exec_("--always", "--summary", "--threads", "3", *flags, *show, LD_PRELOAD="/nothing.so")
    found = json.loads(done.stdout)
    assert found.pop("OZFP4_EXEC_ROOT").isdigit()
    assert (found["LD_PRELOAD"], found["OZFP4_NUM_THREADS"]) == (f"{LIBRARY}:/nothing.so", "3")
    assert {name: value for name, value in found.items() if name.startswith(PREFIX)} == {
        "OZFP4_EXEC_MODE": "always", "OZFP4_EXEC_SUMMARY": "1", **{PREFIX + name: value for name, value in given.items()},
    }  # fmt: skip


def test_flags_go_before_variables() -> None:
    show = ("sh", "-c", "echo $OZFP4_EXEC_MODE $OZFP4_EXEC_MIN_SIZE")
    assert (
        exec_("--min-size", "5", *show, OZFP4_EXEC_MIN_SIZE="7", OZFP4_EXEC_MODE="always").stdout
        == "always 5\n"
    )


def test_python_programs_as_they_are_typed(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("import sys; print(sys.argv[1:], sys.executable)")
    here = f"['x'] {sys.executable}\n"
    assert exec_(script, "x").stdout == here  # it is not executable
    assert exec_("python", script, "x", PATH="/nowhere").stdout == here
    script.write_text("#!/bin/sh\necho own")
    script.chmod(0o755)
    assert exec_(script).stdout == "own\n"


def test_static_and_set_user_id_programs_are_named(compile_c: Callable[..., Path], tmp_path: Path) -> None:
    try:
        program = compile_c("nothing", None, "-static")
    except subprocess.CalledProcessError:
        pytest.skip("no static C library")
    done = exec_("--summary", program)
    assert done.returncode == 0
    assert done.stderr == f"ozfp4 exec: {program}: linked statically: no call of it can be caught\n"
    program.chmod(0o4755)
    assert (
        "a set-user-ID or set-group-ID program: no call of it can be caught"
        in exec_("--verify", "1", program).stderr
    )
    assert exec_(program).stderr == ""  # no option needs a call


def test_a_script_without_an_interpreter(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("echo $1\nexit 3\n")
    script.chmod(0o755)
    done = exec_(script, "x")
    assert (done.returncode, done.stdout) == (3, "x\n")


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        ([], 125, "no program is given"),
        (["--"], 125, "no program is given"),
        (["--summary"], 125, "no program is given"),
        (["--fast", "true"], 125, "ozfp4 exec: unrecognized arguments: --fast (see ozfp4 exec --help)"),
        (["--min-size", "x", "true"], 125, "argument --min-size: 'x' is not a number"),
        (["--min-size", "-1", "true"], 125, "argument --min-size"),
        (["--verify", "1000001", "true"], 125, "1000001 is not within 0 and 1000000"),
        (["--accuracy", "high", "true"], 125, "invalid choice: 'high'"),
        (["--dtypes", "float64,int8", "true"], 125, "'int8' is not supported"),
        (["--dtypes", "d,", "true"], 125, "'' is not supported"),
        (["--only", "", "true"], 125, "'' is not words with commas between"),
        (["--spare", "a,,b", "true"], 125, "'a,,b' is not words"),
        (["--threads", "0", "true"], 125, "0 is not within 1 and 65536"),
        (["--report", "/nowhere/report", "true"], 125, "--report: /nowhere/report cannot be written"),
        (["--report", "/", "true"], 125, "--report: / cannot be written: Is a directory"),
        (["--report", "/etc/passwd/report", "true"], 125, "cannot be written: Not a directory"),
        (["--report", "/dev/zero", "true"], 125, "--report: /dev/zero holds something else than a report"),
        (["no-such-program"], 127, "no-such-program: no such program"),
        (["--", ""], 127, "ozfp4 exec: '': no such program"),
        (["/nowhere/program"], 127, "/nowhere/program: no such program"),
        (["/"], 126, "/: Permission denied"),
        (["/etc/passwd"], 126, "/etc/passwd: Permission denied"),
    ],
)
def test_bad_arguments_are_refused(arguments: list[str], status: int, text: str) -> None:
    done = exec_(*arguments)
    assert done.returncode == status
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_summary_and_report_of_a_program(report: Path) -> None:
    program = "import numpy as np; x = np.arange(30.0).reshape(5, 6); y = x @ x.T.copy(); y @ y"
    flags = ["--always", "--summary", "--verify", "5", "--report", report, "--"]
    done = exec_(*flags, sys.executable, "-c", program)
    assert done.returncode == 0
    for text in (
        "caught 2 products",
        "verified 16 entries of 2 products: 16 correctly rounded, 0 within the bound, 0 wrong, 0 not finite\n",
        "dgemm: 2 caught, 0 left\nalways: 2 caught, 0 left\n",
        "5 x 5 x 6",
    ):
        assert text in done.stderr
    (process,) = processes(report)
    assert (process["mode"], process["min_size"], process["accuracy"]) == ("always", 0, "standard")
    assert process["dtypes"] == ["float64", "complex128"]
    sums = {name: process[name] for name in ("caught", "left", "seconds_caught", "seconds_left")}
    assert (sums["caught"], sums["left"], sums["seconds_left"]) == (2, 0, 0)
    assert sums["seconds_caught"] == pytest.approx(sum(row["seconds"] for row in process["rows"]))
    assert process["by_routine"] == {"dgemm": sums}
    assert process["by_reason"] == {"always": sums}
    for row in process["rows"]:
        assert (row.pop("seconds") > 0, row.pop("k") in (5, 6)) == (True, True)
        assert row == {
            "routine": "scipy_cblas_dgemm64_", "dtype": "float64", "batch": 1, "m": 5, "n": 5, "caught": True, "calls": 1,
            "why": "always",
        }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "notes of somebody\n",
        '{"ozfp4_exec": 1, "program": ""}\n',
        '{"program": "x"}\n',
        "\n",
        '{"ozfp4_exec": 2',
    ],
)
def test_a_file_that_is_no_report_stays_as_it_is(text: str, tmp_path: Path) -> None:
    """The flag is refused before the program starts, the variable when it ends."""
    file = tmp_path / "notes"
    file.write_text(text)
    done = exec_("--report", file, "touch", tmp_path / "touched")
    assert (done.returncode, done.stdout) == (125, "")
    assert (
        done.stderr
        == f"ozfp4 exec: --report: {file} holds something else than a report, and stays as it is\n"
    )
    assert not (tmp_path / "touched").exists()
    done = preloaded.run([sys.executable, "-c", "import numpy as np; np.eye(3) @ np.eye(3)"], report=file)
    assert (done.returncode, done.stderr) == (0, f"ozfp4 exec: the report cannot be written to {file}\n")
    assert file.read_text() == text


def test_a_process_reports_even_if_nothing_was_called(report: Path) -> None:
    done = exec_("--report", report, "--summary", "--", "true")
    assert done.returncode == 0
    assert (
        "no product reached a routine that ozfp4 stands before; its BLAS may be linked statically"
        in done.stderr
    )
    (process,) = processes(report)
    assert process["rows"] == []
    assert process["program"].endswith("/true")


def test_a_report_is_added_to(tmp_path: Path) -> None:
    report = tmp_path / "report"
    report.touch()  # empty, as mktemp leaves it
    for count in (1, 2, 3):
        assert exec_("--report", report, "true").returncode == 0
        assert len(processes(report)) == count


def test_without_the_program_no_report_is_touched(tmp_path: Path) -> None:
    report = tmp_path / "report"
    assert exec_("--report", report, "no-such-program").returncode == 127
    assert not report.exists()
    exec_("--report", report, "true")
    before = report.read_bytes(), report.stat().st_mtime_ns
    assert exec_("--report", report, "no-such-program").returncode == 127
    assert (report.read_bytes(), report.stat().st_mtime_ns) == before


def test_help_names_the_variables() -> None:
    found = exec_("--help").stdout
    assert all(name in found for name in ("OZFP4_EXEC_MODE", "_MIN_SIZE", "_VERIFY", "OZFP4_NUM_THREADS"))
    assert "A flag replaces its variable" in found


def test_as_many_products_are_verified_as_the_help_says(tmp_path: Path) -> None:
    """N, and N / t of the t-th: N (1 + ln(count / N)) of them, or 0.7 N whenever the count has doubled."""
    report = tmp_path / "report"
    program = "import numpy as np; x = np.ones((2, 2))\nfor _ in range(5000): x @ x"
    exec_("--always", "--verify", "100", "--report", report, sys.executable, "-c", program)
    (process,) = processes(report)
    assert process["caught"] == 5000
    assert 400 < process["verified"]["products"] < 590  # 491 on average, with a deviation of 17


def program_at(path: bytes, compile_c: Callable[..., Path]) -> bytes:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.rename(compile_c("nothing"), path)
    return path


def test_a_long_path_leaves_the_summary_whole(compile_c: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 250) / ("b" * 250) / ("ä" * 120)
    program = program_at(os.fsencode(folder / "program"), compile_c)
    done = exec_("--summary", "--report", tmp_path / "report", os.fsdecode(program))
    assert "): no product reached a routine" in done.stderr
    assert done.stderr.startswith(f"ozfp4 exec: {os.fsdecode(program)} (process ")
    assert processes(tmp_path / "report")[0]["program"] == os.fsdecode(program)


# Invalid UTF-8: a lone byte, a character cut short, one longer than it need be, a surrogate, one beyond the last.
@pytest.mark.parametrize(
    "wrong", [b"\xff", b"\xc3", b"\xe2\x82", b"\xc0\xaf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80"]
)
def test_a_report_is_json_whatever_the_program_is_called(
    wrong: bytes, compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    before, after = 'é€𝄞"\\\x7f', "\n\x01x"
    name = before.encode() + wrong + after.encode()
    try:
        program = program_at(os.fsencode(tmp_path) + b"/" + name, compile_c)
    except OSError:
        pytest.skip("a file system whose names are UTF-8")
    assert exec_("--report", tmp_path / "report", os.fsdecode(program)).returncode == 0
    (process,) = processes(tmp_path / "report")
    assert process["program"].encode("latin-1") == os.fsencode(tmp_path) + b"/" + name
