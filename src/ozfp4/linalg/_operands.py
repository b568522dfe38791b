"""The operands of a function of linear algebra: checked, of one library and one dtype, as stacks of matrices."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np

from .._dispatch.on_cuda import check_device
from .._options import check_accuracy
from .._request import library
from ._native import copy, dtype_of, eye, is_finite, join, library_of, numbers

_NAMES = tuple(np.dtype(t).name for t in library.TAKEN)
# Matrices go through a function together while they take no more bytes than this, so that what it makes of them stays small.
_AT_ONCE = 2**24


class FailureError(Exception):
    """A matrix that has no such factorisation: its index in the stack, and words that `over_stack` adds its name to."""

    def __init__(self, index: int, words: str) -> None:
        super().__init__(words)
        self.index = index


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
    given = dict(zip("ab", (a, *b), strict=False))
    torch = library.torch_module() if library.is_from_torch(**given) else None
    arrays = {name: _checked(name, x) for name, x in given.items()}
    if torch:
        library.check_device("b", given.get("b", a), a)
        if lies_on_host(a):
            arrays = {name: library.array_of_tensor(name, x) for name, x in arrays.items()}
    a, right = arrays["a"], arrays.get("b")
    if a.ndim < 2:
        raise ValueError(f"a: a matrix or a stack of them is needed; its shape is {tuple(a.shape)}")
    if square and a.shape[-2] != a.shape[-1]:
        raise ValueError(f"a: a square matrix is needed; its shape is {tuple(a.shape)}")
    if right is not None:
        right = _fitting(a, right)
    for name, x in arrays.items():
        if check_finite and not is_finite(x.reshape(1, 1, -1)).all():
            raise ValueError(f"{name}: holds NaN or infinity; check_finite=False lets them pass")
    dtype, lead = np.result_type(*map(dtype_of, arrays.values())), tuple(a.shape[:-2])
    if right is not None:
        try:
            lead = np.broadcast_shapes(lead, tuple(right.shape[:-2]))
        except ValueError:
            raise ValueError(
                f"b: shape {tuple(right.shape)} does not broadcast with {tuple(a.shape)}, the shape of a"
            ) from None
        right = _stack(right, dtype, lead)
    vector = right is not None and arrays["b"].ndim == 1
    return Operands(torch, _stack(a, dtype, lead), right, lead, vector, accuracy)


def lies_on_host(tensor: Any) -> bool:
    """Whether NumPy and SciPy compute with it."""
    return bool(tensor.is_cpu)


def check_flags(**flags: object) -> None:
    """TypeError for a flag that is no truth value."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name}: {value!r} is neither True nor False")


def _checked(name: str, x: Any) -> Any:
    """An array or tensor of floating-point or complex numbers; integers become float64, as NumPy's linear algebra has it."""
    if not library.is_tensor(x):
        x = library.check_dtype(name, library.as_array(name, x), library.TAKEN)
        return x.astype(np.float64) if library.is_integer(x.dtype) else x
    library.check_tensor(name, x)
    if library.name_of(x.dtype) not in _NAMES:
        allowed = library.listed(library.TAKEN, "torch.")
        raise TypeError(f"{name}: dtype {x.dtype} is not supported; allowed is {allowed}")
    if not x.is_cpu:
        check_device(x.device)
    return x.detach().double() if library.is_integer(x.dtype) else x.detach()


def _fitting(a: Any, b: Any) -> Any:
    """b with two axes at least, and as many rows as a has."""
    if b.ndim == 0:
        raise ValueError("b: a vector, a matrix or a stack of matrices is needed; it is a single number")
    columns = b[:, None] if b.ndim == 1 else b
    if columns.shape[-2] != a.shape[-2]:
        raise ValueError(
            f"b: {columns.shape[-2]} rows do not fit {tuple(a.shape)}, the shape of a; {a.shape[-2]} are needed"
        )
    return columns


def _stack(x: Any, dtype: np.dtype[Any], lead: tuple[int, ...]) -> Any:
    """A copy with one axis for the stack."""
    x, shape = copy(x, dtype), tuple(x.shape[-2:])
    if x.shape[:-2] != lead:
        x = library_of(x).broadcast_to(x, (*lead, *shape))
    return x.reshape(prod(lead), *shape)


def over_stack(given: Operands, function: Callable[..., tuple[Any, ...]], *operands: Any) -> tuple[Any, ...]:
    """The function's results for the stack, which it gets in pieces; LinAlgError for the first matrix that it fails for.

    Of an empty stack only the shapes matter: they are those of a unit matrix.
    """
    count = prod(given.lead)
    if count == 0:
        operands = tuple(map(_unit, operands))
    most = max(1, _AT_ONCE // max(1, prod(given.a.shape[1:]) * dtype_of(given.a).itemsize))
    results = []
    for begin in range(0, max(count, 1), most):
        piece = tuple(x[begin : begin + most] for x in operands)
        try:
            with np.errstate(all="ignore"):  # as matmul, which warns of nothing
                results.append(function(*piece))
        except FailureError as error:
            first = _first_failure(function, piece, error)
            raise given.error(str(first), begin + first.index) from None
    parts = [join(each, 0)[:count] for each in zip(*results, strict=True)]
    return tuple(map(given.result, parts))


def _first_failure(
    function: Callable[..., Any], operands: tuple[Any, ...], error: FailureError
) -> FailureError:
    """That of the first matrix that has one: a later matrix may fail in an earlier step."""
    while error.index > 0:
        try:
            with np.errstate(all="ignore"):
                function(*(x[: error.index] for x in operands))
        except FailureError as earlier:
            error = earlier
        else:
            break
    return error


def _unit(x: Any) -> Any:
    """A unit matrix of the shape of x's matrices, as a stack of one; for a row of indices each its own."""
    if x.ndim == 2:
        return np.arange(x.shape[1])[None]
    return copy(eye(x.shape[1], x.shape[2], numbers(np.zeros((1, 1, 1)), x)))
