"""``ozfp4.emulate(mode="fastest")``: what it takes, by times that are given here, by the model of cost, and by those measured."""

from __future__ import annotations

import itertools
import json
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.cost.peaks import cpu_peaks, gpu_peaks
from ozfp4.cost.rates import DEVICES
from ozfp4.emulation import choice, entered, measured, summary
from ozfp4.emulation.options import check_options
from ozfp4.emulation.problem import Problem

torch = pytest.importorskip("torch")

USUAL = {
    "scheme": "II", "backend": "auto", "workspace_limit": None, "accuracy": None,
    "rounding": "nearest",
}  # fmt: skip
OPTIONS = check_options(("float64", "complex128", "integers"), 0, "fastest", False, USUAL)
AMX = cpu_peaks("a CPU", 16, "amx")
H200 = gpu_peaks(next(rates for rates in DEVICES if rates.name == "H200"))
Times = dict[str, float]


@pytest.fixture
def on_h200(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Problem]]:
    """A machine whose cuda:0 is an H200, native takes 1 ms and ours 0.5 for all that is measured, of which there is a list."""
    asked: list[Problem] = []

    def times(problem: Problem, options: Any) -> tuple[float, float]:
        asked.append(problem)
        return 1e-3, 0.5e-3

    monkeypatch.setattr(choice.extension, "why_unavailable", lambda device: "")
    for module in (choice, measured):
        monkeypatch.setattr(module, "this_gpu", lambda index: H200)
    monkeypatch.setattr(choice.measured, "times", times)
    measured._gpu_name.cache_clear()
    yield asked
    measured._gpu_name.cache_clear()


@pytest.fixture
def nothing_known(cache: Path) -> Iterator[Path]:
    measured.forget()
    yield cache
    measured.forget()


def on_gpu(
    m: int, n: int, k: int, dtype: str = "float64", stack: int = 1, is_update: bool = False
) -> Problem:
    return Problem("torch", "cuda:0", dtype, stack, m, n, k, is_update)


# ---- What a CPU and a GPU take


def test_a_cpu_keeps_its_own_floating_point_products() -> None:
    a = np.ones((300, 300))
    with ozfp4.emulate() as scope:
        np.matmul(a, a)
        torch.from_numpy(a) @ torch.from_numpy(a)
    assert (scope.summary.caught, scope.summary.left) == (0, 2)
    assert {row.reason.partition(":")[0] for row in scope.summary.rows} == {"by the model"}


def test_large_products_are_measured_where_a_cpu_has_amx(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Problem] = []

    def times(problem: Problem, options: Any) -> tuple[float, float]:
        asked.append(problem)
        return 1e-3, 0.5e-3

    monkeypatch.setattr(choice.measured, "times", times)
    for peaks, take in ((AMX, True), (cpu_peaks("a CPU", 16, "avx512_vnni"), False)):
        monkeypatch.setattr(choice, "this_cpu", lambda peaks=peaks: peaks)
        monkeypatch.setattr(measured, "this_cpu", lambda peaks=peaks: peaks)
        for library in ("numpy", "torch"):
            large = Problem(library, "cpu", "float64", 1, 4096, 4096, 4096)
            assert choice.decide(large, OPTIONS).take is take
            assert not choice.decide(large._replace(m=64, n=64, k=64), OPTIONS).take
    assert {(like.m, like.n, like.k) for like in asked} == {(2048, 2048, 3072)}


def test_floating_point_products_are_measured_on_a_cpu(nothing_known: Path) -> None:
    for library, dtype in (("numpy", "float64"), ("torch", "complex64")):
        measured.forget()
        native, ours = measured.times(Problem(library, "cpu", dtype, 1, 16, 8, 4), OPTIONS)  # type: ignore[misc]
        assert min(native, ours) > 0


