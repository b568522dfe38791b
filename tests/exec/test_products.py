"""Products that are caught have the bits of ozfp4.gemm, by whatever name; others go to the real routine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from preloaded import LIBRARY, python, reported, why

from ozfp4 import _core

EVERY = ["float32", "float64", "complex64", "complex128"]
KINDS = [*(f"{letter}{kind}" for kind in ("gemm", "syrk") for letter in "sdcz"), "cherk", "zherk"]
REFUSED = "arguments that BLAS refuses, or that this BLAS alone knows"


@pytest.mark.parametrize(
    "accuracy", ["standard", *(pytest.param(each, marks=pytest.mark.slow) for each in ("scaled", "correct"))]
)
def test_each_routine_by_each_name(accuracy: str, report: Path) -> None:
    done = reported(report, "routines", accuracy, mode="always", dtypes="all", accuracy=accuracy, verify=100)
    assert (done["caught"], done["left"]) == (int(done["printed"]), 0)
    assert {row["routine"] for row in done["rows"]} == {
        name.format(kind) for kind in KINDS for name in ("scipy_{}_", "scipy_{}_64_", "scipy_cblas_{}64_")
    }
    assert done["verified"]["products"] >= 100
    assert (done["verified"]["wrong"], done["verified"]["not_finite"]) == (0, 0)


def test_products_of_numpy_and_scipy_are_caught(report: Path) -> None:
    done = reported(report, "numpy", mode="always", verify=100)
    assert (done["left"], done["verified"]["wrong"]) == (0, 0)
    assert {row["routine"] for row in done["rows"]} == {
        "scipy_dgemm_", "scipy_zherk_", *(f"scipy_cblas_{name}64_" for name in ("dgemm", "zgemm", "dsyrk", "zsyrk")),
    }  # fmt: skip


@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
def test_factors_with_both_parts_where_nearly_all_cancels(accuracy: str, report: Path) -> None:
    done = reported(report, "cancelling", mode="always", accuracy=accuracy, dtypes="all", verify=100)
    assert done["verified"]["products"] == 10
    assert (done["verified"]["wrong"], done["verified"]["not_finite"]) == (0, 0)


def test_reasons_of_products_left_to_blas(report: Path) -> None:
    done = reported(report, "left", mode="always", min_size=50)
    assert why(done) == {
        ("scipy_dgemm_", True, 1, "always"),
        ("scipy_dgemm_", False, 2, "alpha or beta is not finite"),
        ("scipy_dgemm_", False, 1, "nothing to multiply"),
        ("scipy_dgemm_", False, 2, REFUSED),
        ("scipy_dgemm_", False, 1, "the program rounds otherwise than to nearest"),
        ("scipy_dsyrk_", True, 1, "always"),
        ("scipy_dsyrk_", False, 4, "alpha or beta is not finite"),
        ("scipy_dsyrk_", False, 2, "nothing to multiply"),
        ("scipy_dsyrk_", False, 4, REFUSED),
        ("scipy_zherk_", False, 1, REFUSED),
        ("scipy_zsyrk_", False, 1, REFUSED),
        ("scipy_cblas_sgemm64_", False, 1, "its dtype is not asked for"),
        ("scipy_cblas_dgemm64_", False, 1, "below the least size"),
    }


def test_ozfp4s_own_products_are_none_of_the_programs() -> None:
    done = python("own", mode="always", summary=1)
    assert (done.stdout, done.stderr) == ("end\n", "")  # a process without calls prints nothing


@pytest.mark.slow
def test_routines_and_libraries_that_are_named_or_spared(report: Path) -> None:
    numpys, scipys, zs = "scipy_cblas_dgemm64_", "scipy_dgemm_", "scipy_cblas_zgemm64_"
    for asked, caught in (
        ({"only": "dgemm"}, {numpys, scipys}),
        ({"only": "zgemm,scipy_dgemm_"}, {zs, scipys}),
        ({"spare": "?gemm"}, set()),
        ({"spare": "_multiarray_umath*"}, {scipys}),  # which calls
        ({"only": "_multiarray_umath*", "spare": "zgemm"}, {numpys}),
        ({"only": "libscipy_openblas*"}, {numpys, scipys, zs}),  # which has the routines
    ):
        done = reported(report, "named", mode="always", **asked)
        assert {row["routine"] for row in done["rows"] if row["caught"]} == caught, asked
        left = {row["why"] for row in done["rows"] if not row["caught"]}
        assert left == ({"its routine or library is spared"} if len(caught) < 3 else set())


@pytest.mark.slow
def test_letters_name_dtypes(report: Path) -> None:
    for dtypes, expected in (("s,z", ["float32", "complex128"]), ("all", EVERY), ("d", ["float64"])):
        assert reported(report, "named", dtypes=dtypes)["dtypes"] == expected


def test_openblas_conjugation_without_transpose_is_left(report: Path) -> None:
    assert ("scipy_zgemm_", False, 1, REFUSED) in why(reported(report, "conjugated", mode="always"))


def test_a_routine_that_is_taken_by_our_librarys_handle(report: Path) -> None:
    """As libblastrampoline takes what `lbt_forward` names (docs/guide/existing-programs.md)."""
    done = reported(report, "by_handle", mode="always", verify=1)
    assert (done["caught"], done["left"], done["verified"]["wrong"]) == (1, 0, 0)


@pytest.mark.slow
def test_payloads_of_nans_are_kept(report: Path) -> None:
    done = reported(report, "payloads", mode="always", dtypes="all")
    assert (done["caught"], done["left"]) == (4 * 2 * 9 * 2, 0)
    done = reported(report, "triangle_of_nans", mode="always")
    assert (done["caught"], done["left"]) == (1, 0)


@pytest.mark.slow
def test_products_without_memory_are_left_to_blas(compile_c: Callable[..., Path]) -> None:
    """By the real routine, whichever piece of memory there is not."""
    both = f"{compile_c('scarce', 'libscarce.so')}:{LIBRARY}"
    done = python("failing", mode="always", OZFP4_NUM_THREADS=1, LD_PRELOAD=both)
    assert 1 < int(done.stdout) < 99


# ---- The default mode: products from a threshold on, and none from an address after one with many repairs ----


@pytest.mark.slow
def test_products_from_the_threshold_on(cache: Path, report: Path) -> None:
    cache.mkdir()
    (cache / "calibration").write_text(f"{_core.cpu_name()}\tfloat64\t96\n")
    assert why(reported(report, "repairs")) == {
        ("scipy_dgemm_", True, 4, "large enough to gain"),
        ("scipy_dgemm_", False, 1, "an extent below what gains on this device"),
        ("scipy_dgemm_", False, 3, "a product from its calling address needed many repairs"),
    }
    assert reported(report, "repairs", accuracy="correct")["caught"] == 0  # from 192 on


def test_without_a_threshold_a_cpu_keeps_its_own(report: Path) -> None:
    if "amx" in dict(_core.byte_kernels()).values():
        pytest.skip("this CPU has AMX")
    assert reported(report, "repairs")["caught"] == 0
