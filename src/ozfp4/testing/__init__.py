"""Exact references by Python integers, comparison of bits, and forced choices, for tests.

>>> import numpy as np, ozfp4
>>> from ozfp4 import testing
>>> a, b = np.random.default_rng(1).standard_normal((2, 20, 20))
>>> testing.assert_same_bits(ozfp4.matmul(a, b, accuracy="scaled"), testing.exact_matmul(a, b))
>>> testing.assert_same_bits(ozfp4.matmul(a, b, accuracy="correct"), testing.correct_matmul(a, b))
"""

from ._certified import Certificate, error_bound, line_capacity, line_facts, standard_matmul
from ._compare import assert_same_bits, bits_of, difference
from ._forced import forced, forced_on_cpu
from ._oracle import (
    correct_matmul,
    exact_matmul,
    integer_matmul,
    integer_product,
    round_to_float,
    scale_exponents,
    scaled_integers,
)

__all__ = [
    "Certificate",
    "assert_same_bits",
    "bits_of",
    "correct_matmul",
    "difference",
    "error_bound",
    "exact_matmul",
    "forced",
    "forced_on_cpu",
    "integer_matmul",
    "integer_product",
    "line_capacity",
    "line_facts",
    "round_to_float",
    "scale_exponents",
    "scaled_integers",
    "standard_matmul",
]
