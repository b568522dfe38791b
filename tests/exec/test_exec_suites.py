"""tools/exec_suites.py reads what the test programs of others write."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import exec_suites

PYTEST = """....F.E                                                                  [100%]
=========================== short test summary info ============================
FAILED test_linalg.py::test_matmul[float64] - AssertionError: 1.0 != 1.5
ERROR test_linalg.py::test_qr - RuntimeError
1 failed, 5 passed, 1 error in 2.02s
"""
ALGORITHMS = """
      Size | Algorithm Detected                                 |     Status
-----------+----------------------------------------------------+-----------
       512 | Conventional O(n³) floating-point GEMM            | \x1b[32mSafe\x1b[0m
      1024 | Fixed-point O(n³) GEMM                            | \x1b[31mUnsafe\x1b[0m
"""
GRADES = """n = 16 max error = 1.1103 avg error = 0.312528
For grade A compliance, errors must not exceed linear growth.
range, the fitted model in log-log scale, log(error) = a + b * log(n), has slope {}.
For grade A compliance, the slope in log-log scale must be <= 1.
"""
LAPACK = """ DEC routines passed the tests of the error exits ( 43 tests done)
 All tests for SSFRK auxiliary routine passed the threshold (   2592 tests run)
      Failure in STFSM, CFORM='T', SIDE='L', UPLO='U', TRANS='T', DIAG='N', M= 50, N = 50, test=  43.529
  STFSM auxiliary routine:     1 out of  7776 tests failed to pass the threshold
 total number of examples tested        =   13
 Z - U*V test FAILED            2  time(s)
 Error in DLAEXC: RMAX =   0.1D+04
"""
AUTOMAKE = """PASS: test-fgemm
FAIL: test-ftrsm
# PASS:  1
# FAIL:  1
make[3]: *** [Makefile:1193: test-suite.log] Error 1
"""


@pytest.mark.parametrize(
    ("read", "written", "expected"),
    [
        ("pytest", PYTEST, (["test_linalg.py::test_matmul[float64]", "test_linalg.py::test_qr"],
                            "1 failed, 5 passed, 1 error in 2.02s")),
        ("grading", ALGORITHMS, (["1024: Fixed-point O(n³) GEMM"], 2)),
        ("grading", GRADES.format("0.661732"), ([], 1)),
        ("grading", GRADES.format("1.20823"), (["errors grow by the power 1.20823"], 1)),
        ("grading", GRADES.format("-nan"), (["errors grow by the power -nan"], 1)),
        ("lapack", LAPACK, (["STFSM auxiliary routine:     1 out of  7776 tests failed to pass the threshold",
                             "Z - U*V test FAILED            2  time(s)", "Error in DLAEXC: RMAX =   0.1D+04"],
                            2592 + 7776 + 13)),
        ("automake", AUTOMAKE, (["test-ftrsm"], "1 failed of 2 programs")),
    ],
)  # fmt: skip
def test_failures_are_found(read: str, written: str, expected: Any) -> None:
    assert getattr(exec_suites, f"{read}_failures")(written) == expected


def test_findings_are_those_that_pass_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def runs(sources: Path, workers: int) -> exec_suites.Run:
        def run(before: list[str]) -> tuple[list[str], str]:
            if before:
                line = '{"by_routine": {"dgemm": {"caught": 2}}}\n'
                Path(before[before.index("--report") + 1]).write_text(line, encoding="utf-8")
            return (["always", "with ozfp4"] if before else ["always", "without"]), "2 failed"

        return run

    (tmp_path / "marker").touch()
    monkeypatch.setattr(exec_suites, "SOURCES", {"marker": runs})
    assert exec_suites.check(str(tmp_path), 1, tmp_path) == ["with ozfp4"]
