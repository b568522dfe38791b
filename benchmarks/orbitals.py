"""The demo's job: matrices of a molecule in the basis of its orbitals, and what holds without any rounding.

S: overlap, F: Fock matrix, C: orbital coefficients (columns are orbitals). In exact arithmetic C^T S C = I
and C^T F C = diag(orbital energies), up to the rounding of the stored entries and the convergence of the
calculation.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import common  # noqa: F401 - puts tests/support on the path
from ozfp4._cli import InputError
from ozfp4.testing import integer_matmul
from support.errors import RealProduct, as_integers, relative_errors

Array = npt.NDArray[Any]
Multiply = Callable[[Array, Array], Array]

CAFFEINE = Path(__file__).resolve().parent / "data" / "caffeine_rhf.npz"
OVERLAP, FOCK = "CᵀSC", "CᵀFC"
# Errors for files that are no .npz, or are cut; TypeError and IndexError: np.load takes .npy files as well.
UNREADABLE = (
    OSError,
    ValueError,
    EOFError,
    TypeError,
    IndexError,
    AttributeError,
    zlib.error,
    zipfile.BadZipFile,
)
PRODUCTS = ("SC", OVERLAP, "FC", FOCK)  # in the order of computation: X = SC, then CᵀX


@dataclass(frozen=True)
class Orbitals:
    """S, C and F of one molecule, finite float64 matrices of matching shapes."""

    S: Array
    C: Array
    F: Array


@dataclass(frozen=True)
class Errors:
    """Largest errors of a product: absolute, relative to sum |a| |b|, relative to norms of row and column."""

    absolute: float
    relative: float
    to_norms: float


def _read(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            for name in "SCF":
                if name not in archive:
                    raise InputError(
                        f"FILE: {path}:{name}: no such member; the file holds {', '.join(archive)}"
                    )
            return {name: archive[name] for name in "SCF"}
    except FileNotFoundError:
        raise InputError(f"FILE: {path}: no such file") from None
    except UNREADABLE as error:
        raise InputError(f"FILE: {path}: cannot be read as .npz: {' '.join(str(error).split())}") from None


def load(path: Path | None) -> Orbitals:
    """S, C and F from an .npz file, by default those of caffeine."""
    path = path or CAFFEINE
    matrices = _read(path)
    for name, x in matrices.items():
        if x.ndim != 2 or x.dtype.kind != "f" or x.dtype.itemsize != 8 or not np.isfinite(x).all():
            raise InputError(
                f"FILE: {path}:{name}: not a finite float64 matrix, but {x.dtype} of shape {x.shape}"
            )
        if name != "C" and x.shape != (len(matrices["C"]),) * 2:
            raise InputError(f"FILE: {path}:{name}: shape {x.shape} does not fit C, {matrices['C'].shape}")
    return Orbitals(**matrices)


def transform(orbitals: Orbitals, multiply: Multiply) -> dict[str, Array]:
    """All four products, formed by `multiply`."""
    sc, fc = multiply(orbitals.S, orbitals.C), multiply(orbitals.F, orbitals.C)
    return {
        "SC": sc,
        OVERLAP: multiply(orbitals.C.T, sc),
        "FC": fc,
        FOCK: multiply(orbitals.C.T, fc),
    }


def factors(orbitals: Orbitals, products: dict[str, Array]) -> dict[str, tuple[Array, Array]]:
    """The two operands that each product was formed from."""
    return {
        "SC": (orbitals.S, orbitals.C),
        OVERLAP: (orbitals.C.T, products["SC"]),
        "FC": (orbitals.F, orbitals.C),
        FOCK: (orbitals.C.T, products["FC"]),
    }


def spread(orbitals: Orbitals) -> int:
    """Largest difference of exponents between two nonzero entries of one scaled row or column."""
    widest = 0
    for lines in (orbitals.S, orbitals.F, orbitals.C.T):  # columns of C are the rows of Cᵀ
        for line in lines:
            exponents = np.frexp(line[line != 0])[1]
            widest = max(widest, int(np.ptp(exponents)) if exponents.size else 0)
    return widest


# ---- Without rounding --------------------------------------------------------------------------------------


def real_products(orbitals: Orbitals) -> dict[str, RealProduct]:
    """The real-number products of the stored entries; the triple ones are not rounded in between."""
    c, c_exponent = as_integers(orbitals.C)
    products = {}
    for middle, single, triple in ((orbitals.S, "SC", OVERLAP), (orbitals.F, "FC", FOCK)):
        m, m_exponent = as_integers(middle)
        inner = RealProduct(integer_matmul(m, c), integer_matmul(abs(m), abs(c)), m_exponent + c_exponent)
        products[single] = inner
        products[triple] = RealProduct(
            integer_matmul(c.T, inner.product),
            integer_matmul(abs(c).T, inner.magnitude),
            c_exponent + inner.exponent,
        )
    return products


def _to_float(integers: Array, exponent: int) -> Array:
    """integers * 2^exponent, each rounded once."""
    if exponent >= 0:
        return (integers << exponent).astype(np.float64)
    return (integers / (1 << -exponent)).astype(np.float64)


def errors(computed: Array, real: RealProduct, left: Array, right: Array) -> Errors:
    """How far `computed`, formed as left @ right, is from the real product.

    Differences and sums are exact; only their quotients are rounded. A relative error 0/0 is 0.
    """
    c, exponent = as_integers(computed)
    lowest = min(exponent, real.exponent)
    difference = abs((c << (exponent - lowest)) - (real.product << (real.exponent - lowest)))
    absolute = _to_float(difference, lowest)
    to_norms = absolute
    for norms in (np.hypot.reduce(left, axis=1)[:, np.newaxis], np.hypot.reduce(right, axis=0)):
        to_norms = to_norms / np.where(norms > 0, norms, 1.0)
    return Errors(
        absolute.max(initial=0.0),
        float(relative_errors(computed, real).max(initial=0.0)),
        to_norms.max(initial=0.0),
    )


def off_identity(x: Array) -> float:
    """max |x - I|."""
    return float(abs(x - np.eye(len(x))).max(initial=0.0))


def off_diagonal(x: Array) -> float:
    """Largest magnitude off the diagonal."""
    return float(abs(x - np.diag(np.diag(x))).max(initial=0.0))


def real_off_identity(real: RealProduct) -> float:
    """max |product - I| of the unrounded product."""
    product, exponent = real.product, real.exponent
    if exponent > 0:
        product, exponent = product << exponent, 0
    identity = np.eye(len(product), dtype=np.int64).astype(object) << -exponent
    return float(_to_float(abs(product - identity), exponent).max(initial=0.0))


def real_off_diagonal(real: RealProduct) -> float:
    """Largest magnitude off the diagonal of the unrounded product."""
    return off_diagonal(_to_float(real.product, real.exponent))
