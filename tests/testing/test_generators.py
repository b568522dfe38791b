"""Ties among operands tie, and views have the layouts of their names."""

from __future__ import annotations

import numpy as np

from ozfp4.testing import exact_matmul, integer_product
from support import VIEWS, constant_columns, constant_rows, operands
from support.dtypes import both_types


def halfway(kind: str, dtype: type) -> tuple[int, int]:
    """Numbers of results that tie, and that just miss a tie, in the normal range."""
    precision = np.finfo(dtype).nmant + 1
    a, b = operands(kind, 40, 5, 40, dtype=dtype)
    integers, s, t = integer_product(a, b, precision)
    ties = near = 0
    for i, j in np.ndindex(integers.shape):
        length = abs(integers[i, j]).bit_length()
        drop = length - precision
        if drop > 0 and length - int(s[i] + t[j]) > np.finfo(dtype).minexp + 1:
            distance = abs(abs(integers[i, j]) % 2**drop - 2 ** (drop - 1))
            ties += distance == 0
            near += 0 < distance < 2 ** (drop - 12)
    return ties, near


@both_types
def test_final_ties_tie_and_just_miss(dtype: type) -> None:
    ties, near = halfway("final-ties", dtype)
    assert ties > 50
    assert near > 50
    a, b = operands("final-ties", 40, 5, 40, dtype=dtype)
    c = exact_matmul(a, b)
    assert ((c != 0) & (np.abs(c) < np.finfo(dtype).tiny)).sum() > 50


def test_views_have_the_layouts_of_their_names() -> None:
    x = np.ones((4, 5))
    assert VIEWS["reversed"](x).strides == (-40, -8)
    assert VIEWS["transposed"](x).strides == (8, 32)
    assert not VIEWS["unaligned"](x).flags.aligned
    assert VIEWS["unaligned"](x).strides == (45, 9)
    assert not VIEWS["swapped-bytes"](x).dtype.isnative
    assert not VIEWS["read-only"](x).flags.writeable
    assert not VIEWS["strided"](x).flags.contiguous
    assert constant_rows(x).strides[0] == 0
    assert constant_columns(x).strides[1] == 0
