"""Run a program unchanged, with its matrix products through ozfp4.

Calls of BLAS (dgemm, zgemm, dsyrk and their like; sgemm and cgemm with --dtypes) and of cuBLAS reach ozfp4 first, also in
programs that this one starts. ozfp4 computes the products that become faster, or all with --always. All others go to the routine
that the program would have called. Statically linked programs cannot be reached.

    ozfp4 exec --summary -- python3 solve.py          the products of a program, and which become faster
    ozfp4 exec --always --verify 20 -- ./solver in    all products by ozfp4; entries of the first 20 checked, later ones rarely
    ozfp4 exec --always --only zgemm,libcusolver.so.* -- ./solver

Variables do the same: OZFP4_EXEC_MODE (always or fastest), _MIN_SIZE, _ACCURACY, _DTYPES, _ONLY, _SPARE, _SUMMARY (1), _REPORT
and _VERIFY. A flag replaces its variable. CPU threads: OZFP4_NUM_THREADS (--threads), else OMP_NUM_THREADS, else all CPUs.

The exit status is the program's; 125 for bad input of this command, 126 if the program cannot be run, 127 if it does not exist.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import shutil
import signal
import stat
import struct
import sys
from pathlib import Path

from ... import _core
from .. import InputError, check_writable, within

OWN_ERROR, CANNOT_RUN, NOT_FOUND = 125, 126, 127  # as env(1) has them
LIBRARY = "libozfp4_blas.so"
PREFIX = "OZFP4_EXEC_"  # of the variables that csrc/exec/settings.cpp reads
DTYPES = {"s": "float32", "d": "float64", "c": "complex64", "z": "complex128"}
MOST_VERIFIED = 1_000_000
MOST_THREADS = 65_536  # as csrc/cpu/runtime/threads.hpp has it
REPORT_BEGIN = b'{"ozfp4_exec": 2, '  # of each line, as csrc/exec/report.cpp has it


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 exec``."""
    parser.set_defaults(bad_input=OWN_ERROR)
    add = parser.add_argument
    add(
        "--summary", action="store_true", help="print on stderr what was caught and left, when a process ends"
    )
    gain = "by default those that become faster, by a threshold of the device (ozfp4 calibrate measures it)"
    add("--always", action="store_true", help=f"take all products; {gain}")
    fewer = "leave products with fewer multiplications, m n k; default 0"
    add("--min-size", metavar="N", type=within(0), help=fewer)
    accuracies = ("standard", "correct", "scaled")
    add("--accuracy", choices=accuracies, help="as of ozfp4.matmul; default standard")
    names = f"of {', '.join(DTYPES.values())}, or of {', '.join(DTYPES)}; or all; default d,z"
    add("--dtypes", metavar="NAMES", type=_dtypes, help=names)
    only = "take only products of these routines and libraries: dgemm, cublasDgemm, libcusolver.so.*"
    add("--only", metavar="NAMES", type=_words, help=f"{only}, with commas between")
    add("--spare", metavar="NAMES", type=_words, help="leave the products of these routines and libraries")
    threads = "CPU threads of ozfp4, instead of OZFP4_NUM_THREADS"
    add("--threads", metavar="N", type=within(1, MOST_THREADS), help=threads)
    line = "add the summary of each process that ended, as a line of JSON, to a file"
    add("--report", metavar="FILE", type=Path, help=f"{line} that is new, empty or such a report")
    checked = (
        "check entries of each process's first N products against exact integers, and of some 0.7 N more"
        " whenever their number has doubled: of the t-th with probability N / t"
    )
    add("--verify", metavar="N", type=within(0, MOST_VERIFIED), help=checked)
    add("program", metavar="-- PROGRAM ARGUMENTS", nargs=argparse.REMAINDER, help="what to run")


def run(options: argparse.Namespace) -> int:
    """Become the program; return only if it cannot be run."""
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program:
        raise InputError("no program is given (see ozfp4 exec --help)")
    environment = _environment(options, _library())
    program = _as_typed(program)
    if options.summary or options.verify:
        _tell_of_no_way(program[0])
    sys.stdout.flush()
    try:
        _become(program, environment)
    except FileNotFoundError:
        status, text = NOT_FOUND, "no such program"
    except OSError as error:
        status, text = CANNOT_RUN, error.strerror or str(error)
    print(f"ozfp4 exec: {program[0] or repr('')}: {text}", file=sys.stderr)
    return status


def _as_typed(program: list[str]) -> list[str]:
    """A script of Python that cannot be run by itself, and `python` where there is none, go by this Python."""
    name = program[0]
    if shutil.which(name) is None:
        if name.endswith(".py") and os.path.isfile(name):
            return [sys.executable, *program]
        if name in ("python", "python3"):
            return [sys.executable, *program[1:]]
    return program


