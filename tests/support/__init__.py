"""Helpers of tests and benchmarks: seeded operands, further references, errors against the real product."""

from ozfp4._options import ROUNDINGS

from .complex import complex_matmul, joined, real_form
from .complex_update import complex_gemm_reference
from .generators import (
    ACCURACIES,
    KINDS,
    LEAST,
    LINES,
    MODES,
    PATHS,
    STACKS,
    VIEWS,
    Path,
    any_operands,
    constant_columns,
    constant_rows,
    line_operands,
    noise,
    operands,
    spread,
    stack_operands,
)
from .gpu_elements import gpu_elements
from .hard import HARD, hard_operands
from .references import reference
from .structured import STRUCTURED, structured_operands
from .update import gemm_reference

__all__ = [
    "ACCURACIES",
    "HARD",
    "KINDS",
    "LEAST",
    "LINES",
    "MODES",
    "PATHS",
    "ROUNDINGS",
    "STACKS",
    "STRUCTURED",
    "VIEWS",
    "Path",
    "any_operands",
    "complex_gemm_reference",
    "complex_matmul",
    "constant_columns",
    "constant_rows",
    "gemm_reference",
    "gpu_elements",
    "hard_operands",
    "joined",
    "line_operands",
    "noise",
    "operands",
    "real_form",
    "reference",
    "spread",
    "stack_operands",
    "structured_operands",
]
