"""The frame of the command line: help, exit statuses, discovery of commands, info."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ozfp4
from ozfp4 import _cli as cli
from ozfp4 import _core


def run_module(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "ozfp4", *arguments], capture_output=True, text=True, timeout=120, **options
    )


def test_info_prints_what_the_function_returns(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info"]) == 0
    assert capsys.readouterr() == (f"{ozfp4.info()}\n", "")
    done = run_module("info")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.splitlines()[0] == str(ozfp4.info()).splitlines()[0]


def test_info_looks_for_gpus_where_torch_is_installed(tmp_path: Path) -> None:
    torch = tmp_path / "torch"
    torch.mkdir()
    (torch / "__init__.py").write_text(
        "from types import SimpleNamespace\n"
        "Tensor = type('Tensor', (), {})\n"
        "cuda = SimpleNamespace(is_available=lambda: False, OutOfMemoryError=MemoryError)\n",
        encoding="utf-8",
    )
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from ozfp4 import _cli\n"
        "from ozfp4._backends.cuda import extension\n"
        "extension.extension = lambda: object()  # as in a build with CUDA kernels\n"
        "assert 'torch' not in sys.modules\n"
        "_cli.main(['info'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stderr == ""
    assert "torch finds no CUDA device" in done.stdout
    assert "not imported" not in done.stdout


def test_version_and_help() -> None:
    assert run_module("--version").stdout == f"ozfp4 {ozfp4.__version__}\n"
    text = run_module("--help").stdout
    for name in ("info", "calibrate", "plan"):
        assert re.search(rf"^ +{name}\s+[A-Z]", text, re.MULTILINE), name


@pytest.mark.parametrize("command", sorted(cli.command_modules()))
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([command, "--help"])
    assert stop.value.code == 0
    assert f"usage: ozfp4 {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["info", "extra"],
        ["plan", "8", "--x"],
        ["plan", "8", "8", "9223372036854775808"],
        ["plan", "--family", "most"],
        ["plan", "--backend", "fp3"],
        ["selftest", "--x"],
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    written = capsys.readouterr()
    assert written.out == ""
    assert re.fullmatch(r"ozfp4[^\n]*: [^\n]+\(see ozfp4[^\n]* --help\)\n", written.err)


def test_interrupt_is_status_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ozfp4, "info", interrupted)
    assert cli.main(["info"]) == 130
    assert capsys.readouterr().err == "ozfp4 info: interrupted\n"


def test_a_reader_that_leaves_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "ozfp4", "info"], stdout=closed, stderr=subprocess.PIPE, timeout=120
        )
    assert done.stderr == b""
    assert done.returncode == 141


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("OZFP4_VERBOSE", "loud", "ozfp4: OZFP4_VERBOSE: 'loud' is unknown; allowed are '0', '1'"),
        ("OZFP4_DEBUG", "async", "ozfp4: OZFP4_DEBUG: 'async' is unknown; allowed is 'sync'"),
        ("OZFP4_NUM_THREADS", "many", "ozfp4 info: OZFP4_NUM_THREADS: 'many' is no number in 1..65536"),
    ],
)
def test_nonsense_in_the_environment_is_told_in_one_line(
    variable: str, value: str, complaint: str, tmp_path: Path
) -> None:
    script = tmp_path / "ozfp4"
    script.write_text("import sys\nfrom ozfp4._cli import main\nsys.exit(main())\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path), variable: value}
    for program in (["-m", "ozfp4"], ["-mozfp4"], [str(script)]):
        done = subprocess.run(
            [sys.executable, *program, "info"], env=environment, capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{complaint}\n")


ABSENT = sorted({"amx", "avx512_vnni", "avx_vnni"} - {setting for _, setting in _core.byte_kernels()})
WRONG_KERNELS = [("OZFP4_CPU_KERNEL", "nonsense", "'nonsense' is none of portable")]
if ABSENT:
    WRONG_KERNELS.append(("OZFP4_CPU_KERNEL", ABSENT[0], f"{ABSENT[0]!r} needs what this CPU"))
COMMANDS = ("selftest --short", "plan 64 64 64", "calibrate --device cpu", "exec true")


@pytest.mark.parametrize(("variable", "value", "complaint"), WRONG_KERNELS)
def test_missing_kernels_are_told_in_one_line(variable: str, value: str, complaint: str) -> None:
    program = (
        "import sys\n"
        "from ozfp4._cli import main\n"
        f"for command in {COMMANDS!r}:\n"
        "    print(main(command.split()), file=sys.stderr)\n"
    )
    environment = {**os.environ, variable: value}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == ""
    said, statuses = done.stderr.splitlines()[::2], done.stderr.splitlines()[1::2]
    assert statuses == ["125" if command.startswith("exec") else "2" for command in COMMANDS]
    for command, line in zip(COMMANDS, said, strict=True):
        assert line.startswith(f"ozfp4 {command.split()[0]}: {variable}: {complaint}")


@pytest.mark.parametrize(("variable", "value", "complaint"), WRONG_KERNELS)
def test_info_names_missing_kernels(variable: str, value: str, complaint: str) -> None:
    done = run_module("info", env={**os.environ, variable: value})
    assert done.returncode == 2
    assert done.stderr.startswith(f"ozfp4 info: {variable}: {complaint}")
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout.splitlines()[0] == str(ozfp4.info()).splitlines()[0]
    assert complaint in done.stdout
