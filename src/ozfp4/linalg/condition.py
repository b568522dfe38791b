"""An estimate of a condition number from a few solutions (Hager 1984, Higham 1988)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .native import Native
from .native.contract import Host
from .scale import exponent

_MOST_STEPS = 5
# Right sides are so many bits below the largest entry of A, so that those of 2 and sums of columns are in range.
_BELOW = 8


def condition_number(
    native: Native, a: Any, solve: Callable[[Any], Any], solve_adjoint: Callable[[Any], Any]
) -> float:
    """A lower bound of ||A|| ||A^-1|| in the 1-norm, rarely below a third of it; A is n x n, n >= 1.

    `solve` gives A^-1 X, `solve_adjoint` A^-H X. Both norms are of A by a power of two, so that neither is out of range where
    their product is not.
    """
    scale = 2.0 ** (exponent(native, a) - _BELOW)
    with np.errstate(all="ignore"):
        inverse = _inverse_norm(native, a, scale, solve, solve_adjoint)
        return one_norm(native, a / scale) * inverse


def _inverse_norm(
    native: Native,
    like: Any,
    scale: float,
    solve: Callable[[Any], Any],
    solve_adjoint: Callable[[Any], Any],
) -> float:
    """That of A^-1 times `scale`."""
    n = int(like.shape[0])
    dtype = native.to_host(like[:1, :1]).dtype

    def host(way: Callable[[Any], Any], x: Host) -> Host:
        right = native.from_host((x * scale).astype(dtype)[:, None], like)
        return native.to_host(way(right))[:, 0].astype(np.result_type(dtype, np.float64))

    # Where all else hides the norm: alternating signs.
    alternating = (-1.0) ** np.arange(n) * (1 + np.arange(n) / max(n - 1, 1))
    best = 2 * _total(host(solve, alternating)) / (3 * n)
    x = np.full(n, 1 / n)
    for _ in range(_MOST_STEPS):
        y = host(solve, x)
        best = max(best, _total(y))
        size = np.abs(y)
        signs = np.where(size == 0, 1, y / np.where(size == 0, 1, size))
        z = host(solve_adjoint, signs)
        place = int(np.abs(z).argmax())
        if not np.isfinite(best) or abs(z[place]) <= abs(z.conj() @ x):
            break
        x = np.zeros(n)
        x[place] = 1
    return best


def _total(y: Host) -> float:
    """The sum of the magnitudes, infinite as well where infinities have become NaN on their way."""
    total = float(np.abs(y).sum())
    return total if np.isfinite(total) else np.inf


def one_norm(native: Native, a: Any) -> float:
    """The largest column sum of |A|; 0 for an empty matrix."""
    return float(np.abs(native.to_host(abs(a).sum(0))).max(initial=0.0))
