"""Run a program whose matrix products go through ozfp4, unchanged.

Its calls of BLAS (dgemm, zgemm; sgemm and cgemm on request) and of cuBLAS reach ozfp4 first, which makes those products that it
makes faster, or all with --always, and leaves the others, and everything that it does not know, to the routine that the program
would have called. So it is for the programs that this one starts. Statically linked programs cannot be reached.

  ozfp4 exec --summary -- python3 solve.py          what was called, what would gain
  ozfp4 exec --always --verify 20 -- ./solver in    all products exact, 20 of them checked

The exit status is the program's; 125 for bad input of this command, 126 where the program cannot be run, 127 where there is none.
"""

from __future__ import annotations

import argparse
import errno
import os
import shutil
import sys
from pathlib import Path

from ..errors import InputError

OWN_ERROR, CANNOT_RUN, NOT_FOUND = 125, 126, 127  # as env(1) has them
LIBRARY = "libozfp4_blas.so"
PREFIX = "OZFP4_EXEC_"  # of the variables that csrc/interpose/process/settings.cpp reads
DTYPES = ("float32", "float64", "complex64", "complex128")
MOST_VERIFIED = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``ozfp4 exec``."""
    parser.set_defaults(bad_input=OWN_ERROR)
    parser.add_argument(
        "--summary", action="store_true", help="tell on stderr what was caught and left, when it ends"
    )
    parser.add_argument(
        "--always",
        action="store_true",
        help="make every product; by default those that are faster so, by measured times",
    )
    parser.add_argument(
        "--min-size",
        metavar="N",
        type=_count,
        help="leave products of fewer multiplications, m n k; default 0",
    )
    parser.add_argument(
        "--accuracy", choices=("scaled", "fp64", "correct"), help="as of ozfp4.matmul; default fp64"
    )
    parser.add_argument(
        "--dtypes", metavar="NAMES", type=_dtypes, help=f"of {', '.join(DTYPES)}; default float64,complex128"
    )
    parser.add_argument(
        "--report", metavar="FILE", type=Path, help="write the summary as JSON, of each process that ended"
    )
    parser.add_argument(
        "--verify",
        metavar="N",
        type=_verified,
        help="check entries of N random products against exact integers",
    )
    parser.add_argument(
        "program", metavar="-- PROGRAM ARGUMENTS", nargs=argparse.REMAINDER, help="what to run"
    )


def run(options: argparse.Namespace) -> int:
    """Become the program; return only where it cannot be run."""
    program = options.program[1:] if options.program[:1] == ["--"] else options.program
    if not program:
        raise InputError("no program is given (see ozfp4 exec --help)")
    environment = _environment(options, _library())
    sys.stdout.flush()
    try:
        _become(program, environment)
    except FileNotFoundError:
        status, text = NOT_FOUND, "no such program"
    except OSError as error:
        status, text = CANNOT_RUN, error.strerror or str(error)
    print(f"ozfp4 exec: {program[0]}: {text}", file=sys.stderr)
    return status


def _become(program: list[str], environment: dict[str, str]) -> None:
    try:
        os.execvpe(program[0], program, environment)
    except OSError as error:
        path = shutil.which(program[0])
        if error.errno != errno.ENOEXEC or path is None:
            raise
        os.execve(
            "/bin/sh", ["/bin/sh", path, *program[1:]], environment
        )  # a script that names no interpreter


def _library() -> Path:
    """The library that is preloaded, beside the extension."""
    from ... import _core

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
        "SUMMARY": "1" if options.summary else None,
        "REPORT": None if options.report is None else _emptied(options.report),
        "VERIFY": options.verify,
        "ROOT": os.getpid(),  # the program's as well
    }
    before = os.environ.get("LD_PRELOAD")
    return {
        **os.environ,
        **{PREFIX + name: str(value) for name, value in asked.items() if value is not None},
        "LD_PRELOAD": f"{library}:{before}" if before else str(library),
    }


def _emptied(report: Path) -> Path:
    """The file, whatever folder the program goes to, with nothing in it."""
    try:
        report.write_bytes(b"")
    except OSError as error:
        raise InputError(f"--report: {report} cannot be written: {error.strerror}") from None
    return report.resolve()


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number, 0 or more and below 2^63")
    return int(text)


def _verified(text: str) -> int:
    count = _count(text)
    if count > MOST_VERIFIED:
        raise argparse.ArgumentTypeError(f"{text} is more than {MOST_VERIFIED}")
    return count


def _dtypes(text: str) -> str:
    names = text.split(",")
    for name in names:
        if name not in DTYPES:
            raise argparse.ArgumentTypeError(f"{name!r} is not supported; allowed are {', '.join(DTYPES)}")
    return ",".join(names)
