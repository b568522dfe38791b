"""Calls of BLAS by the names that libozfp4_blas stands before, and what comes with them: shared by the Python programs here,
which have NumPy's and SciPy's own BLAS behind it."""

from __future__ import annotations

import ctypes
import sys
from ctypes import byref, c_char, c_double, c_float, c_int32, c_void_p
from typing import Any

import numpy as np
import scipy.linalg.blas  # noqa: F401  SciPy's BLAS is loaded then

process = ctypes.CDLL(None)
rng = np.random.default_rng(1)

TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
OPS = {"N": lambda x: x, "T": lambda x: x.T, "C": lambda x: x.conj().T}
ENUMS = {"N": 111, "T": 112, "C": 113, "U": 121, "L": 122}  # of CBLAS
ROW_MAJOR, COLUMN_MAJOR, FORTRAN = 101, 102, 0


def address(x: np.ndarray) -> c_void_p:
    return c_void_p(x.ctypes.data)


def numbers(shape: Any, dtype: Any, spread: int = 3) -> np.ndarray:
    def part() -> np.ndarray:
        return rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)

    return (part() + 1j * part() if np.dtype(dtype).kind == "c" else part()).astype(dtype)


def same(x: np.ndarray, y: np.ndarray) -> None:
    """Bit for bit, but for NaNs and the signs of zeros."""
    np.testing.assert_array_equal(x.view(x.real.dtype), np.ascontiguousarray(y).view(x.real.dtype))


def laid(x: np.ndarray, order: int, gap: int = 0) -> tuple[np.ndarray, int]:
    """A copy in memory of this order, with noise between its lines, and its leading dimension."""
    rows, columns = x.shape
    if order == ROW_MAJOR:
        wide = (numbers((rows, columns + gap), x.dtype) * 1e30).astype(x.dtype)
        wide[:, :columns] = x
        return wide, columns + gap
    wide = (numbers((columns, rows + gap), x.dtype) * 1e30).astype(x.dtype).T
    wide[:rows] = x
    return wide, rows + gap


def call(
    name: str, order: int, flags: str, extents: Any, alpha: Any, operands: Any, beta: Any, result: Any,
    integer: Any = c_int32, factors: Any = None, library: Any = process,
) -> None:  # fmt: skip
    """A routine of Fortran, or of CBLAS in an order. Operands and result: a matrix and its leading dimension."""
    kept = [np.array([x], factors or result[0].dtype) for x in (alpha, beta)]
    if order == FORTRAN:
        i, by_value = (lambda x: byref(integer(x))), None
        head = [byref(c_char(flag.encode())) for flag in flags]
    else:
        i, by_value = integer, {"f": c_float, "d": c_double}.get(kept[0].dtype.char)
        head = [order, *(ENUMS[flag] for flag in flags)]
    first, second = (by_value(x[0]) if by_value else address(x) for x in kept)
    pairs = [word for matrix, leading in operands for word in (address(matrix), i(leading))]
    lengths = [ctypes.c_size_t(1)] * 2 if order == FORTRAN else []
    behind = [second, address(result[0]), i(result[1]), *lengths]
    library[name](*head, *(i(x) for x in extents), first, *pairs, *behind)


def gemm(
    name: str, flags: str, alpha: Any, a: np.ndarray, b: np.ndarray, beta: Any, c: np.ndarray, **more: Any
) -> None:
    """A routine of Fortran, with whole column-major matrices."""
    k = a.shape[1 if flags[0] in "Nn" else 0]
    operands = [(x, len(x)) for x in (a, b)]
    call(name, FORTRAN, flags, (*c.shape, more.pop("k", k)), alpha, operands, beta, (c, len(c)), **more)


def run(functions: dict[str, Any]) -> None:
    """The function of a program that its first argument names, with the others."""
    functions[sys.argv[1]](*sys.argv[2:])
