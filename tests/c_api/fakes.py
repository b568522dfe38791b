"""A library with dgemm and sgemm of plain loops, which counts the calls of dgemm."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

WRONG = "+ (sum > 4e15 ? 2 : 0)"  # of dgemm's larger sums

FAKE = """
#include <stdint.h>
typedef {integer} integer;
int calls = 0;
void dgemm{suffix}(const char* ta, const char* tb, const integer* m, const integer* n, const integer* k, const double* alpha,
                   const double* a, const integer* lda, const double* b, const integer* ldb, const double* beta, double* c,
                   const integer* ldc) {{
  __sync_fetch_and_add(&calls, 1);
  for (integer i = 0; i < *m; ++i)
    for (integer j = 0; j < *n; ++j) {{
      double sum = 0;
      for (integer l = 0; l < *k; ++l)
        sum += (*ta == 'T' ? a[l + i * *lda] : a[i + l * *lda]) * (*tb == 'T' ? b[j + l * *ldb] : b[l + j * *ldb]);
      c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]) {wrong};
    }}
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


def fake_blas(library: Path, integer: str = "int32_t", suffix: str = "_", wrong: str = "") -> Path:
    """Built; `wrong` is added to each entry of dgemm's results."""
    compiler = shutil.which("cc") or pytest.skip("no C compiler here")
    source = library.with_suffix(".c")
    source.write_text(FAKE.format(integer=integer, suffix=suffix, wrong=wrong))
    subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    return library
