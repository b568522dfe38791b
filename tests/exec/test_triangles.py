"""?syrk and ?herk: the named triangle has the bits of ozfp4.gemm, and nothing else of C is read or written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from preloaded import HEAD, environment, python, reported, rows

EVERY = "float32,float64,complex64,complex128"

# `expected` is by ozfp4.gemm of the same operands; what BLAS takes as real of C is so.
RIGHT = """
TYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
ROUTINES = [letter + "syrk" for letter in "sdcz"] + ["cherk", "zherk"]

def turns(routine):
    return {"N": lambda x: x, **({"C": lambda x: x.conj().T} if "herk" in routine else {"T": lambda x: x.T}),
            **({"C": lambda x: x.T} if routine[0] in "sd" else {})}

def in_triangle(uplo, n):
    return np.tril(np.ones((n, n), bool)) if uplo in "lL" else np.triu(np.ones((n, n), bool))

def expected(routine, alpha, x, beta, c, uplo):
    other = x.conj().T if "herk" in routine else x.T
    before = np.where(in_triangle(uplo, len(c)), c, 0).astype(c.dtype)
    if "herk" in routine:
        np.fill_diagonal(before, before.diagonal().real)
    found = ozfp4.gemm(alpha, x.copy(), other.copy(), beta, before if beta else None, accuracy=ACCURACY)
    if "herk" in routine:
        np.fill_diagonal(found, found.diagonal().real)
    return np.where(in_triangle(uplo, len(c)), found, c)

def check(routine, uplo, trans, n, k, alpha, beta, call):
    dtype = TYPES[routine[0]]
    x = numbers((n, k), dtype)
    stored = turns(routine)[trans](x) if trans != "N" else x
    if "herk" in routine and trans == "C":
        stored = x.conj().T
    c = numbers((n, n), dtype)
    if not beta:
        c[in_triangle(uplo, n)] = np.nan
    c[~in_triangle(uplo, n)] = np.inf  # a number that would show
    right = expected(routine, alpha, x, beta, c, uplo)
    call(routine, uplo, trans, n, k, alpha, stored, beta, c)
    same(np.ascontiguousarray(c), right)
"""

FORTRAN = """
calls = 0
def by_fortran(name, integer):
    def call(routine, uplo, trans, n, k, alpha, stored, beta, c):
        wide_x = noise((stored.shape[0] + 3, stored.shape[1]), c.dtype).T.copy().T
        wide_c = noise((n + 5, n), c.dtype).T.copy().T
        wide_x[: stored.shape[0]], wide_c[:n] = stored, c
        behind = wide_c[n:].copy()
        rank_k(name % routine, uplo.encode(), trans.encode(), n, k, alpha, wide_x, wide_x.shape[0], beta, wide_c, n + 5, integer)
        same(np.ascontiguousarray(wide_c[n:]), behind)
        c[:] = wide_c[:n]
    return call

for routine in ROUTINES:
    for name, integer in (("scipy_%s_", c_int32), ("scipy_%s_64_", c_int64)):
        for uplo in "Lu":
            for trans in turns(routine):
                n, k = (int(x) for x in rng.integers(1, 24, 2))
                complex_ones = ((1j, 0.5 - 1j),) if routine in ("csyrk", "zsyrk") else ()
                for alpha, beta in ((1, 0), (-0.75, 1), (2.5, 0.3125), *complex_ones):
                    check(routine, uplo, trans, n, k, alpha, beta, by_fortran(name, integer))
                    calls += 1
