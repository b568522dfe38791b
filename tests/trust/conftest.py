"""Kernels that are wrong on purpose."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ozfp4.backends.kernels import DeviceKernel
from ozfp4.trust import plane_products
from ozfp4.trust.exact_cases import Case


@pytest.fixture
def break_kernel(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """break_kernel("fp64"): the kernel of that element is off by one in an odd sum above half of the largest."""
    multiply = plane_products.multiply

    def make(*elements: str) -> None:
        def wrong(kernel: DeviceKernel, case: Case) -> list:
            outputs = multiply(kernel, case)
            if kernel.element not in elements:
                return outputs
            sums = case.expected()
            places = np.argwhere((sums % 2 == 1) & (abs(sums) > abs(sums).max() / 2))
            for modulus, matrix in outputs:
                for i, j in places[:1]:
                    matrix[i, j] = (int(sums[i, j]) + 1) % modulus if modulus else sums[i, j] + 1
            return outputs

        monkeypatch.setattr(plane_products, "multiply", wrong)

    return make
