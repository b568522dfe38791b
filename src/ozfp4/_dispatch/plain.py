"""The products that ``ozfp4._torch_ops`` hands to torch: what computes them, by name. `_api` enters them, which stands above.

They take tensors as they are, and ask neither for gradients nor for who is watching.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class _Products(dict[str, Callable[..., Any]]):
    """A product's module enters it, and is imported at the first use."""

    def __missing__(self, name: str) -> Callable[..., Any]:
        import_module(f"ozfp4._api.{name}")
        return dict(self)[name]


products = _Products()
