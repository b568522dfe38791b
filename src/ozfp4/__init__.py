"""Exact FP64 matrix multiplication on low-precision matrix units: Ozaki schemes I and II on FP4, INT8, FP64.

>>> import numpy as np, ozfp4
>>> c = ozfp4.matmul(a, b)                        # NumPy arrays or torch tensors
>>> c, report = ozfp4.matmul(a, b, backend="fp4", report=True)
"""

from . import _extension  # noqa: F401, I001 - first: where it is missing, all else fails with less to say
from . import bounds, stages
from ._planning import plan, plan_for
from .info import info
from .int8 import int8_matmul
from .matmul import matmul
from .plans import Plan, Term
from .report import Report
from .selftest import SelfTest, selftest
from .version import __version__

__all__ = [
    "Plan",
    "Report",
    "SelfTest",
    "Term",
    "__version__",
    "bounds",
    "info",
    "int8_matmul",
    "matmul",
    "plan",
    "plan_for",
    "selftest",
    "stages",
]