print(calls)
"""


@pytest.mark.parametrize(
    "accuracy", ["standard", *(pytest.param(each, marks=pytest.mark.slow) for each in ("scaled", "correct"))]
)
def test_names_of_fortran(accuracy: str, tmp_path: Path) -> None:
    head = f"ACCURACY = {accuracy!r}\n" + RIGHT
    done = reported(
        head + FORTRAN, tmp_path / "report", mode="always", dtypes=EVERY, accuracy=accuracy, verify=50
    )
    # 2 names, 2 triangles; of real types 3 transposes and factors, of complex ?syrk 2 and 4, of ?herk 2 and 3.
    assert (done["caught"], done["left"]) == (4 * (2 * 9 + 2 * 8 + 2 * 6), 0)
    assert done["verified"]["wrong"] == 0
    assert done["verified"]["products"] >= 50


CBLAS = """
uplos, transposes = {"L": 122, "U": 121}, {"N": 111, "T": 112, "C": 113}
def by_cblas(order):
    def call(routine, uplo, trans, n, k, alpha, stored, beta, c):
        scalar = {"ssyrk": ctypes.c_float, "cherk": ctypes.c_float, "dsyrk": c_double, "zherk": c_double}.get(routine)
        kept = [np.array([x], c.dtype) for x in (alpha, beta)]
        given = [scalar(x[0].real) if scalar else address(x) for x in kept]
        own_x, own_c = (np.ascontiguousarray(x) if order == 101 else np.asfortranarray(x) for x in (stored, c))
        lead = [c_int64(x.shape[1 if order == 101 else 0]) for x in (stored, c)]
        getattr(process, f"scipy_cblas_{routine}64_")(order, uplos[uplo], transposes[trans], c_int64(n), c_int64(k), given[0],
                                                     address(own_x), lead[0], given[1], address(own_c), lead[1])
        c[:] = own_c
    return call

for routine in ROUTINES:
    for order in (101, 102):
        for uplo in "LU":
            for trans in turns(routine):
                for n, k in ((int(n) for n in rng.integers(1, 24, 2)), *(((600, 20),) if routine in ("dsyrk", "zherk") else ())):
                    check(routine, uplo, trans, int(n), int(k), -1.5, 0.25, by_cblas(order))
"""


@pytest.mark.slow
def test_names_of_cblas(tmp_path: Path) -> None:
    """Of both orders, and in several blocks."""
    head = "ACCURACY = 'standard'\n" + RIGHT
    done = reported(head + CBLAS, tmp_path / "report", mode="always", dtypes=EVERY, verify=1000)
    assert (done["caught"], done["left"]) == (4 * (3 + 2 * 3 + 3 * 2 + 2 * 2), 0)
    assert {row["routine"] for row in done["rows"]} == {
        f"scipy_cblas_{name}64_" for name in ("ssyrk", "dsyrk", "csyrk", "zsyrk", "cherk", "zherk")
    }
    assert done["verified"]["wrong"] == 0


NUMPY = """
x, z = numbers((70, 50), float, 400), numbers((300, 20), complex)
x[3, 4], x[7, 8] = np.nan, np.inf
with np.errstate(all="raise", invalid="ignore"):
    same(x @ x.T, ozfp4.matmul(x, x.T.copy(), accuracy="correct"))
    same(x.T @ x, ozfp4.matmul(x.T.copy(), x, accuracy="correct"))
    same(z @ z.T, ozfp4.matmul(z, z.T.copy(), accuracy="correct"))
    big = numbers((600, 10), float)
    same(big @ big.T, ozfp4.matmul(big, big.T.copy(), accuracy="correct"))
    huge = 1e200 * big
    assert np.isinf((huge @ huge.T).diagonal()).all()  # no flag is raised
lower = scipy.linalg.blas.zherk(2.0, z, lower=1)
same(np.tril(lower), np.tril(ozfp4.gemm(2, z, z.T.conj().copy(), accuracy="correct")) * np.where(np.eye(300), 1, 1))
"""


@pytest.mark.slow
def test_what_numpy_and_scipy_call(tmp_path: Path) -> None:
    done = reported(NUMPY, tmp_path / "report", mode="always", accuracy="correct", verify=100)
    assert done["left"] == 0
    assert {(row["routine"], row["n"], row["k"], row["calls"]) for row in done["rows"]} >= {
        ("scipy_cblas_dsyrk64_", 70, 50, 1), ("scipy_cblas_dsyrk64_", 50, 70, 1), ("scipy_cblas_dsyrk64_", 600, 10, 2),
        ("scipy_cblas_zsyrk64_", 300, 20, 1), ("scipy_zherk_", 300, 20, 1),
    }  # fmt: skip
    assert done["verified"]["wrong"] == 0


LEFT = """
x, c = numbers((8, 6), float).T.copy().T, numbers((8, 8), float).T.copy().T
def call(alpha=1.0, beta=0.0, k=6, lda=8, uplo=b"L", trans=b"N"):
    rank_k("scipy_dsyrk_", uplo, trans, 8, k, alpha, x, lda, beta, c, 8)
