"""Calls of cuBLAS: decisions, arguments that are passed on, and counts. Stand-ins for cuBLAS, the driver and a libozfp4 with
CUDA have the host as their device."""

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
from preloaded import LIBRARY, PROGRAMS, processes, why

pytestmark = pytest.mark.slow

FAKES = Path(__file__).with_name("fakes")
ROOT = Path(__file__).parents[2]
INSTALLED, PACKAGED = "libozfp4.so.0", "libozfp4_cuda.so"
SOURCES = {"cuda": "libcuda.so.1", "ozfp4": INSTALLED, "cublas": "libcublas.so.13"}
Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The library and its stand-ins."""
    made = tmp_path_factory.mktemp("fakes")
    shutil.copy(LIBRARY, made)
    for source, name in SOURCES.items():
        command = [
            preloaded.compiler("c++", "g++"), "-std=c++17", "-O1", "-shared", "-fPIC", "-Bsymbolic",
            f"-Wl,-soname,{name}",
        ]  # fmt: skip
        words = [*command, "-I", ROOT / "include", FAKES / f"{source}.cpp", "-o", made / name]
        subprocess.run(words, check=True)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def run(folder: Path, tmp_path: Path, report: Path) -> Run:
    """Runs a function of cublas.py, with variables for the stand-ins in capitals, and gives its report; `said` is its output."""

    def done(
        *program: str, without_cuda: bool = False, packaged: bool = False, **settings: Any
    ) -> dict[str, Any]:
        where, ours = folder, PACKAGED if packaged else INSTALLED
        if without_cuda or packaged:
            where = tmp_path / "other"
            shutil.copytree(folder, where)
        if without_cuda:
            (where / "libcuda.so.1").unlink()
        if packaged:
            shutil.copy(where / INSTALLED, where / PACKAGED)
        report.unlink(missing_ok=True)
        places = {"LD_PRELOAD": where / LIBRARY.name, "FAKES": where, "OURS": ours}
        asked = {"mode": "always", "report": report, **places, **settings}
        ended = preloaded.run([sys.executable, PROGRAMS / "cublas.py", *program], 120, **asked)
        assert ended.returncode == 0, ended.stderr
        (process,) = processes(report)
        assert all(row["routine"].startswith("cublas") for row in process["rows"])
        return {**process, "said": ended.stderr}

    return done


def test_the_packages_kernels_go_first(run: Run) -> None:
    assert why(run("times", "1", packaged=True)) == {("cublasDgemm_v2", True, 1, "always")}


def test_gemm(run: Run) -> None:
    done = run("gemms", dtypes="all", verify=72)
    assert why(done) == {
        (f"cublas{letter}gemm_v2{suffix}", True, 9, "always") for letter in "SDCZ" for suffix in ("", "_64")
    }
    verified = done["verified"]
    assert (verified["products"], verified["entries"], verified["wrong"]) == (72, 72 * 8, 0)


def test_a_wrong_entry_is_told(run: Run) -> None:
    done = run("wrong", FAKE_WRONG=1, verify=100)
    assert done["verified"]["wrong"] >= 1
    assert "verify: cublasDgemm_v2 of 1 x 1 x 6: entry (0, 0) is" in done["said"]


def test_forms_with_batches_and_types(run: Run) -> None:
    done = run("forms", dtypes="all")
    other = "types that ozfp4 does not have"  # float32 by TF32, float64 emulated by cuBLAS
    assert {
        (row["routine"], row["batch"], row["dtype"], row["calls"], row["why"]) for row in done["rows"]
    } == {
        ("cublasDgemmStridedBatched", 4, "float64", 1, "always"),
        ("cublasGemmStridedBatchedEx_64", 4, "float64", 1, "always"),
        ("cublasGemmEx", 1, "float64", 2, "always"),
        ("cublasGemmEx", 1, "float32", 1, "always"),
        ("cublasGemmEx", 1, None, 2, other),
    }


def test_types_that_are_none_of_ours(run: Run) -> None:
    done = run("other_types", summary=1)
    rows = {
        (row["routine"], row["dtype"], row["m"], row["n"], row["k"]): row["calls"] for row in done["rows"]
    }
    assert rows == {("cublasGemmEx", None, 2, 3, 4): 4}
    assert f"{'cublasGemmEx':29}  -           2 x 3 x 4" in done["said"]


def test_reasons_of_products_left_to_cublas(run: Run) -> None:
    done = run("left", min_size=100)
    assert why(done) == {
        ("cublasSgemm_v2", False, 1, "its dtype is not asked for"),
        ("cublasDgemm_v2", False, 1, "nothing to multiply"),
        ("cublasDgemm_v2", False, 1, "below the least size"),
        ("cublasDgemm_v2", False, 1, "arguments that BLAS refuses, or that this BLAS alone knows"),
    }
    assert done["said"] == ""


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_factors_on_the_device(run: Run, mode: str) -> None:
    done = run("factors_on_device", dtypes="all", mode=mode)
    text = "alpha and beta are on the device"
    small = text if mode == "always" else "an extent below what gains on this device"
    assert {(row["routine"], row["n"], row["caught"], row["why"]) for row in done["rows"]} == {
        ("cublasDgemm_v2", 600, False, text),
        *((f"cublas{letter}gemm_v2", 5, False, small) for letter in "SDCZ"),
    }


def test_complex_factors(run: Run) -> None:
    done = run("complex_factors", dtypes="all", verify=10)
    assert why(done) == {("cublasZgemm_v2", True, 4, "always"), ("cublasCgemm_v2", True, 1, "always")}
    assert done["verified"]["wrong"] == 0


REFUSAL = "ozfp4 exec: cuBLAS makes what ozfp4 does not: a refusal of the stand-in\n"


@pytest.mark.parametrize(
    ("variables", "reason", "said"),
    [
        ({"FAKE_VERSION": "120801"}, "a cuBLAS that is not of CUDA 13", ""),
        ({"without_cuda": True}, "no libozfp4 with CUDA is there, or no GPU that it has kernels for", ""),
        ({"FAKE_MEMORY": "100"}, "no memory for it", ""),
        ({"FAKE_REFUSAL": "1"}, "its extents are larger than any plan is exact for", REFUSAL),
    ],
)
def test_cublas_makes_what_cannot_be_served(
    run: Run, variables: dict[str, Any], reason: str, said: str
) -> None:
    done = run("times", "3", **variables)
    assert why(done) == {("cublasDgemm_v2", False, 3, reason)}
    assert done["said"] == said


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_products_of_a_captured_graph_are_left(run: Run, mode: str) -> None:
    done = run("captured", mode=mode, FAKE_IDLE=1)
    assert ("cublasDgemm_v2", False, 2, "a CUDA graph is captured") in why(done)
    assert (done["caught"], done["left"]) == (2, 2)


def test_times_of_calls_that_are_left(run: Run) -> None:
    """One in 16 of many is timed; its time counts for the others."""
    done = run("times", "96", mode="fastest", FAKE_SLOW=1000)
    (row,) = done["rows"]
    assert row["calls"] == 96
    assert row["seconds"] >= 0.096


def test_a_workspace_is_given_back_with_its_product(run: Run) -> None:
    run("workspaces", dtypes="all")


def test_a_batch_is_enqueued_at_once(run: Run) -> None:
    assert why(run("unaligned_batch", dtypes="all")) == {("cublasSgemmStridedBatched", True, 1, "always")}


def test_a_batch_of_which_one_matrix_cannot_be_made(run: Run) -> None:
    done = run("refused_batch", FAKE_REFUSED=77)
    assert (done["caught"], done["left"]) == (0, 1)


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_a_million_calls(mode: str, folder: Path, report: Path, compile_c: Callable[..., Path]) -> None:
    libraries = [folder / name for name in ("libcublas.so.13", "libcuda.so.1")]
    found = f"-Wl,--disable-new-dtags,-rpath,{folder}"  # before what LD_LIBRARY_PATH names
    program = compile_c("million", None, *libraries, found)
    done = preloaded.run([program], 120, mode=mode, report=report, LD_PRELOAD=folder / LIBRARY.name)
    assert done.returncode == 0, done.stderr
    on_device, on_host = map(int, done.stdout.split())
    assert on_device == 0
    assert on_host < 4096
    (process,) = processes(report)
    assert process["caught" if mode == "always" else "left"] == 1_001_000


def test_a_constructor_multiplies_while_kernels_are_looked_for(
    folder: Path, tmp_path: Path, compile_c: Callable[..., Path]
) -> None:
    """No thread waits for the dynamic linker's lock while it holds a lock of ozfp4."""
    for name in (LIBRARY.name, INSTALLED, "libcublas.so.13", "libcuda.so.1"):
        shutil.copy(folder / name, tmp_path)
    waiting = compile_c("waiting", PACKAGED)
    shared = [tmp_path / "libcublas.so.13", waiting, "-Wl,--disable-new-dtags"]
    caller = compile_c("cublas_caller", "libcaller.so", *shared)
    compile_c("constructed", "libconstructed.so", caller, *shared)
    driver = ["-Wl,--no-as-needed", tmp_path / "libcuda.so.1"]
    program = compile_c("opens", None, caller, *shared, *driver, "-pthread", "-ldl")
    done = preloaded.run([program], 20, mode="always", LD_PRELOAD=tmp_path / LIBRARY.name)
    assert (done.returncode, done.stderr) == (0, "")