def test_measured_times_decide(on_h200: list[Problem], monkeypatch: pytest.MonkeyPatch) -> None:
    large = on_gpu(5000, 4097, 3000)
    assert choice.decide(large, OPTIONS) == (
        True,
        "measured at 4096 × 4096 × 2048: 0.5 ms, native 1 ms",
        True,
    )
    assert on_h200 == [on_gpu(4096, 4096, 2048)]
    for ours, take in ((1.1e-3, False), (0.92e-3, False), (0.9e-3, True)):
        monkeypatch.setattr(choice.measured, "times", lambda problem, options, ours=ours: (1e-3, ours))
        assert choice.decide(large, OPTIONS).take is take
    monkeypatch.setattr(choice.measured, "times", lambda problem, options: measured.CAPTURED)
    assert choice.decide(large, OPTIONS) == (False, measured.CAPTURED, False)  # the next one is measured
    monkeypatch.setattr(choice.measured, "times", lambda problem, options: measured.NOT_YET)
    assert choice.decide(large, OPTIONS) == (False, measured.NOT_YET, False)
    assert choice.decide(integers(99, 99, 99), OPTIONS).is_final  # deciding again would take longer


@pytest.mark.parametrize(
    "problem",
    [
        on_gpu(64, 64, 64),
        on_gpu(512, 512, 512),
        on_gpu(16384, 1, 16384),
        on_gpu(1, 1, 10**6),
        on_gpu(16384, 16384, 16),
        on_gpu(100, 100, 100, "complex128", stack=8),
    ],
)
def test_the_model_leaves_what_cannot_pay(on_h200: list[Problem], problem: Problem) -> None:
    decision = choice.decide(problem, OPTIONS)
    assert not decision.take
    assert decision.reason.startswith("by the model: ")
    assert on_h200 == []  # nothing was measured for it


def test_other_reasons(on_h200: list[Problem], monkeypatch: pytest.MonkeyPatch) -> None:
    assert choice.decide(on_gpu(2, 2, 2, "int64"), OPTIONS) == (
        True,
        "torch has no product of integers on a GPU",
        True,
    )
    assert choice.decide(on_gpu(0, 2, 2), OPTIONS).reason == "nothing to multiply"
    assert choice.decide(on_gpu(4096, 4096, 4096, "float32"), OPTIONS).reason == "float32 is not asked for"
    monkeypatch.setattr(choice.extension, "why_unavailable", lambda device: "no kernel here")
    assert choice.decide(on_gpu(4096, 4096, 4096), OPTIONS) == (False, "no kernel here", True)


# ---- What is measured in place of a product


def test_representatives_are_not_larger() -> None:
    extents = (1, 2, 3, 5, 31, 64, 100, 777, 1024, 5000, 8192, 20000, 10**6)
    for m, n, k in itertools.product(extents, repeat=3):
        for problem in (Problem("numpy", "cpu", "int64", 7, m, n, k), on_cpu_as_gpu(m, n, k)):
            like = measured.representative(problem)
            assert 1 <= like.m <= m
            assert 1 <= like.n <= n
            assert 1 <= like.k <= k
            assert 1 <= like.stack <= problem.stack
            assert measured.representative(like) == like
            if like.on_cpu:
                assert like.size <= measured.LARGEST_OF_INTEGERS**3


def on_cpu_as_gpu(m: int, n: int, k: int) -> Problem:
    return Problem("torch", "cpu", "int32", 1000, m, n, k, is_update=True)


def test_representatives_on_a_gpu(on_h200: list[Problem]) -> None:
    assert measured.representative(on_gpu(16384, 16384, 16384)) == on_gpu(8192, 8192, 8192)
    assert measured.representative(on_gpu(3000, 1535, 1536, stack=70)) == on_gpu(2048, 1024, 1536, stack=16)
    like = measured.representative(on_gpu(8192, 8192, 8192, "complex128", stack=100))
    assert (like.stack, like.k) == (1, 6144) or like.size * 8 <= measured.LONGEST * 67e12
    assert measured.representative(on_gpu(300, 300, 300, stack=10**6)).stack * 256**2 <= 8192**2


# ---- Measuring


def integers(m: int, n: int, k: int, library: str = "numpy") -> Problem:
    return Problem(library, "cpu", "int64", 1, m, n, k)


