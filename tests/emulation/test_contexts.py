"""Scopes of ``ozfp4.emulate`` that are left in another context, thread or order than those of their entering."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._emulation.summary import Record

ORIGINAL = np.matmul
A = np.eye(3)


@pytest.fixture(autouse=True)
def _names_are_restored() -> Iterator[None]:
    assert np.matmul is ORIGINAL
    yield
    assert np.matmul is ORIGINAL


def generator(scope: Any) -> Iterator[None]:
    with scope:
        np.matmul(A, A)
        yield


def test_a_scope_in_tasks_that_overlap() -> None:
    scope = ozfp4.emulate(mode="always")

    async def task(before: int, after: int) -> None:
        await asyncio.sleep(0.01 * before)
        with scope:
            await asyncio.sleep(0.01 * after)
            np.matmul(A, A)
        assert isinstance(np.matmul(A, A), np.ndarray)

    async def main() -> None:
        await asyncio.gather(task(0, 5), task(1, 2), task(2, 9))

    asyncio.run(main())
    assert scope.summary.caught == 3


def test_an_async_generator_that_another_task_ends() -> None:
    scope = ozfp4.emulate(mode="always")

    async def entered() -> AsyncIterator[int]:
        with scope:
            yield 1

    async def main() -> None:
        steps = entered()
        await asyncio.create_task(anext(steps))  # type: ignore[arg-type]
        await asyncio.create_task(steps.aclose())  # type: ignore[attr-defined]

    asyncio.run(main())


def test_a_generator_that_another_context_ends() -> None:
    scope = ozfp4.emulate(mode="always")
    steps: Any = generator(scope)
    context = contextvars.copy_context()
    context.run(next, steps)
    assert np.matmul is not ORIGINAL
    steps.close()
    assert np.matmul is ORIGINAL
    with ozfp4.emulate() as other:  # what that context still holds does not count any more
        context.run(np.matmul, A, A)
    assert (scope.summary.caught, other.summary.rows) == (1, ())


@pytest.mark.parametrize("with_torch", [False, True])
def test_a_scope_that_another_thread_leaves(with_torch: bool) -> None:
    if with_torch:
        torch = pytest.importorskip("torch")
    scope = ozfp4.emulate(mode="always").__enter__()
    thread = threading.Thread(target=scope.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert np.matmul is ORIGINAL
    np.matmul(A, A)
    if with_torch:
        a = torch.eye(3, dtype=torch.float64)
        a @ a
        with ozfp4.emulate(mode="always") as other:
            a @ a
        assert other.summary.caught == 1
        assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()
    assert scope.summary.rows == ()


def test_scopes_that_are_left_in_the_order_of_their_entering() -> None:
    first, second = ozfp4.emulate(mode="always"), ozfp4.emulate(mode="always")
    first.__enter__(), second.__enter__()
    first.__exit__(None, None, None)
    np.matmul(A, A)
    second.__exit__(None, None, None)
    np.matmul(A, A)
    assert (first.summary.caught, second.summary.caught) == (0, 1)


def test_leaving_what_is_not_entered_is_an_error() -> None:
    scope = ozfp4.emulate()
    with pytest.raises(RuntimeError, match="emulate: a scope is left that is not entered"):
        scope.__exit__(None, None, None)
    with scope:
        pass
    with pytest.raises(RuntimeError, match="is not entered"):
        scope.__exit__(None, None, None)


def test_modes_of_others_stay_where_a_scope_is_left_below_them() -> None:
    torch = pytest.importorskip("torch")
    python_dispatch = torch.utils._python_dispatch

    class Mode(python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    scope = ozfp4.emulate(mode="always").__enter__()
    with Mode() as mine:
        scope.__exit__(None, None, None)
        assert python_dispatch._get_current_dispatch_mode_stack() == [mine]
    assert python_dispatch._get_current_dispatch_mode_stack() == []


def test_no_summary_without_a_logger(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(Record, "summary", lambda self: asked.append(self))
    monkeypatch.setattr(logging.getLogger("ozfp4"), "level", logging.WARNING)
    logging.getLogger("ozfp4").manager._clear_cache()  # type: ignore[attr-defined]
    with ozfp4.emulate(mode="always"):
        np.matmul(A, A)
    logging.getLogger("ozfp4").manager._clear_cache()  # type: ignore[attr-defined]
    assert asked == []


PROGRAM = Path(__file__).parent / "programs" / "collected_scopes.py"


@pytest.mark.parametrize("of", ["numpy", "torch"])
@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_garbage_may_hold_scopes(of: str, mode: str) -> None:
    if of == "torch":
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, str(PROGRAM), of, mode], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


def test_a_record_may_be_asked_while_it_is_counted() -> None:
    record = Record()
    with record.lock:
        assert record.lock.lock.acquire(blocking=False)  # as a finaliser in this thread would
        record.lock.lock.release()
