"""Whose the arrays are."""

from __future__ import annotations

from typing import Any, cast

from ...request import library
from .contract import Native
from .on_numpy import OnNumpy
from .on_torch import OnHost, OnTorch


def native_of(x: object) -> Native:
    """NumPy's operations, or torch's for a tensor; for one on the CPU those are of arrays."""
    if not library.is_tensor(x):
        return OnNumpy()
    return OnHost() if cast("Any", x).device.type == "cpu" else OnTorch()
