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

Array = npt.NDArray[np.float64]
Products = Callable[[Array, Array], Array]

# Geometry: PubChem CID 2519, in angstrom.
CAFFEINE = """O 0.4700 2.5688 0.0006
O -3.1271 -0.4436 -0.0003
N -0.9686 -1.3125 0.0000
N 2.2182 0.1412 -0.0003
N -1.3477 1.0797 -0.0001
N 1.4119 -1.9372 0.0002
C 0.8579 0.2592 -0.0008
C 0.3897 -1.0264 -0.0004
C 0.0307 1.4220 -0.0006
C -1.9061 -0.2495 -0.0004
C 2.5032 -1.1998 0.0003
C -1.4276 -2.6960 0.0008
C 3.1926 1.2061 0.0003
C -2.2969 2.1881 0.0007
H 3.5163 -1.5787 0.0008
H -1.0451 -3.1973 -0.8937
H -2.5186 -2.7596 0.0011
H -1.0447 -3.1963 0.8957
H 4.1992 0.7801 0.0002
H 3.0468 1.8092 -0.8992
H 3.0466 1.8083 0.9004
H -1.8087 3.1651 -0.0003
H -2.9322 2.1027 0.8881
H -2.9346 2.1021 -0.8849"""


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
