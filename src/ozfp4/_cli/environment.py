"""What the environment says about products on the CPU, looked at before a command begins: each of its products would refuse
nonsense, and a command that reports refusals among results would seem to have worked."""

from __future__ import annotations

from collections.abc import Callable

from .. import _core
from .errors import InputError


def check_threads() -> None:
    """InputError for nonsense in OZFP4_NUM_THREADS."""
    _check(_core.thread_count)


def check_kernels() -> None:
    """InputError for what does not serve in OZFP4_CPU_KERNEL."""
    _check(_core.serving_byte_kernel)


def _check(ask: Callable[[], object]) -> None:
    try:
        ask()
    except ValueError as error:
        raise InputError(str(error)) from None
