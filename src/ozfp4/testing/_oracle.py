"""The reference: what every path must return, bit for bit, in NumPy's and Python's integers.

Written a second time on purpose. Nothing here calls the core: the two can only agree by both being right.

    s_i = bits - 1 - e_i          e_i: exponent of the largest magnitude in row i of A (t_j: column j of B)
    Ã = round(A 2^s), B̃ = round(B 2^t)                      ties to even
    C_ij = round((Ã B̃)_ij 2^-(s_i + t_j))                   once, ties to even, to float64 or float32
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

# Precision in bits, exponent of the largest finite number and of the smallest subnormal one.
_FORMATS = {np.dtype(np.float64): (53, 1023, -1074), np.dtype(np.float32): (24, 127, -149)}
ENGINES = ("auto", "flint", "object")
ROUNDINGS = ("nearest", "down", "up", "zero")


def scale_exponents(lines: Array, bits: int) -> npt.NDArray[np.int64]:
    """``bits - 1 - e`` of each row, e the exponent of its largest finite magnitude; 0 for a row without one.

    Parameters
    ----------
    lines : float array, shape (rows, K)
    bits : int

    Returns
    -------
    int64 array, shape (rows,)
    """
    wide = lines.astype(np.float64)  # exact for float32, and makes its subnormal numbers normal
    _, exponent = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    nonzero = np.isfinite(wide) & (wide != 0.0)
    # frexp's significand lies in [1/2, 1): its exponent is e + 1.
    largest = np.where(nonzero, exponent.astype(np.int64), np.iinfo(np.int64).min).max(
        axis=1, initial=np.iinfo(np.int64).min
    )
    return np.where(nonzero.any(axis=1), bits - largest, 0)


def scaled_integers(lines: Array, exponents: npt.NDArray[np.int64]) -> Array:
    """``round(x · 2^s)`` of each row, ties to even; 0 for non-finite entries.

    Parameters
    ----------
    lines : float array, shape (rows, K)
    exponents : int64 array, shape (rows,)
        As :func:`scale_exponents` gives them.

    Returns
    -------
    array, shape (rows, K)
        int64, or Python integers (dtype object) where one has more than 62 bits.
    """
    wide = lines.astype(np.float64)
    significand, exponent = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    exact = np.ldexp(np.abs(significand), 53).astype(np.int64)  # |x| = exact · 2^(exponent - 53)
    # x · 2^s = exact / 2^right, and from 55 places on that is below 1/2; or it is exact · 2^left.
    right = 53 - exponent.astype(np.int64) - exponents[:, np.newaxis]
    places, left = np.clip(right, 0, 60), np.where(exact == 0, 0, np.maximum(-right, 0))
    quotient = exact >> places
    twice_rest = 2 * (exact - (quotient << places))
    one = np.int64(1) << places
    quotient += (twice_rest > one) | ((twice_rest == one) & (quotient % 2 == 1))
    signed: Array = np.where(wide < 0, -quotient, quotient)
    return signed << left if left.max(initial=0) <= 9 else signed.astype(object) << left.astype(object)


def _dot_flint(x: Array, y: Array) -> Array:
    from flint import fmpz_mat

    (m, k), n = x.shape, y.shape[1]
    product = fmpz_mat(m, k, x.ravel().tolist()) * fmpz_mat(k, n, y.ravel().tolist())
    result = np.empty(m * n, dtype=object)
    result[:] = [int(entry) for entry in product.entries()]
    return result.reshape(m, n)


def _dot_object(x: Array, y: Array) -> Array:
    result = np.zeros((x.shape[0], y.shape[1]), dtype=object)
    for k in range(x.shape[1]):
        result += np.multiply.outer(x[:, k].astype(object), y[k].astype(object))
    return result


def integer_matmul(x: Array, y: Array, engine: str = "auto") -> Array:
    """Exact product of two matrices of integers as an object array of Python integers.

    Parameters
    ----------
    x, y : arrays of int64 or of Python integers, shapes (m, k) and (k, n)
    engine : {"auto", "flint", "object"}
        python-flint's ``fmpz_mat``, or NumPy's object arrays of Python integers; "auto": flint if installed.

    Returns
    -------
    object array, shape (m, n)
    """
    if engine not in ENGINES:
        raise ValueError(f"engine: {engine!r} is unknown; allowed are {', '.join(map(repr, ENGINES))}")
    if engine == "auto":
        engine = "flint" if find_spec("flint") else "object"
    if 0 in (*x.shape, *y.shape):
        return np.zeros((x.shape[0], y.shape[1]), dtype=object)
    return _dot_flint(x, y) if engine == "flint" else _dot_object(x, y)


def integer_product(
    a: Array, b: Array, bits: int = 53, *, engine: str = "auto"
) -> tuple[Array, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The exact integers Ã B̃ of two float matrices and their scale exponents.

    Parameters
    ----------
    a, b : float arrays, shapes (m, k) and (k, n)
        Non-finite entries count as zeros.
    bits : int
        Capacity of the scaled integers.
    engine : {"auto", "flint", "object"}
        See :func:`integer_matmul`.

    Returns
    -------
    integers : object array of Python integers, shape (m, n)
    s, t : int64 arrays, shapes (m,) and (n,)
        Scale exponents of the rows of A and the columns of B.
    """
    s, t = scale_exponents(a, bits), scale_exponents(b.T, bits)
    return integer_matmul(scaled_integers(a, s), scaled_integers(b.T, t).T, engine), s, t


