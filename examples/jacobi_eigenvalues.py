"""All eigenvalues of a symmetric positive definite matrix, the small ones with as many digits as the large ones.

LAPACK's eigenvalues are wrong by about 2^-53 of the largest one. Here its eigenvectors X are only a start: S = Xᵀ A X and
G = Xᵀ X, formed without rounding in between, are a pair of matrices with the eigenvalues of A, whatever errors X has. S is
graded: large and small rows lie far apart, and each entry has its own digits. Jacobi's rotations keep them (Demmel and
Veselić, 1992).
"""

from __future__ import annotations

import math

import numpy as np
from double_words import Array, Update, product, rounded_once

MOST_SWEEPS = 30


def congruence(a: Array, x: Array, update: Update = rounded_once) -> Array:
    """G^-1/2 S G^-1/2 with S = Xᵀ A X and G = Xᵀ X = I + R, for an X that is orthogonal to rounding: G^-1/2 is I - R / 2."""
    s = product((x.T,), product((a,), (x,), update=update), words=1, update=update)[0]
    half = update(x.T, x, -np.eye(len(x))) / 2
    s = update(-half, s, s)
    s = update(s, -half, s)
    symmetric: Array = (s + s.T) / 2
    return symmetric


def jacobi(s: Array) -> Array:
    """Eigenvalues of a positive definite matrix by cyclic rotations, ascending.

    It ends when each entry off the diagonal is below 2^-53 of the geometric mean of the two on the diagonal: then it matters to
    no eigenvalue, however small. A matrix that is not positive definite raises LinAlgError.
    """
    s = s.copy()
    n = len(s)
    for _ in range(MOST_SWEEPS):
        turned = False
        for i in range(n):
            for j in range(i + 1, n):
                p, q, off = float(s[i, i]), float(s[j, j]), float(s[i, j])
                if p <= 0 or q <= 0:
                    raise np.linalg.LinAlgError(
                        f"jacobi: s[{i}, {i}] = {p} and s[{j}, {j}] = {q}; not both > 0"
                    )
                if abs(off) <= 2.0**-53 * math.sqrt(p) * math.sqrt(q):
                    continue
                turned = True
                rotate(s, i, j, tangent(p, q, off))
        if not turned:
            return np.sort(np.diag(s))
    raise np.linalg.LinAlgError(f"jacobi: rotations do not end within {MOST_SWEEPS} sweeps")


def tangent(p: float, q: float, off: float) -> float:
    """Of the smaller angle whose rotation makes [[p, off], [off, q]] diagonal."""
    zeta = (q - p) / (2 * off)
    return math.copysign(1.0, zeta) / (abs(zeta) + math.hypot(1.0, zeta))


def rotate(s: Array, i: int, j: int, t: float) -> None:
    """Rotate lines i and j of the symmetric s in place; s[i, j] becomes zero, and the diagonal changes by t s[i, j]."""
    p, q, off = s[i, i], s[j, j], s[i, j]
    cosine = 1 / math.hypot(1.0, t)
    sine = t * cosine
    lines = np.array([cosine * s[i] - sine * s[j], sine * s[i] + cosine * s[j]])
    s[i], s[j] = lines
    s[:, i], s[:, j] = lines
    s[i, i], s[j, j] = p - t * off, q + t * off
    s[i, j] = s[j, i] = 0.0


def eigenvalues(a: Array, *, update: Update = rounded_once) -> Array:
    """Eigenvalues of a symmetric positive definite float64 matrix (n, n), ascending.

    Right to a few units in the last place down to about 2^-100 of the largest one, for the entries as they are stored.
    LinAlgError where the congruence is not positive definite: `a` is not, or `update` has lost it.
    """
    return jacobi(congruence(a, np.linalg.eigh(a)[1], update))
