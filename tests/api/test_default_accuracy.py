"""The accuracy of the process and of scopes: seen by every function, by calls like earlier ones, and by no other thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

A = np.array([[1e200, 1.0, -1e200]])
B = np.array([[1e100], [3.0], [1e100]])  # 3 where the sum is correct, 0 where it is scaled


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    yield
    ozfp4.set_default_accuracy("standard")


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "matmul": lambda **o: ozfp4.matmul(A, B, **o),
    "matmul like before": lambda **o: [ozfp4.matmul(A, B, **o) for _ in range(3)][-1],
    "gemm": lambda **o: ozfp4.gemm(1, A, B, **o),
    "gram": lambda **o: ozfp4.gram(np.array([[1e200], [1e-200]]), left=True, **o),
    "einsum": lambda **o: ozfp4.einsum("ij,jk", A, B, **o),
    "tensordot": lambda **o: ozfp4.tensordot(A, B, 1, **o),
    "prepare": lambda **o: ozfp4.matmul(A, ozfp4.prepare(B, "right", **o)),
    "device": lambda **o: ozfp4.matmul(A, B, device="cpu", workspace_limit=2**22, **o),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("accuracy", ["scaled", "correct", "standard"])
def test_every_function_takes_it(name: str, accuracy: str) -> None:
    function = FUNCTIONS[name]
    expected = function(accuracy=accuracy)
    other = function()
    with ozfp4.default_accuracy(accuracy):
        assert_same_bits(function(), expected)
        with ozfp4.default_accuracy("standard"):
            assert_same_bits(function(), other)
    assert_same_bits(function(), other)
    ozfp4.set_default_accuracy(accuracy)
    assert ozfp4.get_default_accuracy() == accuracy
    assert_same_bits(function(), expected)
    assert_same_bits(function(accuracy="standard"), other)


def test_values_differ() -> None:
    found = []
    for accuracy in ("scaled", "correct"):
        with ozfp4.default_accuracy(accuracy):
            found.append(ozfp4.matmul(A, B).item())
            assert ozfp4.plan_for(A, B).bits == {"scaled": 53, "correct": 76}[accuracy]
            assert ozfp4.matmul(A, B, report=True)[1].accuracy == accuracy
    assert found == [0.0, 3.0]


def test_a_scope_is_of_its_thread_and_the_process_of_all() -> None:
    seen = []

    def look() -> None:
        seen.append((ozfp4.get_default_accuracy(), ozfp4.matmul(A, B).item()))

    def in_thread() -> None:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    with ozfp4.default_accuracy("correct"):
        in_thread()
    ozfp4.set_default_accuracy("scaled")
    in_thread()
    assert seen == [("standard", ozfp4.matmul(A, B, accuracy="standard").item()), ("scaled", 0.0)]


def test_it_is_a_decorator_and_ends_with_an_error() -> None:
    @ozfp4.default_accuracy("correct")
    def product() -> float:
        return float(ozfp4.matmul(A, B).item())

    assert product() == product() == 3.0
    with pytest.raises(ZeroDivisionError), ozfp4.default_accuracy("scaled"):
        _ = 1 / 0
    assert ozfp4.get_default_accuracy() == "standard"


@pytest.mark.parametrize("wrong", ["fp64", None, 3, ""])
def test_unknown_names_are_refused(wrong: Any) -> None:
    for function in (ozfp4.set_default_accuracy, lambda name: ozfp4.default_accuracy(name).__enter__()):
        with pytest.raises(
            ValueError, match=r"^accuracy: .* is unknown; allowed are 'standard', 'correct', 'scaled'"
        ):
            function(wrong)
    assert ozfp4.get_default_accuracy() == "standard"


def test_prepared_operands_integers_and_linalg() -> None:
    x = ozfp4.prepare(B, "right", accuracy="correct")
    n = np.arange(6).reshape(2, 3)
    ozfp4.set_default_accuracy("scaled")
    assert ozfp4.matmul(A, x).item() == 3.0
    assert_same_bits(ozfp4.matmul(n, n.T), n @ n.T)
    assert_same_bits(ozfp4.matmul_mod(n, n.T, 7), n @ n.T % 7)
    lower, upper = ozfp4.enclose(A, B)
    assert (lower.item(), upper.item()) == (3.0, 3.0)
    with ozfp4.emulate(mode="always"):
        assert np.matmul(A, B).item() == 0.0
    a = np.random.default_rng(1).standard_normal((9, 9))
    scaled = ozfp4.linalg.solve(a, a[:, :2])
    assert_same_bits(scaled, ozfp4.linalg.solve(a, a[:, :2], accuracy="scaled"))


def test_operators_of_torch() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.tensor(A, requires_grad=True), torch.tensor(B)
    with ozfp4.default_accuracy("correct"):
        c = ozfp4.matmul(a, b)
        assert c.item() == 3.0
        assert torch.vmap(ozfp4.matmul)(a[None], b[None]).item() == 3.0
    # The gradient has the accuracy of its product, wherever it is asked for.
    (of_a,) = torch.autograd.grad(ozfp4.gemm(1, a, b) * 1.0, a)
    assert_same_bits(of_a, torch.tensor(B.T))
    big, small = torch.tensor(B.T, requires_grad=True), torch.tensor(A.T)
    with ozfp4.default_accuracy("correct"):
        c = ozfp4.matmul(big, torch.cat((small, small), 1))
    g = torch.tensor([[1.0, -1.0]], dtype=torch.float64)
    assert torch.autograd.grad(c, big, g)[0].tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_functions_take_the_one_that_is_there_as_they_run(backend: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.tensor(A), torch.tensor(B)
    compiled = torch.compile(lambda x, y: ozfp4.matmul(x, y) + 0.0, backend=backend, fullgraph=True)
    for accuracy, expected in (("correct", 3.0), ("scaled", 0.0), ("correct", 3.0)):
        with ozfp4.default_accuracy(accuracy):
            assert compiled(a, b).item() == expected
        ozfp4.set_default_accuracy(accuracy)
        assert compiled(a, b).item() == expected
    assert torch.compile(lambda x: ozfp4.matmul(x, b, accuracy="scaled"), backend=backend)(a).item() == 0.0
