"""An estimate of a condition number from a few solutions (Hager 1984, Higham 1988)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .native import Native
from .native.contract import Host

_MOST_STEPS = 5


def inverse_norm(
    native: Native, like: Any, solve: Callable[[Any], Any], solve_adjoint: Callable[[Any], Any]
) -> float:
    """A lower bound of the largest column sum of |A^-1|, rarely below a third of it; A is like `like`, n x n, n >= 1.

    `solve` gives A^-1 X, `solve_adjoint` A^-H X.
    """
    n = like.shape[0]
    dtype = native.to_host(like[:1, :1]).dtype

    def host(way: Callable[[Any], Any], x: Host) -> Host:
        return native.to_host(way(native.from_host(x.astype(dtype)[:, None], like)))[:, 0]

    # Where all else hides the norm: alternating signs.
    alternating = (-1.0) ** np.arange(n) * (1 + np.arange(n) / max(n - 1, 1))
    best = float(2 * np.abs(host(solve, alternating)).sum() / (3 * n))
    x = np.full(n, 1 / n)
    for _ in range(_MOST_STEPS):
        y = host(solve, x)
        best = max(best, float(np.abs(y).sum()))
        size = np.abs(y)
        signs = np.where(size == 0, 1, y / np.where(size == 0, 1, size))
        z = host(solve_adjoint, signs)
        place = int(np.abs(z).argmax())
        if not np.isfinite(best) or abs(z[place]) <= abs(np.vdot(z, x)):
            break
        x = np.zeros(n)
        x[place] = 1
    return best


def one_norm(native: Native, a: Any) -> float:
    """The largest column sum of |A|; 0 for an empty matrix."""
    return float(np.abs(native.to_host(abs(a).sum(0))).max(initial=0.0))
