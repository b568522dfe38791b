"""``ozfp4.set_num_threads`` and ``ozfp4.get_num_threads``: of products on the CPU."""

from __future__ import annotations

import numpy as np

from .. import _core

MOST = 65536


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

    They scale, encode, multiply, fold and reconstruct; no bit of a result depends on their number. The threads of
    NumPy's and SciPy's BLAS are not touched.

    Parameters
    ----------
    count : int or None
        1..65536; None for what the environment said when it was last read, as at the start.

    Examples
    --------
    >>> before = get_num_threads()
    >>> set_num_threads(3)
    >>> get_num_threads()
    3
    >>> set_num_threads(None)
    >>> get_num_threads() == before
    True

    Raises
    ------
    TypeError
        For what is no integer.
    ValueError
        Outside 1..65536.
    """
    if count is None:
        _core.set_thread_count(0)
        return
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
        raise TypeError(f"count: {count!r} is not an integer")
    if not 1 <= count <= MOST:
        raise ValueError(f"count: {count} is outside 1..{MOST}")
    _core.set_thread_count(int(count))
