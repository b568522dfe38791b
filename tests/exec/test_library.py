"""What the library exports and needs, whom it calls, and how it lives with threads, forks and long runs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from preloaded import LIBRARY, processes, python, reported, run

ROOT = Path(__file__).parents[2]


def table() -> set[str]:
    """The names of the CPU's routines in csrc/exec/names.hpp, for each letter."""
    text = (ROOT / "csrc/exec/names.hpp").read_text()
    names = re.findall(r"X\((\w+?)?(?:##)?p##routine(?:##)?(\w*),", text)
    routines = [(letter, name) for name in ("gemm", "syrk") for letter in "sdcz"] + [
        ("c", "herk"),
        ("z", "herk"),
    ]
    probes = {f"{name}{suffix}" for name in ("isamax", "sdot", "cdotc", "zdotc") for suffix in ("_", "_64_")}
    return probes | {
        f"{before}{letter}{name}{behind}" for before, behind in names for letter, name in routines
    }


def symbols(library: Path, which: str) -> set[str]:
    done = subprocess.run(["nm", "-D", which, library], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("no nm")
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def test_exports_are_the_table() -> None:
    of_blas = {name for name in symbols(LIBRARY, "--defined-only") if not name.startswith("cublas")}
    assert len(table()) == 118
    assert of_blas == table()


def test_it_needs_the_c_library_alone() -> None:
    done = subprocess.run(["readelf", "-d", LIBRARY], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("no readelf")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout))
    assert all(re.match(r"(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so", name) for name in needed), (
        needed
    )


def of_the_interface(version_map: str) -> set[str]:
    """The functions of include/ozfp4.h that a map lets out."""
    patterns = re.findall(r"^ +(ozfp4_[\w*]+);$", (ROOT / "cmake" / version_map).read_text(), re.MULTILINE)
    functions = re.findall(r"\b(ozfp4_\w+)\(", (ROOT / "include/ozfp4.h").read_text())
    assert patterns
    return {name for name in functions if any(fnmatchcase(name, pattern) for pattern in patterns)}


def test_what_a_map_lets_out() -> None:
    """Here, as most builds have no libozfp4_cuda to compare with."""
    names = of_the_interface("ozfp4_cuda.map")
    assert {name for name in names if not name.startswith("ozfp4_cuda_")} == {
        "ozfp4_has_cuda",
        "ozfp4_last_error",
    }
    assert {
        "ozfp4_cuda_dgemm",
        "ozfp4_cuda_workspace_size_gemm",
        "ozfp4_cuda_gemm_prepared",
        "ozfp4_cuda_igemm",
    } <= names
    assert names < of_the_interface("ozfp4.map")


def test_the_kernels_are_there_once() -> None:
    """libozfp4_cuda holds them, and a runtime; the extension takes both from there."""
    library = LIBRARY.with_name("libozfp4_cuda.so")
    if not library.is_file():
        pytest.skip("a build without CUDA")
    (extension,) = LIBRARY.parent.glob("_cuda.*.so")
    names, asked = symbols(library, "--defined-only"), symbols(extension, "--undefined-only")
    of_the_program = {"ozfp4_cuda_selftest"}  # beside it, which tests kernels
    assert {name for name in names if not name.startswith("_Z")} == of_the_interface(
        "ozfp4_cuda.map"
    ) | of_the_program
    own = re.compile(r"_ZNK?5ozfp4")
    # Constructors and destructors have two names each.
    exported, imported = (
        {re.sub("([CD])2E", r"\g<1>1E", name) for name in given if own.match(name)}
        for given in (names, asked)
    )
    assert exported == imported
    assert [name for name in names if name.startswith("_Z") and not own.match(name)] == []
    assert [name for name in asked if name.startswith("cu")] == []


