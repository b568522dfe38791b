"""Calls of cuBLAS, with stand-ins for cuBLAS, the driver and a libozfp4 with CUDA, whose device is the host: what is decided,
passed on and counted. Products are of small integers, which all of them make exactly."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import preloaded
import pytest
from preloaded import CONSTRUCTED, HEAD, LIBRARY, OPENS, processes

pytestmark = pytest.mark.slow

FAKES = Path(__file__).with_name("fakes")
ROOT = Path(__file__).parents[2]
INSTALLED, PACKAGED = "libozfp4.so.0", "libozfp4_cuda.so"
Run = Callable[..., dict[str, Any]]

PROGRAM = """
local = lambda name: ctypes.CDLL(os.path.join(FOLDER, name), ctypes.RTLD_LOCAL)
cublas = local("libcublas.so.13")
cuda = local("libcuda.so.1") if os.path.exists(os.path.join(FOLDER, "libcuda.so.1")) else None
ours = local(OURS)
for function in (cublas.fake_made, ours.fake_served):
    function.restype = ctypes.c_long
P = c_void_p
handle = P()
assert cublas.cublasCreate_v2(byref(handle)) == 0
types = {"S": np.float32, "D": np.float64, "C": np.complex64, "Z": np.complex128}
codes = {"S": 0, "D": 1, "C": 4, "Z": 5}

def integers(shape, letter):
    x = rng.integers(-9, 10, shape)
    return np.asfortranarray((x + 1j * rng.integers(-9, 10, shape) if letter in "CZ" else x).astype(types[letter]))

def mm(x, y):  # without BLAS
    return np.einsum("ij,jk->ik", x, y)

def op(x, trans):
    return x if trans == 0 else x.T if trans == 1 else x.conj().T

def scalar(x, letter):
    kept.append(np.array([x], types[letter]))
    return address(kept[-1])

def on_device(x, letter):  # an address that the stand-in of cuBLAS alone can read
    return P(scalar(x, letter).value | 1 << 62)

def case(letter, ta, tb, m, n, k):
    a, b = (integers(s, letter) for s in ((m, k) if ta == 0 else (k, m), (k, n) if tb == 0 else (n, k)))
    return a, b, integers((m, n), letter)

def gemm(letter="D", ta=0, tb=0, m=7, n=5, k=6, alpha=2, beta=-3, integer=c_int32, suffix="_v2", lda=None, factor=scalar):
    a, b, c = case(letter, ta, tb, m, n, k)
    right = alpha * mm(op(a, ta), op(b, tb)) + beta * c
    i = lambda x: integer(x)
    status = process[f"cublas{letter}gemm{suffix}"](handle, ta, tb, i(m), i(n), i(k), factor(alpha, letter), address(a),
        i(lda or len(a)), address(b), i(len(b)), factor(beta, letter), address(c), i(m))
    if not lda:
        assert status == 0
        np.testing.assert_array_equal(c, right)
    return status
kept = []
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The library and its stand-ins."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    made = tmp_path_factory.mktemp("fakes")
    shutil.copy(LIBRARY, made)
    sources = {
        "cuda": "libcuda.so.1",
        "ozfp4": INSTALLED,
        "cublas": "libcublas.so.13",
    }
    for source, name in sources.items():
        subprocess.run(
            [compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-Bsymbolic", f"-Wl,-soname,{name}", "-I", ROOT / "include",
             FAKES / f"{source}.cpp", "-o", made / name],
            check=True,
        )  # fmt: skip
    yield made
    shutil.rmtree(made)


@pytest.fixture
def run(folder: Path, tmp_path: Path) -> Run:
    """Runs a program behind PROGRAM, with variables for the stand-ins in capitals, and gives its report; `said` what it said."""

    def done(
        program: str, *, without_cuda: bool = False, packaged: bool = False, **settings: Any
    ) -> dict[str, Any]:
        where, ours = folder, INSTALLED
        if without_cuda or packaged:
            where = tmp_path / "other"
            shutil.copytree(folder, where)
        if without_cuda:
            (where / "libcuda.so.1").unlink()
        if packaged:
            ours = PACKAGED
            shutil.copy(where / INSTALLED, where / PACKAGED)
        report = tmp_path / "report"
        report.unlink(missing_ok=True)
        fakes = {name: str(value) for name, value in settings.items() if name.isupper()}
        asked = {"mode": "always", **{name: value for name, value in settings.items() if not name.isupper()}}
        variables = {
            **preloaded.environment(report=report, **asked),
            **fakes,
            "LD_PRELOAD": str(where / LIBRARY.name),
        }
        text = f"{HEAD}\nFOLDER, OURS = {str(where)!r}, {ours!r}\n{PROGRAM}\n{program}"
        ended = subprocess.run(
            [sys.executable, "-c", text], env=variables, capture_output=True, text=True, timeout=120
        )
        assert ended.returncode == 0, ended.stderr
        (process,) = processes(report)
        assert not {row["routine"] for row in process["rows"] if not row["routine"].startswith("cublas")}
        process["said"] = ended.stderr
        return process

    return done