# ---- The default mode ----

BY_TIME: dict[str, Any] = {"mode": "fastest", "FAKE_IDLE": 1}
LARGE, SMALL = "large enough to gain", "an extent below what gains on this device"
MANY = "a product from its calling address needed many repairs"


@pytest.mark.parametrize(
    ("name", "capability", "least"),
    [("NVIDIA H200", 90, 3072), ("NVIDIA GeForce RTX 4090", 89, 512), ("an H20", 90, None)],
)
def test_fastest_mode_takes_products_from_the_threshold_on(
    run: Run, name: str, capability: int, least: int | None
) -> None:
    extents = [4096] if least is None else [least, least - 1, least]
    done = run("thresholds", *map(str, extents), **BY_TIME, FAKE_NAME=name, FAKE_CAPABILITY=capability)
    large = set() if least is None else {("cublasDgemm_v2", True, 2, LARGE)}
    assert why(done) == {("cublasDgemm_v2", False, 1, SMALL), *large}


def test_after_many_repairs_the_real_routine_goes_on(run: Run) -> None:
    # 600^2 / 2048 + 1 = 176 repairs are few.
    done = run("repaired", "600,1,34", FAKE_REPAIRS=177, **BY_TIME)
    assert why(done) == {("cublasDgemm_v2", True, 1, LARGE), ("cublasDgemm_v2", False, 33, MANY)}
    assert run("repaired", "600,1,34", FAKE_REPAIRS=176, **BY_TIME)["caught"] == 34


