# mypy: ignore-errors
"""Write caffeine_rhf.npz: real FP64 matrices from quantum chemistry (caffeine, RHF/6-31G*, density fitting).

S: overlap, C: molecular orbital coefficients, F: Fock matrix, each 216 x 216; energy in hartree.
Identities that hold in exact arithmetic up to the rounding of the stored entries:
C^T S C = I, C^T F C = diag(orbital energies).
The entries span up to 2^105 within one matrix.
Needs `pip install pyscf` (2.x).
"""

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


def main():
    import numpy as np
    from pyscf import gto, scf

    mol = gto.M(atom=CAFFEINE, basis="6-31g*")
    mf = scf.RHF(mol).density_fit()
    e = mf.kernel()
    S, C, F = mol.intor("int1e_ovlp"), mf.mo_coeff, mf.get_fock()
    np.savez_compressed("caffeine_rhf.npz", S=S, C=C, F=F, energy=e)


if __name__ == "__main__":
    main()
