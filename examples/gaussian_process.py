"""A Gaussian process in torch: the likelihood of a smoothing spline and its gradient, where the matrix is ill-conditioned.

Series y at t = 1 .. n are a twice integrated Wiener process and noise. Their covariance is K = T + v I; T, 120 times that of the
process, holds integers, so that with a v of few bits K has no rounding at all, and its likelihood has digits to be right in.
`by_torch` is the textbook's Cholesky. `by_ozfp4` adds what the factor lacks, by residuals that are rounded once; gradients flow
through them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

import ozfp4
from ozfp4 import linalg

Tensor = Any  # torch.Tensor
Terms = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]  # of K and Y: tr Yᵀ K^-1 Y, and log det K


def spline_covariance(n: int) -> Tensor:
    """120 times the covariance of a twice integrated Wiener process at 1 .. n: integers up to 6 n^5, exact for n up to 1000."""
    t = torch.arange(1, n + 1, dtype=torch.float64)
    low, high = torch.minimum(t[:, None], t), torch.maximum(t[:, None], t)
    return low**3 * (10 * high**2 - 5 * low * high + low**2)


def by_torch(k: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """From the Cholesky factor of K."""
    factor = torch.linalg.cholesky(k)
    whitened = torch.linalg.solve_triangular(factor, y, upper=False)
    return (whitened**2).sum(), 2 * factor.diagonal().log().sum()


def by_ozfp4(k: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Corrected by residuals that are rounded once.

    With X = K^-1 Y refined, tr Yᵀ K^-1 Y = tr Xᵀ (Y + R) for the residual R = Y - K X, but for tr Rᵀ K^-1 R; and with
    D = K - L Lᵀ, log det K = 2 log det L + log det (I + L^-1 D L^-T). L and X are constants, R and D carry the gradients
    -X Xᵀ and K^-1.
    """
    fixed = k.detach()
    x = linalg.solve(fixed, y, refine=True, assume_a="pos")
    r = ozfp4.gemm(-1, k, x, 1, y, accuracy="correct")
    quadratic = ozfp4.matmul(
        torch.cat([x.T.reshape(-1)] * 2), torch.cat([y.T.reshape(-1), r.T.reshape(-1)]), accuracy="correct"
    )
    factor = linalg.cholesky(fixed, accuracy="correct")
    d = ozfp4.gemm(-1, factor, factor, 1, k, trans_b=True, accuracy="correct")
    half = torch.linalg.solve_triangular(factor, d, upper=False)
    whole = torch.linalg.solve_triangular(factor, half.T, upper=False)
    rest = torch.linalg.slogdet(torch.eye(len(k), dtype=k.dtype, device=k.device) + whole).logabsdet
    return quadratic, 2 * factor.diagonal().log().sum() + rest


def log_likelihood(covariance: Tensor, y: Tensor, noise: Tensor, amplitude: Tensor, terms: Terms) -> Tensor:
    """Of series y (n, m) under the covariance amplitude (T + noise I).

    Parameters
    ----------
    covariance : tensor (n, n)
        T.
    y : tensor (n, m)
    noise, amplitude : scalar tensors
        With gradients where they are asked for.
    terms : callable
        `by_torch` or `by_ozfp4`.
    """
    n, m = y.shape
    quadratic, log_det = terms(covariance + noise * torch.eye(n, dtype=y.dtype), y)
    return -(quadratic / amplitude + m * log_det + m * n * (amplitude.log() + math.log(2 * math.pi))) / 2
