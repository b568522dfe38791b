"""`ozfp4 exec` itself: how it hands over, and what it refuses."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from preloaded import LIBRARY, PREFIX, processes


def exec_(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    mine = {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, "LD_PRELOAD"))}
    command = [sys.executable, "-m", "ozfp4", "exec", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env={**mine, **variables})


def test_the_program_gets_its_arguments_and_gives_its_status() -> None:
    done = exec_("--always", "--", "sh", "-c", 'echo "$0" "$1"; exit 7', "--summary", "b c")
    assert (done.returncode, done.stdout, done.stderr) == (7, "--summary b c\n", "")
    assert exec_("sh", "-c", "kill -9 $$").returncode == -9


def test_it_starts_without_what_it_does_not_need() -> None:
    """Of a program that takes a second its start is noticed."""
    command = [sys.executable, "-X", "importtime", "-m", "ozfp4", "exec", "--", "/no/such/program"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 127  # so that it ends, and tells of all
    assert "ozfp4.cli.errors" in imported
    assert not imported & {"numpy", "ozfp4.cli.progress"}  # the last by other commands


def test_signals_are_those_of_the_program_alone() -> None:
    """Python ignores SIGPIPE and SIGXFSZ, and what is ignored outlives exec."""
    command = f"trap '' INT; exec {sys.executable} -m ozfp4 exec grep SigIgn /proc/self/status"  # as nohup
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120)
    mask = int(done.stdout.split()[1], 16)
    ignored = {each for each in signal.valid_signals() if mask >> (each - 1) & 1}
    assert signal.SIGINT in ignored
    assert not ignored & {signal.SIGPIPE, signal.SIGXFSZ}


def test_what_cannot_be_written_changes_no_status(tmp_path: Path) -> None:
    """Stderr that nobody reads, a report that no room is for: neither ends the program, nor takes what others have reported."""
    report = tmp_path / "report"
    program = ["--summary", "--report", report, "--", sys.executable, "-c", "raise SystemExit(7)"]
    assert exec_(*program).returncode == 7
    before = report.read_bytes()
    mine = {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, "LD_PRELOAD"))}

    def run(**options: Any) -> int:
        command = [sys.executable, "-m", "ozfp4", "exec", *map(str, program)]
        return subprocess.run(command, env=mine, timeout=120, **options).returncode

    reader, writer = os.pipe()
    os.close(reader)
    assert run(stderr=writer) == 7
    os.close(writer)
    assert len(processes(report)) == 2
    for room in (0, len(before) + 20):
        report.write_bytes(before)
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (room, room))
        assert run(preexec_fn=limit, stderr=subprocess.DEVNULL) == 7
        assert report.read_bytes() == before
    report.unlink()
    assert (
        run(
            preexec_fn=partial(resource.setrlimit, resource.RLIMIT_FSIZE, (20, 20)), stderr=subprocess.DEVNULL
        )
        == 7
    )
    assert report.read_bytes() == b""


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
    command = [sys.executable, "-m", "ozfp4", "exec", "env", "-0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=kept)
    found = dict(each.split("=", 1) for each in done.stdout.split("\0") if each)
    assert found.pop("LD_PRELOAD") == str(LIBRARY)
    assert found.pop("OZFP4_EXEC_ROOT").isdigit()
    assert found == kept


def test_settings_reach_the_program_and_those_that_it_starts(tmp_path: Path) -> None:
    report = tmp_path / "a b.json"
    show = (
        "import os\nfor name, value in os.environ.items():\n"
        "    if name.startswith(('OZFP4_EXEC_', 'OZFP4_NUM', 'LD_PRELOAD')): print(f'{name}={value}')"
    )
    flags = (
        "--always",
        "--summary",
        "--min-size",
        "10",
        "--accuracy",
        "correct",
        "--dtypes",
        "float32,float64",
        "--verify",
        "3",
        "--only",
        "dgemm,lib*",
        "--spare",
        "zgemm",
        "--threads",
        "3",
    )
    done = exec_(*flags, "--report", report, sys.executable, "-c", show, LD_PRELOAD="/nothing.so")
    found = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert found.pop("OZFP4_EXEC_ROOT").isdigit()
    assert found == {
        "LD_PRELOAD": f"{LIBRARY}:/nothing.so",
        "OZFP4_EXEC_MODE": "always",
        "OZFP4_EXEC_SUMMARY": "1",
        "OZFP4_EXEC_MIN_SIZE": "10",
        "OZFP4_EXEC_ACCURACY": "correct",
        "OZFP4_EXEC_DTYPES": "float32,float64",
        "OZFP4_EXEC_VERIFY": "3",
        "OZFP4_EXEC_ONLY": "dgemm,lib*",
        "OZFP4_EXEC_SPARE": "zgemm",
        "OZFP4_NUM_THREADS": "3",
        "OZFP4_EXEC_REPORT": str(report),
    }


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


def test_what_no_library_is_loaded_before_is_told(compile_c: Callable[..., Path], tmp_path: Path) -> None:
    try:
        program = compile_c("alone", "int main(void) { return 3; }", "-static")
    except subprocess.CalledProcessError:
        pytest.skip("no static C library")
    done = exec_("--summary", program)
    assert done.returncode == 3
    assert done.stderr == f"ozfp4 exec: {program}: linked statically: no call of it can be caught\n"
    program.chmod(0o4755)
    assert (
        "a set-user-ID or set-group-ID program: no call of it can be caught"
        in exec_("--verify", "1", program).stderr
    )
    assert exec_(program).stderr == ""  # nobody asks


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
        (["--verify", "1000001", "true"], 125, "more than 1000000"),
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
def test_what_is_refused(arguments: list[str], status: int, text: str) -> None:
    done = exec_(*arguments)
    assert done.returncode == status
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_summary_and_report_of_a_program(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    program = "import numpy as np; x = np.arange(30.0).reshape(5, 6); y = x @ x.T.copy(); y @ y"
    done = exec_(
        "--always", "--summary", "--verify", "5", "--report", report, "--", sys.executable, "-c", program
    )
    assert done.returncode == 0
    assert "caught 2 products" in done.stderr
    assert (
        "verified 16 entries of 2 products: 16 correctly rounded, 0 within the bound, 0 wrong, 0 not finite\n"
        in done.stderr
    )
    assert "5 x 5 x 6" in done.stderr
    (process,) = processes(report)
    assert (process["mode"], process["min_size"], process["accuracy"]) == ("always", 0, "standard")
    assert process["dtypes"] == ["float64", "complex128"]
    assert process["caught"] == sum(row["calls"] for row in process["rows"] if row["caught"]) == 2
    assert process["seconds_caught"] == pytest.approx(sum(row["seconds"] for row in process["rows"]))
    sums = {
        "caught": 2,
        "left": 0,
        "seconds_caught": pytest.approx(process["seconds_caught"]),
        "seconds_left": 0,
    }
    assert process["by_routine"] == {"dgemm": sums}
    assert process["by_reason"] == {"always": sums}
    assert "dgemm: 2 caught, 0 left\nalways: 2 caught, 0 left\n" in done.stderr
    assert set(process["rows"][0]) == {
        "routine",
        "dtype",
        "batch",
        "m",
        "n",
        "k",
        "caught",
        "calls",
        "seconds",
        "why",
    }


TEXTS = {
    "notes": "of an earlier run",
    "another version": '{"ozfp4_exec": 1, "program": "x"}\n',
    "no version": '{"program": "x"}\n',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_file_that_is_no_report_stays_as_it_is(text: str, tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text(text)
    done = exec_("--report", file, "touch", tmp_path / "touched")
    assert (done.returncode, done.stdout) == (125, "")
    assert (
        done.stderr
        == f"ozfp4 exec: --report: {file} holds something else than a report, and stays as it is\n"
    )
    assert file.read_text() == text
    assert not (tmp_path / "touched").exists()


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
    assert "goes before its variable" in found


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
    os.rename(compile_c("program", "int main(void) { return 0; }"), path)
    return path


def test_a_long_path_leaves_the_summary_whole(compile_c: Callable[..., Path], tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 250) / ("b" * 250) / ("ä" * 120)
    program = program_at(os.fsencode(folder / "program"), compile_c)
    done = exec_("--summary", "--report", tmp_path / "report", os.fsdecode(program))
    assert "): no product reached a routine" in done.stderr
    assert done.stderr.startswith(f"ozfp4 exec: {os.fsdecode(program)} (process ")
    assert processes(tmp_path / "report")[0]["program"] == os.fsdecode(program)


# What Unicode has no text for: a lone byte, a character cut short, one longer than it need be, a surrogate, one beyond the last.
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


def test_a_report_that_cannot_be_written_is_one_line() -> None:
    program = "import numpy as np; x = np.ones((5, 5)); x @ x"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True,
        env={**os.environ, "LD_PRELOAD": str(LIBRARY), "OZFP4_EXEC_REPORT": "/nowhere/report"},
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stderr == "ozfp4 exec: the report cannot be written to /nowhere/report\n"
