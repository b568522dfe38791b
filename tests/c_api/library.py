"""libozfp4 as ctypes sees it, and NumPy arrays as its arguments."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

ROOT = Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "ozfp4.h"

ROW, COLUMN = 101, 102
NONE, TRANS, CONJ = 111, 112, 113
LEFT, RIGHT = 141, 142
ORDERS = {"row": ROW, "column": COLUMN}
OK, INVALID, UNSUPPORTED, NO_MEMORY, WORKSPACE, OVERFLOW, NO_DEVICE, DEVICE_ERROR = range(8)
ACCURACIES = {"scaled": 1, "standard": 2, "correct": 3}
ROUNDINGS = {"nearest": 0, "down": 1, "up": 2, "zero": 3}
BACKENDS = {"auto": 0, "fp4": 1, "int8": 2, "fp64": 3}
FAMILIES = {"least": 0, "paper": 1, "paper-karatsuba": 2}
SCHEMES = {"I": 1, "II": 2}
TYPES = {
    "float64": 1, "float32": 2, "complex128": 3, "complex64": 4, "int8": 5, "int16": 6, "int32": 7, "int64": 8, "uint8": 9,
    "uint16": 10, "uint32": 11, "uint64": 12,
}  # fmt: skip
LETTERS = {"float64": "d", "float32": "s", "complex128": "z", "complex64": "c"}

Array = npt.NDArray[Any]


class Report(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        *((name, ctypes.c_int32) for name in ("backend", "scheme", "bits", "products", "moduli_used", "reserved")),
        *(
            (name, ctypes.c_int64)
            for name in ("workspace", "repaired", "special_rows", "special_columns", "overflows")
        ),
        ("largest_bound", ctypes.c_double),
        *((f"seconds_{name}", ctypes.c_double) for name in ("scale", "encode", "multiply", "reconstruct", "repair")),
    ]  # fmt: skip


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        *((name, ctypes.c_int32) for name in ("accuracy", "rounding", "scheme", "backend", "family", "bits")),
        ("overflow", ctypes.c_int32),
        ("reserved", ctypes.c_int32),
        ("workspace_limit", ctypes.c_int64),
        ("plan", ctypes.c_void_p),
        ("bound", ctypes.c_void_p),
        ("ld_bound", ctypes.c_int64),
        ("stride_bound", ctypes.c_int64),
        ("report", ctypes.POINTER(Report)),
        ("repaired", ctypes.POINTER(ctypes.c_int64)),
        ("overflows", ctypes.POINTER(ctypes.c_int64)),
    ]


class PlanInfo(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        *(
            (name, ctypes.c_int32)
            for name in ("scheme", "backend", "family", "bits", "products", "planes", "moduli", "is_complex")
        ),
        ("k_max", ctypes.c_int64),
    ]


def options(**given: Any) -> Options:
    return Options(size=ctypes.sizeof(Options), **given)


def new_report() -> Report:
    return Report(size=ctypes.sizeof(Report))


def declared() -> dict[str, list[str]]:
    """The functions of the header with the types of their arguments, as text."""
    text = re.sub(r"\s+", " ", re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.DOTALL))
    found = re.findall(r"OZFP4_API [\w ]+?\*? ?(ozfp4_\w+)\(([^;]*)\);", text)
    return {name: [] if given == "void" else given.split(", ") for name, given in found}


_PLAIN = {
    "int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "double": ctypes.c_double, "float": ctypes.c_float,
    **dict.fromkeys(("int", "ozfp4_type", "ozfp4_side", "ozfp4_status"), ctypes.c_int),
}  # fmt: skip


class Address:
    """An argument that is one: that of an array, of a structure, of a number; a handle, and None, which is NULL."""

    @staticmethod
    def from_param(x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return ctypes.c_void_p(x.ctypes.data)
        if x is None or isinstance(x, int):
            return ctypes.c_void_p(x)
        return x if isinstance(x, ctypes.c_void_p) else ctypes.byref(x)


def load(path: Path) -> ctypes.CDLL:
    """The library with the arguments of the header."""
    library = ctypes.CDLL(str(path))
    for name, given in declared().items():
        function = getattr(library, name)
        function.argtypes = [
            Address if "*" in argument else _PLAIN[argument.rsplit(" ", 1)[0]] for argument in given
        ]
    for name in ("ozfp4_status_name", "ozfp4_last_error", "ozfp4_version_string"):
        getattr(library, name).restype = ctypes.c_char_p
    library.ozfp4_prepared_bytes.restype = ctypes.c_int64
    for name in ("ozfp4_release", "ozfp4_plan_destroy", "ozfp4_cuda_release"):
        getattr(library, name).restype = None
    return library


def succeed(library: ctypes.CDLL, name: str, *given: Any) -> None:
    status = getattr(library, f"ozfp4_{name}")(*given)
    assert status == OK, error(library)


def error(library: ctypes.CDLL) -> str:
    return library.ozfp4_last_error().decode()


def lies(x: Array, order: str, gap: int = 0, batch: int | None = None) -> tuple[Array, int]:
    """A copy of a matrix, or a stack, as it is passed: lines in the order with a gap behind each, filled with NaN or noise; its
    leading dimension."""
    lines = x if order == "row" else x.swapaxes(-1, -2)
    *stack, count, length = lines.shape
    memory = np.empty((*stack, count, length + gap), x.dtype)
    memory.view(np.uint8)[...] = 0xA7 if x.dtype.kind in "iu" else 0xFF
    memory[..., :length] = lines
    return memory, max(length + gap, 1)


def seen(memory: Array, order: str, gap: int = 0) -> Array:
    """The matrix that lies so."""
    lines = memory[..., : memory.shape[-1] - gap]
    return lines if order == "row" else lines.swapaxes(-1, -2)


def factor(value: complex, dtype: np.dtype[Any]) -> Any:
    """A number as the functions of this dtype take it."""
    return np.array([value], dtype) if dtype.kind == "c" else float(value.real)


def same_bits(found: Array, expected: Array) -> bool:
    """Whether numbers are the same, the sign of zeros among it; NaN is NaN."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return False
    if found.dtype.kind == "c":
        return same_bits(found.real, expected.real) and same_bits(found.imag, expected.imag)
    if found.dtype.kind != "f":
        return bool((found == expected).all())
    nan = np.isnan(found)
    if not (nan == np.isnan(expected)).all():
        return False
    return bool(((found == expected) & (np.signbit(found) == np.signbit(expected)))[~nan].all())