def why(process: dict[str, Any]) -> set[tuple[str, bool, int, str]]:
    return {(row["routine"], row["caught"], row["calls"], row["why"]) for row in process["rows"]}


def test_the_packages_kernels_go_first(run: Run) -> None:
    done = run("gemm()\nassert ours.fake_served() == 1", packaged=True)
    assert why(done) == {("cublasDgemm_v2", True, 1, "always")}


REFUSAL = "cuBLAS makes what ozfp4 does not: a refusal of the stand-in"
EVERY = "float32,float64,complex64,complex128"


def test_gemm(run: Run) -> None:
    done = run(
        "for letter in types:\n"
        "    for ta in (0, 1, 2):\n"
        "        for tb in (0, 1, 2):\n"
        "            gemm(letter, ta, tb)\n"
        "            gemm(letter, ta, tb, beta=0, integer=c_int64, suffix='_v2_64')\n"
        "assert ours.fake_served() == 72 and cublas.fake_made() == 0\n",
        dtypes=EVERY,
        verify=72,
    )
    assert {row[:3] for row in why(done)} == {
        (f"cublas{letter}gemm_v2{suffix}", True, 9) for letter in "SDCZ" for suffix in ("", "_64")
    }
    assert (done["verified"]["products"], done["verified"]["wrong"]) == (72, 0)
    assert done["verified"]["entries"] == 72 * 8


def test_a_wrong_entry_is_told(run: Run) -> None:
    done = run("try: gemm(m=1, n=1)\nexcept AssertionError: pass", FAKE_WRONG=1, verify=100)
    assert done["verified"]["wrong"] >= 1
    assert "verify: cublasDgemm_v2 of 1 x 1 x 6: entry (0, 0) is" in done["said"]


def test_forms_with_batches_and_types(run: Run) -> None:
    done = run("""
count, m, n, k = 4, 5, 6, 3
a, b, c = (integers((rows, columns, count), "D") for rows, columns in ((m, k), (k, n), (m, n)))
i, j = c_int32, c_int64
two, one = scalar(2, "D"), scalar(1, "D")
def right():
    return np.stack([2 * mm(a[..., x], b[..., x]) + c[..., x] for x in range(count)], axis=2)
def strides(of): return ctypes.c_longlong(of)
wanted = right()
assert process.cublasDgemmStridedBatched(handle, 0, 0, m, n, k, two, address(a), m, strides(m * k), address(b), k,
    strides(k * n), one, address(c), m, strides(m * n), count) == 0
np.testing.assert_array_equal(c, wanted)
wanted = right()
assert process.cublasGemmStridedBatchedEx_64(handle, 0, 0, j(m), j(n), j(k), two, address(a), 1, j(m), strides(m * k),
    address(b), 1, j(k), strides(k * n), one, address(c), 1, j(m), strides(m * n), j(count), 70, -1) == 0
np.testing.assert_array_equal(c, wanted)
wanted = right()
for compute, type in ((70, 1), (71, 1), (68, 0), (77, 0), (79, 1)):
    letter = "SD"[type]
    x, y, z = case(letter, 0, 1, m, n, k)
    w = 2 * mm(x, y.T)
    assert process.cublasGemmEx(handle, 0, 1, m, n, k, scalar(2, letter), address(x), type, m, address(y), type, n,
        scalar(0, letter), address(z), type, m, compute, -1) == 0
    np.testing.assert_array_equal(z, w)
""", dtypes=EVERY)  # fmt: skip
    other = "types that ozfp4 does not have"
    assert why(done) == {
        ("cublasDgemmStridedBatched", True, 1, "always"),
        ("cublasGemmStridedBatchedEx_64", True, 1, "always"),
        ("cublasGemmEx", True, 2, "always"),
        ("cublasGemmEx", True, 1, "always"),
        ("cublasGemmEx", False, 2, other),  # float32 by TF32, float64 emulated by cuBLAS
    }
    assert {row["batch"] for row in done["rows"] if "atched" in row["routine"]} == {4}


