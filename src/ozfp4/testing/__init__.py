"""For tests: the exact reference, comparison of bits, forced choices."""

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