NUMBERED = """
void dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha, const double* a,
            const int* lda, const double* b, const int* ldb, const double* beta, double* c, const int* ldc) { c[0] = %d; }
"""
CALLER = """
extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
                   const double*, const int*, const double*, double*, const int*);
double call(void) {
  const int one = 1; const double x = 2, zero = 0; double c = 0;
  dgemm_("N", "N", &one, &one, &one, &x, &x, &one, &x, &one, &zero, &c, &one);
  return c;
}
"""


@pytest.mark.slow
def test_each_library_reaches_the_routine_that_it_was_linked_to(compile_c: Callable[..., Path]) -> None:
    for number in (1, 2):
        blas = compile_c(f"libblas_{number}.so", NUMBERED % number)
        caller = compile_c(f"libcaller_{number}.so", CALLER, blas)
    program = f"""
for number in (1, 2, 1):
    library = ctypes.CDLL({str(caller.parent)!r} + f"/libcaller_{{number}}.so", ctypes.RTLD_LOCAL)
    library.call.restype = c_double
    assert library.call() == library.call() == number
"""
    python(program, mode="fastest")
    python(program.replace("== number", "== 8"), mode="always")


ASKS = """
#include <stddef.h>
#include <stdio.h>
#include <dlfcn.h>
#pragma weak cblas_dgemm
extern void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
typedef void (*Fortran)(const char*, const char*, const long*, const long*, const long*, const double*, const double*,
                        const long*, const double*, const long*, const double*, double*, const long*);
int main(void) {
  const double a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8}, minus = -1, one = 1;
  double c[4] = {1, 1, 1, 1};
  const long two = 2;
  if (cblas_dgemm == NULL) return 1;
  for (int i = 0; i < 3; ++i) cblas_dgemm(101, 111, 111, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
  Fortran found = (Fortran)dlsym(RTLD_DEFAULT, "dgemm_64_");
  if (found == NULL) return 2;
  found("T", "T", &two, &two, &two, &minus, a, &two, b, &two, &one, c, &two);
  printf("%g %g %g %g\\n", c[0], c[1], c[2], c[3]);
  const long few = 1;
  if (REFUSED) found("T", "T", &two, &two, &two, &minus, a, &two, b, &two, &one, c, &few);
  return 0;
}
"""


ALONE = """
#include <math.h>
#include <stdio.h>
#pragma weak cblas_dgemm
extern void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
int main(void) {
  const double a[4] = {NAN, 2, 3, 4};
  double c[4] = {1, 2, 3, 4};
  cblas_dgemm(101, 111, 111, 2, 2, 2, 0, a, 2, a, 2, 2, c, 2);  /* alpha 0 reads neither A nor B */
  cblas_dgemm(101, 111, 111, 2, 2, 0, 1, a, 2, a, 2, 3, c, 2);
  cblas_dgemm(101, 111, 111, 0, 2, 2, 1, a, 2, a, 2, 3, c, 2);
  cblas_dgemm(101, 111, 111, 2, 1, 1, 1, a + 1, 1, a + 1, 1, 1, c, 2);
  printf("%g %g %g %g\\n", c[0], c[1], c[2], c[3]);
  return 0;
}
"""


BY_HANDLE = """
ours = ctypes.CDLL("libozfp4_blas.so")
a, b, c = np.asfortranarray(numbers((7, 5), float)), np.asfortranarray(numbers((5, 6), float)), np.zeros((7, 6), order="F")
right = ozfp4.gemm(1, a, b)
one, zero = np.ones(1), np.zeros(1)
i, n = (lambda x: byref(c_int64(x))), byref(c_char(b"N"))
ours.dgemm_64_(n, n, i(7), i(6), i(5), address(one), address(a), i(7), address(b), i(5), address(zero), address(c), i(7),
               ctypes.c_size_t(1), ctypes.c_size_t(1))
same(np.ascontiguousarray(c), right)
"""


