"""Laws that hold bit for bit, on operands that hypothesis makes up."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ozfp4.testing import assert_same_bits, exact_matmul
from support import PATHS, chosen, noise

paths = st.sampled_from(PATHS)
types = st.sampled_from([np.float64, np.float32])


@st.composite
def pairs(draw, finite: bool = False) -> tuple[np.ndarray, np.ndarray]:
    m, k, n = (draw(st.integers(0, 6)) for _ in range(3))
    arrays = []
    for shape in ((m, k), (k, n)):
        dtype = np.dtype(draw(types))
        entries = st.floats(width=8 * dtype.itemsize, allow_nan=not finite, allow_infinity=not finite)
        arrays.append(draw(hnp.arrays(dtype, shape, elements=entries, fill=st.just(0.0))))
    return arrays[0], arrays[1]


@given(pairs(), paths, st.none() | st.integers(2, 53))
def test_any_operands_on_any_path(operands, path, bits: int | None) -> None:
    a, b = operands
    expected = exact_matmul(a, b, bits=bits)
    out = noise(expected.shape, expected.dtype)
    chosen.matmul(a, b, bits=bits, out=out, accuracy="scaled", **path._asdict())
    assert_same_bits(out, expected, path)