def _tell_of_no_way(name: str) -> None:
    """A line where the system loads no library before the program."""
    path = shutil.which(name)
    if path is None:
        return
    with contextlib.suppress(OSError, struct.error):
        if os.stat(path).st_mode & (stat.S_ISUID | stat.S_ISGID):
            why = "a set-user-ID or set-group-ID program"
        elif _is_static(path):
            why = "linked statically"
        else:
            return
        print(f"ozfp4 exec: {name}: {why}: no call of it can be caught", file=sys.stderr)


def _is_static(path: str) -> bool:
    """Whether a file is of 64-bit ELF and names no dynamic linker (a header of type 3)."""
    with open(path, "rb") as file:
        head = file.read(64)
        if head[:5] != b"\x7fELF\x02":
            return False
        (offset,), (size, count) = struct.unpack_from("<Q", head, 32), struct.unpack_from("<HH", head, 54)
        file.seek(offset)
        headers = file.read(size * count)
    return all(struct.unpack_from("<I", headers, size * i)[0] != 3 for i in range(count))


def _become(program: list[str], environment: dict[str, str]) -> None:
    if not program[0]:
        raise FileNotFoundError  # as execvp has it; Python's own is a ValueError
    # They outlive exec. It is not known whether they were ignored before Python started.
    changed = {signal.SIGPIPE, signal.SIGXFSZ}  # as subprocess has them
    ignored = [each for each in changed if signal.getsignal(each) == signal.SIG_IGN]
    for each in ignored:
        signal.signal(each, signal.SIG_DFL)
    try:
        os.execvpe(program[0], program, environment)
    except OSError as error:
        path = shutil.which(program[0])
        if error.errno != errno.ENOEXEC or path is None:
            raise
        shell = ["/bin/sh", path, *program[1:]]  # for a script that names no interpreter
        os.execve(shell[0], shell, environment)
    finally:  # it cannot be run: a line is to be written yet
        for each in ignored:
            signal.signal(each, signal.SIG_IGN)


def _library() -> Path:
    """The library to preload, in the folder of the extension."""
    library = Path(_core.__file__).with_name(LIBRARY)
    if not library.is_file():
        raise InputError(f"{library} is not there: builds of ozfp4 for Linux alone have it")
    if any(each in str(library) for each in " :"):
        raise InputError(f"{library} cannot be preloaded: LD_PRELOAD takes no path with a space or a colon")
    return library


def _environment(options: argparse.Namespace, library: Path) -> dict[str, str]:
    """Of the program. Flags go before variables that are there."""
    asked = {
        "MODE": "always" if options.always else None,
        "MIN_SIZE": options.min_size,
        "ACCURACY": options.accuracy,
        "DTYPES": options.dtypes,
        "ONLY": options.only,
        "SPARE": options.spare,
        "SUMMARY": "1" if options.summary else None,
        "REPORT": None if options.report is None else _report(options.report),
        "VERIFY": options.verify,
        "ROOT": os.getpid(),  # the program's as well
    }
    own = _own_environment()
    before = own.get("LD_PRELOAD")
    return {
        **own,
        **{PREFIX + name: str(value) for name, value in asked.items() if value is not None},
        **({} if options.threads is None else {"OZFP4_NUM_THREADS": str(options.threads)}),
        "LD_PRELOAD": f"{library}:{before}" if before else str(library),
    }


def _own_environment() -> dict[str, str]:
    """As this process found it: where nothing names a locale, Python adds LC_CTYPE=C.UTF-8 (PEP 538)."""
    own = dict(os.environ)
    with contextlib.suppress(OSError):  # no /proc
        found = Path("/proc/self/environ").read_bytes().split(b"\0")  # of the start
        own.pop("LC_CTYPE", None)
        for each in found:
            if each.startswith(b"LC_CTYPE="):
                own["LC_CTYPE"] = os.fsdecode(each[9:])
    return own


def _report(file: Path) -> str:
    """Its path, whatever folder the program goes to. InputError unless libozfp4_blas can add to it; nothing is touched."""
    check_writable(file)
    path, is_report = os.path.realpath(file), True
    if os.path.exists(path):
        is_report = os.path.isfile(path)  # reading a terminal or a pipe would wait
        if is_report:
            with open(path, "rb", buffering=0) as held:
                is_report = held.read(len(REPORT_BEGIN)) in (b"", REPORT_BEGIN)
    if not is_report:
        raise InputError(f"--report: {file} holds something else than a report, and stays as it is")
    return path


def _words(text: str) -> str:
    if not all(text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r} is not words with commas between")
    return text


def _dtypes(text: str) -> str:
    allowed = ("all", *DTYPES.values(), *DTYPES)
    for name in text.split(","):
        if name not in allowed[text != "all" :]:
            raise argparse.ArgumentTypeError(f"{name!r} is not supported; allowed are {', '.join(allowed)}")
    return text