def round_to_float(
    integer: int, exponent: int, dtype: npt.DTypeLike = np.float64, rounding: str = "nearest"
) -> float:
    """``integer · 2^exponent`` rounded once to float64 or float32.

    Parameters
    ----------
    integer, exponent : int
        Of any size.
    dtype : float64 or float32
    rounding : {"nearest", "down", "up", "zero"}
        To the nearest, ties to even; towards minus infinity; towards plus infinity; towards zero.

    Returns
    -------
    float
        Exactly representable in `dtype`, or an infinity. Zero is +0, and -0 when rounding down; a number that is not
        zero and rounds to zero keeps its sign.
    """
    if rounding not in ROUNDINGS:
        raise ValueError(f"rounding: {rounding!r} is unknown; allowed are {', '.join(map(repr, ROUNDINGS))}")
    precision, max_exponent, lowest = _FORMATS[np.dtype(dtype)]
    magnitude = abs(integer)
    if magnitude == 0:
        return -0.0 if rounding == "down" else 0.0
    away = rounding == ("down" if integer < 0 else "up")
    leading = magnitude.bit_length() - 1 + exponent
    if (
        rounding == "nearest"
        and precision == 53
        and -1022 <= leading < max_exponent
        and leading - exponent < 1023
    ):
        return math.ldexp(
            float(integer), exponent
        )  # Python's float() rounds integers so, and the rest is exact
    last_place = max(leading - precision + 1, lowest)  # the result is a multiple of 2^last_place
    drop = last_place - exponent
    if drop <= 0:
        kept = magnitude << -drop
    else:
        kept, rest = magnitude >> drop, magnitude & ((1 << drop) - 1)
        half = 1 << (drop - 1)
        if rounding == "nearest":
            kept += rest > half or (rest == half and kept % 2 == 1)
        else:
            kept += away and rest > 0
    if kept.bit_length() - 1 + last_place <= max_exponent:
        value = math.ldexp(kept, last_place)
    elif rounding == "nearest" or away:
        value = math.inf
    else:
        value = math.ldexp((1 << precision) - 1, max_exponent + 1 - precision)
    return -value if integer < 0 else value


def _special(x: Array, y: Array) -> float:
    """IEEE dot product of a row and a column that hold a NaN or an infinity."""
    meets = ~(np.isfinite(x) & np.isfinite(y))
    if np.isnan(x[meets]).any() or np.isnan(y[meets]).any():
        return math.nan
    signs = set((np.sign(x[meets]) * np.sign(y[meets])).tolist())  # 0 where an infinity meets a zero
    return math.inf if signs == {1.0} else -math.inf if signs == {-1.0} else math.nan


def _exact_matrix(a: Array, b: Array, bits: int, dtype: np.dtype[Any], engine: str) -> Array:
    integers, s, t = integer_product(a, b, bits, engine=engine)
    result = np.empty(integers.shape, dtype)
    for i, row in enumerate(integers):
        exponents = (-(s[i] + t)).tolist()
        result[i] = [round_to_float(x, e, dtype) for x, e in zip(row.tolist(), exponents, strict=True)]
    finite = np.logical_and.outer(np.isfinite(a).all(axis=1), np.isfinite(b).all(axis=0))
    for i, j in np.argwhere(~finite):
        result[i, j] = _special(a[i], b[:, j])
    return result


def exact_matmul(
    a: npt.ArrayLike, b: npt.ArrayLike, bits: int | None = None, *, engine: str = "auto"
) -> Array:
    """The bits that ``ozfp4.matmul(a, b, accuracy="scaled")`` must return by a plan of so many bits (NaNs as such).

    Parameters
    ----------
    a, b : array_like of float64 or float32
        Shapes as for ``numpy.matmul``: 1-D, 2-D, or stacks with broadcasting; any strides and byte order.
    bits : int, optional
        Capacity of the scaled integers; by default 53, or 24 when both operands are float32.
    engine : {"auto", "flint", "object"}
        See :func:`integer_matmul`.

    Returns
    -------
    ndarray
        float32 if both operands are, else float64. A product of two vectors gives a 0-d array.
    """
    x, y = np.asarray(a), np.asarray(b)
    x, y = x.astype(x.dtype.newbyteorder("=")), y.astype(y.dtype.newbyteorder("="))
    dtype = np.promote_types(x.dtype, y.dtype)
    if {x.dtype, y.dtype} - set(_FORMATS):
        raise TypeError(f"dtypes {x.dtype} and {y.dtype}: the reference takes float64 and float32")
    capacity = bits if bits is not None else _FORMATS[dtype][0]
    matrix_x = x[np.newaxis, :] if x.ndim == 1 else x
    matrix_y = y[:, np.newaxis] if y.ndim == 1 else y
    if matrix_x.shape[-1] != matrix_y.shape[-2]:
        raise ValueError(f"inner dimensions differ: {x.shape} and {y.shape}")
    stack = np.broadcast_shapes(matrix_x.shape[:-2], matrix_y.shape[:-2])
    stack_x = np.broadcast_to(matrix_x, stack + matrix_x.shape[-2:])
    stack_y = np.broadcast_to(matrix_y, stack + matrix_y.shape[-2:])
    result = np.empty((*stack, matrix_x.shape[-2], matrix_y.shape[-1]), dtype)
    for index in np.ndindex(*stack):
        result[index] = _exact_matrix(stack_x[index], stack_y[index], capacity, dtype, engine)
    shape = stack + matrix_x.shape[-2:-1] * (x.ndim > 1) + matrix_y.shape[-1:] * (y.ndim > 1)
    return result.reshape(shape)
