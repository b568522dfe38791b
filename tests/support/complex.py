"""A complex product by a reference of real ones, from the definition: what ``ozfp4.matmul`` of complex operands must return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Multiply = Callable[[Array, Array], Array]


def joined(re: Array, im: Array) -> Array:
    """re + 1j im, where 1j times infinity would be NaN."""
    x = np.empty(re.shape, np.result_type(re.dtype, np.complex64))
    x.real, x.imag = re, im
    return x


def real_form(a: Array, b: Array) -> tuple[Array, Array]:
    """Complex `a` and `b` as real operands: their product holds re C in columns 0, 2, 4, ... and im C in the others.

    >>> left, right = real_form(np.array([[1 + 2j]]), np.array([[3 + 4j]]))
    >>> left.tolist(), right.tolist(), (left @ right).tolist()
    ([[1.0, 2.0]], [[3.0, 4.0], [-4.0, 3.0]], [[-5.0, 10.0]])
    """
    left = np.empty((*a.shape[:-1], 2 * a.shape[-1]), a.real.dtype)
    left[..., 0::2], left[..., 1::2] = a.real, a.imag
    right = np.empty((*b.shape[:-2], 2 * b.shape[-2], 2 * b.shape[-1]), b.real.dtype)
    right[..., 0::2, 0::2], right[..., 0::2, 1::2] = b.real, b.imag
    right[..., 1::2, 0::2], right[..., 1::2, 1::2] = -b.imag, b.real
    return left, right


def complex_matmul(a: npt.ArrayLike, b: npt.ArrayLike, multiply: Multiply) -> Array:
    """The product of `a` and `b`, at least one of them complex, by a reference for real matrices.

    Parameters
    ----------
    a, b : array_like
        Shapes as for ``numpy.matmul``.
    multiply : callable
        The reference, such as :func:`exact_matmul` or :func:`correct_matmul`; or one of bounds.

    Returns
    -------
    ndarray
        Complex; its parts are what the reference gives: of the real form where both operands are complex, else of the
        parts of one operand with the other one. A product of two vectors gives a 0-d array.
    """
    x, y = np.asarray(a), np.asarray(b)
    if not (np.iscomplexobj(x) and np.iscomplexobj(y)):
        pairs = ((x.real, y), (x.imag, y)) if np.iscomplexobj(x) else ((x, y.real), (x, y.imag))
        re, im = (multiply(*pair) for pair in pairs)
    else:
        rows, columns = x[np.newaxis] if x.ndim == 1 else x, y[:, np.newaxis] if y.ndim == 1 else y
        parts = multiply(*real_form(rows, columns))
        re, im = parts[..., 0::2], parts[..., 1::2]
        if y.ndim == 1:
            re, im = re[..., 0], im[..., 0]
        if x.ndim == 1:
            re, im = (z[..., 0] if y.ndim == 1 else z[..., 0, :] for z in (re, im))
    return joined(re, im)
