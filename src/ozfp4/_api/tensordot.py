"""``ozfp4.tensordot``: the sum of products over chosen axes of two arrays."""

from __future__ import annotations

import operator
from functools import partial
from typing import TYPE_CHECKING, Any

from .._options import ReportedOptions, check_taken, takes
from .._report import Report
from .._request.dlpack import any_library
from .._request.subscripts import Label, Subscripts
from .contraction import sum_of_products

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(ReportedOptions)
@any_library
def tensordot(
    a: Any, b: Any, axes: Any = 2, *, out: Any = None, dtype: Any = None, **options: Unpack[ReportedOptions]
) -> Any:
    """Sum of products over `axes` of `a` and `b`, as ``numpy.tensordot`` and ``torch.tensordot``: one :func:`ozfp4.matmul`.

    Without axes to sum over it is the outer product, one multiplication an entry, as in :func:`ozfp4.einsum`.

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        As in :func:`ozfp4.matmul`, of any number of axes.
    axes : int or pair
        How many of the last axes of `a` and the first of `b`; or the axes of `a`, and as many of `b` that they go with: numbers,
        lists or arrays of them, or both as the rows of one array.
        An extent of 1 goes with every other in torch, and in NumPy with 1 alone.
    out : array or tensor, optional
        Where to write the result: its exact shape and dtype, no memory shared with the operands.
    dtype : dtype, optional
        The result's, as in :func:`ozfp4.matmul`: the operands are brought to it first.
    **options
        As in :func:`ozfp4.matmul`, without `device`.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
        Its axes are those of `a`, then those of `b`, that are not summed over.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(4, 3)
    >>> tensordot(a, b, axes=([1, 2], [1, 0]))
    array([ 440., 1232.])

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for axes that do not exist, come twice, or differ in extent.
    """
    check_taken(tensordot, options)
    c, beside = sum_of_products({"a": a, "b": b}, out, dtype, options, partial(_read, axes))
    if not beside:
        return c
    return (c, *(x if isinstance(x, Report) else x.reshape(c.shape) for x in beside))


def _read(
    axes: Any, a: tuple[int, ...], b: tuple[int, ...], has_tensors: bool
) -> tuple[Subscripts, list[tuple[int, int]]]:
    """Labels of the axes: of those of a their numbers; of those of b that are summed over with them the same, and numbers behind
    them."""
    of_a, of_b = _axes(axes, a, b, has_tensors)
    labels_a = tuple(range(len(a)))
    labels_b = tuple(of_a[of_b.index(i)] if i in of_b else len(a) + i for i in range(len(b)))
    result = (*(i for i in labels_a if i not in of_a), *(i for i in labels_b if i >= len(a)))
    extents: dict[Label, int] = dict(zip(labels_b, b, strict=True))
    extents |= {label: n for label, n in zip(labels_a, a, strict=True) if n != 1 or label not in extents}
    return Subscripts((labels_a, labels_b), result, extents), [(0, 1)]


def _axes(axes: Any, a: tuple[int, ...], b: tuple[int, ...], broadcast: bool) -> tuple[list[int], list[int]]:
    """The axes of a and of b, counted from the first; `broadcast`: an extent of 1 goes with every other."""
    try:
        count = operator.index(axes)
    except TypeError:
        of_a, of_b = _pair(axes)
    else:
        if not 0 <= count <= min(len(a), len(b)):
            raise ValueError(
                f"axes: {count} is outside 0..{min(len(a), len(b))}; a has shape {a}, b has shape {b}"
            )
        of_a, of_b = list(range(len(a) - count, len(a))), list(range(count))
    for name, shape, chosen in (("a", a, of_a), ("b", b, of_b)):
        for axis in chosen:
            if not -len(shape) <= axis < len(shape):
                raise ValueError(f"axes: {axis} is no axis of {name}, whose shape is {shape}")
        chosen[:] = [axis % len(shape) for axis in chosen]
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"axes: an axis of {name} comes twice in {axes!r}")
    if len(of_a) != len(of_b):
        raise ValueError(f"axes: {len(of_a)} of a do not go with {len(of_b)} of b")
    for i, j in zip(of_a, of_b, strict=True):
        if a[i] != b[j] and not (broadcast and 1 in (a[i], b[j])):
            raise ValueError(f"axes: axis {i} of a is {a[i]}, axis {j} of b is {b[j]}")
    return of_a, of_b


def _pair(axes: Any) -> tuple[list[int], list[int]]:
    try:
        of_a, of_b = axes
        return _numbers(of_a), _numbers(of_b)
    except (TypeError, ValueError):
        raise TypeError(f"axes: {axes!r} is neither a number nor a pair of axes or lists of axes") from None


def _numbers(axes: Any) -> list[int]:
    try:
        each = iter(axes)
    except TypeError:  # of a number, or of an array without axes
        return [operator.index(axes)]
    return [operator.index(i) for i in each]