def test_what_is_left_to_cublas(run: Run) -> None:
    done = run("""
gemm("S"), gemm(alpha=0), gemm(k=1)
assert gemm(lda=2) == 7
assert cublas.fake_made() == 4 and ours.fake_served() == 0
""", min_size=100)  # fmt: skip
    assert why(done) == {
        ("cublasSgemm_v2", False, 1, "its dtype is not asked for"),
        ("cublasDgemm_v2", False, 1, "nothing to multiply"),
        ("cublasDgemm_v2", False, 1, "below the least size"),
        ("cublasDgemm_v2", False, 1, "arguments that BLAS refuses, or that this BLAS alone knows"),
    }
    assert done["said"] == ""


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_factors_on_the_device(run: Run, mode: str) -> None:
    done = run("""
cublas.cublasSetPointerMode_v2(handle, 1)
for letter in types: gemm(letter, factor=on_device)
n, a = 600, np.zeros((600, 600))
one = on_device(1, "D")
assert process.cublasDgemm_v2(handle, 0, 0, n, n, n, one, address(a), n, address(a), n, one, address(a), n) == 0
assert cuda.fake_waits() == ours.fake_served() == 0 and cublas.fake_made() == 5
""", dtypes=EVERY, mode=mode)  # fmt: skip
    text = "alpha and beta are on the device"
    small = text if mode == "always" else "an extent below what gains on this device"
    assert {(row["routine"], row["n"], row["caught"], row["why"]) for row in done["rows"]} == {
        ("cublasDgemm_v2", 600, False, text),
        *((f"cublas{letter}gemm_v2", 5, False, small) for letter in "SDCZ"),
    }


@pytest.mark.parametrize(
    ("variables", "reason", "said"),
    [
        ({"FAKE_VERSION": "120801"}, "a cuBLAS that is not of CUDA 13", ""),
        ({"without_cuda": True}, "no libozfp4 with CUDA is there, or no GPU that it has kernels for", ""),
        ({"FAKE_MEMORY": "100"}, "no memory for it", ""),
        ({"FAKE_REFUSAL": "1"}, "its extents are larger than any plan is exact for", f"ozfp4 exec: {REFUSAL}\n"),
    ],
)  # fmt: skip
def test_where_nothing_can_be_served(run: Run, variables: dict[str, Any], reason: str, said: str) -> None:
    done = run("for _ in range(3): gemm()\nassert cublas.fake_made() == 3", **variables)
    assert why(done) == {("cublasDgemm_v2", False, 3, reason)}
    assert done["said"] == said


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_products_of_a_captured_graph_are_left(run: Run, mode: str) -> None:
    done = run("""
a = np.zeros((600, 600))
at, one = address(a), scalar(1, "D")
def product(): assert process.cublasDgemm_v2(handle, 0, 0, 600, 600, 600, one, at, 600, at, 600, one, at, 600) == 0
product()
before = cuda.fake_allocated()
cuda.fake_capture(1)
product(), product()
cuda.fake_capture(0)
assert (cuda.fake_allocated(), cublas.fake_made(), ours.fake_broken()) == (before, 2, 0)
product()
""", mode=mode, FAKE_IDLE=1)  # fmt: skip
    assert (False, 2, "a CUDA graph is captured") in {row[1:] for row in why(done)}
    assert (done["caught"], done["left"]) == (2, 2)


def test_times_of_calls_that_are_left(run: Run) -> None:
    """One in 16 of many is timed, and stands for them."""
    done = run("for _ in range(96): gemm()", mode="fastest", FAKE_SLOW=1000)
    (row,) = done["rows"]
    assert row["calls"] == 96
    assert row["seconds"] >= 0.096


