"""References for ``ozfp4.gemm``, bit for bit: alpha A B + beta C in Python's integers, rounded once. Nothing here calls the
core."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ozfp4.testing._certified import (
    Certificate,
    Dyadic,
    certificates,
    chain,
    dyadic,
    plus,
    scaled_product,
    times,
)
from ozfp4.testing._oracle import (
    PRECISIONS,
    Array,
    over_stacks,
    real_sums,
    round_to_float,
    special_entries,
    special_value,
)


def round_fraction(x: Fraction, dtype: npt.DTypeLike = np.float64, rounding: str = "nearest") -> float:
    """A sum of powers of two, rounded once; zero is +0, and -0 when rounding down."""
    return round_to_float(x.numerator, 1 - x.denominator.bit_length(), dtype, rounding)


class _Matrix:
    """A matrix as a key: by its bits."""

    def __init__(self, x: Array) -> None:
        self.x, self.key = x, (x.dtype, x.shape, x.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Matrix) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@lru_cache(maxsize=16)  # tests make many updates of one product
def _products(
    left: _Matrix, right: _Matrix, accuracy: str, bits: int | None, precision: int, engine: str
) -> list[list[Dyadic]]:
    """A B before the last rounding, by the accuracy, entry by entry."""
    a, b = left.x, right.x
    chains = np.zeros((a.shape[0], b.shape[1]), bool)
    if accuracy == "correct":
        sums = real_sums(a, b, engine)
    else:
        sums, rows, columns = scaled_product(
            a, b, accuracy, precision, precision if bits is None else bits, engine
        )
        if accuracy == "standard":
            chains = certificates(a, b, rows, columns, precision) == Certificate.NONE
    dtype = np.float64 if precision == 53 else np.float32

    def entry(i: int, j: int) -> Dyadic:
        if chains[i, j]:
            return chain(a[i], b[:, j], dtype)
        return int(sums.integers[i, j]), sums.exponent(i, j)

    return [[entry(i, j) for j in range(b.shape[1])] for i in range(a.shape[0])]


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
    accuracy: str = "standard",
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
        """alpha A B as objects: sums of powers of two, or NaN and infinities."""
        result = np.empty((x.shape[0], y.shape[1]), object)
        products = (
            _products(_Matrix(x), _Matrix(y), accuracy, bits, precision, engine) if alpha != 0 else None
        )
        for i, j in np.ndindex(*result.shape):
            result[i, j] = (0, 0) if products is None else times(dyadic(float(alpha)), products[i][j])
        if products is None:
            return (result,)
        for i, j in special_entries(x, y):
            result[i, j] = math.copysign(1, alpha) * special_value(x[i], y[:, j])
        return (result,)

    terms = over_stacks(a, b, multiply)[0]
    addends = np.broadcast_to(0.0 if beta == 0 or c is None else np.asarray(c), terms.shape)
    result = np.empty(terms.shape, dtype)
    weight = dyadic(float(beta))
    with np.errstate(over="ignore"):
        for index in np.ndindex(*terms.shape):
            term, addend = terms[index], float(addends[index])
            if isinstance(term, float) or not math.isfinite(addend):
                own = term if isinstance(term, float) else 0.0
                result[index] = _special(own, math.copysign(1, beta) * addend)
            else:
                total = plus(term, times(weight, dyadic(addend)))
                result[index] = round_to_float(*total, dtype, rounding)
    return result
