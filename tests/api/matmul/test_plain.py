"""Plain products of NumPy arrays, which the core makes at once, beside those of which Python looks at everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4.testing import assert_same_bits
from support import chosen

rng = np.random.default_rng(3)
A, B = rng.standard_normal((2, 9, 9)) / 3
OPERANDS = {
    "square": (A, B),
    "views": (A.T, B[:, ::-1]),
    "float32": (A.astype(np.float32), B.astype(np.float32)),
    "mixed": (A.astype(np.float32), B),
    "complex": (A + 1j * B, B - 2j),
    "complex by real": ((A + 1j * B).astype(np.complex64), B),
    "real by complex": (A[:, ::2].T, (A + 1j * B)[:, 3:]),
    "matrix by vector": (A, B[2]),
    "vector by matrix": (A[2], B + 1j),
    "stacks": (rng.standard_normal((2, 1, 3, 4)), rng.standard_normal((5, 4, 2))),
    "a stack by one": (rng.standard_normal((6, 3, 4))[::-1], rng.standard_normal((4, 7))),
    "empty": (np.ones((0, 3)), np.ones((3, 2))),
    "no terms": (np.ones((2, 0)), np.ones((0, 3))),
    "no matrices": (np.ones((0, 2, 3)), np.ones((3, 2)) + 1j),
}


def is_plain(a: Any, b: Any, **asked: Any) -> bool:
    return _core.multiply_plain(a, b, "standard", asked) is not NotImplemented


@pytest.mark.parametrize("name", OPERANDS)
def test_the_same_bits(name: str) -> None:
    a, b = OPERANDS[name]
    ozfp4.matmul(A, B, report=True)  # the first product of a process is never plain
    for asked in (
        {},
        {"accuracy": "correct", "rounding": "up"},
        {"accuracy": "scaled", "scheme": "I"},
        {"backend": "fp64", "workspace_limit": 10**6},
    ):
        assert is_plain(a, b, **asked)
        found = ozfp4.matmul(a, b, **asked)
        expected, report = ozfp4.matmul(a, b, report=True, **asked)
        assert_same_bits(found, expected)
        assert report.accuracy == asked.get("accuracy", "standard")


def test_what_python_looks_at() -> None:
    ozfp4.matmul(A, B, report=True)
    for a, b in (
        (A, B[:4]),
        (A.astype(">f8"), B),
        (np.arange(9).reshape(3, 3), A[:3]),
        (A[0], B[0]),
        (np.float64(1), B),
        (np.ones((2, 3, 3)), np.ones((4, 3, 3))),
        (np.ma.array(A), B),
    ):
        assert not is_plain(a, b)
    for asked in (
        {"rounding": "up"},
        {"accuracy": "exact"},
        {"workspace_limit": 0},
        {"workspace_limit": True},
        {"bits": 53},
        {"report": False},
        {"plan": None},
        {"unknown": 1},
    ):
        assert not is_plain(A, B, **asked)
    assert_same_bits(ozfp4.matmul(A.astype(">f8"), B), ozfp4.matmul(A, B))
    for wrong in (20.0, np.float64(20)):
        with pytest.raises(TypeError, match="bits"):
            chosen.matmul(A, B, bits=wrong, accuracy="scaled")
