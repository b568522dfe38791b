"""References for ``ozfp4.gemm`` of complex operands, bit for bit, by references of real ones and integers."""

from __future__ import annotations

import math
from functools import reduce

import numpy as np
import numpy.typing as npt

from ozfp4.testing import round_to_float
from ozfp4.testing._certified import dyadic, plus, times

from .complex import Array, real_form
from .update import gemm_reference


def complex_gemm_reference(
    alpha: complex,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    beta: complex,
    c: npt.ArrayLike | None,
    accuracy: str = "standard",
    rounding: str = "nearest",
) -> Array:
    """``ozfp4.gemm`` of which `a` or `b` is complex, bit for bit (NaNs as such); arguments as there, of floating-point numbers.

    Returns
    -------
    ndarray
        complex64 if all operands are float32 or complex64, else complex128.
    """
    x, y = np.asarray(a), np.asarray(b)
    dtype = np.result_type(x.dtype, y.dtype, *([] if c is None else [np.asarray(c).dtype]))
    shape = np.matmul(np.zeros(x.shape, bool), np.zeros(y.shape, bool)).shape
    addend = np.broadcast_to(np.zeros((), dtype) if c is None else np.asarray(c).astype(dtype), shape)
    alpha, beta = complex(alpha), complex(beta)
    if 0 in (alpha.real, alpha.imag) and 0 in (beta.real, beta.imag):
        if alpha.imag != 0:
            x, y = (_turned(x), y) if x.dtype.kind == "c" else (x, _turned(y))
        addend = _turned(addend) if beta.imag != 0 else addend
        factors = (alpha.imag or alpha.real, beta.imag or beta.real)
        return _by_parts(factors[0], x, y, factors[1], addend, accuracy, rounding)
    terms = [(beta, addend)] if beta != 0 else []
    if alpha != 0:
        zero = np.zeros(shape, dtype)
        product = _by_parts(1.0, x, y, 0.0, zero, accuracy, "nearest")
        terms.append((alpha, product))
        if accuracy == "correct":
            rest = _by_parts(1.0, x, y, -1.0, product, accuracy, "nearest")
            for part in (rest.real, rest.imag):
                part[~np.isfinite(part)] = 0
            terms.append((alpha, rest))
    result = np.empty(shape, dtype)
    part_dtype = result.real.dtype
    for index in np.ndindex(*shape):
        own = [(factor, complex(term[index])) for factor, term in terms]
        result.real[index] = _sum(
            [(f.real, z.real) for f, z in own] + [(-f.imag, z.imag) for f, z in own], part_dtype
        )
        result.imag[index] = _sum(
            [(f.imag, z.real) for f, z in own] + [(f.real, z.imag) for f, z in own], part_dtype
        )
    return result


def _turned(x: Array) -> Array:
    """i x, of which no part is multiplied."""
    result = np.empty(x.shape, x.dtype)
    result.real, result.imag = -x.imag, x.real
    return result


def _sum(products: list[tuple[float, float]], dtype: npt.DTypeLike) -> float:
    """Rounded once to a real dtype; where NaN or infinity takes part, as in IEEE arithmetic."""
    if all(math.isfinite(x) for _, x in products):
        exact = reduce(plus, (times(dyadic(f), dyadic(x)) for f, x in products), (0, 0))
        return round_to_float(*exact, dtype)
    special = [f * x for f, x in products if not math.isfinite(x)]
    return math.fsum(special) if not _cancels(special) else math.nan


def _cancels(values: list[float]) -> bool:
    return math.inf in values and -math.inf in values


def _by_parts(alpha: float, a: Array, b: Array, beta: float, c: Array, accuracy: str, rounding: str) -> Array:
    """With real factors; `c` of the result's shape and dtype."""
    rows = a[np.newaxis] if a.ndim == 1 else a
    columns = b[:, np.newaxis] if b.ndim == 1 else b
    if a.dtype.kind == b.dtype.kind:
        left, right = real_form(rows, columns)
        pairs = [(left, right[..., 0::2]), (left, right[..., 1::2])]
    elif a.dtype.kind == "c":
        pairs = [(rows.real, columns), (rows.imag, columns)]
    else:
        pairs = [(rows, columns.real), (rows, columns.imag)]
    found = np.empty(c.shape, c.dtype)
    for name, (x, y) in zip(("real", "imag"), pairs, strict=True):
        extents = np.matmul(np.zeros(x.shape, bool), np.zeros(y.shape, bool)).shape
        own = np.ascontiguousarray(getattr(c, name)).reshape(extents)
        setattr(found, name, gemm_reference(alpha, x, y, beta, own, accuracy, rounding).reshape(c.shape))
    return found
