"""Exports and needs of the library, whom it calls, and how it lives with threads, forks and long runs."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from preloaded import LIBRARY, processes, python, reported, run, why

ROOT = Path(__file__).parents[2]
Compile = Callable[..., Path]


def table() -> set[str]:
    """The names of the CPU's routines in csrc/exec/names.hpp, for each letter."""
    text = (ROOT / "csrc/exec/names.hpp").read_text()
    names = re.findall(r"X\((\w+?)?(?:##)?p##routine(?:##)?(\w*),", text)
    routines = [f"{letter}{name}" for name in ("gemm", "syrk") for letter in "sdcz"] + ["cherk", "zherk"]
    probes = {f"{name}{suffix}" for name in ("isamax", "sdot", "cdotc", "zdotc") for suffix in ("_", "_64_")}
    return probes | {f"{before}{routine}{behind}" for before, behind in names for routine in routines}


def symbols(library: Path, which: str) -> set[str]:
    done = subprocess.run(["nm", "-D", which, library], capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("no nm")
    return {line.split()[-1].split("@")[0] for line in done.stdout.splitlines()}


def test_exports_are_the_table() -> None:
    of_blas = {name for name in symbols(LIBRARY, "--defined-only") if not name.startswith("cublas")}
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


def test_exports_of_version_maps() -> None:
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
    of_the_program = {"ozfp4_cuda_selftest"}  # used by the program that tests kernels
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


@pytest.mark.slow
def test_each_library_reaches_the_routine_that_it_was_linked_to(compile_c: Compile) -> None:
    for number in (1, 2):
        blas = compile_c("numbered", f"libblas_{number}.so", f"-DNUMBER={number}")
        caller = compile_c("caller", f"libcaller_{number}.so", blas)
    python("linked", caller.parent, "1", "2", "1", "", mode="fastest")
    python("linked", caller.parent, "1", "2", "1", "8", mode="always")


@pytest.mark.slow
@pytest.mark.parametrize("file", ["libblas64.so", "libmine.so"])
@pytest.mark.parametrize("integer", ["int", "long"])
def test_a_library_tells_how_wide_its_integers_are(integer: str, file: str, compile_c: Compile) -> None:
    """Whatever its file is called. Extents of 2^32 + 1: one to who reads 32 bits, who multiplies then, and too many to who
    reads 64, who leaves it."""
    blas = compile_c("numbered", file, "-DNUMBER=9", "-DINT=long", f"-DWIDTH={integer}")
    caller = compile_c("caller", "libcaller_9.so", "-DINT=long", "-DONE=4294967297L", blas)
    python("linked", caller.parent, "9", "8" if integer == "int" else "", mode="always")


@pytest.mark.slow
def test_probes_of_libblastrampoline(compile_c: Compile) -> None:
    """ozfp4's result where no library has the routine, else that of the library."""
    ours = "-11 8-2i 8-2i"
    assert run([compile_c("probes")]).stdout == f"2 {ours}\n0 {ours}\n"
    forwarded = compile_c("probes", "forwarded", "-Wl,--no-as-needed", compile_c("returns", "libreturns.so"))
    assert run([forwarded]).stdout == f"77 0.25 3.5-4.5i 1.5-2.5i\n0 {ours}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked", [{"mode": "always"}, {}, {"dtypes": "float32"}, {"min_size": 10**9}, {"verify": 100}]
)
def test_a_routine_that_nobody_has(asked: dict[str, Any], compile_c: Compile, report: Path) -> None:
    """A program that looks for a BLAS finds ozfp4, which makes all products with any options, as there is no other library.
    Arguments that BLAS refuses give one line of error."""
    done = run([compile_c("alone", None, "-DREFUSED=0")], report=report, **asked)
    # Row-major A B of the first, less that of A^T B^T as columns, which is the same matrix transposed.
    expected = "0 -21 21 0 \n10 12 24 24 \n"
    assert done.returncode == 0
    assert done.stdout == expected
    (process,) = processes(report)
    assert (process["caught"], process["left"], process["verified"]["wrong"]) == (8, 0, 0)
    assert {row["why"] for row in process["rows"]} == {"no other library has the routine"}
    done = run([compile_c("alone", "refused", "-DREFUSED=1")], **asked)
    assert (done.returncode, done.stdout) == (0, expected)
    line = "ozfp4 exec: dgemm_64_: an argument is none of BLAS's; nothing is written\n"
    assert done.stderr.startswith(line)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_plain_loop_where_no_blas_has_the_routine(mode: str, compile_c: Compile, report: Path) -> None:
    done = run([compile_c("alone", "infinite", "-DFACTOR=INFINITY")], mode=mode, report=report)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("inf inf inf inf \n")
    (process,) = processes(report)
    assert [row[1:] for row in why(process)] == [(False, 1, "alpha or beta is not finite")] * 3
    report.unlink()
    served = compile_c("alone", "served", "-DFACTOR=2")
    done = run([served], mode=mode, report=report, OZFP4_CPU_KERNEL="none")  # which each product refuses
    assert done.returncode == 0
    assert done.stdout == "36 50 84 114 \n60 30 132 86 148 54 348 174 \n60 0 9 9 140 -16 348 0 \n"
    assert done.stderr.startswith("ozfp4 exec: left, as ozfp4 does not make it: OZFP4_CPU_KERNEL: ")
    (process,) = processes(report)
    assert [row[1:] for row in why(process)] == [(False, 1, "an error of ozfp4")] * 3


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 3])
def test_a_thread_that_is_cancelled_ends_behind_its_product(threads: int, compile_c: Compile) -> None:
    program = compile_c("cancelled", None, "-pthread")
    for _ in range(3):
        done = run([program], mode="always", OZFP4_NUM_THREADS=threads)
        assert (done.returncode, done.stdout) == (0, "1 300 -1\n"), done.stderr


