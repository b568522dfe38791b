"""Invalid arguments of the library's functions are refused by name, and nothing is written."""

from __future__ import annotations

import ctypes
import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import library as lib
import numpy as np
import pytest

DGEMM: dict[str, Any] = {
    "order": lib.ROW, "transa": lib.NONE, "transb": lib.NONE, "m": 3, "n": 4, "k": 5, "alpha": 1.0, "a": ..., "lda": 5, "b": ...,
    "ldb": 4, "beta": 0.5, "c": ..., "ldc": 4,
}  # fmt: skip
WRONG = [
    ("order", 0, lib.INVALID, "order: 0 is neither OZFP4_ROW_MAJOR (101)"),
    ("transa", 110, lib.INVALID, "transa: 110 is none of"),
    ("transb", -1, lib.INVALID, "transb: -1 is none of"),
    ("m", -1, lib.INVALID, "m: -1 is negative"),
    ("n", -2, lib.INVALID, "n: -2 is negative"),
    ("k", -3, lib.INVALID, "k: -3 is negative"),
    ("m", 2**60, lib.INVALID, "m: 1152921504606846976 exceeds 2^48"),
    ("m", 2**46, lib.INVALID, "m: 70368744177664 times k = 5 exceeds 2^48, the most entries of a matrix"),
    ("alpha", math.nan, lib.INVALID, "alpha: nan is not finite"),
    ("beta", math.inf, lib.INVALID, "beta: inf is not finite"),
    ("a", None, lib.INVALID, "a: is NULL"),
    ("b", None, lib.INVALID, "b: is NULL"),
    ("c", None, lib.INVALID, "c: is NULL"),
    ("lda", 4, lib.INVALID, "lda: 4 is less than 5"),
    ("ldb", 3, lib.INVALID, "ldb: 3 is less than 4"),
    ("ldc", 0, lib.INVALID, "ldc: 0 is less than 4"),
    ("lda", 2**60, lib.INVALID, "lda: 1152921504606846976 exceeds 2^48"),
]
WRONG_OPTIONS: list[tuple[dict[str, Any], int, str]] = [
    ({"accuracy": 4}, lib.INVALID, "options.accuracy: 4 is outside 0..3"),
    ({"rounding": -1}, lib.INVALID, "options.rounding: -1 is outside 0..3"),
    ({"rounding": 1}, lib.INVALID, "options.rounding: 1 needs OZFP4_ACCURACY_CORRECT"),
    ({"scheme": 3}, lib.INVALID, "options.scheme: 3 is outside 0..2"),
    ({"backend": 7}, lib.INVALID, "options.backend: 7 is outside 0..3"),
    ({"family": 3, "accuracy": 1}, lib.INVALID, "options.family: 3 is outside 0..2"),
    ({"overflow": 1}, lib.INVALID, "options.overflow: OZFP4_OVERFLOW_ERROR is for products of integers"),
    ({"overflow": 2}, lib.INVALID, "options.overflow: 2 is outside 0..1"),
    ({"reserved": 1}, lib.INVALID, "options.reserved: 1 is not 0"),
    ({"bits": 1, "accuracy": 1}, lib.INVALID, "options.bits: 1 is outside 2..200"),
    ({"bits": 40, "accuracy": 3}, lib.INVALID, "options.bits: 40 is for OZFP4_ACCURACY_SCALED"),
    ({"bits": 40}, lib.INVALID, "options.bits: 40 is for OZFP4_ACCURACY_SCALED"),
    ({"family": 1}, lib.INVALID, "options.family: 1 is for OZFP4_ACCURACY_SCALED"),
    ({"workspace_limit": -1}, lib.INVALID, "options.workspace_limit: -1 is not a number of bytes"),
    ({"workspace_limit": 1}, lib.WORKSPACE, "options.workspace_limit: 1 bytes is too small: this product needs"),
    ({"family": 1, "accuracy": 1, "backend": 2}, lib.INVALID, "family: "),
    ({"bound": 1, "ld_bound": 3}, lib.INVALID, "options.ld_bound: 3 is less than 4"),
    ({"bound": 1, "ld_bound": 2**48}, lib.INVALID, "options.ld_bound: 281474976710656 times lines = 3 exceeds 2^48"),
    ({"repaired": ctypes.pointer(ctypes.c_int64())}, lib.INVALID, "options.repaired: is for ozfp4_cuda_?gemm"),
]  # fmt: skip


