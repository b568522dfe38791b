"""``ozfp4.read_environment``: the variables of the environment, once more."""

from __future__ import annotations

import sys

from .. import _core


def read_environment() -> None:
    """Read the variables of the environment that products on a CPU follow once more.

    ``OZFP4_NUM_THREADS``, ``OMP_NUM_THREADS``, ``OZFP4_CPU_KERNEL``, and of the self-test ``OZFP4_CACHE_DIR``,
    ``OZFP4_SELFTEST`` and ``OZFP4_SELFTEST_SECONDS`` are read when the package is imported, and never by a product: a
    product runs without the interpreter's lock, and the system does not let one thread read a variable while another one
    sets one. Later assignments to ``os.environ`` count from this call on. A value that means nothing is an error of the
    next product, as after an import. A thread that multiplies meanwhile may still follow the old values.

    Examples
    --------
    >>> import os
    >>> before = os.environ.get("OZFP4_NUM_THREADS")
    >>> os.environ["OZFP4_NUM_THREADS"] = "3"
    >>> read_environment()
    >>> from ozfp4 import get_num_threads
    >>> get_num_threads()
    3
    >>> if before is None:
    ...     del os.environ["OZFP4_NUM_THREADS"]
    ... else:
    ...     os.environ["OZFP4_NUM_THREADS"] = before
    >>> read_environment()
    """
    _core.read_environment()
    if (cuda := sys.modules.get("ozfp4._cuda")) is not None:
        cuda.read_environment()