def test_times_are_measured_once_and_kept(
    nothing_known: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made: list[Problem] = []

    def fake(problem: Problem, keywords: Any) -> tuple[float, float]:
        made.append(problem)
        return 2e-3, 1e-3

    monkeypatch.setattr(measured, "_on_cpu", fake)
    with caplog.at_level(logging.INFO, logger="ozfp4"):
        assert measured.times(integers(4, 4, 4), OPTIONS) == (2e-3, 1e-3)
    assert "emulate: measured 4 × 4 × 4 int64 on cpu: 1 ms, native 2 ms" in caplog.text
    assert measured.times(integers(4, 4, 4), OPTIONS) == (2e-3, 1e-3)
    assert measured.times(integers(4, 8, 4), OPTIONS) == (2e-3, 1e-3)
    assert len(made) == 2
    measured.forget()  # as another process
    assert measured.times(integers(4, 8, 4), OPTIONS) == (2e-3, 1e-3)
    assert len(made) == 2
    other = check_options("int64", 0, "fastest", False, {**USUAL, "backend": "fp64"})
    measured.times(integers(4, 4, 4), other)
    measured.times(integers(4, 4, 4, "torch"), OPTIONS)
    assert len(made) == 4  # other keywords, another library
    (file,) = (f for f in nothing_known.glob("*.json") if "product 1 4 8 4" in f.read_text())
    found = json.loads(file.read_text())
    found["value"] = {"product 1 4 4 4": [1.0, "x"], "nonsense": 3, "product 1 4 8 4": [-1, 2]}
    file.write_text(json.dumps(found))
    measured.forget()
    measured.times(integers(4, 4, 4), OPTIONS)
    measured.times(integers(4, 8, 4), OPTIONS)
    assert len(made) == 6  # what is no pair of times is measured again


def test_times_are_those_of_a_number_of_threads(nothing_known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Problem] = []

    def fake(problem: Problem, keywords: Any) -> tuple[float, float]:
        made.append(problem)
        return 2e-3 * len(made), 1e-3

    monkeypatch.setattr(measured, "_on_cpu", fake)
    of_torch = integers(4, 4, 4, "torch")
    torchs = torch.get_num_threads()
    try:
        for process in range(2):  # the second has what the first has kept
            for count in (1, 2):
                ozfp4.set_num_threads(count)
                torch.set_num_threads(1)
                assert measured.times(integers(4, 4, 4), OPTIONS) == (2e-3 * (1, 4)[count - 1], 1e-3)
                assert measured.times(of_torch, OPTIONS) == (2e-3 * (2, 5)[count - 1], 1e-3)
                torch.set_num_threads(2)
                assert measured.times(of_torch, OPTIONS) == (2e-3 * (3, 6)[count - 1], 1e-3)
            assert len(made) == 6, process
            measured.forget()
    finally:
        ozfp4.set_num_threads(None)
        torch.set_num_threads(torchs)


def test_what_exceeds_the_workspace_limit_is_not_measured(nothing_known: Path) -> None:
    options = check_options("int64", 0, "fastest", False, {**USUAL, "workspace_limit": 1})
    assert measured.times(integers(64, 64, 64), options) == "ozfp4 needs more than workspace_limit"
    assert not any("product 1 64" in file.read_text() for file in nothing_known.glob("*.json"))


def test_integers_of_numpy_without_room_are_numpys(
    nothing_known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = np.arange(6400).reshape(80, 80)
    with ozfp4.emulate(dtypes="int64", workspace_limit=1) as scope:
        assert (np.matmul(n, n) == n @ n).all()
    monkeypatch.setattr(measured, "_on_cpu", lambda problem, keywords: (60e-3, 1e-3))
    measured.forget()
    with ozfp4.emulate(dtypes="int64", workspace_limit=1) as other:  # smaller ones had it
        assert (np.matmul(n, n) == n @ n).all()
    for each in (scope, other):
        (row,) = each.summary.rows
        assert (row.taken, row.reason) == (False, "ozfp4 needs more than workspace_limit")


def test_measuring_takes_a_small_part_of_a_programs_time(
    nothing_known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "_on_cpu", lambda problem, keywords: (2e-3, 1e-3))
    monkeypatch.setattr(measured, "_spent", 1.0)
    assert measured.times(integers(4, 4, 4), OPTIONS) == measured.NOT_YET
    assert not list(nothing_known.glob("*.json"))
    monkeypatch.setattr(measured, "_born", measured._born - 1.0 / measured.SHARE)
    assert measured.times(integers(4, 4, 4), OPTIONS) == (2e-3, 1e-3)
    large = Problem("torch", "cpu", "float64", 1, 2048, 2048, 2048)
    assert measured.times(large, OPTIONS) == measured.NOT_YET  # of which one takes longer than is left


# ---- Tables


def test_times_that_are_known_are_bounded(nothing_known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "_on_cpu", lambda problem, keywords: (2e-3, 1e-3))
    monkeypatch.setattr(measured, "MOST_SHAPES", 5)
    monkeypatch.setattr(measured, "MOST_KINDS", 2)
    for dtype in ("int8", "int16", "int32"):
        for m in range(1, 9):
            measured.times(Problem("numpy", "cpu", dtype, 1, m, 1, 1), OPTIONS)
    kept = list(measured._known.values())
    assert [[problem.m for problem in shapes] for shapes in kept] == [[4, 5, 6, 7, 8]] * 2
    assert {problem.dtype for shapes in kept for problem in shapes} == {"int16", "int32"}
    assert all(len(json.loads(file.read_text())["value"]) <= 5 for file in nothing_known.glob("*.json"))


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_scopes_of_ever_new_shapes_are_bounded(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entered, "MOST_KEPT", 5)
    monkeypatch.setattr(summary, "MOST_LINES", 8)
    with ozfp4.emulate(mode=mode, min_size=2**40) as scope:
        for _ in range(2):
            for m in range(1, 31):
                a = np.ones((m, 3))
                np.matmul(a.T, a)
                t = torch.from_numpy(a)
                t.mT @ t
        (here,) = scope._open
        assert max(map(len, (here.left, here.decided, here.left_by_name or ()))) <= 5
    rows = scope.summary.rows
    assert scope.summary.left == 120
    assert len(rows) <= 10
    names = {row.operation for row in rows if row.problem.extents == "others"}
    assert names == {"np.matmul", "mm" if mode == "always" else "matmul"}
    assert "others" in str(scope.summary)


def test_what_could_not_be_measured_is_measured_the_next_time(
    nothing_known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: Iterator[Any] = iter([measured.CAPTURED, (2e-3, 1e-3)])
    monkeypatch.setattr(measured, "_on_cpu", lambda problem, keywords: next(answers))
    assert measured.times(integers(4, 4, 4), OPTIONS) == measured.CAPTURED
    assert measured.times(integers(4, 4, 4), OPTIONS) == (2e-3, 1e-3)


def test_measuring_is_not_in_the_scope(nothing_known: Path) -> None:
    n = np.arange(100).reshape(10, 10)
    t = torch.from_numpy(n)
    with ozfp4.emulate(dtypes=["int64"]) as scope:
        assert (np.matmul(n, n) == n @ n).all()
        torch.mm(t, t)
    assert [(row.operation, row.calls) for row in sorted(scope.summary.rows)] == [("mm", 1), ("np.matmul", 1)]
    assert all(row.reason.startswith("measured at 8 × 8 × 8: ") for row in scope.summary.rows)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "uint16"])
def test_integers_are_measured(nothing_known: Path, library: str, dtype: str) -> None:
    for stack in (1, 4):
        problem = Problem(library, "cpu", dtype, stack, 16, 16, 16)
        if (library, dtype) in (("torch", "bool"), ("torch", "uint16")):
            continue  # torch has no products of them
        native, ours = measured.times(problem, OPTIONS)  # type: ignore[misc]
        assert native > 0
        assert ours > 0


def test_updates_are_measured(nothing_known: Path) -> None:
    for stack in (1, 4):
        problem = Problem("torch", "cpu", "int64", stack, 16, 8, 16, is_update=True)
        native, ours = measured.times(problem, OPTIONS)  # type: ignore[misc]
        assert min(native, ours) > 0


def test_integers_of_numpy_are_taken_by_their_times(
    nothing_known: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = np.arange(10000).reshape(100, 100)
    given: dict[str, tuple[float, float]] = {}
    monkeypatch.setattr(measured, "_on_cpu", lambda problem, keywords: given["times"])
    given["times"] = (60e-3, 1e-3)
    with ozfp4.emulate(dtypes=["int64"]) as scope:
        assert (np.matmul(n, n) == n @ n).all()
        np.einsum("ij,jk,kl", n, n, n[:2].T)
    taken, left = scope.summary.rows
    assert (taken.operation, taken.taken) == ("np.matmul", True)
    assert taken.reason == "measured at 96 × 96 × 96: 1 ms, native 60 ms"
    assert left.reason == "of more than two operands, whose time is not measured"
    measured.forget()
    for file in nothing_known.glob("*.json"):
        file.unlink()
    given["times"] = (1e-3, 60e-3)
    with ozfp4.emulate(dtypes=["int64"]) as scope:
        np.matmul(n, n)
    assert scope.summary.left == 1


def test_decisions_are_made_once_a_shape(on_h200: list[Problem], monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Problem] = []
    decide = choice.decide

    def counted(problem: Problem, options: Any) -> Any:
        made.append(problem)
        return decide(problem, options)

    monkeypatch.setattr(choice, "decide", counted)
    a = torch.ones(20, 30, dtype=torch.float64)
    with ozfp4.emulate() as scope:
        for _ in range(5):
            a @ a.mT
        torch.mm(a.mT, a)
    assert len(made) == 2
    assert scope.summary.left == 6


def test_decisions_are_kept_from_one_entry_to_the_next(
    on_h200: list[Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Problem] = []
    decide = choice.decide

    def counted(problem: Problem, options: Any) -> Any:
        made.append(problem)
        return decide(problem, options)

    monkeypatch.setattr(choice, "decide", counted)
    a = torch.ones(20, 30, dtype=torch.float64)
    scope = ozfp4.emulate()
    for _ in range(3):
        with scope:
            a @ a.mT, np.matmul(a.numpy(), a.numpy().T)
    assert len(made) == 2
    assert scope.summary.left == 6


def test_unfinal_decisions_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from ozfp4.emulation.summary import Decision

    answers: Iterator[Decision] = iter([Decision(False, "captured", False), Decision(True, "now")])
    chosen: Callable[..., Decision] = lambda problem, options: next(answers)  # noqa: E731
    monkeypatch.setattr(choice, "decide", chosen)
    a = torch.ones(20, 30, dtype=torch.float64)
    with ozfp4.emulate() as scope:
        for _ in range(3):
            a @ a.mT
    assert [(row.calls, row.reason) for row in scope.summary.rows] == [(2, "now"), (1, "captured")]


# Another thread measures, and one exchanges NumPy's functions, when the process forks.
FORK_DURING_A_MEASUREMENT = """
import os, signal, threading
import numpy as np, ozfp4
from ozfp4.emulation import measured, numpy_patch

a, measuring, holding, go_on = np.ones((100, 100), np.int64), threading.Event(), threading.Event(), threading.Event()

def slow(problem, options):
    measuring.set()
    go_on.wait()
    return "not measured"

def multiply():
    with ozfp4.emulate(mode="fastest", dtypes="int64"):
        return np.matmul(a, a)

def exchange():
    with numpy_patch.EXCHANGE._lock:
        holding.set()
        go_on.wait()

measured._measured = slow
threads = [threading.Thread(target=multiply), threading.Thread(target=exchange)]
for thread, begun in zip(threads, (measuring, holding)):
    thread.start()
    begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(5)  # ends it, whatever it waits for
    measured._measured = lambda problem, options: "not measured"
    os._exit(0 if (multiply() == 100).all() else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go_on.set()
for thread in threads:
    thread.join()
raise SystemExit(status != 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_during_a_measurement_measures_for_itself(nothing_known: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORK_DURING_A_MEASUREMENT]
    run = subprocess.run(command, check=False, timeout=60, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
