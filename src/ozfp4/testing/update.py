"""What ``ozfp4.gemm`` must return, bit for bit: alpha A B + beta C in Python's fractions, rounded once. Nothing here calls the
core."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from .certified import PRECISIONS, Certificate, certificates, scaled_product
from .correct import Array, over_stacks, real_sums, special_entries, special_value
from .oracle import round_to_float


def power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


def round_fraction(x: Fraction, dtype: npt.DTypeLike = np.float64, rounding: str = "nearest") -> float:
    """A sum of powers of two, rounded once; zero is +0, and -0 when rounding down."""
    return round_to_float(x.numerator, 1 - x.denominator.bit_length(), dtype, rounding)


def _products(
    a: Array, b: Array, accuracy: str, bits: int | None, precision: int, engine: str
) -> list[list[Fraction]]:
    """What the accuracy takes for A B, entry by entry."""
    shape = (a.shape[0], b.shape[1])
    sums = real_sums(a, b, engine)
    exact = [
        [int(sums.integers[i, j]) * power(int(sums.rows[i] + sums.columns[j])) for j in range(shape[1])]
        for i in range(shape[0])
    ]
    if accuracy == "correct":
        return exact
    product = scaled_product(a, b, accuracy, precision, precision if bits is None else bits, engine)
    keeps = np.ones(shape, bool)
    if accuracy == "fp64":
        found = certificates(a, b, product, precision)
        keeps = (found != Certificate.NONE) & (found != Certificate.SPECIAL)
    return [
        [
            int(product.integers[i, j]) * power(-int(product.s[i] + product.t[j]))
            if keeps[i, j]
            else exact[i][j]
            for j in range(shape[1])
        ]
        for i in range(shape[0])
    ]


def _special(x: float, y: float) -> float:
    """x + y of which one is NaN or infinite, in IEEE arithmetic; finite ones count as zero."""
    x, y = (z if not math.isfinite(z) else 0.0 for z in (x, y))
    return math.nan if math.isnan(x) or math.isnan(y) or (x == -y != 0) else x + y


def gemm_reference(
    alpha: float,
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    beta: float,
    c: npt.ArrayLike | None,
    accuracy: str = "fp64",
    rounding: str = "nearest",
    *,
    bits: int | None = None,
    engine: str = "auto",
) -> Array:
    """``ozfp4.gemm`` of matrices or stacks of them, bit for bit (NaNs as such).

    Parameters
    ----------
    alpha, beta : float
    a, b : array_like of float64 or float32
        Shapes as for ``numpy.matmul``.
    c : array_like of float64 or float32, or None where `beta` is 0
    accuracy, rounding, bits
        As for ``ozfp4.gemm``.
    engine : {"auto", "flint", "object"}
        See :func:`integer_matmul`.

    Returns
    -------
    ndarray
        float32 if all operands are, else float64.
    """
    types = [np.asarray(x).dtype.newbyteorder("=") for x in (a, b, *([] if c is None else [c]))]
    dtype = np.dtype(np.result_type(*types))
    precision = PRECISIONS[dtype]

    def multiply(x: Array, y: Array, _: np.dtype[Any]) -> tuple[Array]:
        """alpha A B as objects: fractions, or NaN and infinities."""
        result = np.empty((x.shape[0], y.shape[1]), object)
        if alpha == 0:
            result[...] = Fraction(0)
            return (result,)
        products = _products(x, y, accuracy, bits, precision, engine)
        for i, j in np.ndindex(*result.shape):
            result[i, j] = Fraction(alpha) * products[i][j]
        for i, j in special_entries(x, y):
            result[i, j] = math.copysign(1, alpha) * special_value(x[i], y[:, j])
        return (result,)

    terms = over_stacks(a, b, multiply)[0]
    addends = np.broadcast_to(0.0 if beta == 0 or c is None else np.asarray(c), terms.shape)
    result = np.empty(terms.shape, dtype)
    with np.errstate(over="ignore"):
        for index in np.ndindex(*terms.shape):
            term, addend = terms[index], float(addends[index])
            if isinstance(term, float) or not math.isfinite(addend):
                own = term if isinstance(term, float) else 0.0
                result[index] = _special(own, math.copysign(1, beta) * addend)
            else:
                result[index] = round_fraction(term + Fraction(beta) * Fraction(addend), dtype, rounding)
    return result
