"""The first product of a kernel tests it; what fails is disabled, named and replaced; what passed is remembered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core, stages
from ozfp4.backends import kernels
from ozfp4.support import disk_cache
from ozfp4.testing import assert_same_bits, exact_matmul, forced_on_cpu
from ozfp4.trust import guard, plane_products

A, B = np.random.default_rng(0).standard_normal((2, 9, 9))
EXACT = exact_matmul(A, B)
FP64 = kernels.cpu_kernel("fp64")

pytestmark = pytest.mark.usefixtures("no_int8_unit")


def count_tests(monkeypatch: pytest.MonkeyPatch) -> list[kernels.DeviceKernel]:
    """The pairs that are tested from now on."""
    tested: list[kernels.DeviceKernel] = []
    examine = guard.examine

    def counting(pair: kernels.DeviceKernel, *, short: bool) -> guard.Verdict:
        tested.append(pair)
        return examine(pair, short=short)

    monkeypatch.setattr(guard, "examine", counting)
    return tested


@pytest.fixture(autouse=True)
def by_planes() -> Iterator[None]:
    """Products here are small, and are to be made by the kernels that larger ones take."""
    with forced_on_cpu(words=False):
        yield


# ---- A right kernel -------------------------------------------------------------------------------------------------


def test_once_in_a_process_and_once_on_a_machine(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tested = count_tests(monkeypatch)
    for _ in range(3):
        assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)
    assert tested == [FP64]
    assert_same_bits(ozfp4.matmul(A, B, backend="int8", accuracy="scaled"), EXACT)
    assert tested == [FP64, kernels.cpu_kernel("int8")]
    assert len(list(cache.iterdir())) == 2
    guard.forget()
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)
    assert len(tested) == 2


def test_the_short_form_is_what_runs(cache: Path) -> None:
    ozfp4.matmul(A, B, accuracy="scaled")
    verdict = guard.known_verdict(FP64)
    assert verdict is not None
    assert (verdict.passed, verdict.form, verdict.reason) == (True, "short", None)


def test_integer_products_and_stages_test_too(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tested = count_tests(monkeypatch)
    x = np.ones((2, 3), np.int8)
    ozfp4.int8_matmul(x, x.T)
    assert tested == [kernels.cpu_kernel("fp4")]
    plan = ozfp4.plan(2, 2, 3, backend="int8", accuracy="scaled")
    planes = stages.encode(np.ones((2, 3), np.int64), plan)
    stages.multiply(planes, planes, plan)
    assert tested == [kernels.cpu_kernel("fp4"), kernels.cpu_kernel("int8")]


def test_threads_test_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tested = count_tests(monkeypatch)
    results: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: results.append(ozfp4.matmul(A, B, accuracy="scaled")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tested == [FP64]
    assert len(results) == 8
    for result in results:
        assert_same_bits(result, EXACT)


@pytest.mark.parametrize(
    "change",
    [{"passed": 1}, {"passed": False}, {"form": "x"}, {"cases": "3"}, {"seconds": None}, {"reason": "it failed"}, {"reason": 3}],
    ids=str,
)  # fmt: skip
def test_a_verdict_that_makes_no_sense_is_no_verdict(
    cache: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    ozfp4.matmul(A, B, accuracy="scaled")
    (file,) = cache.iterdir()
    found = json.loads(file.read_text(encoding="utf-8"))
    found["value"] |= change
    file.write_text(json.dumps(found), encoding="utf-8")
    guard.forget()
    tested = count_tests(monkeypatch)
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)
    assert tested == [FP64]


def test_without_a_folder_nothing_is_remembered(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write_text("a file where the folder should be")
    tested = count_tests(monkeypatch)
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)
    guard.forget()
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)
    assert tested == [FP64, FP64]


def test_small_products_test_what_makes_them(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tested = count_tests(monkeypatch)
    with forced_on_cpu(words=True):
        for _ in range(3):
            assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)
    small = [kernels.NUMBERS, *([kernels.LIMBS] if _core.has_limb_unit() else [])]
    assert sorted(tested, key=str) == sorted([FP64, *small], key=str)
    guard.forget()
    with forced_on_cpu(words=True):
        ozfp4.matmul(A, B)
    assert len(tested) == 1 + len(small)


# ---- A wrong kernel -------------------------------------------------------------------------------------------------


def test_a_wrong_kernel_is_named_disabled_and_replaced(
    cache: Path, break_kernel: Callable[..., None]
) -> None:
    break_kernel("fp64")
    message = r"the kernel 'FP64 on residues' \(fp64\) on cpu \(.*\) failed its self-test and is disabled.*entry \(\d+, \d+\) is"
    with pytest.warns(RuntimeWarning, match=message) as caught:
        c, report = ozfp4.matmul(A, B, report=True, accuracy="scaled")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert_same_bits(c, EXACT)
    assert report.backend == "int8"
    assert "FP64 on residues" in report.fallback
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)  # no second warning: it would be an error
    for refused in (
        lambda: ozfp4.matmul(A, B, backend="fp64", accuracy="scaled"),
        lambda: ozfp4.matmul(
            A, B, plan=ozfp4.plan(9, 9, 9, backend="fp64", accuracy="scaled"), accuracy="scaled"
        ),
    ):
        with pytest.raises(
            RuntimeError, match=r"every kernel of 'fp64' failed its self-test: 'FP64 on residues'"
        ):
            refused()
    about = ozfp4.info()
    (backend,) = (x for x in about.backends if x.name == "fp64")
    assert not backend.available
    assert "entry (" in backend.detail
    (kernel,) = (x for x in about.kernels if x.element == "fp64")
    assert kernel.verdict.startswith("FAILED: ")
    assert "FAILED" in str(about)
    assert [x.available for x in about.backends if x.name == "int8" and x.device.startswith("cpu")] == [True]


def test_the_next_process_knows(cache: Path, break_kernel: Callable[..., None]) -> None:
    break_kernel("fp64")
    with pytest.warns(RuntimeWarning, match="FP64"):
        ozfp4.matmul(A, B, accuracy="scaled")
    program = (
        "import numpy as np, ozfp4; a = np.ones((2, 2)); c, report = ozfp4.matmul(a, a, report=True)\n"
        "print(report.backend, c.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout == "int8 [[2.0, 2.0], [2.0, 2.0]]\n"
    assert "RuntimeWarning: ozfp4: the kernel 'FP64 on residues' (fp64)" in done.stderr
    assert done.stderr.count("RuntimeWarning") == 1


def test_a_kernel_that_passes_again_serves_again(
    cache: Path, break_kernel: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        multiply = plane_products.multiply
        break_kernel("fp64")
        with pytest.warns(RuntimeWarning, match="FP64"):
            assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "int8"
        patch.setattr(plane_products, "multiply", multiply)
        assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "int8"
        assert ozfp4.selftest(short=True)
        assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "fp64"
        guard.forget()
        assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "fp64"


def test_two_wrong_kernels(cache: Path, break_kernel: Callable[..., None]) -> None:
    break_kernel("fp64", "int8")
    with pytest.warns(RuntimeWarning) as caught:
        c, report = ozfp4.matmul(A, B, report=True, accuracy="scaled")
    assert len(caught) == 2
    assert report.backend == "fp4"
    assert_same_bits(c, EXACT)


def test_no_kernel_left(cache: Path, break_kernel: Callable[..., None]) -> None:
    break_kernel("fp64", "int8", "fp4")
    out = np.full((9, 9), 7.0)
    with pytest.warns(RuntimeWarning), pytest.raises(RuntimeError, match="every kernel of 'fp64' failed"):
        ozfp4.matmul(A, B, out=out, accuracy="scaled")
    assert (out == 7.0).all()
    with pytest.raises(RuntimeError, match="every kernel of 'fp4' failed"):
        ozfp4.matmul(A, B, family="paper", accuracy="scaled")
    x = np.ones((2, 3), np.int8)
    with pytest.raises(RuntimeError, match="every kernel of 'fp4' failed"):
        ozfp4.int8_matmul(x, x.T)
    plan = ozfp4.plan(2, 2, 3, backend="fp4", accuracy="scaled")
    planes = stages.encode(np.ones((2, 3), np.int64), plan)
    with pytest.raises(RuntimeError, match="every kernel of 'fp4' failed"):
        stages.multiply(planes, planes, plan)


def test_integers_in_words_test_too_and_moduli_replace_them(
    cache: Path, break_kernel: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.arange(35).reshape(5, 7)
    tested = count_tests(monkeypatch)
    c, report = ozfp4.matmul(x, x.T, report=True)
    assert (report.backend, report.fallback, tested) == ("direct", None, [kernels.WORDS])
    guard.forget()
    for file in cache.iterdir():
        file.unlink()
    break_kernel("words")
    message = (
        r"the kernel 'integers in machine words' \(words\) on cpu \(.*\) failed its self-test and is disabled"
    )
    with pytest.warns(RuntimeWarning, match=message) as caught:
        again, report = ozfp4.matmul(x, x.T, report=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(again, c)
    assert report.plan is not None
    assert "integers in machine words" in report.fallback
    np.testing.assert_array_equal(ozfp4.matmul(x, x.T), c)
    np.testing.assert_array_equal(ozfp4.matmul_mod(x, x.T, 97), c % 97)
    (kernel,) = (k for k in ozfp4.info().kernels if k.element == "words")
    assert kernel.verdict.startswith("FAILED: ")
    tried = ozfp4.selftest(short=True)
    assert [v.kernel.element for v in tried.verdicts if not v.passed] == ["words"]


def test_a_wrong_whole_product_is_found(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = plane_products.whole_product

    def wrong(*arguments: object) -> np.ndarray:
        c = whole(*arguments)
        c[-1, -1] = np.nextafter(c[-1, -1], np.inf)
        return c

    monkeypatch.setattr(plane_products, "whole_product", wrong)
    verdict = guard.examine(FP64, short=True)
    assert not verdict.passed
    assert verdict.reason is not None
    assert verdict.reason.startswith("whole product 19 x 700 x 23, scheme II fp64 least: entry (18, 22) is")


def test_nan_in_the_place_of_a_result_is_found(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plane_products, "whole_product", lambda *_: np.full((19, 23), np.nan))
    assert not guard.examine(FP64, short=True).passed


def test_an_error_of_the_device_disables_for_this_process_only(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:

        def fail(*_: object) -> list:
            raise RuntimeError("launching the kernel: no kernel image is available")

        patch.setattr(plane_products, "multiply", fail)
        with (
            pytest.warns(RuntimeWarning, match="no kernel image"),
            pytest.raises(RuntimeError, match="every kernel"),
        ):
            ozfp4.matmul(A, B, accuracy="scaled")
    assert not cache.exists()
    guard.forget()
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)


def test_no_memory_is_no_verdict(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:

        def fail(*_: object) -> list:
            raise MemoryError("no memory")

        patch.setattr(plane_products, "multiply", fail)
        with pytest.raises(MemoryError):
            ozfp4.matmul(A, B, accuracy="scaled")
    assert guard.known_verdict(FP64) is None
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)


def test_warnings_as_errors_leave_the_kernel_disabled(cache: Path, break_kernel: Callable[..., None]) -> None:
    break_kernel("fp64")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            ozfp4.matmul(A, B, accuracy="scaled")
    assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "int8"


def test_nothing_is_written_outside_of_the_folder(cache: Path, tmp_path: Path) -> None:
    ozfp4.matmul(A, B, accuracy="scaled")
    assert disk_cache.cache_folder() == cache
    assert os.listdir(tmp_path) == ["cache"]


# Another thread is in the middle of the first use when the process forks.
FORK_DURING_A_TEST = """
import os, threading
import numpy as np, ozfp4
from ozfp4.trust import guard

