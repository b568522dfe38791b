"""The examples in docstrings run."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

MODULES = (
    "api.einsum",
    "api.enclose",
    "api.gemm",
    "api.gram",
    "api.int8_matmul",
    "api.matmul",
    "api.matmul_mod",
    "api.plan",
    "api.prepare",
    "api.tensordot",
    "api.threads",
    "bench.figures.accuracy",
    "dispatch.decision",
    "linalg.definite",
    "linalg.determinants",
    "linalg.householder",
    "linalg.least_squares",
    "linalg.lu",
    "linalg.systems",
    "linalg.triangles",
    "plans.plan",
    "request.operands",
    "support.debug",
    "support.integers",
    "support.logger",
    "support.table",
    "trust.exact_cases",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = import_module(f"ozfp4.{name}")
    tests = [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]
    assert tests
    runner = doctest.DocTestRunner()
    for test in tests:
        if not test.name.endswith(
            "trust.exact_cases"
        ):  # the head shows the way of use, with arrays of the reader
            runner.run(test)
    assert runner.failures == 0
