"""``ozfp4.emulate``: a context manager and decorator that sends products of torch and NumPy to ozfp4."""

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
    """Context manager and decorator that sends torch's and NumPy's products to ozfp4.

    ``with ozfp4.emulate() as scope:`` or ``@ozfp4.emulate()``. The scope belongs to its thread and
    context: threads that are started in it do not have it. The innermost of several scopes counts.

    Parameters
    ----------
    dtypes : sequence of str or dtype
        Dtypes of the operands: "float64", "complex128", "float32", "complex64", names of integer
        dtypes, "bool", or "integers" for all integers and bool.
    min_size : int
        Leave products with fewer multiplications: m n k times the matrices of a stack.
    mode : {"fastest", "always"}
        "fastest" takes the products that ozfp4 computes faster than the library. m, n and k have to
        reach a threshold of the device and dtype, from a table or from ``ozfp4 calibrate``.
        "always" takes all.
    verbose : bool
        Print the summary at the end of the scope.
    **options
        `scheme`, `backend`, `workspace_limit`, `accuracy` and `rounding` of the products, as in
        :func:`ozfp4.matmul`. Integers ignore `accuracy` and `rounding`.

    Returns
    -------
    Scope
        Its `summary` has the products that were caught and left, with operation, dtype, shape and
        reason.

    Raises
    ------
    TypeError, ValueError
        Options that :func:`ozfp4.matmul` refuses; unknown modes and dtypes; a decorated object that
        is not a plain function. Products in the scope raise the errors of ozfp4.

    Notes
    -----
    **torch, "always"**, on the CPU and on CUDA: mm, bmm, mv, dot, vdot, addmm, addmv, baddbmm and
    addbmm, also with `out` and in place. Everything that torch builds from them is caught with them:
    ``@``, matmul, linear, einsum, tensordot, multi_dot, matrix_power. Gradients are caught too, if
    the backward pass starts in the scope. alpha A B + beta C is rounded once. torch calls Python
    for each operation of the thread, which takes microseconds.

    **torch, "fastest"**: the functions and methods of these names, inner, ``nn.functional.linear``
    (so ``nn.Linear``), einsum of two operands, tensordot and ``@``, where a program calls them.
    Gradients of caught products are computed by ozfp4 wherever the backward pass starts. Products
    inside torch, and compiled, scripted and traced functions, are not affected.

    **NumPy**: ``np.matmul``, ``dot``, ``vdot``, ``inner``, ``tensordot`` and ``einsum``, and in
    ``np.linalg`` multi_dot, matrix_power and pinv. The operator ``@`` and the method ``dot`` of
    arrays are not caught. Neither is a function that was imported by its name before.

    These names are patched while a scope is entered in any thread. Code outside the scope gets the
    results of the library.

    **Not caught**: solve, cholesky, qr, eigh, svd (:mod:`ozfp4.linalg` has some), convolutions,
    fused attention, SciPy.

    With "fastest" the library computes a product that does not fit `workspace_limit`. It also
    computes later products of a call site if many entries there had no certificate.

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
    """
    check_taken(emulate, options)
    return Scope(check_options(dtypes, min_size, mode, verbose, {**options}))


class Scope:
    """Result of :func:`ozfp4.emulate`. Many threads may enter it, many times; one summary counts all."""

    def __init__(self, options: Options) -> None:
        self._options, self._record = options, Record()
        self._open: dict[Entered, ExitStack] = {}  # of all contexts

    @property
    def summary(self) -> Summary:
        """The products caught and left so far."""
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
        """End the last entry of this context. If it has none, as when a generator ends elsewhere, end the last of any."""
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