a = np.ones((2, 2))
examine, begun, go_on = guard.examine, threading.Event(), threading.Event()

def slow(pair, *, short):
    begun.set()
    go_on.wait()
    return examine(pair, short=short)

guard.examine = slow
thread = threading.Thread(target=ozfp4.matmul, args=(a, a))
thread.start()
begun.wait()
child = os.fork()
if child == 0:
    guard.examine = examine
    os._exit(0 if (ozfp4.matmul(a, a) == 2).all() else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
go_on.set()
thread.join()
raise SystemExit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_during_a_test_tests_for_itself(cache: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORK_DURING_A_TEST]
    assert subprocess.run(command, check=False, timeout=120).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("short", [True, False])
def test_limbs_pass_on_every_cpu(short: bool) -> None:
    """In plain loops where there is no unit for them."""
    verdict = guard.test(kernels.LIMBS, short=short)
    assert verdict.passed, verdict.reason
    assert verdict.cases > 20


def test_a_unit_that_failed_is_tested_itself_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not what serves in its place, which would pass."""
    a, b = np.ones((5, 5)), np.ones((5, 5))
    plan, out, units = ozfp4.plan(5, 5, 5, backend="fp64", accuracy="scaled"), np.empty((5, 5)), []
    for is_disabled in (False, True):
        _core.disable_limb_unit(is_disabled)
        try:
            units.append(
                _core.matmul(plan._core, a, b, [out], 2**30, None, "scaled", way="limbs")["limb_unit"]
            )
        finally:
            _core.disable_limb_unit(False)
    assert units == 2 * ["AMX INT8" if _core.has_limb_unit() else "plain loops"]


def test_wrong_limbs_are_replaced_by_words(
    cache: Path, monkeypatch: pytest.MonkeyPatch, variables: Callable[..., None]
) -> None:
    make, disabled = plane_products._numbers_in_words, []

    def wrong(*given: Any) -> np.ndarray:
        c = make(*given)
        if given[-1] == "limbs":
            c.flat[-1] = np.nextafter(c.flat[-1], np.inf)
        return c

    monkeypatch.setattr(plane_products, "_numbers_in_words", wrong)
    monkeypatch.setattr(_core, "has_limb_unit", lambda: True)
    monkeypatch.setattr(_core, "disable_limb_unit", disabled.append)
    variables(OZFP4_CPU_KERNEL=None)  # which would ask for planes
    way = _core.force_way(None)
    try:
        pattern = r"'numbers by limbs of eight bits' \(limbs\) on cpu .*is disabled"
        with pytest.warns(RuntimeWarning, match=pattern) as caught:
            c, report = ozfp4.matmul(A, B, report=True, accuracy="scaled")
    finally:
        _core.force_way(way)
    assert len(caught) == 1
    assert disabled[-1] is True
    assert report.backend == "direct"
    assert_same_bits(c, EXACT)


def test_wrong_words_are_replaced_by_planes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = plane_products._numbers_in_words

    def wrong(*given: object) -> np.ndarray:
        c = make(*given)
        if given[-1] == "words":  # by limbs they are made there, too
            c.flat[-1] = np.nextafter(c.flat[-1], np.inf)
        return c

    monkeypatch.setattr(plane_products, "_numbers_in_words", wrong)
    pattern = r"'numbers in machine words' \(numbers\) on cpu .*is disabled"
    with forced_on_cpu(words=True):
        with pytest.warns(RuntimeWarning, match=pattern) as caught:
            c, report = ozfp4.matmul(A, B, report=True, accuracy="scaled")
        assert_same_bits(
            ozfp4.matmul(A, B, accuracy="scaled"), EXACT
        )  # no second warning: it would be an error
    assert len(caught) == 1
    assert_same_bits(c, EXACT)
    assert report.backend == "fp64"
