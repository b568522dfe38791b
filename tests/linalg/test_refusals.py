"""Refusals of ozfp4.linalg and their messages; which modules it imports, and when."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import ozfp4
from ozfp4 import linalg

A = np.eye(3)
B = np.ones((3, 2))
LU = linalg.lu_factor(A)
ALONE = [linalg.cholesky, linalg.lu_factor, linalg.qr, linalg.inv]
SYSTEMS = [linalg.solve, linalg.lstsq, linalg.solve_triangular]
WRONG = [
    (
        TypeError,
        "a: dtype float16 is not supported.*; allowed are float64, float32, complex128",
        A.astype(np.float16),
    ),
    (TypeError, "a: masked arrays are not supported", np.ma.masked_array(A)),
    (ValueError, r"a: a matrix or a stack of them is needed; its shape is \(3,\)", A[0]),
    (ValueError, "a: holds NaN or infinity; check_finite=False lets them pass", np.where(A > 0, np.nan, 0)),
    (ValueError, "a: holds NaN or infinity", np.where(A > 0, -np.inf, 0)),
    (ValueError, "a: holds NaN or infinity", A * complex(1, np.nan)),
]


@pytest.mark.parametrize("function", ALONE + SYSTEMS)
@pytest.mark.parametrize(("error", "message", "a"), WRONG)
def test_matrices(error, message, a, function, check_refused):
    check_refused(error, message, function, a, *([] if function in ALONE else [B]))


@pytest.mark.parametrize("function", [linalg.cholesky, linalg.inv, linalg.solve, linalg.solve_triangular])
def test_square_matrices(function, check_refused):
    rest = [B] if function in SYSTEMS else []
    check_refused(ValueError, r"a: a square matrix is needed; its shape is \(3, 2\)", function, B, *rest)


@pytest.mark.parametrize("function", [*SYSTEMS, lambda a, b, **names: linalg.lu_solve(LU, b, **names)])
def test_right_sides(function, check_refused):
    check_refused(
        ValueError, r"b: 2 rows do not fit \(3, 3\), the shape of a; 3 are needed", function, A, B[:2]
    )
    check_refused(ValueError, r"b: 4 rows do not fit \(3, 3\)", function, A, np.ones(4))
    check_refused(ValueError, "b: a vector, a matrix or a stack of matrices is needed", function, A, 1.0)
    check_refused(TypeError, "b: dtype float16 is not supported", function, A, B.astype(np.float16))
    check_refused(ValueError, "b: holds NaN or infinity", function, A, B * np.inf)
    check_refused(ValueError, "accuracy: 'fp32' is unknown", function, A, B, accuracy="fp32")


def test_stacks_that_do_not_broadcast(check_refused):
    a, b = np.stack([A] * 2), np.stack([B] * 3)
    for function in SYSTEMS:
        message = r"b: shape \(3, 3, 2\) does not broadcast with \(2, 3, 3\), the shape of a"
        check_refused(ValueError, message, function, a, b)


def test_names(check_refused):
    check_refused(ValueError, "mode: 'full' is unknown; allowed are 'reduced'", linalg.qr, A, mode="full")
    check_refused(ValueError, "assume_a: 'sym' is unknown; allowed", linalg.solve, A, B, assume_a="sym")
    for name in (["gen"], None, {}):
        check_refused(
            ValueError, "assume_a: .* is unknown; allowed are 'gen'", linalg.solve, A, B, assume_a=name
        )
    for trans in ("H", 3, True, 1.0, None):
        check_refused(ValueError, f"trans: {trans!r} is unknown", linalg.solve_triangular, A, B, trans=trans)
        check_refused(ValueError, f"trans: {trans!r} is unknown", linalg.lu_solve, LU, B, trans=trans)
    for name in ("refine", "report"):
        check_refused(TypeError, f"{name}: 1 is neither True nor False", linalg.solve, A, B, **{name: 1})
    check_refused(TypeError, "refine: 'yes' is neither", linalg.lstsq, A, B, refine="yes")
    check_refused(TypeError, "refine: None is neither", linalg.inv, A, refine=None)


def test_factors(check_refused):
    lu, piv = LU
    check_refused(TypeError, r"lu_and_piv: a pair \(lu, piv\) is needed", linalg.lu_solve, lu, B)
    check_refused(TypeError, "lu_and_piv: a pair", linalg.lu_solve, (lu, piv, 1), B)
    check_refused(TypeError, "piv: dtype float64 holds no integers", linalg.lu_solve, (lu, piv * 1.0), B)
    check_refused(ValueError, r"piv: shape \(2,\) does not fit lu; \(3,\)", linalg.lu_solve, (lu, piv[:2]), B)
    check_refused(ValueError, r"piv: an index is outside 0\.\.2", linalg.lu_solve, (lu, piv + 1), B)
    check_refused(ValueError, r"piv: an index is outside 0\.\.2", linalg.lu_solve, (lu, piv - 1), B)
    check_refused(
        TypeError, "piv: dtype float64 holds no integers", linalg.lu_solve, (lu, [0.0, 1.0, 2.0]), B
    )
    check_refused(TypeError, r"piv: \[\[0\], \[1, 2\]\] is no array", linalg.lu_solve, (lu, [[0], [1, 2]]), B)
    check_refused(TypeError, "piv: masked arrays", linalg.lu_solve, (lu, np.ma.masked_array(piv)), B)
    np.testing.assert_array_equal(linalg.lu_solve((lu, piv.tolist()), B), B)
    singular = linalg.lu_factor(np.ones((3, 3)))
    message = "a: the pivot 1, counted from 0, rounds to zero"
    check_refused(np.linalg.LinAlgError, message, linalg.lu_solve, singular, B)
    message = "a: singular matrix: entry 2 of the diagonal, counted from 0, is zero"
    check_refused(np.linalg.LinAlgError, message, linalg.solve_triangular, np.diag([1.0, 2, 0]), B)
    unit = linalg.solve_triangular(np.diag([1.0, 2, 0]), B, unit_diagonal=True)
    np.testing.assert_array_equal(unit, B)


def test_tensors(check_refused):
    torch = pytest.importorskip("torch")
    a, b = torch.from_numpy(A), torch.from_numpy(B)
    check_refused(TypeError, "a is a torch tensor, b is a NumPy array", linalg.solve, a, B)
    check_refused(TypeError, "piv: NumPy arrays and torch tensors", linalg.lu_solve, (a, LU[1]), b)
    check_refused(TypeError, r"a: dtype torch\.float16 is not supported.*; allowed", linalg.inv, a.half())
    check_refused(RuntimeError, "a: the tensor requires grad", linalg.inv, a.clone().requires_grad_())
    check_refused(RuntimeError, "a: device meta has no kernel in this build", linalg.inv, a.to("meta"))
    check_refused(RuntimeError, "b: device cpu differs|a: device meta", linalg.solve, a.to("meta"), b)
    check_refused(ValueError, "a: holds NaN or infinity", linalg.inv, a / 0)
    pair = linalg.lu_factor(a)
    check_refused(ValueError, r"piv: an index is outside 1\.\.3", linalg.lu_solve, (pair[0], pair[1] - 1), b)
    for wrong in (pair[1].double().requires_grad_(False), pair[1].bfloat16()):
        check_refused(
            TypeError, r"piv: dtype (float64|torch\.bfloat16)", linalg.lu_solve, (pair[0], wrong), b
        )
    check_refused(
        torch.linalg.LinAlgError, "the pivot 1", linalg.lu_solve, linalg.lu_factor(torch.ones(2, 2)), b[:2]
    )


def test_not_finite_by_leave():
    a = A.copy()
    a[2, 0] = np.nan
    x = linalg.solve_triangular(a, B, lower=True, check_finite=False)
    assert np.isnan(x[2]).all()
    np.testing.assert_array_equal(x[:2], B[:2])


def test_it_is_there_and_imports_neither_scipy_nor_torch():
    assert ozfp4.linalg is linalg
    assert "linalg" in ozfp4.__all__
    code = "import sys, ozfp4; ozfp4.linalg.solve; print(sorted({'scipy', 'torch'} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"
