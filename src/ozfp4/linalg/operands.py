"""What a function of linear algebra was given: checked, of one library and one dtype, and taken apart into matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._options import check_accuracy
from ..dispatch.on_cuda import check_device
from ..request import library
from .native import Native, native_of

_NAMES = tuple(np.dtype(t).name for t in library.NUMBERS)


class FailureError(Exception):
    """A matrix that has no such factorisation, by its words; `over_stack` adds which matrix it is."""


class Operands(NamedTuple):
    """The matrices a (..., m, n) and b (..., m, k) of one dtype, or None for b; `lead` is their common shape of a stack.
    `vector` says that b was 1-D: it is a column here, and the result loses its last axis."""

    native: Native
    a: Any
    b: Any
    lead: tuple[int, ...]
    vector: bool
    accuracy: str

    def like_b(self, x: Any) -> Any:
        """A result with columns, as b was given."""
        return x[..., 0] if self.vector else x


def take(
    a: Any,
    b: Any = None,
    *,
    square: bool = False,
    accuracy: str | None,
    check_finite: bool,
    rows_of_b: int = -2,
    has_b: bool = True,
) -> Operands:
    """The operands; b is left out where `has_b` is False. `rows_of_b` is the axis of a that b's rows are counted by.

    Raises
    ------
    TypeError
        NumPy mixed with torch, dtypes other than these and their complex ones, masked arrays, tensors that are not dense.
    ValueError
        Shapes that do not fit, NaN or infinity where `check_finite`, an unknown accuracy.
    RuntimeError
        Tensors that require grad, on different devices, or on one without a kernel in this build.
    """
    accuracy = check_accuracy(accuracy)
    given = {"a": a, "b": b} if has_b else {"a": a}
    kinds = {name: library.is_tensor(x) for name, x in given.items()}
    if len(set(kinds.values())) > 1:
        text = ", ".join(f"{name} is a {'torch tensor' if t else 'NumPy array'}" for name, t in kinds.items())
        raise TypeError(f"NumPy arrays and torch tensors cannot be mixed: {text}")
    arrays = {name: _checked(name, x) for name, x in given.items()}
    a, b = arrays["a"], arrays.get("b")
    if has_b and kinds["a"] and a.device != b.device:
        raise RuntimeError(f"b: device {b.device} differs from {a.device}, where a lies")
    native = native_of(a)
    arrays = {name: native.entries(name, x) for name, x in arrays.items()}
    a, b = arrays["a"], arrays.get("b")
    if a.ndim < 2:
        raise ValueError(f"a: a matrix or a stack of them is needed; its shape is {tuple(a.shape)}")
    if square and a.shape[-2] != a.shape[-1]:
        raise ValueError(f"a: a square matrix is needed; its shape is {tuple(a.shape)}")
    vector = has_b and b.ndim == 1
    if has_b:
        b = _fitting(a, b, rows_of_b)
    if check_finite:
        for name, x in arrays.items():
            if not native.is_finite(x):
                raise ValueError(f"{name}: holds NaN or infinity; check_finite=False lets them pass")
    dtype = native.common(*arrays.values())
    lead = tuple(a.shape[:-2])
    if has_b:
        try:
            lead = np.broadcast_shapes(lead, tuple(b.shape[:-2]))
        except ValueError:
            raise ValueError(
                f"b: shape {tuple(b.shape)} does not broadcast with {tuple(a.shape)}, the shape of a"
            ) from None
        b = native.broadcast(native.copy(b, dtype), (*lead, *b.shape[-2:]))
    a = native.broadcast(native.copy(a, dtype), (*lead, *a.shape[-2:]))
    return Operands(native, a, b, lead, vector, accuracy)


def check_flags(**flags: object) -> None:
    """TypeError for a flag that is no truth value."""
    for name, value in flags.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name}: {value!r} is neither True nor False")


def _checked(name: str, x: Any) -> Any:
    """An array or tensor of a dtype that products take."""
    if not library.is_tensor(x):
        return library.check_dtype(name, library.as_array(name, x), library.NUMBERS)
    library.check_tensor(name, x)
    if str(x.dtype).removeprefix("torch.") not in _NAMES:
        names = " or ".join(f"torch.{n}" for n in _NAMES)
        raise TypeError(f"{name}: dtype {x.dtype} is not supported; allowed is {names}")
    if x.device.type != "cpu":
        check_device(x.device)
    return x.detach()


def _fitting(a: Any, b: Any, rows: int) -> Any:
    """b with two axes at least, with as many rows as a has along the axis `rows`."""
    if b.ndim == 0:
        raise ValueError("b: a vector, a matrix or a stack of matrices is needed; it is a single number")
    columns = b[:, None] if b.ndim == 1 else b
    if columns.shape[-2] != a.shape[rows]:
        raise ValueError(
            f"b: {columns.shape[-2]} rows do not fit {tuple(a.shape)}, the shape of a; {a.shape[rows]} are needed"
        )
    return columns


def over_stack(
    native: Native, lead: tuple[int, ...], function: Callable[..., tuple[Any, ...]], *operands: Any
) -> tuple[Any, ...]:
    """The function of each matrix of the stack, and its results stacked likewise; LinAlgError where it fails.

    Of an empty stack only the shapes matter: they are those of a unit matrix.
    """
    results = []
    for index in np.ndindex(*lead):
        try:
            with np.errstate(all="ignore"):  # as matmul, which warns of nothing
                results.append(function(*(x[index] for x in operands)))
        except FailureError as error:
            where = f"a{list(index)}" if lead else "a"
            raise native.error(f"{where}: {error}") from None
    if not lead:
        return tuple(map(native.result, results[0]))
    if not results:
        results.append(function(*(_unit(native, x, len(lead)) for x in operands)))
        stacks = [native.stack(list(parts))[:0] for parts in zip(*results, strict=True)]
    else:
        stacks = [native.stack(list(parts)) for parts in zip(*results, strict=True)]
    return tuple(native.result(x.reshape((*lead, *x.shape[1:]))) for x in stacks)


def _unit(native: Native, x: Any, lead: int) -> Any:
    """A unit matrix of the shape of x's matrices; for a row of indices each its own."""
    return native.eye(x.shape[-2], x.shape[-1], x) if x.ndim > lead + 1 else np.arange(x.shape[-1])
