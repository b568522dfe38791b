"""The types of real numbers, for tests of both."""

from __future__ import annotations

import numpy as np
import pytest

#: Precision, and exponents of the largest number, of the least normal one and of the least.
FORMATS = {np.float64: (53, 1023, -1022, -1074), np.float32: (24, 127, -126, -149)}
both_types = pytest.mark.parametrize("dtype", list(FORMATS), ids=["float64", "float32"])
