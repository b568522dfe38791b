"""Shapes, types and refusals are those of numpy.matmul; the values are the reference's."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul
from support import STACKS, noise, stack_operands

STACK_IDS = [f"{a}@{b}".replace(" ", "") for a, b in STACKS]
all_stacks = pytest.mark.parametrize("shapes", STACKS, ids=STACK_IDS)
TYPES = list(itertools.product((np.float64, np.float32), repeat=2))


@all_stacks
@pytest.mark.parametrize("types", TYPES, ids=["dd", "ds", "sd", "ss"])
def test_shape_dtype_and_kind_of_the_result(shapes, types) -> None:
    a, b = stack_operands(shapes)
    a, b = a.astype(types[0]), b.astype(types[1])
    ours, theirs = ozfp4.matmul(a, b, accuracy="scaled"), np.matmul(a, b)
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert_same_bits(ours, exact_matmul(a, b))


dimensions = st.integers(0, 4)


@given(st.lists(dimensions, max_size=3), st.lists(dimensions, max_size=3))
def test_any_pair_of_shapes(shape_a: list[int], shape_b: list[int]) -> None:
    a, b = np.ones(shape_a), np.ones(shape_b)
    try:
        theirs = np.matmul(a, b)
    except ValueError:
        with pytest.raises(ValueError):
            ozfp4.matmul(a, b, accuracy="scaled")
    else:
        assert_same_bits(
            ozfp4.matmul(a, b, accuracy="scaled"), theirs
        )  # sums of at most 4 ones are exact everywhere


def test_array_likes() -> None:
    a, b = [[1.0, 2.0], [3.0, 4.0]], ((5.0,), (6.0,))
    assert_same_bits(ozfp4.matmul(a, b, accuracy="scaled"), np.array([[17.0], [39.0]]))
    assert_same_bits(ozfp4.matmul([1.0, 2.0], [3.0, 4.0], accuracy="scaled"), np.array(11.0))

    class Wrapped:
        def __array__(self, dtype=None, copy=None) -> np.ndarray:
            return np.array(a)

    assert_same_bits(ozfp4.matmul(Wrapped(), b, accuracy="scaled"), np.array([[17.0], [39.0]]))
    assert (
        type(ozfp4.matmul(np.array(a).view(type("Sub", (np.ndarray,), {})), np.array(b), accuracy="scaled"))
        is np.ndarray
    )


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(2**40, 3, 0), (2**40, 0, 3)], ids=str)
@pytest.mark.parametrize(("function", "dtype"), [("matmul", "float64"), ("int8_matmul", "int8")])
def test_countless_matrices_without_an_entry(function: str, dtype: str, shape: tuple[int, ...]) -> None:
    """No matrix needs any work. The test runs in another process, as a loop over all would take hours and block signals."""
    stack, rows, columns = shape
    code = f"""
import numpy as np, ozfp4
a = np.broadcast_to(np.zeros(({rows}, 2), {dtype!r}), ({stack}, {rows}, 2))
assert ozfp4.{function}(a, np.zeros((2, {columns}), {dtype!r})).shape == {shape}
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_out_may_come_third_as_numpy_s() -> None:
    a, b = stack_operands(((2, 4, 5), (5, 3)))
    out = noise((2, 4, 3))
    assert ozfp4.matmul(a, b, out) is out
    assert_same_bits(out, ozfp4.matmul(a, b))
    out, expected = noise((4, 3)), ozfp4.matmul(a[0], b, accuracy="correct")
    c, report = ozfp4.matmul(a[0], b, out, accuracy="correct", report=True)
    assert c is out
    assert report.bits > 0
    assert_same_bits(out, expected)


@pytest.mark.parametrize(
    "keyword",
    [
        {"axes": [(-2, -1), (-1, -2), (0, 1)]},
        {"axis": 0},
        {"casting": "unsafe"},
        {"keepdims": True},
        {"order": "F"},
        {"signature": "dd->d"},
        {"subok": False},
        {"where": True},
    ],
    ids=lambda keyword: next(iter(keyword)),
)
def test_keywords_that_numpy_s_ufuncs_have_are_refused_by_name(check_refused, keyword) -> None:
    a, b = stack_operands(((4, 5), (5, 3)))
    pattern = f"unexpected keyword argument '{next(iter(keyword))}'"
    check_refused(TypeError, pattern, ozfp4.matmul, a, b, **keyword, out=noise((4, 3)))
