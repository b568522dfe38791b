"""Programs that run with libozfp4_blas before them, and what they report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ozfp4 import _core

LIBRARY = Path(_core.__file__).with_name("libozfp4_blas.so")
PREFIX = "OZFP4_EXEC_"

# Common to the Python programs of the tests: NumPy's and SciPy's own BLAS, called through the names that stand before it.
HEAD = """
import ctypes, os, sys
import numpy as np, scipy.linalg.blas
import ozfp4
from ctypes import byref, c_char, c_double, c_int32, c_int64, c_void_p
process = ctypes.CDLL(None)
rng = np.random.default_rng(1)

def address(x):
    return c_void_p(x.ctypes.data)

def fortran(name, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, integer=c_int32):
    i = lambda x: byref(integer(x))
    factors = np.array([alpha, beta], c.dtype)
    t = lambda x: byref(c_char(x))
    getattr(process, name)(t(ta), t(tb), i(m), i(n), i(k), address(factors), address(a), i(lda), address(b), i(ldb),
                           address(factors[1:]), address(c), i(ldc), ctypes.c_size_t(1), ctypes.c_size_t(1))

def rank_k(name, uplo, trans, n, k, alpha, a, lda, beta, c, ldc, integer=c_int32):
    i = lambda x: byref(integer(x))
    factors = np.array([alpha, beta], c.real.dtype if "herk" in name else c.dtype)
    t = lambda x: byref(c_char(x))
    getattr(process, name)(t(uplo), t(trans), i(n), i(k), address(factors), address(a), i(lda), address(factors[1:]), address(c),
                           i(ldc), ctypes.c_size_t(1), ctypes.c_size_t(1))

def noise(shape, dtype):
    x = rng.standard_normal(shape) * 1e30
    return (x + 1j * x).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)

def numbers(shape, dtype, spread=3):
    def part():
        return rng.standard_normal(shape) * 2.0 ** rng.integers(-spread, spread + 1, shape)
    return (part() + 1j * part()).astype(dtype) if np.dtype(dtype).kind == "c" else part().astype(dtype)

def same(x, y):
    np.testing.assert_array_equal(x.view(x.real.dtype), np.ascontiguousarray(y).view(x.real.dtype))
"""

# A program in C with a thread that calls `call`, which sets is_waiting and waits for is_in_constructor, and then opens a library
# whose constructor, with the dynamic linker's lock, calls it too.
CONSTRUCTED = """
extern volatile int is_in_constructor;
extern double call(void);
__attribute__((constructor)) static void multiply(void) {
  is_in_constructor = 1;
  if (call() != 8) __builtin_trap();
}
"""
OPENS = """
#include <dlfcn.h>
#include <pthread.h>
extern volatile int is_waiting;
extern double call(void);
static void* work(void* unused) { return call() == 8 ? unused : 0; }
int main(void) {
  pthread_t thread;
  void* result = 0;
  pthread_create(&thread, 0, work, &thread);
  while (!is_waiting) {}
  if (!dlopen("libconstructed.so", RTLD_NOW)) return 1;
  pthread_join(thread, &result);
  return result == &thread ? 0 : 2;
}
"""


def environment(**settings: Any) -> dict[str, str]:
    """Of a process with the library before it, and these settings."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    asked = {PREFIX + name.upper(): str(value) for name, value in settings.items()}
    return {**mine, **asked, "LD_PRELOAD": str(LIBRARY)}


def run(
    command: Iterable[str | Path], limit: float = 300, **settings: Any
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        env=environment(**settings),
        capture_output=True,
        text=True,
        timeout=limit,
    )


def python(program: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    """A program behind HEAD; it has to succeed."""
    done = run([sys.executable, "-c", HEAD + program], **settings)
    assert done.returncode == 0, done.stderr
    return done


def processes(report: Path) -> list[dict[str, Any]]:
    """The lines of a report."""
    return [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]


def reported(program: str, report: Path, **settings: Any) -> dict[str, Any]:
    """What the one process of a program reports."""
    report.unlink(missing_ok=True)
    python(program, report=report, **settings)
    (process,) = processes(report)
    return process


def rows(process: dict[str, Any]) -> set[tuple[Any, ...]]:
    return {
        (row["routine"], row["m"], row["n"], row["k"], row["caught"], row["calls"], row["why"])
        for row in process["rows"]
    }
