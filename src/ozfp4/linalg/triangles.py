"""``ozfp4.linalg.solve_triangular``."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ..request.dlpack import any_library
from ..request.types import TensorT
from ..support.fp_mode import in_default_mode
from .blocks import blocks, blocks_reversed
from .native import Native
from .operands import FailureError, over_stack, take
from .update import update


def adjoint(x: Any) -> Any:
    """The conjugate transpose of a matrix."""
    return x.conj().T


def substitute(native: Native, t: Any, b: Any, accuracy: str, *, lower: bool, unit: bool = False) -> Any:
    """X with T X = B. Of T one triangle is read; its diagonal holds no zero, or is `unit`.

    Each entry of B loses the products of all blocks before its own at once, and is rounded once.
    """
    x = native.copy(b, b.dtype)
    n = t.shape[0]
    for begin, end in blocks(n) if lower else blocks_reversed(n):
        here, done = slice(begin, end), slice(0, begin) if lower else slice(end, n)
        rest = update(x[here], t[here, done], x[done], accuracy)
        x[here] = native.triangular(t[here, here], rest, lower=lower, unit=unit)
    return x


def zeros_of(native: Native, t: Any) -> list[int]:
    """Where the diagonal is zero, counted from 0."""
    return [int(k) for k in np.flatnonzero(native.to_host(t.diagonal()) == 0)]


def check_diagonal(native: Native, t: Any, words: str) -> None:
    """FailureError if the diagonal holds a zero; its place stands for {} in the words."""
    if zeros := zeros_of(native, t):
        raise FailureError(words.format(zeros[0]))


def transposition(trans: object) -> str:
    """ "N", "T" or "C" of SciPy's names for them; ValueError for anything else."""
    names = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}
    if (
        isinstance(trans, (bool, float))
        or not isinstance(trans, (int, str, np.integer))
        or trans not in names
    ):
        raise ValueError(f"trans: {trans!r} is unknown; allowed are 0 or 'N', 1 or 'T', 2 or 'C'")
    return names[trans if isinstance(trans, str) else int(trans)]


@overload
def solve_triangular(
    a: TensorT,
    b: TensorT,
    *,
    trans: int | str = ...,
    lower: bool = ...,
    unit_diagonal: bool = ...,
    accuracy: str | None = ...,
    check_finite: bool = ...,
) -> TensorT: ...
@overload
def solve_triangular(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    *,
    trans: int | str = ...,
    lower: bool = ...,
    unit_diagonal: bool = ...,
    accuracy: str | None = ...,
    check_finite: bool = ...,
) -> npt.NDArray[Any]: ...
@any_library
@in_default_mode
def solve_triangular(
    a: Any,
    b: Any,
    *,
    trans: int | str = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    accuracy: str | None = None,
    check_finite: bool = True,
) -> Any:
    """X with op(A) X = B for a triangular matrix A, of which the other triangle is not read.

    Parameters
    ----------
    a : array_like or torch.Tensor
        (..., n, n), float64, float32, complex128 or complex64.
    b : array_like or torch.Tensor
        (n,), or (..., n, k) with broadcasting stacks.
    trans : {0 or "N", 1 or "T", 2 or "C"}
        op(A): A itself, its transpose, its conjugate transpose.
    lower : bool
        Which triangle A is, before op.
    unit_diagonal : bool
        The diagonal is taken as ones and not read.
    accuracy : {"standard", "correct", "scaled"}, optional
        Of the products, as in :func:`ozfp4.matmul`.
    check_finite : bool
        Refuse NaN and infinity; else they take their way through the arithmetic.

    Returns
    -------
    x : array or tensor
        Of the shape of b, or of the stack.

    Examples
    --------
    >>> import numpy as np
    >>> solve_triangular(np.array([[2.0, 0.0], [1.0, 4.0]]), np.array([2.0, 9.0]), lower=True)
    array([1., 2.])

    Raises
    ------
    LinAlgError
        A zero on the diagonal; NumPy's, or torch's for tensors.
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.linalg.solve`; ValueError for a trans that is unknown.
    """
    way = transposition(trans)
    given = take(a, b, square=True, accuracy=accuracy, check_finite=check_finite)

    def one(t: Any, right: Any) -> tuple[Any]:
        if not unit_diagonal:
            check_diagonal(
                given.native, t, "singular matrix: entry {} of the diagonal, counted from 0, is zero"
            )
        if way != "N":
            t = adjoint(t) if way == "C" else t.T
        below = bool(lower) == (way == "N")
        return (substitute(given.native, t, right, given.accuracy, lower=below, unit=unit_diagonal),)

    (x,) = over_stack(given.native, given.lead, one, given.a, given.b)
    return given.like_b(x)