call(np.inf), call(beta=np.nan), call(0.0, 1.0), call(k=0), call(lda=3), call(uplo=b"X"), call(trans=b"X")
z, d = x.astype(complex).T.copy().T, c.astype(complex).T.copy().T
rank_k("scipy_zherk_", b"U", b"T", 8, 6, 1, z, 8, 0, d, 8)
rank_k("scipy_zsyrk_", b"U", b"C", 8, 6, 1, z, 8, 0, d, 8)
s = x.astype("f")
s @ s.T
x[:2, :2] @ x[:2, :2].T
call()
"""


@pytest.mark.slow
def test_what_is_left_and_why(tmp_path: Path) -> None:
    done = reported(LEFT, tmp_path / "report", mode="always", min_size=50)
    found = {(row[0], *row[4:]) for row in rows(done)}
    refused = "arguments that BLAS refuses, or that this BLAS alone knows"
    assert found == {
        ("scipy_dsyrk_", True, 1, "always"),
        ("scipy_dsyrk_", False, 2, "alpha or beta is not finite"),
        ("scipy_dsyrk_", False, 1, "nothing to multiply"),
        ("scipy_dsyrk_", False, 3, refused),
        ("scipy_zherk_", False, 1, refused),
        ("scipy_zsyrk_", False, 1, refused),
        ("scipy_cblas_ssyrk64_", False, 1, "its dtype is not asked for"),
        ("scipy_cblas_dsyrk64_", False, 1, "below the least size"),
    }


@pytest.mark.slow
def test_threads_and_processes_of_numpy() -> None:
    """The triangle of several threads, each with memory of its own."""
    python(
        """
import threading
x = numbers((500, 30), float)
right, failed = ozfp4.matmul(x, x.T.copy()), []
def work():
    for _ in range(10):
        if not np.array_equal(x @ x.T, right): failed.append(1)
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
assert not failed
""",
        mode="always",
    )


# Memory as C++ takes it, by whichever of three functions its library was built for, which there is no longer after so many times.
SCARCE = """
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
long times_left = 1L << 60;
static int is_there(void) { return __sync_fetch_and_sub(&times_left, 1) > 0; }
static void* take(const char* name, size_t alignment, size_t size) {
  if (is_there()) return ((void* (*)(size_t, size_t))dlsym(RTLD_NEXT, name))(alignment, size);
  errno = ENOMEM;
  return NULL;
}
void* aligned_alloc(size_t alignment, size_t size) { return take("aligned_alloc", alignment, size); }
void* memalign(size_t alignment, size_t size) { return take("memalign", alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  if (!is_there()) return ENOMEM;
  return ((int (*)(void**, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign"))(memory, alignment, size);
}
"""

# Of integers, so that a product is the same whoever makes it; by children that have nothing left of an earlier one. How many
# pieces of memory a product takes.
FAILING = """
times_left = ctypes.c_long.in_dll(process, "times_left")
n, k = 1500, 60
a, c = (rng.integers(-9, 10, shape) for shape in ((n, k), (n, n)))
right = np.where(np.tril(np.ones((n, n), bool)), 2 * (a @ a.T) - 3 * c, c).astype(float)
a, found = (x.astype(float, order="F") for x in (a, c))
for times in range(100):
    child = os.fork()
    if child == 0:
        times_left.value = times
        rank_k("scipy_dsyrk_", b"L", b"N", n, k, 2, a, n, -3, found, n)
        is_enough = times_left.value >= 0
        os._exit(1 if not np.array_equal(found, right) else 2 if is_enough else 0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, 2), (times, status)
    if status == 2: break
print(times)
"""


@pytest.mark.slow
def test_what_there_is_no_memory_for_is_made_all_the_same(
    compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    """By the real routine, whichever piece of memory there is not."""
    scarce = compile_c("libscarce.so", SCARCE, "-D_GNU_SOURCE")
    settings = environment(mode="always") | {"OZFP4_NUM_THREADS": "1"}
    settings["LD_PRELOAD"] = f"{scarce}:{settings['LD_PRELOAD']}"
    done = subprocess.run(
        [sys.executable, "-c", HEAD + FAILING], env=settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert 1 < int(done.stdout) < 99