def call(library: ctypes.CDLL, asked: lib.Options | None = None, **changes: Any) -> tuple[int, bytes, bytes]:
    memory = {name: np.full((8, 8), 7.0) for name in "abc"}
    given = DGEMM | changes
    values = [memory[name].ctypes.data if given[name] is ... else given[name] for name in DGEMM]
    before = memory["c"].tobytes()
    status = library.ozfp4_dgemm(*values, asked)
    return status, before, memory["c"].tobytes()


@pytest.mark.parametrize(("name", "value", "status", "text"), WRONG)
def test_arguments(library: ctypes.CDLL, name: str, value: Any, status: int, text: str) -> None:
    found, before, after = call(library, **{name: value})
    assert (found, before) == (status, after)
    assert lib.error(library).startswith(text)


@pytest.mark.parametrize(("given", "status", "text"), WRONG_OPTIONS)
def test_options(library: ctypes.CDLL, given: dict[str, Any], status: int, text: str) -> None:
    found, before, after = call(library, lib.options(**given))
    assert lib.error(library).startswith(text), lib.error(library)
    assert (found, before) == (status, after)


def test_sizes_of_structures(library: ctypes.CDLL) -> None:
    asked = lib.options()
    asked.size = 0
    assert call(library, asked)[0] == lib.INVALID
    assert lib.error(library).startswith("options.size: 0 is not the size")

    asked.size = 2**40  # what was never set
    assert call(library, asked)[0] == lib.INVALID
    assert lib.error(library).startswith("options.size: 1099511627776 is not the size")

    class Later(ctypes.Structure):
        _fields_ = [("known", lib.Options), ("more", ctypes.c_int64)]

    later = Later()
    later.known.size = ctypes.sizeof(Later)
    assert call(library, later)[0] == lib.OK  # type: ignore[arg-type]
    later.more = 1
    assert call(library, later)[0] == lib.UNSUPPORTED  # type: ignore[arg-type]
    assert lib.error(library).startswith("options.size: ")
    # Structures of older programs are shorter: memory behind them is not read.
    older = lib.options(workspace_limit=-5)
    older.size = lib.Options.workspace_limit.offset
    assert call(library, older)[0] == lib.OK
    report = lib.new_report()
    report.size, report.workspace = lib.Report.workspace.offset, -7
    assert call(library, lib.options(report=ctypes.pointer(report)))[0] == lib.OK
    assert (report.products > 0, report.workspace) == (True, -7)
    report.size = 3
    assert call(library, lib.options(report=ctypes.pointer(report)))[0] == lib.INVALID
    assert lib.error(library).startswith("options.report->size: 3")


def test_a_plan_that_does_not_serve(library: ctypes.CDLL) -> None:
    def plan(kind: str, k: int, **given: Any) -> ctypes.c_void_p:
        made, asked = ctypes.c_void_p(), lib.options(**given)
        lib.succeed(library, "plan_create", lib.TYPES[kind], k, asked, ctypes.addressof(made))
        return made

    short = plan("float64", 4, accuracy=1, backend=2, bits=90)
    complex_one = plan("complex128", 5, accuracy=1)
    scaled = plan("float64", 5, accuracy=1)
    for made, given, text in (
        (complex_one, {}, "options.plan: it is of complex products"),
        (scaled, {"accuracy": 3}, "options.plan: its bits are 53, the accuracy 'correct' needs 76"),
        (scaled, {}, "options.plan: its bits are 53, the accuracy 'standard' needs 57; 'scaled' takes it"),
        (scaled, {"bits": 40, "accuracy": 1}, "options.bits: 40 contradicts the plan, whose bits is 53"),
        (scaled, {"scheme": 1}, "options.scheme: I contradicts the plan, whose scheme is II"),
        (scaled, {"backend": 1}, "options.backend: fp4 contradicts the plan, whose backend is "),
    ):
        assert call(library, lib.options(plan=made.value, **given))[0] == lib.INVALID
        assert lib.error(library).startswith(text), lib.error(library)
    info = lib.PlanInfo(size=ctypes.sizeof(lib.PlanInfo))
    assert library.ozfp4_plan_describe(short, info) == lib.OK
    status = call(
        library, lib.options(plan=short.value, accuracy=1), k=info.k_max + 1, lda=info.k_max + 1, m=0
    )[0]
    assert status == lib.INVALID
    assert lib.error(library).startswith(f"options.plan: its limit is K <= {info.k_max}")
    for made in (short, complex_one, scaled):
        library.ozfp4_plan_destroy(made)


