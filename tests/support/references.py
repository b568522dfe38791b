"""The results that ``ozfp4.matmul`` must return in each accuracy, by the references of ``ozfp4.testing``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ozfp4.testing import correct_matmul, exact_matmul, standard_matmul

from .complex import complex_matmul

Array = npt.NDArray[Any]


def reference(a: Array, b: Array, accuracy: str, rounding: str = "nearest", bits: int | None = None) -> Array:
    """The product of real or complex operands, by a plan of so many bits where that says anything."""

    def real(x: Array, y: Array) -> Array:
        if accuracy == "scaled":
            return exact_matmul(x, y, bits)
        return standard_matmul(x, y)[0] if accuracy == "standard" else correct_matmul(x, y, rounding)

    return complex_matmul(a, b, real) if np.iscomplexobj(a) or np.iscomplexobj(b) else real(a, b)
