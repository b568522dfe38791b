"""examples/gaussian_process.py: the likelihood and its gradient have the digits that the condition number takes from Cholesky."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gaussian_process import by_ozfp4, log_likelihood, spline_covariance  # noqa: E402

N, SERIES, AMPLITUDE = 60, 3, 2.0**-10


def series() -> Any:
    t = torch.arange(1, N + 1, dtype=torch.float64)
    noise = np.random.default_rng(0).standard_normal((N, SERIES))
    return torch.stack([100 * torch.sin(t / 12 + i) for i in range(SERIES)], 1) + torch.from_numpy(noise)


def reference(reals: Any, y: Any, noise: float) -> tuple[Any, Any, Any]:
    """The likelihood and its derivatives by the noise and the amplitude, without rounding."""
    flint = reals._flint
    k = reals.matrix((spline_covariance(N) + noise * torch.eye(N, dtype=torch.float64)).numpy())
    right = reals.matrix(y.numpy())
    x = k.solve(right)
    both = [(right[i, j], x[i, j]) for i in range(N) for j in range(SERIES)]
    quadratic, squares = (
        sum(terms, flint.arb(0)) for terms in ([a * b for a, b in both], [b * b for _, b in both])
    )
    inverse = k.inv()
    trace = sum((inverse[i, i] for i in range(N)), flint.arb(0))
    constant = SERIES * N * (flint.arb(AMPLITUDE).log() + (2 * flint.arb.pi()).log())
    value = -(quadratic / AMPLITUDE + SERIES * k.det().log() + constant) / 2
    by_noise = (squares / AMPLITUDE - SERIES * trace) / 2
    return value, by_noise, (quadratic / AMPLITUDE - SERIES * N) / AMPLITUDE / 2


def errors(real: tuple[Any, Any, Any], y: Any, noise: float, terms: Any) -> list[float]:
    v, a = (torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (noise, AMPLITUDE))
    value = log_likelihood(spline_covariance(N), y, v, a, terms)
    value.backward()
    found = (value.item(), v.grad.item(), a.grad.item())
    return [abs(float((r - x) / r)) for r, x in zip(real, found, strict=True)]


def test_the_covariance_is_exact() -> None:
    t = range(1, N + 1)
    exact = [[min(s, r) ** 3 * (10 * max(s, r) ** 2 - 5 * s * r + min(s, r) ** 2) for r in t] for s in t]
    assert spline_covariance(N).tolist() == exact


@pytest.mark.parametrize("exponent", [-8, 0, 16])
def test_the_likelihood_and_its_gradient_are_right_to_the_last_digits(exponent: int, reals: Any) -> None:
    y = series()
    real = reference(reals, y, 2.0**exponent)
    assert max(errors(real, y, 2.0**exponent, by_ozfp4)) < 2.0**-48


def test_gradients_by_all_entries_agree() -> None:
    """Not by the noise alone: the gradient by K is -X Xᵀ and the inverse."""
    y = series()
    k = (spline_covariance(N) + 2.0**24 * torch.eye(N, dtype=torch.float64)).requires_grad_()
    quadratic, log_det = by_ozfp4(k, y)
    (first,) = torch.autograd.grad(quadratic, k)
    (second,) = torch.autograd.grad(log_det, k)
    inverse = torch.linalg.inv(k.detach())
    x = inverse @ y
    assert torch.allclose(first, -x @ x.T, rtol=1e-6, atol=0)
    assert torch.allclose(second, inverse, rtol=1e-6, atol=1e-12)