def test_a_workspace_is_given_back_with_its_product(run: Run) -> None:
    # The stand-in takes 16 times C more where it is multiplied by i, 64 where a factor has both parts.
    run("""
m, n, k = 40, 50, 30
def took(letter, alpha=2, beta=-3):
    before = cuda.fake_allocated()
    gemm(letter, m=m, n=n, k=k, alpha=alpha, beta=beta)
    assert (cuda.fake_allocated(), cuda.fake_released()) == (before + 1, before + 1)
    return cuda.fake_last() - (256 + m * k + k * n + m * n)
assert [took("Z", beta=0), took("D"), took("Z", beta=1j), took("Z", alpha=1 + 1j)] == [0, 0, 16 * m * n, 64 * m * n]
""", dtypes=EVERY)  # fmt: skip


def test_a_batch_is_enqueued_at_once(run: Run) -> None:
    # The first matrix is aligned, others are not.
    done = run("""
m, n, k, count = 3, 4, 5, 6
sa, sb, sc = m * k + 1, k * n, m * n
memory = np.zeros(count * (sa + sb + sc) + 64, np.float32)
start = -memory.ctypes.data % 256 // 4
memory[start:] = rng.integers(-9, 10, len(memory) - start)
a, b, c = memory[start:], memory[start + count * sa:], memory[start + count * (sa + sb):]
of = lambda x, i, stride, rows, columns: x[i * stride:i * stride + rows * columns].reshape(columns, rows).T
right = [mm(of(a, i, sa, m, k), of(b, i, sb, k, n)) for i in range(count)]
assert process.cublasSgemmStridedBatched(handle, 0, 0, m, n, k, scalar(1, "S"), address(a), m, ctypes.c_longlong(sa),
    address(b), k, ctypes.c_longlong(sb), scalar(0, "S"), address(c), m, ctypes.c_longlong(sc), count) == 0
assert all((of(c, i, sc, m, n) == right[i]).all() for i in range(count))
assert (ours.fake_served(), cuda.fake_allocated(), cuda.fake_released()) == (1, 1, 1) and cublas.fake_made() == 0
""", dtypes=EVERY)  # fmt: skip
    assert why(done) == {("cublasSgemmStridedBatched", True, 1, "always")}


