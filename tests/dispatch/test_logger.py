"""One line of every product on the logger, and the variable that shows it."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits
from support import chosen

A = np.random.default_rng(1).standard_normal((7, 5))
B = np.random.default_rng(2).standard_normal((5, 3))
N = np.arange(15).reshape(5, 3)

PRODUCTS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: ozfp4.matmul(A, B, backend="int8"),
        r"product 7 × 3 × 5 float64 standard: scheme II int8 \(.*\), \d+ products of 57 bits, "
        r"cpu \(.*\): \d+\.\d{3} ms \(asked for\)",
    ),
    (lambda: ozfp4.matmul(A, B), r"product .*: \d+\.\d{3} ms \((so small a product|least products / rate:) .*\)"),
    (
        lambda: chosen.matmul(np.stack([A, A]), B, bits=20, accuracy="scaled"),
        r"product 2 times 7 × 3 × 5 float64 scaled: (direct .*|.* of 20 bits), cpu .*",
    ),
    (lambda: ozfp4.matmul(A.astype("f4"), B.astype("f4")), r"product 7 × 3 × 5 float32 standard: .*"),
    (lambda: ozfp4.gemm(2, A, B), r"update 7 × 3 × 5 float64 standard: .*"),
    (lambda: ozfp4.gram(A), r"product 5 × 5 × 7 float64 standard: .*"),
    (lambda: ozfp4.enclose(A, B), r"product 7 × 3 × 5 float64 correct: .*"),
    (
        lambda: ozfp4.matmul(N.T + 2**62, N),
        r"product 3 × 3 × 5 int64 exact: words of 64 bits, cpu \(.*\): .* ms \(integers are multiplied as they are\)",
    ),
    (
        lambda: ozfp4.matmul(N.T, N, overflow="raise"),
        r"product 3 × 3 × 5 int64 exact: words of 64 bits, .* ms \(the norms .*\)",
    ),
    (lambda: ozfp4.matmul(N.T, N, backend="int8"), r"product 3 × 3 × 5 int64 exact: scheme II int8 \(.*\), \d+ products .*"),
    (lambda: ozfp4.matmul_mod(N.T, N, 7), r"product 3 × 3 × 5 int64 exact: .*"),
    (
        lambda: ozfp4.int8_matmul(N.T.astype("i1"), N.astype("i1")),
        r"product 3 × 3 × 5 int32 exact: scheme INT8 fp4 \(.*\), .* \(int8 products are of FP4 limbs\)",
    ),
    (lambda: ozfp4.matmul(1j * A, 1j * B), r"product 7 × 3 × 5 complex128 standard: .*"),
    (lambda: ozfp4.matmul(1j * A, B), r"product 7 × 3 × 5 complex128 standard: .*"),
    (lambda: ozfp4.matmul(A, 1j * B), r"product 7 × 3 × 5 complex128 standard: .*"),
    (lambda: ozfp4.gemm(2, 1j * A, 1j * B), r"update 7 × 3 × 5 complex128 standard: .*"),
]  # fmt: skip


@pytest.mark.parametrize(("product", "text"), PRODUCTS, ids=[text[:24] for _, text in PRODUCTS])
def test_a_line_of_each_product(
    product: Callable[[], Any], text: str, caplog: pytest.LogCaptureFixture
) -> None:
    quiet = product()
    assert not caplog.messages
    with caplog.at_level(logging.DEBUG, "ozfp4"):
        told = product()
    for x, y in zip(*((r if isinstance(r, tuple) else (r,)) for r in (told, quiet)), strict=True):
        assert_same_bits(x, y)
    assert len(caplog.messages) == 1
    assert re.fullmatch(text, caplog.messages[0]), caplog.messages[0]


@pytest.mark.parametrize("size", [20, 300])
@pytest.mark.parametrize("backend", ["auto", "int8"])
def test_the_line_has_what_ran(size: int, backend: str, caplog: pytest.LogCaptureFixture) -> None:
    x, y = np.random.default_rng(3).standard_normal((2, size, size))
    with caplog.at_level(logging.DEBUG, "ozfp4"):
        _, report = ozfp4.matmul(x, y, backend=backend, report=True)
    ran = str(report).splitlines()[0].removeprefix("ran").strip().partition(" on cpu (")[0]
    ran = ran.replace(", ", " ") if ran.startswith("scheme") else ran
    assert f"standard: {ran}, {report.products} products" in caplog.messages[0]
    assert f" ms ({report.reason}" in caplog.messages[0]


def test_no_line_of_what_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "ozfp4"), pytest.raises(ValueError, match="inner dimensions differ"):
        ozfp4.matmul(A, A)
    assert not caplog.messages


def run(**variables: str) -> subprocess.CompletedProcess[str]:
    code = "import numpy as np, ozfp4; ozfp4.matmul(np.eye(2), np.eye(2)); ozfp4.matmul(np.eye(3), np.eye(3))"
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "PYTHONPATH": ":".join(sys.path), **variables},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_variable_shows_the_lines() -> None:
    done = run(OZFP4_VERBOSE="1")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert [line.partition(" float64")[0] for line in lines] == [
        "ozfp4: product 2 × 2 × 2",
        "ozfp4: product 3 × 3 × 3",
    ]
    assert run(OZFP4_VERBOSE="0").stderr == ""


def test_nonsense_in_the_variable_is_refused() -> None:
    last = run(OZFP4_VERBOSE="loud").stderr.splitlines()[-1]
    assert last == "ValueError: OZFP4_VERBOSE: 'loud' is unknown; allowed are '0', '1'"
