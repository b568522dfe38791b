"""The first product of a kernel tests it; what fails is disabled, named and replaced; what passed is remembered.

That wrong kernels are found is tested in tests/product/trust_check.cpp.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core, stages
from ozfp4._backends import kernels
from ozfp4._trust import guard
from ozfp4.testing import assert_same_bits, exact_matmul, forced_on_cpu
from support import chosen

A, B = np.random.default_rng(0).standard_normal((2, 9, 9))
EXACT = exact_matmul(A, B)
FP64 = kernels.cpu_kernel("fp64")
Kept = Callable[[], dict[str, str]]

pytestmark = pytest.mark.usefixtures("no_int8_unit")


@pytest.fixture(autouse=True)
def by_planes() -> Iterator[None]:
    """Products here are small, and are to be made by the kernels that larger ones take."""
    with forced_on_cpu(words=False):
        yield


def rewrite(cache: Path, before: str, after: str) -> None:
    """Another text in the files of all verdicts."""
    for file in cache.iterdir():
        file.write_text(file.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")


FAILED = "passed: no\nshort: yes\ncases: 1\nmicroseconds: 1\nlasting: yes\nreason: sums: entry (0, 1) is 5, exact is 6\n"


def fail_what_is_kept(cache: Path) -> None:
    for file in cache.iterdir():
        key = file.read_text(encoding="utf-8").partition("passed: ")[0]
        file.write_text(key + FAILED, encoding="utf-8")


# ---- A right kernel -------------------------------------------------------------------------------------------------


def test_once_in_a_process_and_once_on_a_machine(cache: Path, kept: Kept) -> None:
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)
    assert kept() == {"fp64": "yes"}
    assert_same_bits(ozfp4.matmul(A, B, backend="int8", accuracy="scaled"), EXACT)
    assert kept() == {"fp64": "yes", "int8": "yes"}
    fail_what_is_kept(cache)
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)  # neither read nor tested again
    assert kept() == {"fp64": "no", "int8": "no"}
    guard.forget()
    with pytest.warns(RuntimeWarning) as caught:
        ozfp4.matmul(A, B, accuracy="scaled")  # but what is kept is believed
    told = [str(warning.message) for warning in caught]
    for name in ("FP64 on residues", "FP32 on balanced residues"):
        assert [name in text and "entry (0, 1) is 5" in text for text in told].count(True) == 1
    assert guard.verdict_of(FP64).reason == "sums: entry (0, 1) is 5, exact is 6"


def test_integer_products_and_stages_test_too(kept: Kept) -> None:
    x = np.ones((2, 3), np.int8)
    ozfp4.int8_matmul(x, x.T)
    assert kept() == {"fp4": "yes"}
    plan = ozfp4.plan(2, 2, 3, backend="int8", accuracy="scaled")
    planes = stages.encode(np.ones((2, 3), np.int64), plan)
    stages.multiply(planes, planes, plan)
    assert kept() == {"fp4": "yes", "int8": "yes"}


def test_threads_test_together(kept: Kept) -> None:
    results: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: results.append(ozfp4.matmul(A, B, accuracy="scaled")))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert kept() == {"fp64": "yes"}
    assert len(results) == 8
    for result in results:
        assert_same_bits(result, EXACT)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("passed: no", "passed: perhaps"),
        ("lasting: yes\n", ""),
        ("exact is 6\n", "exact is 6"),
        ("sums: entry (0, 1) is 5, exact is 6", ""),
        ("passed: no", "passed: yes"),
        ("short: yes", "short: x"),
        ("short: ", "long: "),
        ("cases: 1", "cases: three"),
        ("cases: 1", "cases: -1"),
        ("microseconds: 1", "microseconds: 1.5"),
        ("exact is 6\n", "exact is 6\nmore: 1\n"),
        ("ozfp4 verdict 3", "ozfp4 verdict 2"),
        ("device: ", "device: another "),
        ("element: fp64", "element: fp4"),
    ],
    ids=str,
)
def test_a_verdict_that_makes_no_sense_is_no_verdict(
    cache: Path, kept: Kept, before: str, after: str
) -> None:
    ozfp4.matmul(A, B, accuracy="scaled")
    fail_what_is_kept(cache)
    rewrite(cache, before, after)
    guard.forget()
    assert_same_bits(
        ozfp4.matmul(A, B, accuracy="scaled"), EXACT
    )  # without a warning, which would be an error
    assert kept() == {"fp64": "yes"}


@pytest.mark.parametrize(
    "part", ["device", "instruction sets", "system", "build", "kernel", "element", "cases"]
)
def test_verdicts_of_another_kernel_are_not_believed(cache: Path, part: str) -> None:
    ozfp4.matmul(A, B, accuracy="scaled")
    fail_what_is_kept(cache)
    rewrite(cache, f"\n{part}: ", f"\n{part}: x")
    guard.forget()
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)


def test_facts_of_a_verdict() -> None:
    facts = _core.cpu_facts()
    assert list(facts) == ["device", "instruction sets", "system", "build"]
    assert facts["device"].startswith("cpu ")
    assert platform.release() in facts["system"]
    about = os.stat(_core.__file__)
    seconds, rest = divmod(about.st_mtime_ns, 10**9)
    assert facts["build"] == f"{_core.__file__} {about.st_size} {seconds}.{rest}"


def test_without_a_folder_nothing_is_remembered(cache: Path) -> None:
    cache.write_text("a file where the folder should be")
    for _ in range(2):
        assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)
        guard.forget()
    assert cache.is_file()


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


def test_the_next_process_knows_the_failed_kernel(cache: Path, break_kernel: Callable[..., None]) -> None:
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


def test_a_kernel_that_passes_again_serves_again(cache: Path, break_kernel: Callable[..., None]) -> None:
    break_kernel("fp64")
    with pytest.warns(RuntimeWarning, match="FP64"):
        assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "int8"
    break_kernel()
    assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "int8"
    assert ozfp4.selftest(short=True)
    assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "fp64"
    guard.forget()
    assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "fp64"


def test_no_kernel_left(cache: Path, break_kernel: Callable[..., None]) -> None:
    break_kernel("fp64", "int8", "fp4")
    out = np.full((9, 9), 7.0)
    with pytest.warns(RuntimeWarning), pytest.raises(RuntimeError, match="every kernel of 'fp64' failed"):
        ozfp4.matmul(A, B, out=out, accuracy="scaled")
    assert (out == 7.0).all()
    with pytest.raises(RuntimeError, match="every kernel of 'fp4' failed"):
        chosen.matmul(A, B, family="paper", accuracy="scaled")
    x = np.ones((2, 3), np.int8)
    with pytest.raises(RuntimeError, match="every kernel of 'fp4' failed"):
        ozfp4.int8_matmul(x, x.T)
    plan = ozfp4.plan(2, 2, 3, backend="fp4", accuracy="scaled")
    planes = stages.encode(np.ones((2, 3), np.int64), plan)
    with pytest.raises(RuntimeError, match="every kernel of 'fp4' failed"):
        stages.multiply(planes, planes, plan)


def test_integers_in_words_test_too_and_moduli_replace_them(
    cache: Path, kept: Kept, break_kernel: Callable[..., None]
) -> None:
    x = np.arange(35).reshape(5, 7)
    c, report = ozfp4.matmul(x, x.T, report=True)
    assert (report.backend, report.fallback, kept()) == ("direct", None, {"integers": "yes"})
    for file in cache.iterdir():
        file.unlink()
    guard.forget()
    break_kernel("integers")
    message = r"the kernel 'integers in machine words' \(integers\) on cpu \(.*\) failed its self-test and is disabled"
    with pytest.warns(RuntimeWarning, match=message) as caught:
        again, report = ozfp4.matmul(x, x.T, report=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(again, c)
    assert report.plan is not None
    assert "integers in machine words" in report.fallback
    np.testing.assert_array_equal(ozfp4.matmul(x, x.T), c)
    np.testing.assert_array_equal(ozfp4.matmul_mod(x, x.T, 97), c % 97)
    (kernel,) = (k for k in ozfp4.info().kernels if k.element == "integers" and k.device.startswith("cpu"))
    assert kernel.verdict.startswith("FAILED: ")
    tried = ozfp4.selftest(short=True)
    assert [v.kernel.element for v in tried.verdicts if not v.passed] == ["integers"]


def test_warnings_as_errors_leave_the_kernel_disabled(cache: Path, break_kernel: Callable[..., None]) -> None:
    break_kernel("fp64")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning):
            ozfp4.matmul(A, B, accuracy="scaled")
    assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "int8"


PROGRAM = Path(__file__).parent / "programs" / "forked_amid_tests.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_forked_during_a_test_tests_for_itself(cache: Path) -> None:
    command = [sys.executable, "-W", "ignore", str(PROGRAM)]
    assert subprocess.run(command, check=False, timeout=120).returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("short", [True, False])
def test_limbs_pass_on_every_cpu(short: bool) -> None:
    """In plain loops where there is no unit for them."""
    verdict = guard.test(kernels.DeviceKernel("cpu", "numbers by limbs of eight bits", "limbs"), short=short)
    assert verdict.passed, verdict.reason
    assert verdict.cases > 20


def test_a_unit_that_failed_is_tested_itself_again() -> None:
    """The test does not run the replacement, which would pass."""
    a, kernels_named = np.ones((5, 5)), []
    for is_disabled in (False, True):
        _core.disable_limb_unit(is_disabled)
        try:
            with forced_on_cpu(limbs=True):
                kernels_named.append(ozfp4.matmul(a, a, report=True)[1].kernel)
        finally:
            _core.disable_limb_unit(False)
    unit = "AMX INT8" if _core.has_limb_unit() else "plain loops"
    assert all(name.endswith(f"limbs of eight bits on {unit}") for name in kernels_named)


@pytest.mark.skipif(not _core.has_limb_unit(), reason="this CPU has no unit for limbs")
def test_wrong_limbs_are_replaced_by_words(
    cache: Path, break_kernel: Callable[..., None], variables: Callable[..., None]
) -> None:
    break_kernel("limbs")
    variables(OZFP4_CPU_KERNEL=None)  # which would need planes
    way = _core.force_way(None)
    try:
        pattern = r"'numbers by limbs of eight bits' \(limbs\) on cpu .*is disabled"
        with pytest.warns(RuntimeWarning, match=pattern) as caught:
            c, report = ozfp4.matmul(A, B, report=True, accuracy="scaled")
    finally:
        _core.force_way(way)
    assert len(caught) == 1
    assert report.backend == "direct"
    assert "limbs" not in report.kernel
    assert_same_bits(c, EXACT)


def test_wrong_words_are_replaced_by_planes(cache: Path, break_kernel: Callable[..., None]) -> None:
    break_kernel("words")
    pattern = r"'numbers in machine words' \(words\) on cpu .*is disabled"
    with forced_on_cpu(words=True):
        with pytest.warns(RuntimeWarning, match=pattern) as caught:
            c, report = ozfp4.matmul(A, B, report=True, accuracy="scaled")
        assert_same_bits(
            ozfp4.matmul(A, B, accuracy="scaled"), EXACT
        )  # no second warning: it would be an error
    assert len(caught) == 1
    assert_same_bits(c, EXACT)
    assert report.backend == "fp64"