def test_inner_dimensions_that_no_plan_or_certificate_serves(library: ctypes.CDLL) -> None:
    assert call(library, k=2**31 + 1, lda=2**31 + 1, m=0)[0] == lib.UNSUPPORTED
    assert "counted up to K <= 2^31" in lib.error(library)
    found = call(library, lib.options(family=1, accuracy=1), k=2**20, lda=2**20, m=0)
    assert found[0] == lib.UNSUPPORTED, lib.error(library)
    assert lib.error(library).startswith("k = 1048576 breaks the CRT bound")


def test_other_functions(library: ctypes.CDLL) -> None:
    memory, both = np.zeros((4, 4)), np.array([1 + 1j])
    upward = lib.options(accuracy=3, rounding=2)
    raising, bounded = lib.options(overflow=1), lib.options(bound=1, stride_bound=-1)
    cases: list[tuple[str, tuple[Any, ...], int, str]] = [
        ("ozfp4_dgram", (lib.ROW, lib.CONJ, 2, 2, memory, 2, memory, 2, None), lib.INVALID, "trans: 113"),
        ("ozfp4_zgram", (lib.ROW, lib.TRANS, 2, 2, memory, 2, memory, 2, None), lib.INVALID, "trans: 112"),
        ("ozfp4_dgram", (lib.ROW, lib.NONE, 2, 2, memory, 1, memory, 2, None), lib.INVALID, "lda: 1"),
        ("ozfp4_dgram", (lib.ROW, lib.NONE, -2, 2, memory, 2, memory, 2, None), lib.INVALID, "n: -2"),
        ("ozfp4_dgram", (lib.ROW, lib.NONE, 2, 2, memory, 2, None, 2, None), lib.INVALID, "c: is NULL"),
        ("ozfp4_zgemm", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, None, memory, 1, memory, 1, memory, memory, 1, None),
         lib.INVALID, "alpha: is NULL"),
        ("ozfp4_igemm", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1, 1, memory, 1, 5, memory, 1, 0, 5, memory, 1, None),
         lib.INVALID, "type_a: 1 is not one of OZFP4_INT8"),
        ("ozfp4_igemm", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1, 5, memory, 1, 5, memory, 1, 0, 13, memory, 1, None),
         lib.INVALID, "type_c: 13 is not one of"),
        ("ozfp4_dgram", (lib.ROW, lib.NONE, 2**31, 1, memory, 1, memory, 2**31, None), lib.INVALID,
         "n: 2147483648 times n = 2147483648 exceeds 2^48"),
        ("ozfp4_gemm_mod", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 5, memory, 1, 5, memory, 1, 0, memory, 1, None),
         lib.INVALID, "modulus: 0"),
        ("ozfp4_prepare", (5, lib.LEFT, lib.ROW, lib.NONE, 1, 1, memory, 1, None, memory), lib.INVALID, "type: 5"),
        ("ozfp4_prepare", (1, 0, lib.ROW, lib.NONE, 1, 1, memory, 1, None, memory), lib.INVALID, "side: 0"),
        ("ozfp4_prepare", (1, lib.LEFT, lib.ROW, lib.NONE, 1, 1, memory, 1, None, None), lib.INVALID, "prepared: is NULL"),
        ("ozfp4_prepare", (1, lib.LEFT, lib.ROW, lib.NONE, 0, 2**31 + 1, memory, 2**31 + 1, None, memory), lib.UNSUPPORTED,
         "columns: lines are counted up to K <= 2^31"),
        ("ozfp4_prepare", (1, lib.LEFT, lib.COLUMN, lib.NONE, 0, 2**31 + 1, memory, 1, None, memory), lib.UNSUPPORTED,
         "columns: lines are counted"),
        ("ozfp4_prepare", (1, lib.RIGHT, lib.ROW, lib.NONE, 2**31 + 1, 0, memory, 1, None, memory), lib.UNSUPPORTED,
         "rows: lines are counted"),
        ("ozfp4_zgemm", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, both, memory, 1, memory, 1, memory, memory, 1, upward),
         lib.INVALID, "options.rounding: alpha or beta has a real and an imaginary part"),
        ("ozfp4_zgemm", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, memory, memory, 1, memory, 1, both, memory, 1, upward),
         lib.INVALID, "options.rounding: alpha or beta has a real and an imaginary part"),
        ("ozfp4_zgram", (lib.ROW, lib.NONE, 1, 1, memory, 1, memory, 1, upward), lib.INVALID,
         "options.rounding: 'down' and 'up' give no Hermitian result"),
        ("ozfp4_igemm", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 2, 5, memory, 1, 5, memory, 1, 0, 5, memory, 1, raising),
         lib.UNSUPPORTED, "options.overflow: it is for alpha = 1"),
        ("ozfp4_igemm", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1, 5, memory, 1, 5, memory, 1, 1, 5, memory, 1, raising),
         lib.UNSUPPORTED, "options.overflow: it is for alpha = 1"),
        ("ozfp4_gemm_mod", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 5, memory, 1, 5, memory, 1, 7, memory, 1, raising),
         lib.UNSUPPORTED, "options.overflow: it is for alpha = 1"),
        ("ozfp4_dgemm_strided_batched", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1.0, memory, 1, 1, memory, 1, 1, 0.0,
                                         memory, 1, 1, 2, bounded), lib.INVALID, "options.stride_bound: -1 is less than 1"),
        ("ozfp4_plan_create", (1, 1, None, None), lib.INVALID, "plan: is NULL"),
        ("ozfp4_plan_describe", (None, memory), lib.INVALID, "plan: is NULL"),
        ("ozfp4_prepare", (1, lib.LEFT, lib.ROW, lib.NONE, 2**40, 2**30, memory, 2**30, None, memory), lib.INVALID,
         "rows: 1099511627776 times columns"),
        ("ozfp4_dgemm_strided_batched", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1.0, memory, 1, 2**62, memory, 1, 1, 0.0,
                                         memory, 1, 1, 2, None), lib.INVALID, "stride_a: 4611686018427387904 is beyond"),
        ("ozfp4_set_num_threads", (-1,), lib.INVALID, "count: -1"),
        ("ozfp4_dgemm_strided_batched", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1.0, memory, 1, 1, memory, 1, 1, 0.0,
                                         memory, 1, 0, 2, None), lib.INVALID, "stride_c: 0"),
        ("ozfp4_dgemm_strided_batched", (lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1.0, memory, 1, 1, memory, 1, 1, 0.0,
                                         memory, 1, 1, -1, None), lib.INVALID, "batch: -1"),
    ]  # fmt: skip
    for name, given, status, text in cases:
        assert getattr(library, name)(*given) == status, name
        assert lib.error(library).startswith(text), (name, lib.error(library))


