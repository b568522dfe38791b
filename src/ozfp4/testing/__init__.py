"""For tests, benchmarks and notebooks: the exact reference, seeded operands, comparison of bits."""

from .certified import Certificate, error_bound, line_capacity, line_facts, standard_matmul
from .compare import assert_same_bits, bits_of, difference
from .complex import complex_matmul, real_form
from .complex_update import complex_gemm_reference
from .correct import correct_matmul
from .forced import forced, forced_on_cpu
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
from .hard import HARD, hard_operands
from .oracle import (
    exact_matmul,
    integer_matmul,
    integer_product,
    round_to_float,
    scale_exponents,
    scaled_integers,
)
from .structured import STRUCTURED, structured_operands
from .update import gemm_reference

__all__ = [
    "HARD",
    "KINDS",
    "PATHS",
    "STACKS",
    "STRUCTURED",
    "VIEWS",
    "Certificate",
    "Path",
    "assert_same_bits",
    "bits_of",
    "complex_gemm_reference",
    "complex_matmul",
    "constant_columns",
    "constant_rows",
    "correct_matmul",
    "difference",
    "error_bound",
    "exact_matmul",
    "forced",
    "forced_on_cpu",
    "gemm_reference",
    "hard_operands",
    "integer_matmul",
    "integer_product",
    "line_capacity",
    "line_facts",
    "noise",
    "operands",
    "real_form",
    "round_to_float",
    "scale_exponents",
    "scaled_integers",
    "spread",
    "stack_operands",
    "standard_matmul",
    "structured_operands",
]
