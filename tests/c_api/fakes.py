"""A library with dgemm and sgemm of plain loops, which counts the calls of dgemm."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

WRONG = "+ (sum > 4e15 ? 2 : 0)"  # of dgemm's larger sums

# Of threads a library tells of its own: what a product would take, number().
NO_THREADS = "int number(void) { return 1; }\nstatic void stay(void) {}"
STAYS = """
#include <unistd.h>
static void stay(void) { usleep(1000); }  // so that others come meanwhile
"""
BLIS = """
static {kind} int64_t own = {number};
int64_t bli_thread_get_num_threads(void) {{ return own; }}
void bli_thread_set_num_threads(int64_t number) {{ own = number; }}
int number(void) {{ return (int)own; }}
"""
# One that threads which look for a BLAS at once find in each other's hands.
SLOW_BLIS = """
#include <unistd.h>
static int64_t own = 3;
int64_t bli_thread_get_num_threads(void) { usleep(2000); return own; }
void bli_thread_set_num_threads(int64_t number) { own = number; usleep(2000); }
int number(void) { return (int)own; }
static void stay(void) {}
"""
# Three threads, unless told otherwise or as it cannot have so many.
MKL = """
static __thread int own = 0;
int MKL_Get_Max_Threads(void) {{ int n = own > 0 ? own : 3; return n < {most} ? n : {most}; }}
int MKL_Set_Num_Threads_Local(int number) {{ int before = own; own = number; return before; }}
int number(void) {{ return MKL_Get_Max_Threads(); }}
"""

FAKE = """
#include <stdint.h>
typedef {integer} integer;
{threads}
int calls = 0, running = 0, together = 0, largest = 0;
static void enter(void) {{
  if (number() > largest) largest = number();
  if (__sync_fetch_and_add(&running, 1) > 0) __sync_fetch_and_add(&together, 1);
  stay();
}}
void dgemm{suffix}(const char* ta, const char* tb, const integer* m, const integer* n, const integer* k, const double* alpha,
                   const double* a, const integer* lda, const double* b, const integer* ldb, const double* beta, double* c,
                   const integer* ldc) {{
  __sync_fetch_and_add(&calls, 1);
  enter();
  for (integer i = 0; i < *m; ++i)
    for (integer j = 0; j < *n; ++j) {{
      double sum = 0;
      for (integer l = 0; l < *k; ++l)
        sum += (*ta == 'T' ? a[l + i * *lda] : a[i + l * *lda]) * (*tb == 'T' ? b[j + l * *ldb] : b[l + j * *ldb]);
      c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]) {wrong};
    }}
  __sync_fetch_and_sub(&running, 1);
}}
void sgemm{suffix}(const char* ta, const char* tb, const integer* m, const integer* n, const integer* k, const float* alpha,
                   const float* a, const integer* lda, const float* b, const integer* ldb, const float* beta, float* c,
                   const integer* ldc) {{
  for (integer i = 0; i < *m; ++i)
    for (integer j = 0; j < *n; ++j) {{
      float sum = 0;
      for (integer l = 0; l < *k; ++l)
        sum += (*ta == 'T' ? a[l + i * *lda] : a[i + l * *lda]) * (*tb == 'T' ? b[j + l * *ldb] : b[l + j * *ldb]);
      c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]);
    }}
}}
"""


def fake_blas(
    library: Path, integer: str = "int32_t", suffix: str = "_", wrong: str = "", threads: str = NO_THREADS
) -> Path:
    """Built; `wrong` is added to each entry of dgemm's results, `threads` is what it has of its own."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler here")
    source = library.with_suffix(".c")
    source.write_text(FAKE.format(integer=integer, suffix=suffix, wrong=wrong, threads=threads))
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library
