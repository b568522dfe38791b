"""Settings of all products: default accuracy, threads on the CPU, progress, variables of the environment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .. import _core
from .._options import ACCURACIES, PROCESS, PROGRESS, SCOPE, check_integer, check_name, current_accuracy


def get_default_accuracy() -> str:
    """The accuracy of products without the keyword `accuracy`.

    That of the innermost :func:`ozfp4.default_accuracy`, else that of the process, which begins
    as "standard".
    """
    return current_accuracy()


def set_default_accuracy(accuracy: str) -> None:
    """Set the accuracy of products without the keyword, for the whole process.

    It holds in all threads, for all of :mod:`ozfp4` that has the keyword `accuracy`, from the
    next call on. Prepared operands keep their accuracy, and gradients that of their product.
    Products of integers stay exact. A function that torch has compiled takes the accuracy of the
    process, or of a scope of the calling thread, as it runs.

    Parameters
    ----------
    accuracy : {"standard", "correct", "scaled"}
        As in :func:`ozfp4.matmul`; another name is a ValueError.

    Examples
    --------
    >>> import numpy as np, ozfp4
    >>> row, column = np.array([1e200, 1.0, -1e200]), np.array([1e100, 3.0, 1e100])
    >>> set_default_accuracy("scaled")
    >>> float(ozfp4.matmul(row, column)), float(ozfp4.matmul(row, column, accuracy="correct"))
    (0.0, 3.0)
    >>> set_default_accuracy("standard")
    """
    check_name("accuracy", accuracy, ACCURACIES)
    PROCESS[0] = accuracy


@contextmanager
def default_accuracy(accuracy: str) -> Iterator[None]:
    """Set the accuracy of products without the keyword, for a scope.

    A context manager and a decorator: ``with ozfp4.default_accuracy("correct"):``. The scope is
    that of its thread and context (:mod:`contextvars`): tasks of asyncio inherit it, new threads
    do not. The innermost scope counts.

    Examples
    --------
    >>> with default_accuracy("correct"):
    ...     get_default_accuracy()
    'correct'
    """
    check_name("accuracy", accuracy, ACCURACIES)
    token = SCOPE.set(accuracy)
    try:
        yield
    finally:
        SCOPE.reset(token)


def get_num_threads() -> int:
    """The largest number of threads of a product on the CPU.

    The first of these that is set:

    1. the value of :func:`ozfp4.set_num_threads`;
    2. the environment variable ``OZFP4_NUM_THREADS``;
    3. ``OMP_NUM_THREADS``;
    4. the number of CPUs that the calling thread may run on now, or the quota of its control
       group (cgroup, version 1 or 2), rounded up, if that is less.

    The variables are read at import and by :func:`ozfp4.read_environment`, the quota once.
    """
    return _core.thread_count()


def set_num_threads(count: int | None) -> None:
    """Set the largest number of threads of a product on the CPU.

    It holds for the whole process, from the next loop on; a product that runs meanwhile may
    exceed its `workspace_limit`. No bit of a result depends on the number of threads. The BLAS of
    NumPy and SciPy keeps its own number.

    Parameters
    ----------
    count : int or None
        1..65536, or None for the value that the environment had when it was last read. Other
        values are a TypeError or a ValueError.

    Examples
    --------
    >>> before = get_num_threads()
    >>> set_num_threads(3)
    >>> get_num_threads()
    3
    >>> set_num_threads(None)
    >>> get_num_threads() == before
    True
    """
    _core.set_thread_count(0 if count is None else check_integer("count", count, 1, 65536))


@contextmanager
def progress(callback: Callable[[float], object]) -> Iterator[None]:
    """Report the progress of products within a scope.

    ``with ozfp4.progress(callback): c = ozfp4.matmul(a, b)`` calls `callback` between blocks of a
    product on the CPU, and with `device=` as tiles of the result arrive, in the calling thread.

    Parameters
    ----------
    callback : callable
        Called with the fraction of the product that is done, a float above 0 and at most 1. An
        exception in it ends the product and leaves `out` undefined. Another object is a
        TypeError.

    Notes
    -----
    Every product reports its own fraction, from its first block to 1. That includes products
    inside :mod:`ozfp4.linalg`, :func:`ozfp4.einsum`, gradients and ranks, both products of a
    :func:`ozfp4.gemm` with a complex factor, and each block of :func:`ozfp4.gram`.

    These report nothing: products of tensors on a GPU, which are only enqueued; products without
    an entry; pieces of K on several ranks; products that `callback` itself computes. The scope is
    that of :func:`ozfp4.default_accuracy`.

    Examples
    --------
    >>> import numpy as np, ozfp4
    >>> done = []
    >>> with progress(done.append):
    ...     c = ozfp4.matmul(np.ones((40, 50)), np.ones((50, 30)))
    >>> done[-1]
    1.0
    """
    if not callable(callback):
        raise TypeError(f"callback: {callback!r} is not callable")

    def alone(fraction: float) -> None:
        scope = PROGRESS.set(None)
        try:
            callback(fraction)
        except Exception as error:
            error.ends_product = True  # type: ignore[attr-defined]  # though it be of memory, for which emulate has a remedy
            raise
        finally:
            PROGRESS.reset(scope)

    token = PROGRESS.set(alone)
    try:
        yield
    finally:
        PROGRESS.reset(token)


def read_environment() -> None:
    """Read the environment variables of products on a CPU again.

    ``OZFP4_NUM_THREADS``, ``OMP_NUM_THREADS``, ``OZFP4_CPU_KERNEL``, and for the self-test
    ``OZFP4_CACHE_DIR``, ``OZFP4_SELFTEST`` and ``OZFP4_SELFTEST_SECONDS``, are read when the
    package is imported. Later assignments to ``os.environ`` count from this call on. An invalid
    value is an error of the next product, as after an import. Products that run meanwhile in
    another thread may use the old values.

    Examples
    --------
    >>> import os
    >>> before = os.environ.get("OZFP4_NUM_THREADS", "")
    >>> os.environ["OZFP4_NUM_THREADS"] = "3"
    >>> read_environment()
    >>> get_num_threads()
    3
    >>> os.environ["OZFP4_NUM_THREADS"] = before
    >>> read_environment()
    """
    _core.read_environment()
    if (cuda := sys.modules.get("ozfp4._cuda")) is not None:
        cuda.read_environment()
