"""Progress of products in a scope: which products report, and to which functions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

A = np.random.default_rng(1).standard_normal((40, 40))

FUNCTIONS: dict[str, Callable[[], Any]] = {
    "matmul": lambda: ozfp4.matmul(A, A),
    "gemm": lambda: ozfp4.gemm(2, A, A, 1, A),
    "gram": lambda: ozfp4.gram(A),
    "einsum": lambda: ozfp4.einsum("ij,jk,kl", A, A, A),
    "tensordot": lambda: ozfp4.tensordot(A, A, 1),
    "matmul_mod": lambda: ozfp4.matmul_mod(np.arange(400).reshape(20, 20), np.ones((20, 20), int), 97),
    "enclose": lambda: ozfp4.enclose(A, A)[0],
    "linalg": lambda: ozfp4.linalg.lu_factor(np.tile(A, (6, 6)) + 99 * np.eye(240))[0],
    "device": lambda: ozfp4.matmul(A, A, device="cpu", workspace_limit=2**21),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_reports(name: str) -> None:
    expected = FUNCTIONS[name]()
    done: list[float] = []
    with ozfp4.progress(done.append):
        assert_same_bits(FUNCTIONS[name](), expected)
    assert done[-1] == 1
    assert all(0 < each <= 1 for each in done)
    count = len(done)
    FUNCTIONS[name]()
    assert len(done) == count


def test_operators_of_torch_report() -> None:
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(A).clone().requires_grad_()
    done: list[float] = []
    with ozfp4.progress(done.append):
        y = ozfp4.matmul(x, x)
        count = len(done)
        y.sum().backward()
    assert 0 < count < len(done)


def test_the_innermost_counts() -> None:
    outer: list[float] = []
    inner: list[float] = []
    with ozfp4.progress(outer.append):
        with ozfp4.progress(inner.append):
            ozfp4.matmul(A, A)
        assert inner
        assert not outer
        ozfp4.matmul(A, A)
    assert outer


def test_products_of_the_callback_report_nothing() -> None:
    done: list[float] = []

    def report(fraction: float) -> None:
        done.append(fraction)
        ozfp4.matmul(A, A)

    with ozfp4.progress(report):
        ozfp4.matmul(A, A)
        count = len(done)
        ozfp4.matmul(A, A)
    assert 0 < count < len(done)
    assert done.count(1.0) == 2


def test_a_scope_is_of_its_thread() -> None:
    done: list[float] = []
    with ozfp4.progress(done.append):
        thread = threading.Thread(target=ozfp4.matmul, args=(A, A))
        thread.start()
        thread.join()
    assert not done


def test_a_callback_without_memory_ends_a_product_of_emulate_too() -> None:
    def stop(_: float) -> None:
        raise MemoryError("the callback's")

    n = np.arange(6400).reshape(80, 80)
    with (
        ozfp4.emulate(dtypes="integers"),
        ozfp4.progress(stop),
        pytest.raises(MemoryError, match=r"^the callback's$"),
    ):
        np.matmul(n, n)


@pytest.mark.parametrize("wrong", [5, None, "print"])
def test_refusals(wrong: Any) -> None:
    with pytest.raises(TypeError, match=rf"^callback: {wrong!r} is not callable$"):
        ozfp4.progress(wrong).__enter__()
