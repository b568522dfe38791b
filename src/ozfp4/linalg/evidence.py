"""Evidence that a matrix is not singular and that its factors invert it. Small corrections are none: factors of a singular matrix
make them, too.

With R about A^-1 and R A rounded once in every entry, |1 - R A| < 1 in some norm proves that A is regular (of full rank if tall),
and that a correction by R leaves no more than that part of an error.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..api.matmul import matmul
from .native import Native

# Right sides of `quick`, and the bound of what they show; of a singular matrix all of them are below it once in 10^12 cases.
_PROBES = 8
_SMALL = 2.0**-6

Solve = Callable[[Any], Any]


class Inverse(NamedTuple):
    """R, about a left inverse of some A, and R A, every entry rounded once. R leaves `part` of an error, infinite: unknown."""

    matrix: Any
    product: Any
    part: float


def quick(native: Native, a: Any, solve: Solve, b: Any) -> tuple[float, Any]:
    """About the part of an error that `solve` leaves where that is plainly small, else infinity, and what it makes of B. The cost
    is that of a few right sides more.

    `solve` gives about the X of A X = Y, or of least |Y - A X|. Its factors are those of A + E, with E of a few u |A| unless they
    grew. If A is singular, random right sides give X of about 1 / u, and where the factors grew, an X far from x for Y = A x.
    """
    m, n = a.shape
    columns, rows = _weights(native, a)
    z, w = _probes(n), _probes(m)
    with np.errstate(all="ignore"):
        known = like(native, z / columns[:, None], a)
        right = [like(native, w * rows[:, None], a), matmul(a, known, accuracy="correct"), b]
        found = solve(native.join(right, 1))
        sizes = native.to_host(abs(found[:, :_PROBES])) * columns[:, None]
        rest = native.to_host(abs(found[:, _PROBES : 2 * _PROBES] - known)) * columns[:, None]
    left = np.maximum(
        np.sqrt(n) * rest.max(initial=0.0), n * native.roundoff(a.dtype) * sizes.max(initial=0.0)
    )
    part = float(left) if left <= _SMALL else np.inf  # so of NaN
    return part, found[:, 2 * _PROBES :]


def inverse_of(native: Native, a: Any, matrix: Any, error_of_a: float = 0.0) -> Inverse:
    """The proof that R, the `matrix`, gives for every matrix within `error_of_a` |A| of A, entry by entry."""
    n = a.shape[1]
    product = matmul(matrix, a, accuracy="correct")
    if not (native.is_finite(matrix) and native.is_finite(product)):
        return Inverse(matrix, product, np.inf)
    weights = _weights(native, a)[0]
    own = like(native, weights, a).real
    with np.errstate(all="ignore"):
        rest = abs(native.eye(n, n, a) - product) * own[:, None] / own
        part = native.to_host(rest.sum(1)).astype(np.float64)
        if error_of_a:
            inner = matmul(abs(a), 1 / own[:, None], accuracy="standard")
            part = (
                part
                + error_of_a * weights * native.to_host(matmul(abs(matrix), inner, accuracy="standard"))[:, 0]
            )
    largest = float(part.max(initial=0.0))
    return Inverse(matrix, product, largest if largest < np.inf else np.inf)  # so of NaN


def _weights(native: Native, a: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Powers of two about the size of each column, and the sizes of the rows of A by them."""
    columns = native.column_sizes(a)
    columns = np.ldexp(1.0, np.frexp(columns)[1] - 1) * (columns != 0) + (columns == 0)
    with np.errstate(all="ignore"):
        return columns, native.column_sizes((a / like(native, columns, a)).T)


def like(native: Native, x: npt.NDArray[np.float64], a: Any) -> Any:
    """Numbers of the host with the dtype of A, where A lies."""
    return native.from_host(x.astype(native.to_host(a[:1, :1]).dtype), a)


def random_numbers(rows: int, columns: int) -> npt.NDArray[np.float64]:
    """The same at every call, of either sign and 1/2 to 1 in size: what was made by design is not orthogonal to them."""
    rng = np.random.default_rng(rows)
    return rng.choice([-1.0, 1.0], (rows, columns)) * rng.uniform(0.5, 1, (rows, columns))


@lru_cache(maxsize=16)
def _probes(rows: int) -> npt.NDArray[np.float64]:
    return random_numbers(rows, _PROBES)