# Probes of libblastrampoline: the width of integers, and how complex and single numbers are returned.
PROBES = """
#include <complex.h>
#include <stdint.h>
#include <stdio.h>
#include <dlfcn.h>
#define DOT(type, at) ((type (*)(const void*, const void*, const void*, const void*, const void*))found[at])
int main(void) {
  const int64_t many = 0xffffffff00000003, one = 1, two = 2;
  const float x[3] = {1, -3, 2}, y[3] = {4, 5, 6};
  const double complex z[2] = {1 + 2 * I, 3}, w[2] = {I, 2 - I};
  const float complex c[2] = {1 + 2 * I, 3}, d[2] = {I, 2 - I};
  const char* const suffixes[] = {"", "64_"};
  for (int i = 0; i < 2; ++i) {
    char name[4][32];
    snprintf(name[0], 32, "isamax_%s", suffixes[i]), snprintf(name[1], 32, "sdot_%s", suffixes[i]);
    snprintf(name[2], 32, "cdotc_%s", suffixes[i]), snprintf(name[3], 32, "zdotc_%s", suffixes[i]);
    void* const found[] = {dlsym(RTLD_DEFAULT, name[0]), dlsym(RTLD_DEFAULT, name[1]), dlsym(RTLD_DEFAULT, name[2]),
                           dlsym(RTLD_DEFAULT, name[3])};
    const int64_t place = ((int64_t (*)(const void*, const void*, const void*))found[0])(&many, x, &one);
    const float dot = DOT(float, 1)(&two, x, &one, y, &one);
    const float complex of_c = DOT(float complex, 2)(&two, c, &one, d, &one);
    const double complex of_z = DOT(double complex, 3)(&two, z, &one, w, &one);
    printf("%d %g %g%+gi %g%+gi\\n", (int)(place & 0xffffffff), dot, crealf(of_c), cimagf(of_c), creal(of_z), cimag(of_z));
  }
  return 0;
}
"""
RETURNS = """
float sdot_(void) { return 0.25f; }
int isamax_(void) { return 77; }
double _Complex zdotc_(void) { return 1.5 - 2.5 * 1.0i; }
float _Complex cdotc_(void) { return 3.5f - 4.5f * 1.0if; }
"""


@pytest.mark.slow
def test_probes_of_libblastrampoline(compile_c: Callable[..., Path]) -> None:
    """Ours where nobody has the routine, else whatever that returns."""
    ours = "-11 8-2i 8-2i"
    done = run([compile_c("probes", PROBES, "-D_GNU_SOURCE", "-ldl")])
    assert done.stdout == f"2 {ours}\n0 {ours}\n"
    other = compile_c("libreturns.so", RETURNS)
    done = run([compile_c("forwarded", PROBES, "-D_GNU_SOURCE", "-ldl", "-Wl,--no-as-needed", other)])
    assert done.stdout == f"77 0.25 3.5-4.5i 1.5-2.5i\n0 {ours}\n"


