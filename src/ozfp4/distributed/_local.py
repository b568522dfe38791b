"""The products that one rank computes: with what they were asked for, and what became of them.

A rank whose product fails keeps the reason and goes on taking part in what the others wait for; :attr:`Products.failure` is
raised where nobody waits any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._api.matmul import matmul
from .._api.prepare import prepare
from .._options import plan_options, unusual
from .._request import library
from .._request.library import require_torch

# Where a rank multiplies several pieces by one operand: from so many operations on it is scaled and encoded once, and up to so
# many entries, as the planes take more memory than the operand.
LEAST_KEPT = 2.0**34
MOST_KEPT = 2**31


class Products:
    """`options`: keywords of ``ozfp4.matmul``; `bounds`: whether bounds of the errors are wanted, too."""

    def __init__(self, options: dict[str, Any], bounds: bool) -> None:
        self.options, self.bounds = unusual(options), bounds
        self.failure: Exception | None = None

    def __call__(self, a: Any, b: Any, out: Any, bound: Any) -> None:
        """A B into `out`, and its bounds into `bound`, views of a result; after a failure nothing."""
        if self.failure is not None or not out.numel():
            return
        try:
            has_room = True
            try:
                self._multiply(a, b, out, bound, self.options)
            except require_torch().cuda.OutOfMemoryError:
                has_room = False
            if not has_room:  # not where the error still holds what the first attempt had taken
                self._multiply(a, b, out, bound, self._with_less(out))
        except Exception as error:
            self.failure = error

    def attempt(self, do: Callable[[], Any]) -> Any:
        """What it gives; None after a failure, and where it fails."""
        if self.failure is not None:
            return None
        try:
            return do()
        except Exception as error:
            self.failure = error
            return None

    def _multiply(self, a: Any, b: Any, out: Any, bound: Any, options: dict[str, Any]) -> None:
        if self.bounds:
            _, found = matmul(a, b, out=out, return_bound=True, **options)
            bound.copy_(found)
        else:
            matmul(a, b, out=out, **options)

    def _with_less(self, out: Any) -> dict[str, Any]:
        """The options where the device had no memory for them as they are: operands that came take a part of it that the next
        product cannot have in one piece. The bits are the same."""
        cuda = require_torch().cuda
        cuda.empty_cache()
        free, _ = cuda.mem_get_info(out.device)
        asked = self.options.get("workspace_limit")
        return {**self.options, "workspace_limit": min(free * 3 // 4, asked or free)}

    def keep(self, x: Any, is_left: bool, other: Any, entries: int) -> Any:
        """`x` for products with several pieces of `other`, which have so many columns (on the left rows) of `x`'s lines
        altogether: prepared, where that is possible and pays, else as it is. The bits are the same."""
        inner = -1 if is_left else -2
        lines = x.numel() // max(1, x.shape[inner])
        is_worth_it = 2.0 * lines * x.shape[inner] * entries >= LEAST_KEPT and x.numel() <= MOST_KEPT
        if self.failure is not None or not is_worth_it or not x.numel():
            return x
        if library.is_integer(x.dtype) or library.is_integer(other.dtype):
            return x
        result = require_torch().promote_types(x.dtype, other.dtype)
        if not x.dtype.is_complex and result.is_complex:
            result = result.to_real()
        kind = "complex" if other.dtype.is_complex else "real"
        try:
            return prepare(
                x, "left" if is_left else "right", dtype=result, other=kind, **plan_options(self.options)
            )
        except (
            MemoryError,
            RuntimeError,
            ValueError,
        ):  # no memory for its planes, or a stack that is not kept
            return x
