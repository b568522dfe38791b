"""Helpers of tests and benchmarks: seeded operands, further references, errors against the real product."""

from .complex import complex_matmul, real_form
from .complex_update import complex_gemm_reference
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
from .gpu_elements import gpu_elements
from .hard import HARD, hard_operands
from .structured import STRUCTURED, structured_operands
from .update import gemm_reference

__all__ = [
    "HARD",
    "KINDS",
    "PATHS",
    "STACKS",
    "STRUCTURED",
    "VIEWS",
    "Path",
    "complex_gemm_reference",
    "complex_matmul",
    "constant_columns",
    "constant_rows",
    "gemm_reference",
    "gpu_elements",
    "hard_operands",
    "noise",
    "operands",
    "real_form",
    "spread",
    "stack_operands",
    "structured_operands",
]
