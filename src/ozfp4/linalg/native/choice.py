"""Whose the arrays are."""

from __future__ import annotations

from ...request import library
from .contract import Native
from .on_numpy import OnNumpy
from .on_torch import OnTorch


def native_of(x: object) -> Native:
    """NumPy's operations, or torch's for a tensor."""
    return OnTorch() if library.is_tensor(x) else OnNumpy()
