"""The stages, each alone, given what they cannot take."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4 import stages

A = np.random.default_rng(0).standard_normal((3, 4))
X = np.arange(6).reshape(2, 3)
PLAN = ozfp4.plan(3, 5, 4, backend="fp4", accuracy="scaled")
DIGITS = ozfp4.plan(3, 5, 4, scheme="I", accuracy="scaled")
PLANES = stages.encode(X, PLAN)
OUTPUT = stages.multiply(PLANES, PLANES, PLAN)
ZEROS = np.zeros(2, np.int32)
ALL = len(PLAN.moduli)

SCALE = [
    ((A[0],), ValueError, r"^x: 1 dimensions; a matrix has 2$"),
    ((A[None],), ValueError, r"^x: 3 dimensions; a matrix has 2$"),
    ((A.astype(np.int8),), TypeError, r"^x: dtype int8 .*allowed are float64 and float32$"),
    ((np.ma.masked_array(A),), TypeError, r"^x: masked arrays"),
    ((A, "c"), ValueError, r"^operand: 'c' is neither 'a' nor 'b'$"),
    ((A, "a", 999), ValueError, r"^bits: 999 is outside 2\.\.200$"),
    ((A, "a", 201), ValueError, r"^bits: 201 is outside 2\.\.200$"),
    ((A, "b", 1), ValueError, r"^bits: 1 is outside 2\.\.200$"),
    ((A, "a", 2.5), TypeError, r"^bits: 2\.5 is not an integer$"),
]

ENCODE = [
    ((X[0], PLAN), {}, ValueError, r"^integers: 1 dimensions; a matrix has 2$"),
    ((A, PLAN), {}, TypeError, r"^integers: dtype float64 .*allowed are int64 and object$"),
    ((X.astype(np.int32), PLAN), {}, TypeError, r"^integers: dtype int32 .*allowed are int64 and object$"),
    ((X, PLAN, "x"), {}, ValueError, r"^operand: 'x' is neither 'a' nor 'b'$"),
    (
        (X + 2**53, PLAN),
        {},
        ValueError,
        rf"^integers: {2**53 + 5} is outside the plan's range -2\*\*53\.\.2\*\*53$",
    ),
    ((-X - 2**53, PLAN), {}, ValueError, rf"^integers: {-(2**53) - 5} is outside the plan's range -2\*\*53"),
    ((np.array([[-(2**63)]]), PLAN), {}, ValueError, r"^integers: -9223372036854775808"),
    ((X, PLAN), {"moduli": 0}, ValueError, rf"^moduli: 0 is outside 1\.\.{ALL}, the moduli of this plan$"),
    ((X, PLAN), {"moduli": ALL + 1}, ValueError, rf"^moduli: {ALL + 1} is outside 1\.\.{ALL}"),
    ((X, PLAN), {"moduli": 1.0}, TypeError, r"^moduli: 1\.0 is not an integer$"),
    ((X, PLAN), {"moduli": True}, TypeError, r"^moduli: True is not an integer$"),
    ((X, DIGITS), {"moduli": 1}, ValueError, r"^moduli: 1 given, but this plan has no moduli$"),
]

COUNT = len(PLANES)
FP64 = ozfp4.plan(3, 5, 4, backend="fp64", accuracy="scaled")
HALVES = np.full((FP64.planes_a, 2, 3), 0.5)
MULTIPLY = [
    ((PLANES, PLANES[1:], PLAN), ValueError, rf"^planes_b: {COUNT - 1} planes given, the plan uses {COUNT}$"),
    ((PLANES[:0], PLANES, PLAN), ValueError, rf"^planes_a: 0 planes given, the plan uses {COUNT}$"),
    ((PLANES.astype(float), PLANES, PLAN), TypeError, r"^planes_a: dtype float64 .*plane type int8$"),
    ((PLANES, PLANES.view(np.uint8), PLAN), TypeError, r"^planes_b: dtype uint8 .*plane type int8$"),
    (
        (PLANES + 5, PLANES, PLAN),
        ValueError,
        r"^planes_a: the entry -?\d+ is no limb of the plan's alphabet, S = ",
    ),
    ((PLANES, np.full_like(PLANES, -7), PLAN), ValueError, r"^planes_b: the entry -7 is no limb"),
    ((HALVES, HALVES, FP64), ValueError, r"^planes_a: the entry 0\.5 is no limb .*, integers up to 2\^22 "),
    ((HALVES * 11863282 + 2, HALVES, FP64), ValueError, r"^planes_a: the entry 5931643\.0 is no limb"),
    ((HALVES * np.nan, HALVES, FP64), ValueError, r"^planes_a: the entry nan is no limb"),
    ((PLANES[0], PLANES, PLAN), ValueError, r"^planes_a: 2 dimensions; .*3$"),
    ((PLANES, PLANES[0], PLAN), ValueError, r"^planes_b: 2 dimensions; .*3$"),
    ((PLANES, PLANES[..., :2], PLAN), ValueError, r"^planes_b: inner dimension 2 .*planes_a, 3$"),
]

RECONSTRUCT = [
    ((OUTPUT[0], PLAN, ZEROS, ZEROS), {}, ValueError, r"^output: 2 dimensions; .*3$"),
    ((OUTPUT[1:], PLAN, ZEROS, ZEROS), {}, ValueError, rf"^output: {ALL - 1} groups given, .* {ALL}$"),
    ((OUTPUT.astype(int), PLAN, ZEROS, ZEROS), {}, TypeError, r"^output: dtype int64 is not uint8"),
    ((OUTPUT, PLAN, ZEROS[:1], ZEROS), {}, ValueError, r"^exponents_a: shape \(1,\) is not \(2,\)"),
    ((OUTPUT, PLAN, ZEROS, np.zeros((1, 2), np.int32)), {}, ValueError, r"^exponents_b: shape \(1, 2\)"),
    ((OUTPUT, PLAN, ZEROS, ZEROS.astype(int)), {}, TypeError, r"^exponents_b: dtype int64 .*is int32$"),
    ((OUTPUT, PLAN, [0, 0], ZEROS), {}, TypeError, r"^exponents_a: dtype int64 .*allowed is int32$"),
    ((OUTPUT, PLAN, ZEROS, ZEROS), {"dtype": "f2"}, TypeError, r"^dtype: float16 .*float64 and float32$"),
    ((OUTPUT, PLAN, ZEROS, ZEROS), {"moduli": 99}, ValueError, rf"^moduli: 99 is outside 1\.\.{ALL}"),
]


@pytest.mark.parametrize(("args", "error", "pattern"), SCALE, ids=[p for _, _, p in SCALE])
def test_scale(check_refused, args, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, stages.scale, *args)


@pytest.mark.parametrize(("args", "names", "error", "pattern"), ENCODE, ids=[e[3] for e in ENCODE])
def test_encode(check_refused, args, names, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, stages.encode, *args, **names)


@pytest.mark.parametrize(("args", "error", "pattern"), MULTIPLY, ids=[p for _, _, p in MULTIPLY])
def test_multiply(check_refused, args, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, stages.multiply, *args)


@pytest.mark.parametrize(("args", "names", "error", "pattern"), RECONSTRUCT, ids=[r[3] for r in RECONSTRUCT])
def test_reconstruct(check_refused, args, names, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, stages.reconstruct, *args, **names)


def test_integers(check_refused) -> None:
    floats = OUTPUT.astype(float)
    check_refused(TypeError, r"^output: dtype float64 is not uint8", stages.integers, floats, PLAN)
    check_refused(ValueError, r"^output: 2 dimensions; .*3$", stages.integers, OUTPUT[0], PLAN)


def test_what_is_no_plan(check_refused) -> None:
    message = r"^plan: str is not an ozfp4\.Plan$"
    check_refused(TypeError, message, stages.encode, X, "fp4")
    check_refused(TypeError, message, stages.multiply, PLANES, PLANES, "fp4")
    check_refused(TypeError, message, stages.integers, OUTPUT, "fp4")
    check_refused(TypeError, message, stages.reconstruct, OUTPUT, "fp4", ZEROS, ZEROS)
