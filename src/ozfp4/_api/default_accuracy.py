"""The accuracy of products for which none is asked: of the process, and of a scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._options import PROCESS, SCOPE, check_accuracy, current_accuracy


def get_default_accuracy() -> str:
    """The accuracy of a product here for which none is asked: that of the innermost :func:`ozfp4.default_accuracy`, else that of
    the process, "standard" at first."""
    return current_accuracy()


def set_default_accuracy(accuracy: str) -> None:
    """Set the accuracy of products for which none is asked, for all threads of the process.

    It counts for all of :mod:`ozfp4` that has a keyword `accuracy`, from the next call on. Operands that were prepared keep the
    accuracy that they were prepared for, and gradients that of their product. Products of integers stay exact. A function that
    torch has compiled takes the accuracy of the process, or of a scope of the calling thread, as it runs.

    Parameters
    ----------
    accuracy : {"standard", "correct", "scaled"}
        As in :func:`ozfp4.matmul`.

    Examples
    --------
    >>> import numpy as np, ozfp4
    >>> row, column = np.array([1e200, 1.0, -1e200]), np.array([1e100, 3.0, 1e100])
    >>> set_default_accuracy("scaled")
    >>> float(ozfp4.matmul(row, column)), float(ozfp4.matmul(row, column, accuracy="correct"))
    (0.0, 3.0)
    >>> set_default_accuracy("standard")

    Raises
    ------
    ValueError
        For another name.
    """
    PROCESS[0] = check_accuracy(_named(accuracy))


@contextmanager
def default_accuracy(accuracy: str) -> Iterator[None]:
    """The same for a scope: ``with ozfp4.default_accuracy("correct"):``, or ``@ozfp4.default_accuracy("correct")``.

    The scope is that of its thread and context (:mod:`contextvars`): threads that are started in it do not have it, tasks of
    asyncio do. The innermost of several counts.

    Parameters
    ----------
    accuracy : {"standard", "correct", "scaled"}

    Examples
    --------
    >>> with default_accuracy("correct"):
    ...     get_default_accuracy()
    'correct'

    Raises
    ------
    ValueError
        For another name.
    """
    token = SCOPE.set(check_accuracy(_named(accuracy)))
    try:
        yield
    finally:
        SCOPE.reset(token)


def _named(accuracy: object) -> object:
    """The accuracy itself: nothing stands for None here."""
    return "None" if accuracy is None else accuracy