def igemm(library: ctypes.CDLL, asked: lib.Options) -> int:
    x = np.zeros((1, 1), np.int8)
    status: int = library.ozfp4_igemm(
        lib.ROW, lib.NONE, lib.NONE, 1, 1, 1, 1, 5, x, 1, 5, x, 1, 0, 5, x, 1, asked
    )
    return status


def test_options_of_floating_point_are_refused_for_integers(library: ctypes.CDLL) -> None:
    for given in ({"accuracy": 2}, {"bits": 40}, {"bound": 256}, {"accuracy": 3, "rounding": 1}):
        assert igemm(library, lib.options(**given)) == lib.INVALID
        text = f"options.{next(iter(given))}: is for products of floating-point"
        assert lib.error(library).startswith(text)


def test_overflows_are_counted_in_a_report_on_the_cpu(library: ctypes.CDLL) -> None:
    asked = lib.options(overflows=ctypes.pointer(ctypes.c_int64()))
    assert igemm(library, asked) == lib.INVALID
    assert lib.error(library).startswith("options.overflows: is for ozfp4_cuda_igemm; options.report")
    assert call(library, asked=asked)[0] == lib.INVALID
    assert lib.error(library) == "options.overflows: is for products of integers"


def test_every_thread_has_its_own_text(library: ctypes.CDLL) -> None:
    call(library, m=-1)
    seen: list[str] = []

    def other() -> None:
        seen.append(lib.error(library))
        call(library, n=-1)
        seen.append(lib.error(library))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == ["", "n: -1 is negative"]
    assert lib.error(library) == "m: -1 is negative"


def test_names_of_statuses(library: ctypes.CDLL) -> None:
    text = lib.HEADER.read_text()
    block = text[text.index("typedef enum ozfp4_status") : text.index("} ozfp4_status;")]
    for line in block.splitlines():
        name, _, value = line.strip().partition(" = ")
        if value:
            assert library.ozfp4_status_name(int(value.split()[0].strip(","))).decode() == name
    assert library.ozfp4_status_name(99) == b"unknown"


@pytest.mark.slow
def test_no_memory_is_a_status(library: ctypes.CDLL, tmp_path: Any) -> None:
    found = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "programs" / "no_memory.py"), library._name],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.stdout == "refused\n", found.stderr
