"""``ozfp4.emulate(mode="fastest")``: what it takes, by the thresholds of a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._emulation import calls, choice, summary
from ozfp4._emulation.choice import check_options
from ozfp4._emulation.summary import Problem

torch = pytest.importorskip("torch")

USUAL = {
    "scheme": "II", "backend": "auto", "workspace_limit": None, "accuracy": None,
    "rounding": "nearest",
}  # fmt: skip
TYPES = ("float64", "complex128", "integers")


def options(**keywords: Any) -> Any:
    return check_options(TYPES, 0, "fastest", False, {**USUAL, **keywords})


OPTIONS = options()


@pytest.fixture
def on_h200(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with an H200 as cuda:0."""
    monkeypatch.setattr(choice.extension, "why_unavailable", lambda device: "")
    monkeypatch.setattr(choice, "_device", lambda device: ("", 0) if device == "cpu" else ("NVIDIA H200", 90))


def on_gpu(m: int, n: int, k: int, dtype: str = "float64", stack: int = 1) -> Problem:
    return Problem("torch", "cuda:0", dtype, stack, m, n, k)


def on_cpu(n: int, dtype: str = "float64", library: str = "numpy") -> Problem:
    return Problem(library, "cpu", dtype, 1, n, n, n)


def test_the_least_extent_decides(on_h200: None) -> None:
    assert choice.decide(on_gpu(3072, 4096, 9999), OPTIONS) == (True, "every extent is 3072 or more")
    for problem in (on_gpu(3071, 4096, 9999), on_gpu(16384, 1, 16384), on_gpu(64, 64, 64, stack=4096)):
        text = "an extent below 3072, from where float64 gains on NVIDIA H200"
        assert choice.decide(problem, OPTIONS) == (False, text)
    assert choice.decide(on_gpu(2048, 2048, 2048, "complex128"), OPTIONS).take
    correct = options(accuracy="correct")
    assert not choice.decide(on_gpu(6143, 8192, 8192), correct).take
    assert choice.decide(on_gpu(6144, 8192, 8192), correct).take


def test_thresholds_of_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def threshold(*arguments: Any) -> int | None:
        asked.append(arguments)
        return 2048 if arguments[1] == "float64" else None

    monkeypatch.setattr(choice._core, "threshold", threshold)
    for library in ("numpy", "torch"):
        assert choice.decide(on_cpu(2048, library=library), OPTIONS).take
        assert not choice.decide(on_cpu(2047, library=library), OPTIONS).take
        left = choice.decide(on_cpu(9999, "complex128", library), OPTIONS)
        assert left == (False, "no product of complex128 is known to gain on this CPU")
    assert set(asked) == {("", dtype, 0, False) for dtype in ("float64", "complex128")}


def test_thresholds_of_a_calibration_are_taken(cache: Path) -> None:
    cache.mkdir()
    (cache / "calibration").write_text(f"{_core.cpu_name()}\tfloat64\t100\n")
    ozfp4.read_environment()
    a = np.ones((100, 100))
    with ozfp4.emulate() as scope:
        np.matmul(a, a), np.matmul(a[1:], a)
        torch.from_numpy(a) @ torch.from_numpy(a)
    assert (scope.summary.caught, scope.summary.left) == (2, 1)


@pytest.mark.parametrize("keywords", [{"scheme": "I"}, {"backend": "fp4"}])
def test_other_products_than_those_of_the_thresholds_are_left(keywords: Any, on_h200: None) -> None:
    decision = choice.decide(on_gpu(8192, 8192, 8192), options(**keywords))
    name = next(iter(keywords))
    assert decision == (False, f"no threshold is known for {name} of the caller's own")


def test_reasons_beside_thresholds(on_h200: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert choice.decide(on_gpu(2, 2, 2, "int64"), OPTIONS) == (
        True,
        "torch has no product of integers on a GPU",
    )
    assert choice.decide(on_gpu(0, 2, 2), OPTIONS).reason == "nothing to multiply"
    assert choice.decide(on_gpu(4096, 4096, 4096, "float32"), OPTIONS).reason == "float32 is not asked for"
    monkeypatch.setattr(choice.extension, "why_unavailable", lambda device: "no kernel here")
    assert choice.decide(on_gpu(4096, 4096, 4096), OPTIONS) == (False, "no kernel here")


def test_integers_of_a_cpu() -> None:
    n = np.arange(10000).reshape(100, 100)
    t = torch.from_numpy(n)
    with ozfp4.emulate(dtypes=["int64"]) as scope:
        assert (np.matmul(n, n) == n @ n).all()
        torch.mm(t, t)
        np.matmul(n[:63], n)
    assert {(row.operation, row.taken, row.reason) for row in scope.summary.rows} == {
        ("np.matmul", True, "every extent is 64 or more"),
        ("mm", True, "every extent is 64 or more"),
        ("np.matmul", False, "an extent below 64, from where int64 gains on a CPU"),
    }


def test_integers_of_numpy_without_room_are_numpys() -> None:
    n = np.arange(6400).reshape(80, 80)
    with ozfp4.emulate(dtypes="int64", workspace_limit=1) as scope:
        assert (np.matmul(n, n) == n @ n).all()
    (row,) = scope.summary.rows
    assert (row.taken, row.reason) == (False, "ozfp4 needs more than workspace_limit")


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_scopes_of_ever_new_shapes_are_bounded(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_KEPT", 5)
    monkeypatch.setattr(summary, "MOST_LINES", 8)
    with ozfp4.emulate(mode=mode, min_size=2**40) as scope:
        for _ in range(2):
            for m in range(1, 31):
                a = np.ones((m, 3))
                np.matmul(a.T, a)
                t = torch.from_numpy(a)
                t.mT @ t
        assert len(scope._record.left) <= 5
    rows = scope.summary.rows
    assert scope.summary.left == 120
    assert len(rows) <= 10
    names = {row.operation for row in rows if row.problem.extents == "others"}
    assert names == {"np.matmul", "mm" if mode == "always" else "matmul"}
    assert "others" in str(scope.summary)


@pytest.fixture
def decided(monkeypatch: pytest.MonkeyPatch) -> list[Problem]:
    """The problems that are decided from here on."""
    found: list[Problem] = []
    decide = choice.decide

    def noted(problem: Problem, options: Any, **named: Any) -> Any:
        found.append(problem)
        return decide(problem, options, **named)

    monkeypatch.setattr(calls, "decide", noted)
    return found


def test_decisions_are_made_once_a_shape(decided: list[Problem]) -> None:
    a = torch.ones(20, 30, dtype=torch.float64)
    scope = ozfp4.emulate()
    for _ in range(3):  # and kept from one entry to the next
        with scope:
            a @ a.mT, np.matmul(a.numpy(), a.numpy().T)
    with scope:
        torch.mm(a.mT, a)
    assert len(decided) == 3
    assert scope.summary.left == 7


def test_gradients_have_the_least_extent_of_their_product(on_h200: None) -> None:
    """So that a product that gains has gradients that do."""
    for dtype in ("float64", "complex128"):
        for m, n, k in ((1024, 4096, 8192), (4096, 4096, 8192)):
            found = {
                choice.decide(on_gpu(*extents, dtype), OPTIONS)
                for extents in ((m, n, k), (m, k, n), (k, n, m))
            }
            assert len(found) == 1