@pytest.mark.slow
def test_a_routine_that_is_taken_by_our_librarys_handle(tmp_path: Path) -> None:
    """As libblastrampoline takes what `lbt_set_forward` names (docs/how-to/unchanged-programs.md)."""
    done = reported(BY_HANDLE, tmp_path / "report", mode="always", verify=1)
    assert (done["caught"], done["left"]) == (1, 0)
    assert done["verified"]["wrong"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", [{}, {"mode": "fastest"}, {"dtypes": "float32"}, {"min_size": 10**9}, {"verify": 100}]
)
def test_products_of_a_routine_that_nobody_has_are_all_ours(
    asked: dict[str, Any], compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    """Whatever was asked for, as there is no other to leave one to."""
    report = tmp_path / "report"
    done = run([compile_c("alone", ALONE)], report=report, **{"mode": "always", **asked})
    assert (done.returncode, done.stdout) == (0, "10 12 24 24\n"), done.stderr
    (process,) = processes(report)
    assert (process["caught"], process["left"]) == (4, 0)
    assert process["verified"]["wrong"] == 0


CANCELLED = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#pragma weak cblas_dgemm
extern void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
static double *a, *c;
static void* multiply(void* unused) {
  pthread_cancel(pthread_self());  /* at the next cancellation point, of which a product has some */
  cblas_dgemm(101, 111, 111, 300, 300, 300, 1, a, 300, a, 300, 0, c, 300);
  c[1] = -1;
  pthread_testcancel();
  return unused;
}
int main(void) {
  a = calloc(90000, sizeof *a), c = calloc(90000, sizeof *c);
  for (int i = 0; i < 90000; ++i) a[i] = 1;
  pthread_t thread;
  void* result = NULL;
  pthread_create(&thread, NULL, multiply, NULL);
  pthread_join(thread, &result);
  printf("%d %g %g\\n", result == PTHREAD_CANCELED, c[0], c[1]);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_a_thread_that_is_cancelled_ends_behind_its_product(
    threads: int, compile_c: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OZFP4_NUM_THREADS", str(threads))
    program = compile_c("cancelled", CANCELLED, "-lpthread")
    for _ in range(3):
        done = run([program], mode="always")
        assert (done.returncode, done.stdout) == (0, "1 300 -1\n"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_a_routine_that_nobody_has(mode: str, compile_c: Callable[..., Path], tmp_path: Path) -> None:
    """A program that asks whether there is a BLAS finds ours: it gets its products, and one line for what BLAS refuses."""
    report = tmp_path / "report"
    program = compile_c("asks", ASKS, "-D_GNU_SOURCE", "-DREFUSED=0", "-ldl")
    done = run([program], mode=mode, report=report)
    # Row-major A B of the first, less that of A^T B^T as columns, which is the same matrix transposed.
    assert (done.returncode, done.stdout) == (0, "0 -21 21 0\n"), done.stderr
    assert done.stderr == ""
    (process,) = processes(report)
    assert (process["caught"], process["left"]) == (4, 0)
    assert {row["why"] for row in process["rows"]} == {"no other library has the routine"}
    done = run([compile_c("refused", ASKS, "-D_GNU_SOURCE", "-DREFUSED=1", "-ldl")], mode=mode)
    assert (done.returncode, done.stdout) == (0, "0 -21 21 0\n")
    assert done.stderr == "ozfp4 exec: dgemm_64_: an argument is none of BLAS's; nothing is written\n"


UNSERVED = """
#include <math.h>
#include <stdio.h>
#pragma weak cblas_dgemm
#pragma weak cblas_zgemm
#pragma weak cblas_zherk
extern void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
extern void cblas_zgemm(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
extern void cblas_zherk(int, int, int, int, int, double, const void*, int, double, void*, int);
int main(void) {
  const double a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, factor[2] = {FACTOR, 1}, zero[2] = {0, 0};
  double c[4] = {1, 2, 3, 4}, z[8] = {1, 1, 1, 1, 1, 1, 1, 1}, h[8] = {NAN, NAN, 9, 9, NAN, NAN, NAN, NAN};
  cblas_dgemm(101, 111, 112, 2, 2, 2, FACTOR, a, 2, a + 4, 2, 2, c, 2);
  cblas_zgemm(102, 113, 111, 2, 2, 2, factor, a, 2, a, 2, zero, z, 2);
  cblas_zherk(101, 122, 111, 2, 2, FACTOR, a, 2, 0, h, 2);
  printf("%g %g %g %g, ", c[0], c[1], c[2], c[3]);
  for (int i = 0; i < 8; ++i) printf("%g ", z[i]);
  for (int i = 0; i < 8; ++i) printf("%g ", h[i]);
  return 0;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_what_nobody_else_makes_is_made_by_a_plain_loop(
    mode: str, compile_c: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "report"
    done = run([compile_c("infinite", UNSERVED, "-DFACTOR=INFINITY")], mode=mode, report=report)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("inf inf inf inf, ")
    (process,) = processes(report)
    assert [(row["caught"], row["why"]) for row in process["rows"]] == [
        (False, "alpha or beta is not finite")
    ] * 3
    monkeypatch.setenv("OZFP4_CPU_KERNEL", "none")  # which each product refuses
    report.unlink()
    done = run([compile_c("served", UNSERVED, "-DFACTOR=2")], mode=mode, report=report)
    assert done.returncode == 0
    assert done.stdout == "36 50 84 114, 60 30 132 86 148 54 348 174 60 0 9 9 140 -16 348 0 "
    assert done.stderr.startswith("ozfp4 exec: left, as ozfp4 does not make it: OZFP4_CPU_KERNEL: ")
    (process,) = processes(report)
    assert [(row["caught"], row["why"]) for row in process["rows"]] == [(False, "an error of ozfp4")] * 3


CHANGES = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
                   const double*, const int*, const double*, double*, const int*);
static volatile int is_over;
static void* multiply(void* unused) {
  double a[64], c[64];
  const double one = 1, zero = 0;
  const int n = 8;
  for (int i = 0; i < 64; ++i) a[i] = i;
  do dgemm_("N", "T", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n); while (!is_over);
  return unused;
}
int main(void) {
  char name[32];
  pthread_t threads[2];
  multiply((is_over = 1, NULL));  // with all that comes once
  is_over = 0;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, multiply, NULL);
  const clock_t begun = clock();
  for (int count = 1; clock() - begun < CLOCKS_PER_SEC; ++count) {
    snprintf(name, sizeof name, "OZFP4_TESTS_%d", count);
    setenv(name, "x", 1);
    for (int i = count - 500; count % 500 == 0 && i < count; ++i) {
      snprintf(name, sizeof name, "OZFP4_TESTS_%d", i);
      unsetenv(name);
    }
  }
  is_over = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  return 0;
}
"""


@pytest.mark.slow
def test_another_thread_changes_the_environment(compile_c: Callable[..., Path]) -> None:
    done = run([compile_c("changes", CHANGES, LIBRARY, "-pthread")], mode="always")
    assert (done.returncode, done.stderr) == (0, "")


LARGEST = """
INT isamax_(const INT* n, const float* x, const INT* step) {
  INT found = 0;
  for (INT i = 0; i < *n; ++i) found = i == 0 || x[i * *step] > x[(found - 1) * *step] ? i + 1 : found;
  return found;
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("is_named", [False, True])
@pytest.mark.parametrize("integer", ["int", "long"])
def test_a_library_tells_how_wide_its_integers_are(
    integer: str, is_named: bool, compile_c: Callable[..., Path]
) -> None:
    """Whatever its file is called."""
    # Extents of 2^32 + 1: one to who reads 32 bits, who multiplies then, and too many to who reads 64, who leaves it.
    text = NUMBERED.replace("int*", "long*") % 9 + LARGEST.replace("INT", integer)
    blas = compile_c("libblas64.so" if is_named else "libmine.so", text)
    caller = (
        CALLER.replace("int*", "long*")
        .replace("const int one = 1", "const long one = 4294967297L")
        .replace("int one", "long one")
    )
    compile_c("libcaller.so", caller, blas)
    python(f"""
library = ctypes.CDLL({str(blas.parent / "libcaller.so")!r})
library.call.restype = c_double
assert library.call() == {8 if integer == "int" else 9}, library.call()
""", mode="always")  # fmt: skip


LITTLE_STACK = """
#include <pthread.h>
#include <stdio.h>
extern double call(void);
static double result;
static void* work(void* unused) { result = call(); return unused; }
int main(void) {
  const int sizes[] = {16, 32, 48, 64, 128, 1024, 32};
  for (int i = 0; i < 7; ++i) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)sizes[i] << 10);
    if (pthread_create(&thread, &attributes, work, NULL) != 0) return 1;
    pthread_join(thread, NULL);
    printf("%g ", result);
  }
  return 0;
}
"""


@pytest.mark.slow
def test_a_thread_with_little_stack_leaves_its_products(
    compile_c: Callable[..., Path], tmp_path: Path
) -> None:
    report = tmp_path / "report"
    blas = compile_c("libblas_9.so", NUMBERED % 9)
    caller = compile_c("libcaller.so", CALLER, blas)
    done = run([compile_c("threads", LITTLE_STACK, caller, blas, "-pthread")], mode="always", report=report)
    assert (done.returncode, done.stdout) == (0, "9 9 9 9 9 8 9 "), done.stderr
    (process,) = processes(report)
    little = "its thread has too little stack left, or a stack of the program's own"
    assert {(row["calls"], row["why"]) for row in process["rows"]} == {(1, "always"), (6, little)}


COROUTINE = """
#include <stdio.h>
#include <ucontext.h>
extern double call(void);
static ucontext_t before, own;
static char stack[65536];
static void work(void) { printf("%g", call()); }
int main(void) {
  getcontext(&own);
  own.uc_stack.ss_sp = stack;
  own.uc_stack.ss_size = sizeof stack;
  own.uc_link = &before;
  makecontext(&own, work, 0);
  return swapcontext(&before, &own);
}
"""


@pytest.mark.slow
def test_a_coroutine_leaves_its_products(compile_c: Callable[..., Path]) -> None:
    blas = compile_c("libblas_9.so", NUMBERED % 9)
    caller = compile_c("libcaller.so", CALLER, blas)
    done = run([compile_c("coroutine", COROUTINE, caller, blas)], mode="always")
    assert (done.returncode, done.stdout) == (0, "9"), done.stderr


ERRNO = """
process = ctypes.CDLL(None, use_errno=True)
x, y = np.ones((3, 3)), np.zeros((3, 3))
for turn in range(3):
    ctypes.set_errno(7)
    fortran("scipy_dgemm_", b"N", b"N", 3, 3, 3, 1, x, 3, x, 3, 0, y, 3)
    assert ctypes.get_errno() == 7, ctypes.get_errno()
"""


@pytest.mark.slow
def test_errno_is_the_programs() -> None:
    for mode in ("always", "fastest"):
        python(ERRNO, mode=mode)


THREADS = """
import threading
a, b = numbers((40, 30), float), numbers((30, 20), float)
right, failed = ozfp4.matmul(a, b), []
def work():
    for _ in range(200):
        if not np.array_equal(a @ b, right): failed.append(1)
threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
assert not failed
"""


@pytest.mark.slow
def test_threads(tmp_path: Path) -> None:
    done = reported(THREADS, tmp_path / "report", mode="always")
    assert (done["caught"], done["left"]) == (8 * 200, 0)


FORKS = """
import threading, time
a, b = numbers((40, 30), float), numbers((30, 20), float)
right, ends = a @ b, False
def work():
    while not ends: a @ b
thread = threading.Thread(target=work)
thread.start()
for _ in range(20):
    child = os.fork()
    if child == 0:
        same(a @ b, right)
        ctypes.CDLL(None).exit(0)  # with what runs at the end of a process
    assert os.waitpid(child, 0)[1] == 0
ends = True
thread.join()
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_forks_count_for_themselves(tmp_path: Path) -> None:
    report = tmp_path / "report"
    python(FORKS, mode="always", report=report, verify=1)
    found = processes(report)
    assert len(found) == 21
    assert [each["caught"] for each in found[:-1]] == [1] * 20
    assert len({each["process"] for each in found}) == 21


LONG = """
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
x, y, z = (numbers((4, 4), float).T for _ in range(3))
f = process.scipy_dgemm_
one, zero, n, four, t = c_double(1), c_double(0), c_int32(4), c_int32(4), c_char(b"N")
a, b, c = map(address, (x, y, z))
call = map(byref, (t, t, n, n, n, one)), (a, byref(four), b, byref(four), byref(zero), c, byref(four))
call = (*call[0], *call[1])
for _ in range(COUNT): f(*call)  # until it is measured
before = resident()
for _ in range(COUNT): f(*call)
grown = resident() - before
assert grown < 4 << 20, grown
"""


@pytest.mark.parametrize(
    ("mode", "count"),
    [
        pytest.param("always", 100_000, marks=pytest.mark.slow),
        *(pytest.param(mode, 1_000_000, marks=pytest.mark.nightly) for mode in ("fastest", "always")),
    ],
)
def test_nothing_is_kept(mode: str, count: int) -> None:
    python(LONG.replace("COUNT", str(count)), mode=mode)


COUNTING = """
#include <stdio.h>
#include <stdlib.h>
extern void* __libc_malloc(size_t);
extern void* __libc_memalign(size_t, size_t);
static long count;
void* malloc(size_t bytes) { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); return __libc_malloc(bytes); }
void* aligned_alloc(size_t at, size_t bytes) {
  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  return __libc_memalign(at, bytes);
}
long counted(void) { return count; }
"""
STEADY = """
#include <stdio.h>
extern long counted(void);
extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
                   const double*, const int*, const double*, double*, const int*);
extern void zgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
                   const double*, const int*, const double*, double*, const int*);
extern void dsyrk_(const char*, const char*, const int*, const int*, const double*, const double*, const int*, const double*,
                   double*, const int*);
static double a[8192], c[8192];
__attribute__((noinline)) static void multiply(int count) {  /* always from the same places */
  const double one[2] = {1, 0}, zero[2] = {0, 0};
  for (int i = 0; i < count; ++i) {
    const int n = i % 3 == 0 ? 4 : i % 3 == 1 ? 64 : 16, wide = 60, narrow = 5;
    dgemm_("N", "T", &n, &n, &n, one, a, &n, a, &n, zero, c, &n);
    dgemm_("N", "T", &wide, &narrow, &n, one, a, &wide, a, &narrow, one, c, &wide);
    zgemm_("N", "C", &narrow, &narrow, &n, one, a, &narrow, a, &narrow, zero, c, &narrow);
    dsyrk_("L", "N", &n, &n, one, a, &n, zero, c, &n);
  }
}
int main(void) {
  for (int i = 0; i < 8192; ++i) a[i] = 1.0 / (i + 3);
  multiply(300);
  const long before = counted();
  multiply(600);
  printf("%ld", counted() - before);
  return 0;
}
"""


@pytest.mark.slow
def test_a_steady_state_allocates_nothing(
    compile_c: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No plan is looked for again, and memory for lines, lists and results is the last product's. Each loop of several threads
    has two pieces, which the last of them gives back."""
    monkeypatch.setenv("OZFP4_NUM_THREADS", "1")
    counting = compile_c("libcounting.so", COUNTING)
    program = compile_c("steady", STEADY, counting, LIBRARY)
    done = run([program], mode="always")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "0"


LAST = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
extern void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
                   const double*, const int*, const double*, double*, const int*);
static pthread_key_t key;
static void multiply(const char* when) {
  for (int turn = 0; turn < 3; ++turn) {
    double a[100], c[100];
    const double one = 1, zero = 0;
    const int n = 10;
    for (int i = 0; i < 100; ++i) a[i] = i % 7;
    dgemm_("N", "T", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
    double right = 0;
    for (int k = 0; k < 10; ++k) right += a[3 + 10 * k] * a[4 + 10 * k];
    if (c[43] != right) printf("%s: %g is not %g\\n", when, c[43], right);
  }
}
static void at_end_of_thread(void* text) { multiply(text); }
static void at_exit(void) { multiply("exit"); }
__attribute__((destructor)) static void at_last(void) { multiply("destructor"); }
static void* work(void* text) {
  pthread_setspecific(key, text);
  multiply(text);
  return NULL;
}
int main(void) {
  atexit(at_exit);
  pthread_key_create(&key, at_end_of_thread);
  for (int i = 0; i < 20; ++i) {
    pthread_t threads[4];
    for (int t = 0; t < 4; ++t) pthread_create(&threads[t], NULL, work, "thread");
    for (int t = 0; t < 4; ++t) pthread_join(threads[t], NULL);
  }
  multiply("main");
  return 0;
}
"""


@pytest.mark.slow
def test_products_in_the_last_moments(compile_c: Callable[..., Path], tmp_path: Path) -> None:
    """Where what a thread keeps from product to product is gone."""
    report = tmp_path / "report"
    program = compile_c("last", LAST, LIBRARY, "-pthread")
    done = run([program], mode="always", report=report)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (process,) = processes(report)
    assert process["caught"] == 3 * (20 * 4 * 2 + 3)


@pytest.mark.slow
def test_shapes_beyond_the_table_are_counted_together(tmp_path: Path) -> None:
    program = """
x = numbers((120, 120), float)
for m in range(2, 120):
    for k in range(2, 120): x[:m, :k] @ x[:k, :3]
"""
    done = reported(program, tmp_path / "report", mode="always", min_size=10**9)
    assert done["left"] == 118 * 118
    assert any(row["m"] is None for row in done["rows"])
    assert len(done["rows"]) > 4000


@pytest.mark.slow
def test_a_process_reports_even_if_nothing_was_called(tmp_path: Path) -> None:
    report = tmp_path / "report"
    done = subprocess.run(
        [sys.executable, "-m", "ozfp4", "exec", "--report", report, "--summary", "--", "true"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert (
        "no product reached a routine that ozfp4 stands before; its BLAS may be linked statically"
        in done.stderr
    )
    (process,) = processes(report)
    assert process["rows"] == []
    assert process["program"].endswith("/true")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text", ["notes of somebody\n", '{"ozfp4_exec": 1, "program": ""}\n', "\n", '{"ozfp4_exec": 2']
)
def test_a_file_that_is_no_report_stays_as_it_is(text: str, tmp_path: Path) -> None:
    report = tmp_path / "notes"
    report.write_text(text)
    done = run([sys.executable, "-c", "import numpy as np; np.eye(3) @ np.eye(3)"], report=report)
    assert done.returncode == 0
    assert report.read_text() == text
    assert done.stderr == f"ozfp4 exec: the report cannot be written to {report}\n"


@pytest.mark.slow
def test_a_name_of_a_setting_that_is_unknown() -> None:
    for settings, text in (
        ({"colour": "red"}, "OZFP4_EXEC_COLOUR is unknown"),
        ({"mode": "quick"}, "'quick' is not allowed; it is fastest or always"),
        ({"min_size": "-1"}, "'-1' is not allowed"),
        ({"min_size": "1e3"}, "'1e3' is not allowed"),
        ({"min_size": " +5"}, "' +5' is not allowed"),
        ({"min_size": "9" * 19}, "is not allowed"),
        ({"accuracy": ""}, "'' is not allowed; it is standard, correct or scaled"),
        ({"dtypes": "float64,"}, "'float64,' is not allowed"),
        ({"dtypes": "d,x"}, "'d,x' is not allowed; it is all, or one or more of float32"),
        ({"only": ""}, "'' is not allowed; it is words with commas between"),
        ({"spare": "a,,b"}, "'a,,b' is not allowed"),
        ({"summary": "yes"}, "'yes' is not allowed"),
        ({"report": ""}, "'' is not allowed; it is a file"),
        ({"verify": "1000001"}, "it is a number, at most 1000000"),
    ):
        done = run(["true"], **settings)
        assert done.returncode == 125
        assert text in done.stderr
        assert done.stderr.count("\n") == 1
