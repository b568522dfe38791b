"""The paper's exactness conditions as code: each returns the bound and the slack that K leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _core
from .plans.plan import make_plan

_FP32_EXACT = 2**24
_INT32_EXACT = 2**31


@dataclass(frozen=True)
class Bound:
    """One condition on the inner dimension: it holds for ``k <= k_max``; ``slack`` is ``k_max - k``."""

    name: str
    k: int
    k_max: int

    @property
    def slack(self) -> int:
        return self.k_max - self.k

    @property
    def holds(self) -> bool:
        return self.slack >= 0


def _check(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: {value!r} is not an integer")
    if value < least:
        raise ValueError(f"{name}: {value} is below {least}")


def gap_free_range(p: int) -> int:
    """Lemma 1: X_p = (13^p - 1) / 3, up to which p limbs represent every integer (1 <= p <= 16)."""
    _check("p", p, 1)
    if p > 16:
        raise ValueError(f"p: {p} is outside 1..16")
    return _core.gap_free_range(p)


def scheme_i_k_limits(k: int, p: int = 15, q: int = 15) -> tuple[Bound, ...]:
    """Lemma 2: scheme I in FP32 accumulators, for any limbs of S and the deepest group of greedy limbs (k >= 0; p, q >= 1)."""
    _check("k", k, 0)
    for name, limbs in (("p", p), ("q", q)):
        _check(name, limbs, 1)
    group = min(p, q)
    return (
        Bound("144 K <= 2^24", k, _core.accumulator_k_max(144, _FP32_EXACT)),
        Bound(f"64 K n_g <= 2^24, n_g = {group}", k, _core.accumulator_k_max(64 * group, _FP32_EXACT)),
    )


def scheme_ii_k_limits(k: int) -> tuple[Bound, ...]:
    """Lemma 3: the four conditions of scheme II with the paper's 19 moduli and c = 53 (k >= 0)."""
    _check("k", k, 0)
    return (
        Bound("144 K <= 2^24 (each partial product)", k, _core.accumulator_k_max(144, _FP32_EXACT)),
        Bound("288 K <= 2^24 (cross-term accumulation)", k, _core.accumulator_k_max(288, _FP32_EXACT)),
        Bound("28224 K <= 2^31 (residue composition)", k, _core.accumulator_k_max(28224, _INT32_EXACT)),
        Bound("2 K 2^106 < P (CRT)", k, make_plan("II", "fp4", "paper", 53, 1).k_max),
    )
