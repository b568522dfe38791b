"""Powers of two that keep matrices away from the ends of their dtype's range."""

from __future__ import annotations

from typing import Any

import numpy as np

from .native import Native


def exponent(native: Native, a: Any) -> int:
    """e with the largest magnitude of A in 2^(e-1)..2^e, the end of the range where it is not finite; 0 for zeros."""
    with np.errstate(all="ignore"):
        largest = native.column_sizes(a).max(initial=0.0)
    return int(np.frexp(largest)[1]) if np.isfinite(largest) else _most(native, a) + 1


def room(native: Native, a: Any) -> int:
    """Bits at an end of the range of A's dtype that sums and factors may take: 128 of float64, 16 of float32."""
    return _most(native, a) // 8


def fits(native: Native, a: Any) -> bool:
    """Whether entries are finite and, complex ones, 3 bits below the end of the range: BLAS's reciprocals of others are 0."""
    spare = 3 if native.to_host(a[:1, :1]).dtype.kind == "c" else 0
    return native.is_finite(a) and exponent(native, a) <= _most(native, a) - spare


def lift(native: Native, a: Any) -> int:
    """e such that 2^e A is well above the subnormal numbers; 0 for A that is."""
    most = _most(native, a)
    return most // 2 if exponent(native, a) < room(native, a) - most else 0


def _most(native: Native, a: Any) -> int:
    """Finite magnitudes are below 2^this."""
    return int(np.finfo(native.to_host(a[:1, :1]).dtype).maxexp)
