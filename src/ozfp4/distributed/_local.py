"""The products that one rank computes: with what they were asked for, and what became of them.

A rank whose product fails keeps the reason and goes on taking part in what the others wait for; :attr:`Products.failure` is
raised where nobody waits any more.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from .._api.matmul import matmul
from .._api.prepare import prepare
from .._options import plan_options, unusual
from .._request import library
from .._request.library import require_torch

torch: Any = require_torch()

# Where a rank multiplies several pieces by one operand: from so many operations on it is scaled and encoded once, and up to so
# many entries, as the planes take more memory than the operand.
LEAST_KEPT = 2.0**34
MOST_KEPT = 2**31


class Products:
    """`options`: keywords of ``ozfp4.matmul``; `bounds`: whether bounds of the errors are wanted, too."""

    def __init__(self, options: dict[str, Any], bounds: bool) -> None:
        self.options, self.bounds = unusual({**options, "return_bound": bounds}), bounds
        self.failure: Exception | None = None

    def __call__(self, a: Any, b: Any, out: Any, bound: Any) -> None:
        """A B into `out`, and its bounds into `bound`, views of a result; after a failure nothing."""
        if out.numel():
            self.attempt(partial(self._multiply, a, b, out, bound))

    def attempt(self, do: Callable[[], Any]) -> Any:
        """What it gives; None after a failure, and where it fails."""
        if self.failure is not None:
            return None
        try:
            return do()
        except Exception as error:
            self.failure = error
            return None

    def _multiply(self, a: Any, b: Any, out: Any, bound: Any) -> None:
        found = None
        with suppress(torch.cuda.OutOfMemoryError):
            found = matmul(a, b, out=out, **self.options)
        if found is None:  # the error does not hold any more what the first attempt had taken
            # Operands that came take a part of the memory that a product cannot have in one piece. The bits are the same.
            torch.cuda.empty_cache()
            free, _ = torch.cuda.mem_get_info(out.device)
            limit = min(free * 3 // 4, self.options.get("workspace_limit") or free)
            found = matmul(a, b, out=out, **{**self.options, "workspace_limit": limit})
        if self.bounds:
            bound.copy_(found[1])

    def keep(self, x: Any, is_left: bool, other: Any, entries: int) -> Any:
        """`x` for products with several pieces of `other`, which have so many columns (on the left rows) of `x`'s lines
        altogether: prepared, where that is possible and pays, else as it is. The bits are the same."""
        is_worth_it = 2.0 * x.numel() * entries >= LEAST_KEPT and 0 < x.numel() <= MOST_KEPT
        has_integers = library.is_integer(x.dtype) or library.is_integer(other.dtype)
        if self.failure is not None or not is_worth_it or has_integers:
            return x
        result = torch.promote_types(x.dtype, other.dtype)
        if not x.dtype.is_complex and result.is_complex:
            result = result.to_real()
        kind = "complex" if other.dtype.is_complex else "real"
        try:
            return prepare(
                x, "left" if is_left else "right", dtype=result, other=kind, **plan_options(self.options)
            )
        except (MemoryError, RuntimeError, ValueError):
            return x  # no memory for its planes, or a stack that is not kept
