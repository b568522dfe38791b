"""matmul and int8_matmul: messages name the argument, the value and what is allowed; nothing is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._core import WorkspaceError
from ozfp4._plans.plan import make_int8_plan
from support import chosen, noise

A = np.random.default_rng(0).standard_normal((3, 4))
B = np.random.default_rng(1).standard_normal((4, 5))
SHAPES = [
    ((), (4, 5), r"^a: a 0-d array is not a matrix; at least 1 dimension"),
    ((3, 4), (), r"^b: a 0-d array is not a matrix; at least 1 dimension"),
    ((3, 4), (3, 4), r"^inner dimensions differ: a has shape \(3, 4\), b has shape \(3, 4\): 4 != 3$"),
    ((4,), (5,), r"a has shape \(4,\), b has shape \(5,\): 4 != 5$"),
    ((0,), (5, 2), r"a has shape \(0,\), b has shape \(5, 2\): 0 != 5$"),
    ((2, 3, 4), (3, 4, 5), r"^stacks do not broadcast: a has shape \(2, 3, 4\), b has shape \(3, 4, 5\)$"),
]

FP4 = ozfp4.plan(3, 5, 4, backend="fp4", accuracy="scaled")

NAMES = [
    ({"scheme": "III"}, ValueError, r"^scheme: 'III' is unknown; allowed are 'I', 'II'$"),
    ({"scheme": 2}, ValueError, r"^scheme: 2 is unknown; allowed are 'I', 'II'$"),
    ({"scheme": []}, ValueError, r"^scheme: \[\] is unknown; allowed are 'I', 'II'$"),
    ({"backend": "fp8"}, ValueError, r"^backend: 'fp8' is unknown; .* 'auto', 'fp4', 'int8', 'fp64'$"),
    ({"backend": None}, ValueError, r"^backend: None is unknown; .* 'auto', 'fp4', 'int8', 'fp64'$"),
    ({"backend": {}}, ValueError, r"^backend: \{\} is unknown"),
    ({"bits": 40}, TypeError, r"^matmul\(\) got .* 'bits'; they belong to a plan: plan=ozfp4\.plan_for"),
    ({"family": "paper"}, TypeError, r"^matmul\(\) got .* 'family'; they belong to a plan"),
    ({"plan": 5}, TypeError, r"^plan: int is not an ozfp4\.Plan$"),
    ({"plan": make_int8_plan(6)}, ValueError, r"^plan: an INT8 plan .*ozfp4\.int8_matmul$"),
    ({"plan": FP4, "scheme": "I"}, ValueError, r"^scheme: 'I' contradicts the given plan, .* is 'II'$"),
    ({"plan": FP4, "backend": "int8"}, ValueError, r"^backend: 'int8' contradicts the given .*'fp4'$"),
    ({"workspace_limit": 0}, ValueError, r"^workspace_limit: 0 is outside 1\.\.2\*\*62 - 1 bytes"),
    ({"workspace_limit": -1}, ValueError, r"^workspace_limit: -1 is outside 1\.\.2\*\*62 - 1 bytes"),
    ({"workspace_limit": 2**62}, ValueError, r"^workspace_limit: 4611686018427387904 is outside 1"),
    ({"workspace_limit": 1e9}, TypeError, r"^workspace_limit: 1000000000\.0 is not an integer$"),
    ({"workspace_limit": True}, TypeError, r"^workspace_limit: True is not an integer$"),
    (
        {"workspace_limit": 7},
        WorkspaceError,
        r"^workspace_limit = 7 bytes is too small: .* at least \d+ bytes$",
    ),
    ({"progress": print}, TypeError, r"^matmul\(\) got an unexpected keyword argument 'progress'$"),
]


@pytest.mark.parametrize(("a", "b", "pattern"), SHAPES)
def test_shapes(check_refused, a, b, pattern: str) -> None:
    check_refused(ValueError, pattern, ozfp4.matmul, np.ones(a), np.ones(b))
    check_refused(ValueError, pattern, ozfp4.matmul, np.ones(a), np.ones(b), out=noise((3, 5)))
    check_refused(ValueError, pattern, ozfp4.int8_matmul, np.ones(a, np.int8), np.ones(b, np.int8))


@pytest.mark.parametrize(("names", "error", "pattern"), NAMES, ids=[str(n[0])[:50] for n in NAMES])
def test_names_and_numbers(check_refused, names, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, ozfp4.matmul, A, B, **names)
    check_refused(error, pattern, ozfp4.matmul, A, B, **names, out=noise((3, 5)))


def test_k_beyond_a_plan(check_refused) -> None:
    k = FP4.k_max + 3
    a, b = np.zeros((3, k)), np.zeros((k, 5))
    pattern = rf"^plan: its limit is K <= {FP4.k_max}, the inner dimension is {k}, 3 too long$"
    check_refused(ValueError, pattern, ozfp4.matmul, a, b, plan=FP4, accuracy="scaled")
    check_refused(ValueError, pattern, ozfp4.matmul, a, b, plan=FP4, accuracy="scaled", out=noise((3, 5)))


def test_k_beyond_the_paper(check_refused) -> None:
    pattern = r"^k = 76550 breaks the CRT bound .*'paper' at bits = 53.* admits K <= 76549$"
    a, b = np.zeros((3, 76550)), np.zeros((76550, 5))
    check_refused(
        ValueError, pattern, chosen.matmul, a, b, family="paper", accuracy="scaled", out=noise((3, 5))
    )


I8A, I8B = (np.ones(shape, np.int8) for shape in ((3, 4), (4, 5)))

INT8_OPERANDS = [
    (A, B, r"^a: dtype float64 .*allowed is int8$"),
    (I8A, I8B.view(np.uint8), r"^b: dtype uint8 .*allowed is int8$"),
    (I8A.astype(np.int32), I8B, r"^a: dtype int32 .*allowed is int8$"),
    (I8A > 0, I8B, r"^a: dtype bool .*allowed is int8$"),
    ([[1]], [[2]], r"^a: dtype int64 .*allowed is int8$"),
    (I8A, np.ma.masked_array(I8B), r"^b: masked arrays are not supported"),
]

INT8_NAMES = [
    ({"products": 7}, ValueError, r"^products: 7 is unknown; allowed are 6 and 9$"),
    ({"products": 6.0}, ValueError, r"^products: 6\.0 is unknown; allowed are 6 and 9$"),
    ({"products": "6"}, ValueError, r"^products: '6' is unknown; allowed are 6 and 9$"),
    ({"products": None}, ValueError, r"^products: None is unknown; allowed are 6 and 9$"),
    ({"products": np.array([6, 9])}, ValueError, r"^products: array\(\[6, 9\]\) is unknown"),
    (
        {"products": 9, "plan": make_int8_plan(6)},
        ValueError,
        r"^products: 9 contradicts the given plan, .* are 6$",
    ),
    ({"plan": FP4}, ValueError, r"^plan: scheme 'II' is not that of int8 products; leave out plan$"),
    ({"plan": 6}, TypeError, r"^plan: int is not an ozfp4\.Plan$"),
    ({"overflow": "stop"}, ValueError, r"^overflow: 'stop' is unknown; allowed are 'wrap', 'raise'$"),
    ({"out": noise((3, 5))}, TypeError, r"^out: dtype float64 is not the result's dtype int32$"),
    ({"out": np.zeros((3, 4), np.int32)}, ValueError, r"^out: shape \(3, 4\) is not the result's shape"),
    ({"workspace_limit": -5}, ValueError, r"^workspace_limit: -5 is outside 1\.\."),
    ({"workspace_limit": 0.5}, TypeError, r"^workspace_limit: 0\.5 is not an integer$"),
    ({"workspace_limit": 2}, WorkspaceError, r"^workspace_limit = 2 bytes is too small"),
]


@pytest.mark.parametrize(("a", "b", "pattern"), INT8_OPERANDS)
def test_int8_dtypes(check_refused, a, b, pattern: str) -> None:
    check_refused(TypeError, pattern, ozfp4.int8_matmul, a, b)


@pytest.mark.parametrize(("names", "error", "pattern"), INT8_NAMES)
def test_int8_names_and_numbers(check_refused, names, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, ozfp4.int8_matmul, I8A, I8B, **names)


@pytest.mark.parametrize(
    "options", [{}, {"accuracy": "correct"}, {"accuracy": "scaled", "return_bound": True}], ids=str
)
def test_certificates_end_at_an_inner_dimension(options: dict[str, Any]) -> None:
    k = 2**31 + 1
    out = np.full((1, 1), 7.0)
    with pytest.raises(ValueError, match=rf"^accuracy: .* K <= 2\^31, the inner dimension is {k}"):
        ozfp4.matmul(np.broadcast_to(1.0, (1, k)), np.broadcast_to(1.0, (k, 1)), out=out, **options)
    assert out[0, 0] == 7


# A pair of complex entries counts twice.
COUNTED = rf"^accuracy: .* K <= 2\^31, the inner dimension is {2 * (2**30 + 8)};"


@pytest.mark.parametrize(
    ("options", "pattern"),
    [
        ({}, COUNTED),
        ({"accuracy": "correct"}, COUNTED),
        ({"accuracy": "scaled", "return_bound": True}, COUNTED),
        ({"accuracy": "scaled", "plan": ozfp4.plan(1, 1, 8, backend="int8")}, r"^plan: its limit is K <= "),
    ],
    ids=["standard", "correct", "bound", "plan"],
)
def test_complex_products_are_refused_before_they_are_copied(options: dict[str, Any], pattern: str) -> None:
    k = 2**30 + 8
    a, b, out = np.broadcast_to(1j, (1, k)), np.broadcast_to(1j, (k, 1)), np.full((1, 1), 7j)
    with pytest.raises(ValueError, match=pattern):
        ozfp4.matmul(a, b, out=out, **options)
    assert out[0, 0] == 7j


def test_complex_operands_are_refused_before_they_are_copied() -> None:
    k = 2**30 + 8
    with pytest.raises(ValueError, match=COUNTED):
        ozfp4.enclose(np.broadcast_to(1j, (1, k)), np.broadcast_to(1j, (k, 1)))
    with pytest.raises(ValueError, match=COUNTED):
        ozfp4.prepare(np.broadcast_to(1j, (k, 1)), "right", other="complex")
    with pytest.raises(ValueError, match=COUNTED):
        ozfp4.gemm(2j, np.broadcast_to(1j, (1, k)), np.broadcast_to(1j, (k, 1)))
    for left in (False, True):
        with pytest.raises(ValueError, match=COUNTED):
            ozfp4.gram(np.broadcast_to(1j, (1, k) if left else (k, 1)), left=left)