def test_least_count_of_many_repairs_grows_with_the_product(run: Run) -> None:
    # 300 are not too many of 800^2 entries, and too many of 600^2, of which the second product has none.
    done = run("repaired", "800,1,1", "600,0,2", FAKE_REPAIRS=300, **BY_TIME)
    assert (done["caught"], done["left"]) == (3, 0)


def test_no_wait_after_a_product_with_few_repairs(run: Run) -> None:
    done = run("few_repairs", FAKE_REPAIRS=177, **BY_TIME)
    assert why(done) == {("cublasDgemm_v2", True, 2, LARGE), ("cublasDgemm_v2", False, 2, MANY)}


@pytest.mark.parametrize("waits", ["0", "1"])
def test_a_capture_on_another_stream_goes_on(run: Run, waits: str) -> None:
    assert run("captured_elsewhere", waits, "", verify=100)["caught"] == 2
    assert run("captured_elsewhere", waits, "repaired", FAKE_REPAIRS=5, **BY_TIME)["caught"] == 3


@pytest.mark.parametrize(
    ("program", "settings", "caught"),
    [
        ("threads", {}, 180),
        ("first_product_is_waited_for", BY_TIME, 2),
        ("contexts", BY_TIME, 6),  # one that is gone takes its counts
        ("full_stream", {}, 4),
    ],
)
def test_threads_streams_and_contexts(run: Run, program: str, settings: dict[str, Any], caught: int) -> None:
    done = run(program, **settings)
    assert (done["caught"], done["left"]) == (caught, 0)


def test_constants_are_those_of_cublas() -> None:
    """Needs the headers of cuBLAS: those of the toolkit, or of the folder OZFP4_CUBLAS_INCLUDE."""
    folders = [Path(x) for x in (os.environ.get("OZFP4_CUBLAS_INCLUDE"), "/usr/local/cuda/include") if x]
    if not any((each / "cublas_v2.h").exists() for each in folders):
        pytest.skip("no cublas_v2.h")
    includes = [part for each in (*folders, ROOT / "csrc", ROOT / "include") for part in ("-I", each)]
    command = [
        preloaded.compiler("c++", "g++"), "-std=c++17", "-fsyntax-only", *includes, PROGRAMS / "constants.cpp",
    ]  # fmt: skip
    subprocess.run(command, check=True)