@pytest.mark.slow
def test_another_thread_changes_the_environment(compile_c: Compile) -> None:
    done = run([compile_c("changes", None, LIBRARY, "-pthread")], mode="always")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_little_stack_and_coroutines_leave_products_to_blas(compile_c: Compile, report: Path) -> None:
    blas = compile_c("numbered", "libblas_9.so", "-DNUMBER=9")
    caller = compile_c("caller", "libcaller.so", blas)
    done = run([compile_c("stacks", None, caller, blas, "-pthread")], mode="always", report=report)
    assert (done.returncode, done.stdout) == (0, "9 9 9 9 9 8 9 9\n"), done.stderr
    (process,) = processes(report)
    little = "its thread has too little stack left, or a stack of the program's own"
    assert why(process) == {("dgemm_", True, 1, "always"), ("dgemm_", False, 7, little)}


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_errno_is_kept(mode: str) -> None:
    python("errno", mode=mode)


@pytest.mark.slow
def test_threads(report: Path) -> None:
    done = reported(report, "threads", mode="always")
    assert (done["caught"], done["left"]) == (8 * 210, 0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_forks_count_for_themselves(report: Path) -> None:
    python("forks", mode="always", report=report, verify=1)
    found = processes(report)
    assert [each["caught"] for each in found[:-1]] == [1] * 20
    assert len({each["process"] for each in found}) == 21


@pytest.mark.parametrize(
    ("mode", "count"),
    [
        pytest.param("always", 100_000, marks=pytest.mark.slow),
        *(pytest.param(mode, 1_000_000, marks=pytest.mark.nightly) for mode in ("fastest", "always")),
    ],
)
def test_memory_does_not_grow_over_many_calls(mode: str, count: int) -> None:
    python("long", str(count), mode=mode)


@pytest.mark.slow
def test_a_steady_state_allocates_nothing(compile_c: Compile) -> None:
    """No plan is looked for again, and memory for lines, lists and results is the last product's. Each loop of several threads
    has two pieces, which the last of them gives back."""
    done = run([compile_c("steady", None, LIBRARY, "-rdynamic")], mode="always", OZFP4_NUM_THREADS=1)
    assert (done.returncode, done.stdout) == (0, "0"), done.stderr


@pytest.mark.slow
def test_products_while_the_process_ends(compile_c: Compile, report: Path) -> None:
    """Where what a thread keeps from product to product is gone."""
    done = run([compile_c("last", None, LIBRARY, "-pthread")], mode="always", report=report)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (process,) = processes(report)
    assert process["caught"] == 3 * (20 * 4 * 2 + 3)


@pytest.mark.slow
def test_shapes_beyond_the_table_are_counted_together(report: Path) -> None:
    done = reported(report, "shapes", mode="always", min_size=10**9)
    assert done["left"] == sum(row["calls"] for row in done["rows"]) == 118 * 118
    assert sum(row["m"] is None for row in done["rows"]) == 1
    assert len(done["rows"]) > 4000
    done = reported(report, "refused")
    assert (done["caught"], done["left"]) == (0, 9000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "text"),
    [
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
    ],
)
def test_bad_settings_in_the_environment_are_refused(settings: dict[str, str], text: str) -> None:
    done = run(["true"], **settings)
    assert done.returncode == 125
    assert text in done.stderr
    assert done.stderr.count("\n") == 1
