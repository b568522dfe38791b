"""Dense linear algebra by blocks. SciPy or torch factorises panels of a few columns; all other products are exact.

>>> import numpy as np, ozfp4
>>> a, b = np.eye(3) + 1 / 3, np.ones(3)
>>> x = ozfp4.linalg.solve(a, b, refine=True)     # NumPy arrays or torch tensors, matrices or stacks
"""

from ._lu import Slogdet, det, lu_factor, lu_solve, slogdet
from ._qr import LstsqResult, lstsq, qr
from ._refine import SolveReport
from ._systems import inv, solve
from ._triangles import cholesky, solve_triangular

__all__ = [
    "LstsqResult",
    "Slogdet",
    "SolveReport",
    "cholesky",
    "det",
    "inv",
    "lstsq",
    "lu_factor",
    "lu_solve",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
]
