"""How far products are, for a scope."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .._options import PROGRESS


@contextmanager
def progress(callback: Callable[[float], object]) -> Iterator[None]:
    """Report how far products are: ``with ozfp4.progress(callback): c = ozfp4.matmul(a, b)``.

    `callback(fraction)` is called between blocks of a product on the CPU, and with `device=` as tiles of the result arrive, in
    the thread that called; the last fraction is 1. An exception of it ends the product, whose `out` is then undefined.

    Every product reports its own fraction, from its first block to 1: those inside :mod:`ozfp4.linalg`, :func:`ozfp4.einsum`, a
    gradient or a rank, both of a :func:`ozfp4.gemm` with a complex factor, and the blocks of :func:`ozfp4.gram`, one after the
    other. Products of tensors on a GPU, which are only enqueued, products without an entry, and pieces of K on several ranks
    report nothing.

    The scope is that of its thread and context (:mod:`contextvars`), as :func:`ozfp4.default_accuracy` is. The innermost of
    several counts. Products that `callback` itself makes report nothing.

    Parameters
    ----------
    callback : callable
        Takes a float above 0, at most 1.

    Examples
    --------
    >>> import numpy as np, ozfp4
    >>> done = []
    >>> with progress(done.append):
    ...     c = ozfp4.matmul(np.ones((40, 50)), np.ones((50, 30)))
    >>> done[-1]
    1.0

    Raises
    ------
    TypeError
        A `callback` that cannot be called.
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
