"""``python -m ozfp4`` and the script ``ozfp4``.

Every module of :mod:`ozfp4._cli.commands` is a subcommand: its docstring is the help,
``add_arguments(parser)`` declares the arguments and ``run(options)`` does the work and returns the exit
status. Adding a command means adding that file. ``CHECKS_KERNELS = True`` there: it calls
:func:`check_environment` itself, for kernels.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import io
import os
import pkgutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from .. import _core
from . import commands

BAD_INPUT = 2
INTERRUPTED = 130  # as shells count a death by SIGINT
READER_GONE = 141  # and by SIGPIPE


class InputError(Exception):
    """A bad argument, which the message names. It ends the command with one line on stderr and a separate exit status."""


class Parser(argparse.ArgumentParser):
    """Complains in one line, like every other error of the command line."""

    def error(self, message: str) -> NoReturn:
        self.exit(
            self.get_default("bad_input") or BAD_INPUT, f"{self.prog}: {message} (see {self.prog} --help)\n"
        )


def within(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    """An argparse type: an integer of these."""

    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit():
            raise argparse.ArgumentTypeError(f"{text!r} is not a number, 0 or more")
        if not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text} is not within {least} and {most}")
        return int(text)

    return number


positive = within(1)


class _Version(argparse.Action):
    """Looks the version up, which takes longer than some commands, where it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from .._support.version import __version__

        print(f"ozfp4 {__version__}")
        parser.exit()


def command_modules(asked: str | None = None) -> dict[str, ModuleType]:
    """The subcommands by name; the one that is `asked` for alone, if there is such a one."""
    names = sorted(module.name for module in pkgutil.iter_modules(commands.__path__))
    imported = [asked] if asked in names else names
    return {name: importlib.import_module(f"{commands.__name__}.{name}") for name in imported}


def _parser(modules: dict[str, ModuleType]) -> argparse.ArgumentParser:
    parser = Parser(
        prog="ozfp4",
        description="FP64 matrix multiplication by exact integer products on low-precision matrix units.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, module in modules.items():
        text = module.__doc__ or ""
        subparser = subparsers.add_parser(
            name,
            help=text.partition("\n")[0].rstrip("."),
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        subparser.set_defaults(refuse=subparser.error)
        module.add_arguments(subparser)
    return parser


def tolerate_any_encoding() -> None:
    """A terminal that cannot show × shows ? instead of failing the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return its exit status.

    `arguments` follow the program's name; by default they are those of the process. The status is 0; 1 if a check failed; 2
    (125 for ``exec``) for bad input, with one line on stderr; 130 after Ctrl-C.
    """
    tolerate_any_encoding()
    words = sys.argv[1:] if arguments is None else list(arguments)
    modules = command_modules(words[0] if words else None)
    options, unknown = _parser(modules).parse_known_args(words)
    bad_input: int = getattr(options, "bad_input", BAD_INPUT)
    if unknown:
        options.refuse(f"unrecognized arguments: {' '.join(unknown)}")
    module = modules[options.command]
    return status_of(
        f"ozfp4 {options.command}",
        lambda: module.run(options),
        bad_input=bad_input,
        kernels=not getattr(module, "CHECKS_KERNELS", False),
    )


def check_environment(*, kernels: bool = True) -> None:
    """InputError for a bad value of OZFP4_NUM_THREADS or OZFP4_CPU_KERNEL. Each product would refuse it, and a command that
    reports refusals among results would seem to have worked."""
    try:
        _core.thread_count()
        if kernels:
            _core.serving_byte_kernel()
    except ValueError as error:
        raise InputError(str(error)) from None


def check_writable(file: Path) -> None:
    """InputError of --report before the work, not after it; nothing is touched."""
    import tempfile  # which takes longer than ``ozfp4 exec``

    try:
        if file.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not file.exists():  # permissions do not say it: /proc takes no file
            tempfile.TemporaryFile(dir=file.parent).close()
        elif not os.access(file, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise InputError(f"--report: {file} cannot be written: {error.strerror}") from None


def status_of(name: str, work: Callable[[], int], *, bad_input: int = BAD_INPUT, kernels: bool = True) -> int:
    """The status that the work returns after a check of the environment; or the status of an error, after a line on stderr that
    begins with `name`. `bad_input`: the status of an InputError and of files that cannot be used; `kernels`: whether the check
    includes the CPU's kernels."""
    try:
        check_environment(kernels=kernels)
        status = work()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough (`| head`); what is still buffered must not complain at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    except (InputError, OSError) as error:  # of the system: a full disk, a folder where a file should be
        print(f"{name}: {error}", file=sys.stderr)
        return bad_input
    return status
