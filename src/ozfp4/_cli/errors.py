"""The one exception that the command line turns into a line on stderr and exit status 2."""

from __future__ import annotations

from .. import _core


class InputError(Exception):
    """What the user gave cannot be used; the message names the argument."""


def check_environment(*, kernels: bool = True) -> None:
    """InputError for nonsense in OZFP4_NUM_THREADS, and for what does not serve in OZFP4_CPU_KERNEL: each product would refuse
    it, and a command that reports refusals among results would seem to have worked."""
    try:
        _core.thread_count()
        if kernels:
            _core.serving_byte_kernel()
    except ValueError as error:
        raise InputError(str(error)) from None
