"""examples/hartree_fock.py: energies of PySCF stay what they are, and the bits of J and K follow from the integrals alone."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

import ozfp4

pytest.importorskip("pyscf")

from hartree_fock import Products, coulomb_and_exchange, hartree_fock
from pyscf import gto

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"


@pytest.fixture(autouse=True)
def files_of_pyscf() -> Iterator[None]:
    """It leaves temporary files to the garbage collector: not to that of a later test."""
    yield
    gc.collect()


def molecule() -> gto.Mole:
    return gto.M(atom=WATER, basis="sto-3g", verbose=0)


@pytest.mark.parametrize("products", [np.matmul, ozfp4.matmul])
def test_energies_are_those_of_pyscf(products: Products) -> None:
    own, ours = hartree_fock(molecule()), hartree_fock(molecule(), products)
    assert own.converged
    assert ours.converged
    assert abs(own.e_tot - ours.e_tot) < 1e-7
    assert abs(own.mo_energy - ours.mo_energy).max() < 1e-5


def operands(p: int = 37, n: int = 9, o: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    b = rng.standard_normal((p, n, n))
    return b + b.transpose(0, 2, 1), rng.standard_normal((n, o))


@pytest.mark.parametrize("products", [np.matmul, ozfp4.matmul])
def test_coulomb_and_exchange_are_their_definitions(products: Products) -> None:
    b, c = operands()
    density = c @ c.T
    j, k = coulomb_and_exchange(b, c, products)
    assert np.allclose(j, np.einsum("pij,pkl,kl->ij", b, b, density), rtol=1e-12)
    assert np.allclose(k, np.einsum("pik,pjl,kl->ij", b, b, density), rtol=1e-12)


def test_the_order_of_the_sum_changes_no_bit() -> None:
    b, c = operands(300)
    order = np.random.default_rng(1).permutation(len(b))
    correct = partial(ozfp4.matmul, accuracy="correct")
    ours, again = (coulomb_and_exchange(x, c, correct) for x in (b, b[order]))
    assert all((x == y).all() for x, y in zip(ours, again, strict=True))
    plain, other = (coulomb_and_exchange(x, c, np.matmul) for x in (b, b[order]))
    assert any((x != y).any() for x, y in zip(plain, other, strict=True))
