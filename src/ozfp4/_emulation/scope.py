"""``ozfp4.emulate``: a context manager and decorator within which products of torch and NumPy go through ozfp4."""

from __future__ import annotations

import functools
import inspect
import logging
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, TypeVar, cast

from .._options import RoundedOptions, check_taken, takes
from .._support.environment import LOGGER
from . import for_numpy
from .choice import Options, check_options
from .entered import Entered, entered, entered_here
from .summary import Record, Summary

if TYPE_CHECKING:
    from typing_extensions import Unpack

F = TypeVar("F", bound=Callable[..., Any])


@takes(RoundedOptions)
def emulate(
    *,
    dtypes: Any = ("float64", "complex128"),
    min_size: int = 0,
    mode: str = "fastest",
    verbose: bool = False,
    **options: Unpack[RoundedOptions],
) -> Scope:
    """A scope in which matrix products of torch and NumPy go through ozfp4: ``with ozfp4.emulate():``, or ``@ozfp4.emulate()``.

    Of torch, on the CPU and on CUDA, with mode="always": mm, bmm, mv, dot, vdot, addmm, addmv, baddbmm, addbmm, with `out` and in
    place, and all that torch makes of them: ``@``, matmul, linear, einsum, tensordot, multi_dot, matrix_power. Gradients flow as
    without, and their products are caught too, where the backward pass starts in the scope. alpha A B + beta C is rounded once.
    An einsum over axes of extent 1 alone stays torch's own, which multiplies entries there and makes no product of matrices.
    torch hands each operation of the thread to Python for that, which takes microseconds.

    With mode="fastest": torch's functions and methods of those names, inner, ``nn.functional.linear`` (so ``nn.Linear``), einsum
    of two operands, tensordot and the operator ``@``, where a program calls them. They stand for others while such a scope is
    entered anywhere; no other operation takes longer. Products that torch makes inside of itself are not looked at:
    multi_dot, matrix_power, gradients of products that are left to it. The gradients of what is caught are ozfp4's, wherever the
    backward pass starts.
    Compiled, scripted and traced functions stay torch's.

    In NumPy: ``np.matmul``, ``np.dot``, ``np.vdot``, ``np.inner``, ``np.tensordot``, ``np.einsum``, and what ``np.linalg`` makes
    of them: multi_dot, matrix_power, pinv. These names stand for other functions while any scope is entered; the operator ``@``
    of arrays and the method ``dot`` are not reached, and neither is a function that was imported from NumPy by its name.

    What computes inside a library is not caught: solve, cholesky, qr, eigh, svd (LAPACK and cuSOLVER; `ozfp4.linalg` has some of
    them), convolutions, fused attention, SciPy.

    The scope is that of its thread and context: threads that are started in it do not have it. The innermost of several counts.

    Parameters
    ----------
    dtypes : sequence of str or dtype
        Of the operands: "float64", "complex128", "float32", "complex64", names of integers, "bool"; "integers" is all of these.
    min_size : int
        Products of fewer multiplications, m n k times the number of matrices of a stack, are left as they are.
    mode : {"fastest", "always"}
        "fastest" takes what ozfp4 does faster than the library, by the model of cost and by times that are measured once on a
        machine and kept. A product that has no room in `workspace_limit` is the library's then, and so are the next
        ones from a call in the program whose last product left many entries to chains.
        "always" takes all.
    verbose : bool
        Print the summary on leaving the scope.
    **options
        `scheme`, `backend`, `workspace_limit`, `accuracy` and `rounding` of the products, as in
        :func:`ozfp4.matmul`; `accuracy` and `rounding` are not for integers, which are exact.

    Returns
    -------
    Scope
        The context manager and decorator. Its `summary` says what was caught and left, by operation, dtype and shape, and why.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[1.0, 2.0**-60], [3.0, 1.0]])
    >>> with emulate(mode="always", accuracy="correct") as scope:
    ...     c = np.matmul(a, np.array([[2.0**60], [-(2.0**120)]]))
    >>> scope.summary.caught, scope.summary.left, c[0]
    (1, 0, array([0.]))
    >>> @emulate(dtypes=["int64"], mode="always")
    ... def square(n):
    ...     return np.dot(n, n)
    >>> int(square(np.array([2**40])))
    0

    Raises
    ------
    TypeError, ValueError
        For options that :func:`ozfp4.matmul` would refuse, unknown modes and dtypes, functions that are not plain ones. In the
        scope products raise what those of ozfp4 do: a device without a kernel in this build is an error with "always".
    """
    check_taken(emulate, options)
    return Scope(check_options(dtypes, min_size, mode, verbose, {**options}))


class Scope:
    """What :func:`ozfp4.emulate` returns. It may be entered many times, and by many threads; all count in one summary."""

    def __init__(self, options: Options) -> None:
        self._options, self._record = options, Record()
        self._open: dict[Entered, ExitStack] = {}  # of all contexts

    @property
    def summary(self) -> Summary:
        """What was caught and left until now."""
        return self._record.summary()

    def __enter__(self) -> Scope:
        with ExitStack() as stack:
            here = stack.enter_context(entered(self._options, self._record))
            stack.enter_context(for_numpy.EXCHANGE.entered())
            if "torch" in sys.modules:
                from .for_torch import mode, names

                reached = names.EXCHANGE.entered() if here.by_name else mode.make_mode(here)
                stack.enter_context(reached)
            self._open[here] = stack.pop_all()
        return self

    def __exit__(self, *exception: Any) -> None:
        """Of this context's entries the last; where it has none, as where a generator is ended elsewhere, the last of any."""
        here = self._here()
        last = here[0] if here else next(iter(reversed(self._open)), None)
        stack = None if last is None else self._open.pop(last, None)
        if stack is None:
            raise RuntimeError("emulate: a scope is left that is not entered")
        stack.__exit__(*exception)
        if len(here) < 2:
            self._tell()

    def __call__(self, function: F) -> F:
        """The function within the scope."""
        if not callable(function) or isinstance(function, (type, staticmethod, classmethod)):
            raise TypeError(f"emulate: {function!r} is no function")
        name = getattr(function, "__qualname__", repr(function))
        for kind in ("iscoroutinefunction", "isgeneratorfunction", "isasyncgenfunction"):
            if any(getattr(inspect, kind)(each) for each in (function, type(function).__call__)):
                raise TypeError(
                    f"emulate: {name} returns before its body has run; enter the scope in the body instead"
                )

        @functools.wraps(function)
        def emulated(*args: Any, **named: Any) -> Any:
            with self:
                return function(*args, **named)

        return cast(F, emulated)

    def __repr__(self) -> str:
        return f"ozfp4.emulate(mode={self._options.mode!r}): {self.summary.caught} caught, {self.summary.left} left"

    def _repr_html_(self) -> str:
        return self.summary._repr_html_()

    def _here(self) -> list[Entered]:
        """This context's entries of the scope, the last one first."""
        return [each for each in entered_here() if each in self._open]

    def _tell(self) -> None:
        if self._options.verbose:
            print(self.summary)
        if not LOGGER.isEnabledFor(logging.DEBUG):
            return
        for row in self.summary.rows:
            LOGGER.debug(
                "emulate: %s %d calls of %s %s %s on %s (%s)", "caught" if row.taken else "left", row.calls,
                row.operation, row.problem.extents, row.problem.dtype, row.problem.device, row.reason,
            )  # fmt: skip
