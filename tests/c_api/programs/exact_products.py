"""Products of integers by the library that the argument names, in a separate process."""

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # without pytest

import library as lib

library = lib.load(sys.argv[1])
rng = np.random.default_rng(1)
for n in (1, 4, 40, 520):
    a, b, c = (
        rng.integers(-999, 999, (n, n)).astype(float),
        rng.integers(-999, 999, (n, n)).astype(float),
        np.empty((n, n)),
    )
    for backend in (0, lib.BACKENDS["fp64"]):
        for accuracy in (0, 1, 2, 3) if n < 100 else (0,):
            options = lib.options(accuracy=accuracy, backend=backend)
            status = library.ozfp4_dgemm(
                lib.ROW, lib.NONE, lib.NONE, n, n, n, 1.0, a, n, b, n, 0.0, c, n, options
            )
            if status != lib.OK:
                sys.exit(f"{status} {lib.error(library)}")
            assert np.array_equal(c, a @ b), (n, backend, accuracy)
n, z = 4, a[:4, :4] + 1j * b[:4, :4]
one, zero, found = np.array([1 + 2j]), np.array([0j]), np.empty((n, n), complex)
status = library.ozfp4_zgemm(lib.ROW, lib.NONE, lib.CONJ, n, n, n, one, z, n, z, n, zero, found, n, None)
assert status == lib.OK, lib.error(library)
assert np.array_equal(found, (1 + 2j) * (z @ z.conj().T))
