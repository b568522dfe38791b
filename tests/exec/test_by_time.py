"""On a CPU: products that are measured to be faster, and what becomes of them after one with many chains."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from preloaded import reported

# A BLAS that takes 2.5 milliseconds for zeros.
SLOW = """
#include <string.h>
#include <unistd.h>
void dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha, const double* a,
            const int* lda, const double* b, const int* ldb, const double* beta, double* c, const int* ldc) {
  usleep(2500);
  for (int j = 0; j < *n; ++j) memset(c + j * (long)*ldc, 0, 8 * *m);
}
"""

PROGRAM = """
blas = ctypes.CDLL(SLOW, ctypes.RTLD_GLOBAL)
even, uneven = np.ones((96, 96)), np.ldexp(numbers((96, 96), float), rng.integers(-300, 300, (96, 96)))
c = np.empty((96, 96))
def is_ours(x):
    c.fill(7)
    fortran("dgemm_", b"N", b"N", 96, 96, 96, 1, x, 96, x, 96, 0, c, 96)
    return c[3, 4] != 0
in_a_row = 0
for _ in range(60_000):
    in_a_row = in_a_row + 1 if is_ours(even) else 0
    if in_a_row == 5: break  # at most three are made to be timed
assert is_ours(uneven)  # no entry of which has a certificate
assert [is_ours(even) for _ in range(34)] == [LEFT == 0] * 32 + [True] * 2
"""


@pytest.mark.nightly
@pytest.mark.parametrize(("accuracy", "left"), [("standard", 0), ("correct", 32)])
def test_many_chains_that_take_longer_leave_the_next_products(
    accuracy: str, left: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compile_c: Callable[..., Path]
) -> None:
    """For uneven numbers "standard" takes less time than this BLAS, "correct" more."""
    monkeypatch.setenv("OZFP4_NUM_THREADS", "1")
    library = compile_c("libslow.so", SLOW)
    done = reported(
        PROGRAM.replace("SLOW", repr(str(library))).replace("LEFT", str(left)),
        tmp_path / "report",
        mode="fastest",
        accuracy=accuracy,
    )
    calls = {(row["caught"], row["why"].split(" at ")[0]): row["calls"] for row in done["rows"]}
    assert calls.pop((False, "the real routine, until measuring would be within 1 % of its time")) > 0
    assert calls.pop((True, "made by ozfp4 to measure what it takes")) in (2, 3)
    assert calls.pop((True, "measured")) >= 4
    assert calls == (
        {(False, "many entries of the last product from its calling address were chains"): 32} if left else {}
    )
