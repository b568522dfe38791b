"""Write caffeine_rhf.npz: real FP64 matrices from quantum chemistry (caffeine, RHF/6-31G*, density fitting).

S: overlap, C: molecular orbital coefficients, F: Fock matrix, each 216 x 216; energy in hartree.
Identities that hold in exact arithmetic up to the rounding of the stored entries:
C^T S C = I, C^T F C = diag(orbital energies).
The entries span up to 2^105 within one matrix.
Needs `pip install pyscf` (2.x); the geometry is that of examples/hartree_fock.py.
"""

import sys
from pathlib import Path

import numpy as np
from pyscf import scf

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from hartree_fock import caffeine


def main():
    mol = caffeine("6-31g*")
    mf = scf.RHF(mol).density_fit()
    e = mf.kernel()
    S, C, F = mol.intor("int1e_ovlp"), mf.mo_coeff, mf.get_fock()
    np.savez_compressed("caffeine_rhf.npz", S=S, C=C, F=F, energy=e)


if __name__ == "__main__":
    main()
