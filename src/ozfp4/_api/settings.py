"""Settings of all products: the default accuracy, threads on the CPU, who hears of progress, variables of the environment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .. import _core
from .._options import ACCURACIES, PROCESS, PROGRESS, SCOPE, check_integer, check_name, current_accuracy


def get_default_accuracy() -> str:
    """The accuracy of a product here for which none is asked: that of the innermost :func:`ozfp4.default_accuracy`, else that of
    the process, "standard" at first."""
    return current_accuracy()


def set_default_accuracy(accuracy: str) -> None:
    """Set the accuracy of products for which none is asked, for all threads of the process.

    It counts for all of :mod:`ozfp4` that has a keyword `accuracy`, from the next call on. Operands that were prepared keep the
    accuracy that they were prepared for, and gradients that of their product. Products of integers stay exact. A function that
    torch has compiled takes the accuracy of the process, or of a scope of the calling thread, as it runs.

    `accuracy` is one of those of :func:`ozfp4.matmul`; another name is a ValueError.

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
    """As :func:`ozfp4.set_default_accuracy` for a scope: ``with ozfp4.default_accuracy("correct"):``, or
    ``@ozfp4.default_accuracy("correct")``.

    The scope is that of its thread and context (:mod:`contextvars`): threads that are started in it do not have it, tasks of
    asyncio do. The innermost of several counts.

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
    """How many threads a product on the CPU may have.

    That is what :func:`ozfp4.set_num_threads` said, else the environment variable ``OZFP4_NUM_THREADS``, else
    ``OMP_NUM_THREADS``, else the number of CPUs that the calling thread may run on now, or fewer where the quota of CPU time of
    a control group (cgroup, version 1 or 2) comes to fewer: it is rounded up, and read once. The variables are read at import
    and by :func:`ozfp4.read_environment`.
    """
    return _core.thread_count()


def set_num_threads(count: int | None) -> None:
    """Set how many threads a product on the CPU may have, for all threads of the process, from the next loop on: a product that
    runs meanwhile may come to more memory than its `workspace_limit`.

    No bit of a result depends on their number. The threads of NumPy's and SciPy's BLAS are not touched.

    `count` is an integer in 1..65536, or None for what the environment said when it was last read, as at the start; all else is a
    TypeError or a ValueError.

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
    """Report how far products are: ``with ozfp4.progress(callback): c = ozfp4.matmul(a, b)``.

    `callback(fraction)`, of a float above 0 and at most 1, is called between blocks of a product on the CPU, and with `device=`
    as tiles of the result arrive, in the thread that called. An exception of it ends the product, whose `out` is then undefined.
    A `callback` that cannot be called is a TypeError.

    Every product reports its own fraction, from its first block to 1: those inside :mod:`ozfp4.linalg`, :func:`ozfp4.einsum`, a
    gradient or a rank, both of a :func:`ozfp4.gemm` with a complex factor, and the blocks of :func:`ozfp4.gram`, one after the
    other. Products of tensors on a GPU, which are only enqueued, products without an entry, and pieces of K on several ranks
    report nothing, nor do products that `callback` itself makes. The scope is as that of :func:`ozfp4.default_accuracy`.

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
    """Read the variables of the environment that products on a CPU follow once more.

    ``OZFP4_NUM_THREADS``, ``OMP_NUM_THREADS``, ``OZFP4_CPU_KERNEL``, and of the self-test ``OZFP4_CACHE_DIR``,
    ``OZFP4_SELFTEST`` and ``OZFP4_SELFTEST_SECONDS`` are read when the package is imported, and never by a product, which runs
    without the interpreter's lock. Later assignments to ``os.environ`` count from this call on. A value that means nothing is an
    error of the next product, as after an import. A thread that multiplies meanwhile may still follow the old values.

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
