"""The estimated memory of a product's entries on a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ozfp4._options import Options
from ozfp4._request import library
from ozfp4._request.operands import matmul_request
from ozfp4._streaming.call import sizes_of
from ozfp4._streaming.copies import HostMatrices
from ozfp4._streaming.devices import Cpu
from ozfp4._streaming.tiles import Sizes


def sizes(a: Any, b: Any, dtype: str) -> Sizes:
    request = matmul_request(library.take_operands(a, b, None, library.TAKEN), Options(), np.dtype(dtype))
    result = HostMatrices(np.empty(request.shape.result, dtype))
    return sizes_of(request, HostMatrices(a), HostMatrices(b), [result], Cpu())


@pytest.mark.parametrize(("second", "copied"), [("c16", 16), ("f8", 0)])
def test_a_complex_left_operand_by_columns_is_copied(second: str, copied: int) -> None:
    """Where both are complex: what is made of its pairs is made of rows."""
    a, b = np.ones((30, 40), "c16"), np.ones((40, 50), second)
    rows, columns = (sizes(x, b, "c16") for x in (a, np.asfortranarray(a)))
    assert columns.a.planes - rows.a.planes == copied
    assert (columns.a.is_turned, rows.a.is_turned) == (True, False)
    assert (columns.b, columns.c) == (rows.b, rows.c)