LONG = """
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
extern int cublasCreate_v2(void**);
extern int cublasDgemm_v2(void*, int, int, int, int, int, const double*, const double*, int, const double*, int, const double*,
                          double*, int);
extern int cuStreamSynchronize(void*);  // a program of CUDA has loaded the driver
extern long fake_allocated(void);
extern long fake_released(void);
static void* handle;
static void call(void) {
  static double a[4] = {1, 2, 3, 4}, c[4];
  static const double one = 1, zero = 0;
  if (cublasDgemm_v2(handle, 0, 0, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2) != 0) exit(1);
}
int main(void) {
  cuStreamSynchronize(NULL);
  if (cublasCreate_v2(&handle) != 0) return 2;
  for (int i = 0; i < 1000; ++i) call();
  const struct mallinfo2 memory = mallinfo2();
  for (int i = 0; i < 1000000; ++i) call();
  printf("%ld %zd", fake_allocated() - fake_released(), (ssize_t)(mallinfo2().uordblks - memory.uordblks));
  return 0;
}
"""


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_a_million_calls(mode: str, folder: Path, tmp_path: Path, compile_c: Callable[..., Path]) -> None:
    libraries = [folder / name for name in ("libcublas.so.13", "libcuda.so.1")]
    found = f"-Wl,--disable-new-dtags,-rpath,{folder}"  # before what LD_LIBRARY_PATH names
    program = compile_c("long", LONG, "-D_GNU_SOURCE", *libraries, found)
    report = tmp_path / "report"
    variables = preloaded.environment(mode=mode, report=report) | {"LD_PRELOAD": str(folder / LIBRARY.name)}
    done = subprocess.run([program], env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    on_device, on_host = map(int, done.stdout.split())
    assert on_device == 0
    assert on_host < 4096
    (process,) = processes(report)
    assert process["caught" if mode == "always" else "left"] == 1_001_000


WAITING = """
#include <time.h>
volatile int is_waiting, is_in_constructor;
int ozfp4_has_cuda(void) {  // no: another library is looked for
  const struct timespec moment = {0, 1000000};
  is_waiting = 1;
  for (int i = 0; i < 2000 && !is_in_constructor; ++i) nanosleep(&moment, 0);
  return 0;
}
#define NAMED(name) void name(void) {}
NAMED(ozfp4_last_error) NAMED(ozfp4_cuda_workspace_size_gemm_strided_batched)
NAMED(ozfp4_cuda_sgemm_strided_batched) NAMED(ozfp4_cuda_dgemm_strided_batched)
NAMED(ozfp4_cuda_cgemm_strided_batched) NAMED(ozfp4_cuda_zgemm_strided_batched)
"""
MULTIPLIES = """
extern int cublasCreate_v2(void**);
extern int cublasDgemm_v2(void*, int, int, int, int, int, const double*, const double*, int, const double*, int, const double*,
                          double*, int);
double call(void) {
  const double two = 2, zero = 0;
  double c = 0;
  void* handle;
  if (cublasCreate_v2(&handle) != 0 || cublasDgemm_v2(handle, 0, 0, 1, 1, 1, &two, &two, 1, &two, 1, &zero, &c, 1) != 0) return 0;
  return c;
}
"""


def test_a_constructor_multiplies_while_kernels_are_looked_for(
    folder: Path, tmp_path: Path, compile_c: Callable[..., Path]
) -> None:
    """As of the BLAS of a CPU (test_library.py): nobody waits for the dynamic linker's lock with one of ours."""
    for name in (LIBRARY.name, INSTALLED, "libcublas.so.13", "libcuda.so.1"):
        shutil.copy(folder / name, tmp_path)
    waiting = compile_c(PACKAGED, WAITING)
    shared = [tmp_path / "libcublas.so.13", waiting, "-Wl,--disable-new-dtags"]
    caller = compile_c("libcaller.so", MULTIPLIES, *shared)
    compile_c("libconstructed.so", CONSTRUCTED, caller, *shared)
    program = compile_c(
        "opens", OPENS, caller, *shared, "-Wl,--no-as-needed", tmp_path / "libcuda.so.1", "-pthread", "-ldl"
    )
    variables = preloaded.environment(mode="always") | {"LD_PRELOAD": str(tmp_path / LIBRARY.name)}
    done = subprocess.run([program], env=variables, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stderr) == (0, "")


# The stand-ins leave C as it is: `number` is the first entry of B, 0 where no entry is repaired. ctypes calls from one address.
PRODUCTS = """
def product(n, number=0, own=handle):
    a, c = np.zeros((n, n)), np.zeros((n, n))
    a[0, 0] = number
    at, one = address(a), scalar(1, "D")
    assert process.cublasDgemm_v2(own, 0, 0, n, n, n, one, at, n, at, n, one, address(c), n) == 0
"""
BY_TIME: dict[str, Any] = {"mode": "fastest", "FAKE_IDLE": 1}
LARGE, SMALL = "large enough to gain", "an extent below what gains on this device"
MANY = "a product from its calling address needed many repairs"


@pytest.mark.parametrize(
    ("name", "capability", "least"), [("NVIDIA H200", 90, 3072), ("NVIDIA GeForce RTX 4090", 89, 512), ("an H20", 90, 0)]
)  # fmt: skip
def test_by_thresholds(run: Run, name: str, capability: int, least: int) -> None:
    device = {"FAKE_NAME": name, "FAKE_CAPABILITY": capability}
    if least == 0:
        done = run(f"{PRODUCTS}product(4096)", **BY_TIME, **device)
        assert why(done) == {("cublasDgemm_v2", False, 1, SMALL)}
        return
    done = run(f"{PRODUCTS}product({least}), product({least - 1}), product({least})", **BY_TIME, **device)
    assert why(done) == {("cublasDgemm_v2", True, 2, LARGE), ("cublasDgemm_v2", False, 1, SMALL)}


def test_after_many_repairs_the_real_routine_goes_on(run: Run) -> None:
    # 600^2 / 2048 + 1 = 176 repairs are few.
    calls = f"{PRODUCTS}for i in range(34): product(600, 1)"
    done = run(calls, FAKE_REPAIRS=177, **BY_TIME)
    assert why(done) == {("cublasDgemm_v2", True, 1, LARGE), ("cublasDgemm_v2", False, 33, MANY)}
    assert run(calls, FAKE_REPAIRS=176, **BY_TIME)["caught"] == 34


def test_nobody_waits_after_a_product_with_few_repairs(run: Run) -> None:
    calls = f"""{PRODUCTS}
product(600)
waits = cuda.fake_waits()
product(600, 1), product(600), product(600)  # the device has told of the first by the second
assert cuda.fake_waits() == waits
"""
    done = run(calls, FAKE_REPAIRS=177, **BY_TIME)
    assert why(done) == {("cublasDgemm_v2", True, 2, LARGE), ("cublasDgemm_v2", False, 2, MANY)}


def test_a_capture_on_another_stream_goes_on(run: Run) -> None:
    calls = f"""{PRODUCTS}
cublas.cublasSetStream_v2(handle, P(16))
def of_all_kinds():
    gemm(beta=0), gemm("Z", beta=1)
"""
    for waits in (0, 1):
        begin = f"cuda.fake_capture_elsewhere(1, {waits})"
        done = run(f"{calls}{begin}\nof_all_kinds()\nassert cuda.fake_is_broken() == 0", verify=100)
        assert (done["caught"], done["left"]) == (2, 0)
        end = "assert cuda.fake_is_broken() == 0\ncuda.fake_capture_elsewhere(0, 0)\nproduct(600)"
        done = run(f"{calls}{begin}\nproduct(600, 1), product(600, 1)\n{end}", FAKE_REPAIRS=5, **BY_TIME)
        assert (done["caught"], done["left"]) == (3, 0)


def test_few_are_as_many_as_of_any_product(run: Run) -> None:
    # 300 are not too many of 800^2 entries, and too many of 600^2, of which the second product has none.
    done = run(f"{PRODUCTS}product(800, 1), product(600), product(600)", FAKE_REPAIRS=300, **BY_TIME)
    assert (done["caught"], done["left"]) == (3, 0)


def test_nobody_else_waits_for_the_first_product(run: Run) -> None:
    done = run(
        f"""{PRODUCTS}
import signal, threading, time
other = P()
assert cublas.cublasCreate_v2(byref(other)) == 0 and cublas.cublasSetStream_v2(other, P(16)) == 0
cuda.fake_hold(P(16))
waits = threading.Thread(target=lambda: product(800, own=other))
waits.start()
signal.alarm(60)                          # ends the process, whatever it waits for
while not cuda.fake_waiting() or ours.fake_served() < 1: time.sleep(0.001)
product(600)                             # another thread enqueues what it likes
if (child := os.fork()) == 0: os._exit(0)
os.waitpid(child, 0)
cuda.fake_hold(None)
waits.join()
""",
        **BY_TIME,
    )
    assert done["caught"] == 2


def test_a_context_that_is_gone_takes_its_counts(run: Run) -> None:
    done = run(f"{PRODUCTS}for i in range(2, 5): product(600), product(600), cuda.fake_context(i)", **BY_TIME)
    assert (done["caught"], done["left"]) == (6, 0)


def test_a_batch_of_which_one_matrix_cannot_be_made(run: Run) -> None:
    done = run("""
a, b, c = (integers((4, 4, 2), "D") for _ in "abc")
stride, one = ctypes.c_longlong(16), scalar(1, "D")
def batch():
    return process.cublasDgemmStridedBatched(handle, 0, 0, 4, 4, 4, one, address(a), 4, stride, address(b), 4, stride, one,
        address(c), 4, stride, 2)
b[0, 0, :] = 5, 77                        # as nothing is written, cuBLAS makes both
wanted = np.stack([mm(a[..., i], b[..., i]) + c[..., i] for i in range(2)], axis=2)
assert batch() == 0
np.testing.assert_array_equal(c, wanted)
""", FAKE_REFUSED=77)  # fmt: skip
    assert (done["caught"], done["left"]) == (0, 1)


COMPLEX_FACTORS = """
gemm("Z", alpha=2 - 1j), gemm("Z", beta=1j), gemm("Z", alpha=3j), gemm("Z", alpha=1 + 1j, beta=2j)
gemm("C", beta=0.5 - 1j)
"""


def test_complex_factors(run: Run) -> None:
    done = run(COMPLEX_FACTORS, dtypes=EVERY, verify=10)
    assert why(done) == {
        ("cublasZgemm_v2", True, 4, "always"),
        ("cublasCgemm_v2", True, 1, "always"),
    }
    assert done["verified"]["wrong"] == 0


def test_types_that_are_none_of_ours(run: Run) -> None:
    done = run("""
x, one = np.zeros(64), scalar(1, "D")
for type, compute in ((2, 68), (14, 68), (3, 72), (1, 79)):  # FP16, BF16, INT8; FP64 that cuBLAS emulates
    assert process.cublasGemmEx(handle, 0, 0, 2, 3, 4, one, address(x), type, 2, address(x), type, 4, one, address(x), type, 2,
        compute, -1) in (0, 15)
""", summary=1)  # fmt: skip
    rows = {(row["routine"], row["dtype"], row["m"], row["n"], row["k"]): row for row in done["rows"]}
    assert {key: row["calls"] for key, row in rows.items()} == {("cublasGemmEx", None, 2, 3, 4): 4}
    assert f"{'cublasGemmEx':29}  -           2 x 3 x 4" in done["said"]


def test_threads(run: Run) -> None:
    done = run("""
import threading
def work():
    for _ in range(30): gemm()
threads = [threading.Thread(target=work) for _ in range(6)]
for each in threads: each.start()
for each in threads: each.join()
""")  # fmt: skip
    assert (done["caught"], done["left"]) == (180, 0)


def test_a_stream_that_is_full_holds_up_no_other(run: Run) -> None:
    """A launch waits there, for what another GPU's product comes before; a fork does not wait for it."""
    done = run("""
import signal, threading, time
# Made beforehand: in a child of a fork, NumPy's generator may be locked by a thread that is not there.
a, one, zero = integers((7, 7), "D"), scalar(1, "D"), scalar(0, "D")
def product(own):
    c = np.full((7, 7), 1e30, order="F")
    assert process.cublasDgemm_v2(own, 0, 0, 7, 7, 7, one, address(a), 7, address(a), 7, zero, address(c), 7) == 0
    np.testing.assert_array_equal(c, mm(a, a))
others = [P(), P()]
for other in others:                      # two threads on one stream
    assert cublas.cublasCreate_v2(byref(other)) == 0 and cublas.cublasSetStream_v2(other, P(16)) == 0
product(handle)
ours.fake_fill(P(16))
threads = [threading.Thread(target=product, args=(other,)) for other in others]
for each in threads: each.start()
signal.alarm(20)                          # ends the process, whatever it waits for
while not ours.fake_waiting_launches(): time.sleep(0.001)
product(handle)
if (child := os.fork()) == 0:
    signal.alarm(10)                      # a child has none of its parent's
    product(handle)
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
assert 1 <= ours.fake_waiting_launches() <= 2
ours.fake_fill(None)
for each in threads: each.join()
""")  # fmt: skip
    assert (done["caught"], done["left"]) == (4, 0)


CONSTANTS = """
#include <cublas_v2.h>
#include "exec/cublas_types.hpp"
namespace own = ozfp4::exec::cublas;
static_assert(own::op_n == CUBLAS_OP_N && own::op_t == CUBLAS_OP_T && own::op_c == CUBLAS_OP_C);
static_assert(own::pointers_to_host == CUBLAS_POINTER_MODE_HOST && own::success == CUBLAS_STATUS_SUCCESS);
static_assert(own::real_32 == CUDA_R_32F && own::real_64 == CUDA_R_64F);
static_assert(own::complex_32 == CUDA_C_32F && own::complex_64 == CUDA_C_64F);
static_assert(own::compute_32 == CUBLAS_COMPUTE_32F && own::compute_64 == CUBLAS_COMPUTE_64F);
static_assert(own::compute_32_pedantic == CUBLAS_COMPUTE_32F_PEDANTIC && own::compute_64_pedantic == CUBLAS_COMPUTE_64F_PEDANTIC);
static_assert(CUBLAS_VERSION / 10000 == 13);
"""


def test_constants_are_those_of_cublas(tmp_path: Path) -> None:
    """Where its headers are: beside the toolkit, or where OZFP4_CUBLAS_INCLUDE says."""
    compiler = shutil.which("c++") or shutil.which("g++")
    folders = [Path(x) for x in (os.environ.get("OZFP4_CUBLAS_INCLUDE"), "/usr/local/cuda/include") if x]
    if compiler is None or not any((each / "cublas_v2.h").exists() for each in folders):
        pytest.skip("no cublas_v2.h")
    (tmp_path / "constants.cpp").write_text(CONSTANTS)
    includes = [part for each in (*folders, ROOT / "csrc") for part in ("-I", each)]
    subprocess.run(
        [compiler, "-std=c++17", "-fsyntax-only", *includes, tmp_path / "constants.cpp"], check=True
    )
