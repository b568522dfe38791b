"""Making plans and encoding with them."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4._plans.plan import make_int8_plan

EXTENTS = [
    ((-1, 1, 1), ValueError, r"^m: -1 is outside 0\.\.2\*\*63 - 1$"),
    ((1, -2, 1), ValueError, r"^n: -2 is outside 0\.\.2\*\*63 - 1$"),
    ((1, 1, -3), ValueError, r"^k: -3 is outside 0\.\.2\*\*63 - 1$"),
    ((1.0, 1, 1), TypeError, r"^m: 1\.0 is not an integer$"),
    ((1, "1", 1), TypeError, r"^n: '1' is not an integer$"),
    ((1, 1, None), TypeError, r"^k: None is not an integer$"),
    ((1, 1, True), TypeError, r"^k: True is not an integer$"),
    ((1, 1, 2**63), ValueError, r"^k: 9223372036854775808 "),
    ((1, 1, 10**30), ValueError, r"^k: 10{30} "),
]

NAMES = [
    ({"bits": 201, "accuracy": "scaled"}, ValueError, r"^bits: 201 is outside 2\.\.200$"),
    ({"bits": 1, "accuracy": "scaled"}, ValueError, r"^bits: 1 is outside 2\.\.200$"),
    ({"bits": 5.0, "accuracy": "scaled"}, TypeError, r"^bits: 5\.0 is not an integer$"),
    (
        {"accuracy": "exact"},
        ValueError,
        r"^accuracy: 'exact' is unknown; allowed are 'standard', 'correct', 'scaled'$",
    ),
    (
        {"accuracy": "standard", "bits": 60},
        ValueError,
        r"^bits: 60 is for .* accuracy='scaled'; with accuracy='standard'",
    ),
    ({"scheme": "INT8"}, ValueError, r"^scheme: 'INT8' is unknown; allowed are 'I', 'II'$"),
    ({"backend": "cpu"}, ValueError, r"^backend: 'cpu' is unknown; .*'auto', 'fp4', 'int8', 'fp64'$"),
    (
        {"family": "Paper", "accuracy": "scaled"},
        ValueError,
        r"^family: 'Paper' is unknown; .*'least', 'paper', 'paper-karatsuba'$",
    ),
    (
        {"family": "paper", "accuracy": "scaled", "backend": "fp64"},
        ValueError,
        r"^family: 'paper' exists for the fp4 alphabet",
    ),
    (
        {"family": "paper-karatsuba", "accuracy": "scaled", "scheme": "I"},
        ValueError,
        r"^family: 'paper-karatsuba' does not exist",
    ),
]

FP4, INT8 = ozfp4.plan(1, 1, 1, backend="fp4", accuracy="scaled"), make_int8_plan(6)

INTEGERS = [
    (
        FP4,
        [0, 2**53 + 1],
        ValueError,
        r"^x: 9007199254740993 is outside the plan's range -2\*\*53\.\.2\*\*53$",
    ),
    (FP4, [-(2**53) - 1], ValueError, r"^x: -9007199254740993 is outside"),
    (
        ozfp4.plan(1, 1, 1, bits=2, accuracy="scaled"),
        [[5]],
        ValueError,
        r"^x: 5 is outside the plan's range -2\*\*2\.\.2\*\*2$",
    ),
    (INT8, [128], ValueError, r"^x: 128 is outside"),
    (INT8, [-129], ValueError, r"^x: -129 is outside"),
    (FP4, [1.0], TypeError, r"^x: dtype float64 is not a signed integer type"),
    (FP4, np.ones(1, np.uint64), TypeError, r"^x: dtype uint64 is not a signed integer type"),
    (FP4, np.ones(1, ">u8"), TypeError, r"^x: dtype >u8 is not a signed integer type"),
    (FP4, [True], TypeError, r"^x: dtype bool is not a signed integer type"),
    (
        FP4,
        [2**70],
        ValueError,
        r"^x: 1180591620717411303424 is outside the plan's range -2\*\*53\.\.2\*\*53$",
    ),
    (FP4, [-(2**700)], ValueError, r"^x: -\d{211} is outside the plan's range -2\*\*53\.\.2\*\*53$"),
    (FP4, [2**70, 1.0], TypeError, r"^x: float among the entries, which are not all integers$"),
    (
        FP4,
        np.array([2**70, 1.5], object),
        TypeError,
        r"^x: float among the entries, which are not all integers$",
    ),
    (
        FP4,
        np.array([2**70, True], object),
        TypeError,
        r"^x: bool among the entries, which are not all integers$",
    ),
]


@pytest.mark.parametrize(("extents", "error", "pattern"), EXTENTS, ids=[str(e[0]) for e in EXTENTS])
def test_extents(check_refused, extents, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, ozfp4.plan, *extents)


@pytest.mark.parametrize(("names", "error", "pattern"), NAMES, ids=[str(n[0]) for n in NAMES])
def test_names(check_refused, names, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, ozfp4.plan, 1, 1, 1, **names)


def test_k_that_no_plan_serves(check_refused) -> None:
    crt = r"^k = 10{18} breaks the CRT bound .*bits = 200: P has \d+ bits and admits K <= \d+$"
    check_refused(ValueError, crt, ozfp4.plan, 1, 1, 10**18, backend="fp4", bits=200, accuracy="scaled")
    digits = r"^k = 2199023255552 breaks the digit group bound of scheme I, K <= \d+$"
    check_refused(ValueError, digits, ozfp4.plan, 1, 1, 2**41, scheme="I")


@pytest.mark.parametrize(("plan", "x", "error", "pattern"), INTEGERS)
def test_integers(check_refused, plan: ozfp4.Plan, x, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, plan.encode, x)


@pytest.mark.parametrize("operand", ["c", "", "A", None, 0])
def test_operand(check_refused, operand) -> None:
    check_refused(ValueError, r"^operand: .* is neither 'a' nor 'b'$", FP4.encode, [1], operand=operand)
