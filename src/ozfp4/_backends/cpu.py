"""The CPU by name, and results as its core takes them."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._request.library import tensor_of_array
from .._request.operands import MatmulRequest

Array = npt.NDArray[Any]

DEFAULT_WORKSPACE = 2**30


def name() -> str:
    """The processor's name and the number of threads that there are now, e.g. ``cpu (AMD EPYC, 2 threads)``."""
    model = _core.cpu_name().removeprefix("cpu").strip() or platform.machine()
    return f"cpu ({model}, {_core.thread_count()} threads)"


def matrix_view(request: MatmulRequest, result: Array) -> Array:
    """The result with both matrix axes, as a view."""
    if request.shape.b_vector:
        result = result[..., np.newaxis]
    if request.shape.a_vector:
        result = result[..., np.newaxis, :]
    return result


def like_input(request: MatmulRequest, result: Array) -> Any:
    """The result in the caller's library; a NumPy scalar for a product of two vectors, as np.matmul."""
    if request.torch is not None:
        return tensor_of_array(result)
    return result[()] if result.ndim == 0 and request.out is None else result
