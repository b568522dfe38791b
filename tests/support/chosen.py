"""Products with the bits and the family of their plan as keywords, for tests and experiments; users pass ``plan=``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ozfp4._options import Options
from ozfp4._request.prepared import Prepared

_matmul, _gemm, _gram, _prepare = (
    import_module(f"ozfp4._api.{name}") for name in ("matmul", "gemm", "gram", "prepare")
)


def matmul(a: Any, b: Any, out: Any = None, **options: Any) -> Any:
    """``ozfp4.matmul`` with `bits` and `family`, without `device`."""
    return _matmul.product(a, b, out, options, True)


def gemm(
    alpha: Any, a: Any, b: Any, beta: Any = 0.0, c: Any = None, *, trans_a: Any = False, trans_b: Any = False, out: Any = None,
    **options: Any,
) -> Any:  # fmt: skip
    """``ozfp4.gemm`` with `bits` and `family`."""
    return _gemm._gemm(alpha, a, b, beta, c, trans_a, trans_b, out, options, True)


def gram(a: Any, *, left: bool = False, out: Any = None, **options: Any) -> Any:
    """``ozfp4.gram`` with `bits` and `family`, of what torch does not watch."""
    return _gram._gram(a, left, out, options)


def prepare(x: Any, side: str, *, dtype: Any = None, other: str = "complex", **options: Any) -> Prepared:
    """``ozfp4.prepare`` with `bits` and `family`."""
    made: Prepared = _prepare._prepare(x, side, dtype, other, Options.of(options))
    return made
