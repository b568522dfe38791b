"""On a CPU: products that are measured to be faster stay so for numbers of which no entry has a certificate."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from preloaded import reported

# A BLAS that takes 600 microseconds for zeros.
SLOW = """
#include <string.h>
#include <unistd.h>
void dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha, const double* a,
            const int* lda, const double* b, const int* ldb, const double* beta, double* c, const int* ldc) {
  usleep(600);
  for (int j = 0; j < *n; ++j) memset(c + j * (long)*ldc, 0, 8 * *m);
}
"""

PROGRAM = """
blas = ctypes.CDLL(SLOW, ctypes.RTLD_GLOBAL)
even, uneven = np.ones((96, 96)), np.ldexp(numbers((96, 96), float), rng.integers(-300, 300, (96, 96)))
c = np.empty((96, 96))
def product(x):
    c.fill(7)
    fortran("dgemm_", b"N", b"N", 96, 96, 96, 1, x, 96, x, 96, 0, c, 96)
    return c[3, 4] != 0
for _ in range(60_000):
    if product(even): break  # it has been measured
assert product(even)
assert product(uneven)  # all entries of which are chains
assert product(even) and product(uneven)
"""


@pytest.mark.nightly
def test_chains_are_no_reason_to_leave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OZFP4_NUM_THREADS", "1")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source, library = tmp_path / "slow.c", tmp_path / "libslow.so"
    source.write_text(SLOW)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", source, "-o", library], check=True)
    done = reported(
        PROGRAM.replace("SLOW", repr(str(library))),
        tmp_path / "report",
        mode="fastest",
    )
    calls = {(row["caught"], row["why"].split(" at ")[0]): row["calls"] for row in done["rows"]}
    assert calls.pop((False, "the real routine, until measuring would be within 1 % of its time")) > 0
    assert calls == {(True, "measured"): 5}
