"""Arrays that have products of their own, as those with units: refused as operands and results, and NumPy's under emulate."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits
from support import noise

A = np.arange(12.0).reshape(3, 4)
B = np.arange(20.0).reshape(4, 5)
PLAN = ozfp4.plan(3, 3, 4, backend="int8")
PLANES = ozfp4.stages.encode(np.arange(12).reshape(3, 4), PLAN)
OUTPUT = ozfp4.stages.multiply(PLANES, PLANES, PLAN)
ZEROS = np.zeros(3, np.int32)


class WithUfunc(np.ndarray):
    def __array_ufunc__(self, *_: Any, **__: Any) -> str:
        return "its own"


class WithFunction(np.ndarray):
    def __array_function__(self, *_: Any, **__: Any) -> str:
        return "its own"


class WithoutUfunc(np.ndarray):
    __array_ufunc__ = None


class Wrapped:
    """No subclass, but np.asarray would take the array out of it."""

    def __init__(self, held: np.ndarray) -> None:
        self.held = held

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        return self.held

    def __array_function__(self, *_: Any, **__: Any) -> str:
        return "its own"


# By what is refused: the function with an array of such a kind, which `x` makes.
TAKERS: dict[str, Callable[[Any], Any]] = {
    "a of matmul": lambda x: ozfp4.matmul(x(A), B),
    "b of matmul": lambda x: ozfp4.matmul(A, x(B)),
    "out of matmul": lambda x: ozfp4.matmul(A, B, out=x(noise((3, 5)))),
    "a of matmul_mod": lambda x: ozfp4.matmul_mod(x(A.astype(int)), B.astype(int), 7),
    "a of int8_matmul": lambda x: ozfp4.int8_matmul(x(A.astype(np.int8)), B.astype(np.int8)),
    "c of gemm": lambda x: ozfp4.gemm(1, A, B, 1, x(np.ones((3, 5)))),
    "out of gemm": lambda x: ozfp4.gemm(1, A, B, out=x(noise((3, 5)))),
    "a of gram": lambda x: ozfp4.gram(x(A)),
    "out of gram": lambda x: ozfp4.gram(A, out=x(noise((4, 4)))),
    "a of enclose": lambda x: ozfp4.enclose(x(A), B),
    "out of enclose": lambda x: ozfp4.enclose(A, B, out=(noise((3, 5)), x(noise((3, 5))))),
    "x of prepare": lambda x: ozfp4.prepare(x(A), "left"),
    "a of plan_for": lambda x: ozfp4.plan_for(x(A), B),
    "a of tensordot": lambda x: ozfp4.tensordot(x(A), B, 1),
    "out of tensordot": lambda x: ozfp4.tensordot(A, B, 1, out=x(noise((3, 5)))),
    "operands[1] of einsum": lambda x: ozfp4.einsum("ij,jk", A, x(B)),
    "out of einsum": lambda x: ozfp4.einsum("ij,jk", A, B, out=x(noise((3, 5)))),
    "a of tiles": lambda x: ozfp4.matmul(x(A), B, device="cpu", workspace_limit=2**30),
    "out of tiles": lambda x: ozfp4.matmul(A, B, out=x(noise((3, 5))), device="cpu", workspace_limit=2**30),
    "a of cholesky": lambda x: ozfp4.linalg.cholesky(x(np.eye(3))),
    "b of solve": lambda x: ozfp4.linalg.solve(np.eye(3), x(A)),
    "x of scale": lambda x: ozfp4.stages.scale(x(A), "a"),
    "integers of encode": lambda x: ozfp4.stages.encode(x(np.ones((3, 4), int)), PLAN),
    "planes_b of multiply": lambda x: ozfp4.stages.multiply(PLANES, x(PLANES), PLAN),
    "output of reconstruct": lambda x: ozfp4.stages.reconstruct(x(OUTPUT), PLAN, ZEROS, ZEROS),
    "exponents_a of reconstruct": lambda x: ozfp4.stages.reconstruct(OUTPUT, PLAN, x(ZEROS), ZEROS),
}


@pytest.mark.parametrize("kind", [WithUfunc, WithFunction, WithoutUfunc, Wrapped])
@pytest.mark.parametrize("taker", TAKERS)
def test_refused(taker: str, kind: Any) -> None:
    def make(x: np.ndarray) -> Any:
        return x.view(kind) if issubclass(kind, np.ndarray) else kind(x)

    name = re.escape(taker.partition(" ")[0])
    words = rf"{kind.__name__} has products of its own"
    if kind is Wrapped and name == "out":
        words = "Wrapped is neither a NumPy array"
    with pytest.raises(TypeError, match=rf"^{name}(\[\d\])?: {words}"):
        TAKERS[taker](make)


MASKED = np.ma.masked_array(A[0], A[0] > 1)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([A[0].view(WithUfunc)] * 3, r"\[0\]: WithUfunc has products of its own"),
        ((A[0], Wrapped(A[1])), r"\[1\]: Wrapped has products of its own"),
        ([A[0], MASKED], r"\[1\]: masked arrays .* pass \w+\[1\].filled"),
        ([[A[0], [1, 2, 3, 4]], (A[0], MASKED)], r"\[1\]\[1\]: masked arrays"),
        ([[1.0, 2.0, 3.0, np.ma.masked]], r"\[0\]\[3\]: masked arrays"),
    ],
)
def test_lists_that_hold_such_arrays_are_refused(x: Any, words: str) -> None:
    for name, call in (("a", lambda: ozfp4.matmul(x, B)), ("b", lambda: ozfp4.linalg.solve(np.eye(3), x))):
        with pytest.raises(TypeError, match=f"^{name}{words}"):
            call()


def test_lists_of_arrays_are_arrays() -> None:
    expected = ozfp4.matmul(A, B)
    for x in (list(A), tuple(A.tolist()), [list(A[0]), A[1], tuple(A[2])], [np.array(A[0]), *A[1:]]):
        assert_same_bits(ozfp4.matmul(x, B), expected)


def test_a_refused_result_is_as_before() -> None:
    out = noise((3, 5)).view(WithUfunc)
    before = out.tobytes()
    with pytest.raises(TypeError, match=r"^out: WithUfunc .*; np\.asarray\(out\) has its numbers alone$"):
        ozfp4.matmul(A, B, out=out)
    assert out.tobytes() == before


@pytest.mark.parametrize("mode", ["always", "fastest"])
@pytest.mark.parametrize("kind", [WithUfunc, WithFunction])
def test_numpy_makes_their_products_under_emulate(kind: Any, mode: str) -> None:
    a, b, out = A.view(kind), B.view(kind), noise((3, 5)).view(kind)

    def products() -> list[Any]:
        return [
            np.matmul(a, b), np.matmul(A, b), np.dot(a, b), np.einsum("ij,jk", a, b), np.tensordot(a, b, 1),
            np.matmul(A, B, out=out),
        ]  # fmt: skip

    expected = [str(x) for x in products()]
    assert "its own" in expected
    with ozfp4.emulate(mode=mode) as scope:
        assert [str(x) for x in products()] == expected
    assert scope.summary.caught == 0


class Plain(np.ndarray):
    """A subclass that inherits all products."""


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", [Plain, np.matrix, np.recarray])
def test_other_subclasses_are_arrays(kind: Any) -> None:
    expected, out = ozfp4.matmul(A, B), np.zeros((3, 5)).view(kind)
    assert_same_bits(ozfp4.matmul(A.view(kind), B.view(kind)), expected)
    assert ozfp4.matmul(A, B, out=out) is out
    assert_same_bits(np.asarray(out), expected)


def test_files_mapped_to_memory_are_arrays(tmp_path: Path) -> None:
    a = np.memmap(tmp_path / "a", A.dtype, "w+", shape=A.shape)
    out = np.memmap(tmp_path / "out", A.dtype, "w+", shape=(3, 5))
    a[...] = A
    ozfp4.matmul(a, B, out=out)
    assert_same_bits(np.asarray(out), ozfp4.matmul(A, B))
