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


@given(pairs(), paths)
def test_the_transposed_product(operands, path) -> None:
    a, b = operands
    names = path._asdict()
    assert_same_bits(
        chosen.matmul(b.T, a.T, **names, accuracy="scaled"), chosen.matmul(a, b, **names, accuracy="scaled").T
    )


@given(pairs(), paths, st.randoms(use_true_random=False))
def test_the_order_along_k_does_not_matter(operands, path, random) -> None:
    a, b = operands
    order = list(range(a.shape[1]))
    random.shuffle(order)
    names = path._asdict()
    assert_same_bits(
        chosen.matmul(a[:, order], b[order], **names, accuracy="scaled"),
        chosen.matmul(a, b, **names, accuracy="scaled"),
    )


@given(pairs(finite=True), paths, st.data())
def test_powers_of_two_on_rows_and_columns_pass_through(operands, path, data) -> None:
    a, b = (np.clip(x.astype(np.float64), -1e30, 1e30) for x in operands)
    a, b = np.where(np.abs(a) < 1e-30, 0.0, a), np.where(np.abs(b) < 1e-30, 0.0, b)  # far from both ends
    exponents = st.integers(-300, 300)
    s = np.array(data.draw(st.lists(exponents, min_size=len(a), max_size=len(a))), int)[:, np.newaxis]
    t = np.array(data.draw(st.lists(exponents, min_size=b.shape[1], max_size=b.shape[1])), int)
    names = path._asdict()
    moved = chosen.matmul(np.ldexp(a, s), np.ldexp(b, t), **names, accuracy="scaled")
    assert_same_bits(moved, np.ldexp(chosen.matmul(a, b, **names, accuracy="scaled"), s + t))


@given(pairs(finite=True), paths)
def test_signs_pass_through(operands, path) -> None:
    a, b = operands
    names = path._asdict()
    c = chosen.matmul(a, b, **names, accuracy="scaled")
    negated = chosen.matmul(-a, b, **names, accuracy="scaled")
    zeros = c == 0  # +0 where exact, else with the sign of what underflowed
    assert_same_bits(negated[~zeros], -c[~zeros])
    assert (negated[zeros] == 0).all()


@given(
    hnp.arrays(
        np.float64,
        st.tuples(st.integers(0, 5), st.integers(0, 5)),
        elements=st.floats(allow_nan=False, allow_infinity=False),
    ),
    paths,
)
def test_one_is_neutral_where_a_column_keeps_its_bits(x: np.ndarray, path) -> None:
    """Columns whose entries have one exponent lose nothing to scaling: I X = X."""
    _, exponent = np.frexp(x)
    same = np.where(exponent == exponent.max(axis=0, initial=-2000), x, 0.0)
    product = chosen.matmul(np.eye(len(x)), same, **path._asdict(), accuracy="scaled")
    assert_same_bits(product, same + 0.0)


@given(pairs(), st.integers(1, 3), paths)
def test_a_stack_is_its_matrices(operands, count: int, path) -> None:
    a, b = operands
    stack = np.stack([np.roll(a, i) for i in range(count)])
    names = path._asdict()
    product = chosen.matmul(stack, b, **names, accuracy="scaled")
    for i in range(count):
        assert_same_bits(product[i], chosen.matmul(stack[i], b, **names, accuracy="scaled"))
