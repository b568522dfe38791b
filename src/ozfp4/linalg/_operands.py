"""The operands of a function of linear algebra: checked, of one library and one dtype, as stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple, TypedDict, TypeVar, cast

import numpy as np

from .._dispatch.on_cuda import check_device
from .._options import check_accuracy
from .._request.dlpack import any_library
from .._request.library import TAKEN, is_integer, take_operand, take_operands
from .._support.fp_mode import in_default_mode
from ._native import copy, dtype_of, eye, is_finite, join, library_of, numbers

# Matrices go through a function together while they take no more bytes than this, so that what it makes of them stays small.
_AT_ONCE = 2**24


F = TypeVar("F", bound=Callable[..., Any])


def routine(function: F) -> F:
    """For arrays of any library, in the default floating-point mode."""
    return any_library(in_default_mode(function))


class Common(TypedDict, total=False):
    """Options of every function."""

    accuracy: str | None
    check_finite: bool


class FailureError(Exception):
    """A matrix that has no such factorisation: its index in the stack, and words that `over_stack` adds its name to."""


class Operands(NamedTuple):
    """The matrices a (count, m, n) and b (count, m, k) of one dtype, or None for b; `lead` is the shape of their stack, `vector`
    whether b was 1-D. `torch` is the module where the caller gave tensors, which are arrays here if they lie on the CPU: threads
    of torch have floating-point modes of their own."""

    torch: Any
    a: Any
    b: Any
    lead: tuple[int, ...]
    vector: bool
    accuracy: str

    def result(self, x: Any) -> Any:
        """As the caller gets it: an array, or a tensor."""
        x = x.reshape((*self.lead, *x.shape[1:]))
        return self.torch.tensor(x, device="cpu") if self.torch and isinstance(x, np.ndarray) else x[()]

    def like_b(self, x: Any) -> Any:
        """A result with columns, as b was given."""
        return x[..., 0] if self.vector else x

    def error(self, words: str, index: int) -> Exception:
        """LinAlgError of the library, with the name of the matrix."""
        kind = self.torch.linalg.LinAlgError if self.torch else np.linalg.LinAlgError
        place = [int(i) for i in np.unravel_index(index, self.lead)] if self.lead else ""
        return cast(Exception, kind(f"a{place}: {words}"))


def take(a: Any, *b: Any, square: bool = False, accuracy: str | None, check_finite: bool) -> Operands:
    """The operands, with or without b. Raises as :func:`ozfp4.linalg.solve`."""
    accuracy = check_accuracy(accuracy)
    given = take_operands(a, b[0], None, TAKEN) if b else take_operand("a", a, TAKEN)
    if given.on_device:
        check_device(given.a.device)
    matrices, shape, vector = [given.a], tuple(given.a.shape), False
    if len(shape) < 2:
        raise ValueError(f"a: a matrix or a stack of them is needed; its shape is {shape}")
    if square and shape[-2] != shape[-1]:
        raise ValueError(f"a: a square matrix is needed; its shape is {shape}")
    if b:
        if given.b.ndim == 0:
            raise ValueError("b: a vector, a matrix or a stack of matrices is needed; it is a single number")
        vector = given.b.ndim == 1
        matrices.append(given.b[:, None] if vector else given.b)
        rows = matrices[1].shape[-2]
        if rows != shape[-2]:
            raise ValueError(f"b: {rows} rows do not fit {shape}, the shape of a; {shape[-2]} are needed")
    for name, x in zip("ab", matrices, strict=False):
        if check_finite and not is_finite(x.reshape(1, 1, -1)).all():
            raise ValueError(f"{name}: holds NaN or infinity; check_finite=False lets them pass")
    try:
        lead = np.broadcast_shapes(*(tuple(x.shape[:-2]) for x in matrices))
    except ValueError:
        raise ValueError(
            f"b: shape {tuple(given.b.shape)} does not broadcast with {shape}, the shape of a"
        ) from None
    dtype = np.result_type(*(np.float64 if is_integer(x.dtype) else dtype_of(x) for x in matrices))
    stacks = [_stack(x, dtype, lead) for x in matrices]
    return Operands(given.torch, stacks[0], stacks[1] if b else None, lead, vector, accuracy)


def check_flags(**flags: object) -> None:
    """TypeError for a flag that is no truth value."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name}: {value!r} is neither True nor False")


def _stack(x: Any, dtype: np.dtype[Any], lead: tuple[int, ...]) -> Any:
    """A copy with one axis for the stack."""
    shape = tuple(x.shape[-2:])
    return copy(library_of(x).broadcast_to(x, (*lead, *shape)), dtype).reshape(prod(lead), *shape)


def over_stack(given: Operands, function: Callable[..., tuple[Any, ...]], *operands: Any) -> tuple[Any, ...]:
    """The function's results for the stack, which it gets in pieces; LinAlgError for the first matrix that it fails for.

    For an empty stack only the shapes matter: they are those of a unit matrix.
    """
    count = prod(given.lead)
    if count == 0:
        operands = tuple(map(_unit, operands))
    most = max(1, _AT_ONCE // max(1, prod(given.a.shape[1:]) * dtype_of(given.a).itemsize))
    results = []
    with np.errstate(all="ignore"):  # as matmul, which warns of nothing
        for begin in range(0, max(count, 1), most):
            piece = [x[begin : begin + most] for x in operands]
            try:
                results.append(function(*piece))
            except FailureError as error:
                index, words = _first_failure(function, piece, *error.args)
                raise given.error(words, begin + index) from None
    parts = [join(each, 0)[:count] for each in zip(*results, strict=True)]
    return tuple(map(given.result, parts))


def _first_failure(
    function: Callable[..., Any], operands: list[Any], index: int, words: str
) -> tuple[int, str]:
    """That of the first matrix that has one: a later matrix may fail in an earlier step."""
    try:
        if index:
            function(*(x[:index] for x in operands))
    except FailureError as earlier:
        return _first_failure(function, operands, *earlier.args)
    return index, words


def _unit(x: Any) -> Any:
    """A unit matrix of the shape of x's matrices, as a stack of one; for a row of indices each its own."""
    if x.ndim == 2:
        return np.arange(x.shape[1])[None]
    return copy(eye(x.shape[1], x.shape[2], numbers(np.zeros((1, 1, 1)), x)))
