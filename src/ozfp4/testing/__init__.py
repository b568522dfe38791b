"""For tests, benchmarks and notebooks: the exact reference, seeded operands, comparison of bits."""

from .compare import assert_same_bits, bits_of, difference
from .forced import forced
from .generators import (
    KINDS,
    PATHS,
    STACKS,
    VIEWS,
    Path,
    constant_columns,
    constant_rows,
    noise,
    operands,
    spread,
    stack_operands,
)
from .oracle import (
    exact_matmul,
    integer_matmul,
    integer_product,
    round_to_float,
    scale_exponents,
    scaled_integers,
)

__all__ = [
    "KINDS",
    "PATHS",
    "STACKS",
    "VIEWS",
    "Path",
    "assert_same_bits",
    "bits_of",
    "constant_columns",
    "constant_rows",
    "difference",
    "exact_matmul",
    "forced",
    "integer_matmul",
    "integer_product",
    "noise",
    "operands",
    "round_to_float",
    "scale_exponents",
    "scaled_integers",
    "spread",
    "stack_operands",
]
