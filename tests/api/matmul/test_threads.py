"""The bits depend neither on the number of threads, nor on concurrent callers, nor on a fork."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, exact_matmul, forced_on_cpu
from support import PATHS, chosen, operands

PROGRAMS = Path(__file__).parent / "programs"


def run_program(name: str, *arguments: str, **environment: str) -> str:
    """The output of a program of this folder, without variables for threads in the environment other than the given ones."""
    free = {k: v for k, v in os.environ.items() if k not in ("OZFP4_NUM_THREADS", "OMP_NUM_THREADS")}
    run = subprocess.run(
        [sys.executable, "-W", "error", str(PROGRAMS / f"{name}.py"), *arguments],
        env={**free, **environment}, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


def thread_count(**environment: str) -> int:
    code = "from ozfp4 import _core; print(_core.thread_count())"
    command = [sys.executable, "-c", code]
    run = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=True, timeout=60
    )
    return int(run.stdout)


@cache
def cpu_count() -> int:
    """Where no variable sets the number."""
    return thread_count(OZFP4_NUM_THREADS="", OMP_NUM_THREADS="")


def test_ozfp4_num_threads_before_omp_num_threads() -> None:
    assert thread_count(OZFP4_NUM_THREADS="2", OMP_NUM_THREADS="5") == 2


def test_empty_thread_variables() -> None:
    assert thread_count(OZFP4_NUM_THREADS="", OMP_NUM_THREADS="5") == 5
    assert thread_count(OZFP4_NUM_THREADS="65536") == 65536


@pytest.mark.parametrize(
    "value", ["0", "-3", "many", "4,2", "4 threads", " ", "65537", str(2**32 + 1), str(10**30)]
)
def test_refused_values_of_ozfp4_num_threads(value: str, variables: Callable[..., None]) -> None:
    variables(OZFP4_NUM_THREADS=value)
    says = rf"^OZFP4_NUM_THREADS: '{re.escape(value)}' is no number in 1\.\.65536$"
    a = np.ones((3, 3))
    out = np.full((3, 3), 7.0)
    with pytest.raises(ValueError, match=says):
        ozfp4.get_num_threads()
    with pytest.raises(ValueError, match=says):
        ozfp4.matmul(a, a, out=out)
    assert (out == 7).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("value", "count"),
    [("4,2", 4), (" 6 ", 6), ("65537", 65536), (str(2**32 + 1), 65536), (str(10**30), 65536)],
)
def test_lists_in_omp_num_threads(value: str, count: int) -> None:
    assert thread_count(OZFP4_NUM_THREADS="", OMP_NUM_THREADS=value) == count


@pytest.mark.slow
@pytest.mark.parametrize("value", ["0", "-3", "many", "4x", ",4"])
def test_ignored_values_of_omp_num_threads(value: str) -> None:
    assert thread_count(OZFP4_NUM_THREADS="", OMP_NUM_THREADS=value) == cpu_count() >= 1


def test_read_environment(variables: Callable[..., None]) -> None:
    variables(OZFP4_NUM_THREADS="3", OZFP4_CPU_KERNEL="portable")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OZFP4_NUM_THREADS", "7")
        patch.setenv("OZFP4_CPU_KERNEL", "nonsense")
        assert ozfp4.get_num_threads() == 3
        ozfp4.matmul(np.eye(3), np.eye(3), backend="int8")
        ozfp4.read_environment()
        assert ozfp4.get_num_threads() == 7
        with pytest.raises(ValueError, match=r"^OZFP4_CPU_KERNEL: 'nonsense' is none of "):
            ozfp4.matmul(np.eye(3), np.eye(3), backend="int8")


def test_environment_changed_by_another_thread() -> None:
    run_program("environment_changes")


def test_calls_from_many_threads_at_once() -> None:
    problems = [operands("phi8", 20 + i, 50, 30 - i, seed=i) for i in range(16)]
    expected = [exact_matmul(a, b) for a, b in problems]

    def run(job: int) -> np.ndarray:
        a, b = problems[job % 16]
        return chosen.matmul(a, b, **PATHS[job % len(PATHS)]._asdict(), accuracy="scaled")

    with ThreadPoolExecutor(8) as pool:
        for job, c in enumerate(pool.map(run, range(16 * 9))):
            assert_same_bits(c, expected[job % 16], job)


def test_other_python_threads_run_during_a_product() -> None:
    """The interpreter lock is free while the core works. Python itself must not switch threads here."""
    a, b = operands("normal", 300, 300, 300)
    turns, during, interval = 0, 0, sys.getswitchinterval()

    def product() -> np.ndarray:
        nonlocal during
        before = turns
        c = ozfp4.matmul(a, b, scheme="I", backend="fp4", accuracy="scaled")
        during = turns - before
        return c

    ozfp4.matmul(a, b, accuracy="scaled")  # whatever is imported or made on the first call
    sys.setswitchinterval(1000)
    try:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(product)
            while not future.done():
                turns += 1
                time.sleep(0)
    finally:
        sys.setswitchinterval(interval)
    assert during > 0
    assert_same_bits(future.result(), ozfp4.matmul(a, b, accuracy="scaled"))


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("backend", ["auto", "fp64"])
def test_children_forked_during_products(backend: str) -> None:
    """While loops of other threads run: direct products, and those by planes."""
    run_program("forked_during_products", backend)


def test_a_thousand_threads(environments_count: int) -> None:
    a, b = operands("phi8", 300, 400, 350)
    expected = ozfp4.matmul(a, b)
    ozfp4.set_num_threads(1000)
    assert_same_bits(ozfp4.matmul(a, b), expected)


@pytest.fixture
def environments_count() -> Iterator[int]:
    """The number of threads from the environment, set again afterwards."""
    ozfp4.set_num_threads(None)
    yield ozfp4.get_num_threads()
    ozfp4.set_num_threads(None)


def test_set_num_threads(environments_count: int) -> None:
    a, b = operands("phi8", 300, 400, 350)
    expected = ozfp4.matmul(a, b)
    for count in (1, 3, np.int64(environments_count + 4)):
        ozfp4.set_num_threads(count)
        assert ozfp4.get_num_threads() == ozfp4.info().threads == count
        c, report = ozfp4.matmul(a, b, report=True)
        assert_same_bits(c, expected)
        assert f", {count} threads)" in report.device
    ozfp4.set_num_threads(None)
    assert ozfp4.get_num_threads() == environments_count


def test_auto_depends_on_the_thread_count(environments_count: int) -> None:
    a, b = operands("normal", 20, 30, 20)
    reasons = []
    for count in (1, 64):
        ozfp4.set_num_threads(count)
        with forced_on_cpu(words=False):
            reasons.append(ozfp4.matmul(a, b, report=True)[1].reason)
    assert reasons[0] != reasons[1]


@pytest.mark.parametrize(
    ("count", "error", "text"),
    [
        (0, ValueError, r"^count: 0 is outside 1\.\.65536$"),
        (-2, ValueError, r"^count: -2 is outside 1\.\.65536$"),
        (2**70, ValueError, rf"^count: {2**70} is outside 1\.\.65536$"),
        (2.0, TypeError, r"^count: 2\.0 is not an integer$"),
        (True, TypeError, r"^count: True is not an integer$"),
        ("4", TypeError, r"^count: '4' is not an integer$"),
    ],
)
def test_refused_thread_counts(
    count: Any, error: type[Exception], text: str, environments_count: int
) -> None:
    ozfp4.set_num_threads(2)
    with pytest.raises(error, match=text):
        ozfp4.set_num_threads(count)
    assert ozfp4.get_num_threads() == 2
