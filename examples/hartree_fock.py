"""Hartree-Fock of a molecule by PySCF, with the Coulomb and exchange matrices formed by a product of one's own.

PySCF gives the integrals, drives the iteration and diagonalises. With density fitting all else is products of B, the fitted
integrals (P, i, j): J = Σ_P B_P tr(B_P D), and K = Σ_P (B_P C)(B_P C)ᵀ for the occupied orbitals C with D = C Cᵀ.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from pyscf import gto, lib, scf

from ozfp4.data.make_caffeine_rhf import CAFFEINE

Array = npt.NDArray[np.float64]
Products = Callable[[Array, Array], Array]


def caffeine(basis: str = "sto-3g") -> Any:
    """The molecule, for PySCF."""
    return gto.M(atom=CAFFEINE, basis=basis, verbose=0)


def fitted_integrals(method: Any) -> Array:
    """B of a method with density fitting: (functions of the auxiliary basis, n, n)."""
    packed = np.vstack([np.array(part) for part in method.with_df.loop()])
    return np.asarray(lib.unpack_tril(packed))


def coulomb_and_exchange(b: Array, occupied: Array, products: Products) -> tuple[Array, Array]:
    """J and K of the density C Cᵀ: six products, the fourth and the sixth with nearly all of the work.

    Parameters
    ----------
    b : array (p, n, n)
        Fitted integrals, symmetric in the last two.
    occupied : array (n, o)
        C: each orbital times the root of its occupation.
    products : callable
        Multiplies two matrices.
    """
    p, n, _ = b.shape
    flat = b.reshape(p, n * n)
    density = products(occupied, occupied.T)
    fitted = products(flat, density.reshape(-1, 1))
    j = products(fitted.T, flat).reshape(n, n)
    half = products(b.reshape(p * n, n), occupied).reshape(p, n, -1)
    lines = np.ascontiguousarray(half.transpose(1, 0, 2)).reshape(n, -1)
    return j, products(lines, lines.T)


def hartree_fock(molecule: Any, products: Products | None = None) -> Any:
    """PySCF's restricted Hartree-Fock with density fitting, converged to 1e-8 hartree.

    Parameters
    ----------
    molecule : pyscf.gto.Mole
    products : callable, optional
        Forms J and K; by default PySCF does, with its own C code.
    """
    method = scf.RHF(molecule).density_fit()
    method.conv_tol = 1e-8
    method.build()
    if products is not None:
        method.with_df.build()
        b = fitted_integrals(method)

        def get_jk(mol: Any = None, dm: Any = None, *_: Any, **__: Any) -> tuple[Array, Array]:
            taken = method.make_rdm1() if dm is None else dm
            weights = np.sqrt(taken.mo_occ[taken.mo_occ > 0])
            return coulomb_and_exchange(b, taken.mo_coeff[:, taken.mo_occ > 0] * weights, products)

        method.get_jk = get_jk
        method.direct_scf = False  # the whole density each time: it is the one that comes with its orbitals
    method.kernel()
    return method
