"""The self-test on a GPU: every kernel passes, one that is made wrong is named and replaced, quick repetition stays quick."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from first_gpu import DEVICE, torch

import ozfp4
from ozfp4._backends import kernels
from ozfp4._backends.cuda import extension
from ozfp4._dispatch import on_cuda
from ozfp4._options import Options
from ozfp4._trust import guard
from ozfp4.testing import assert_same_bits, exact_matmul

PAIRS = kernels.gpu_kernels(0)
SERVING = [pair for pair in PAIRS if pair.element != "none" and "stand-in" not in pair.name]
A, B = np.random.default_rng(0).standard_normal((2, 40, 40))
EXACT = exact_matmul(A, B)


def name(pair):
    return f"{pair.name} {pair.element}"


@pytest.fixture(autouse=True)
def nothing_known(cache: Path) -> None:
    """No verdicts and decisions in the process before each test."""


@pytest.fixture
def break_kernels() -> Iterator[Callable[..., None]]:
    """break_kernels(condition): GPU kernels that meet it seem to leave one residue, the last of a product, that is off by one."""
    cuda = extension.require_cuda()

    def make(condition: Callable[[kernels.DeviceKernel], bool]) -> None:
        cuda.break_kernels([(pair.name, pair.element) for pair in PAIRS if condition(pair)])

    yield make
    cuda.break_kernels([])


def on_device():
    return torch.from_numpy(A).to(DEVICE), torch.from_numpy(B).to(DEVICE)


@pytest.mark.parametrize("short", [True, False], ids=["short", "long"])
@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_every_kernel_passes(pair, short):
    verdict = guard.test(pair, short=short)
    assert verdict.reason is None
    assert verdict.passed
    assert verdict.form == ("short" if short else "long")


@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_one_wrong_residue_is_found(pair, break_kernels):
    break_kernels(lambda other: other == pair)
    with pytest.warns(RuntimeWarning, match="is disabled"):
        verdict = guard.test(pair, short=True)
    assert not verdict.passed
    assert ("modulo 256 entry (" in verdict.reason) == (pair.element != "none")
    assert verdict.cases == 1


@pytest.mark.parametrize("pair", SERVING, ids=name)
def test_the_short_form_is_short(pair):
    """So that it takes some 10 ms."""
    assert 0 < guard.test(pair, short=True).cases <= 20


def test_facts_of_a_verdict():
    facts = extension.require_cuda().device_facts(0)
    assert list(facts) == ["device", "driver", "build"]
    assert facts["device"].startswith(torch.cuda.get_device_name(0))
    assert "libcuda.so" in facts["driver"]
    assert "libozfp4_cuda" in facts["build"]


PROGRAM = Path(kernels.__file__).parents[1] / "ozfp4_selftest"


@pytest.mark.skipif(not PROGRAM.is_file(), reason="the program lies not beside the library")
@pytest.mark.parametrize("pair", PAIRS, ids=name)
def test_in_a_process_of_its_own(pair, monkeypatch):
    device = extension.require_cuda().device_facts(0)["device"]
    library = PROGRAM.with_name("libozfp4_cuda.so")
    command = [PROGRAM, library, device, pair.name, pair.element, "short"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0
    assert done.stdout.startswith("passed: yes\nshort: yes\ncases: ")
    assert subprocess.run([*command[:2], "another", *command[3:]], capture_output=True).returncode == 1
    monkeypatch.setenv("OZFP4_SELFTEST", "apart")
    guard.forget()
    verdict = guard.test(pair, short=True)
    assert verdict.passed
    assert done.stdout.splitlines()[2] == f"cases: {verdict.cases}"
    monkeypatch.delenv("OZFP4_SELFTEST")
    guard.forget()


def test_a_stored_verdict_needs_no_test(cache, break_kernels):
    a, b = on_device()
    ozfp4.matmul(a, b, accuracy="scaled")
    assert len(list(cache.iterdir())) == 2  # of this kernel, and of the one for small products
    guard.forget()
    break_kernels(lambda pair: True)
    plan = ozfp4.plan(40, 40, 40, backend="int8", accuracy="scaled")
    asked = Options(plan=plan, accuracy="scaled")
    number = on_cuda.choose(asked, 1, False, False, torch.device(DEVICE)).kernel
    assert number == on_cuda.connected().kernels.index(SERVING[0].name)
    assert_same_bits(ozfp4.matmul(a, b, accuracy="scaled").cpu(), EXACT)


def test_a_wrong_kernel_is_named_disabled_and_replaced(break_kernels):
    first = SERVING[0]
    assert first.element == "u8"
    break_kernels(lambda pair: pair == first)
    a, b = on_device()
    with pytest.warns(
        RuntimeWarning, match=r"\(u8\) on cuda:0 .* failed its self-test and is disabled"
    ) as caught:
        c, report = ozfp4.matmul(a, b, report=True, accuracy="scaled")
    assert first.name in str(caught[0].message)
    assert_same_bits(c.cpu(), EXACT)
    others = [pair.name for pair in SERVING if pair.element == "u8"][1:]
    if others:
        assert report.backend == "int8"
        assert report.kernel.split(", tile")[0] in others
    else:
        assert report.backend == "fp4"
        assert first.name in report.fallback
    assert any(k.verdict.startswith("FAILED") and k.name == first.name for k in ozfp4.info().kernels)


def test_a_wrong_backend_is_replaced_and_refused(break_kernels):
    break_kernels(lambda pair: pair.element == "u8")
    a, b = on_device()
    with pytest.warns(RuntimeWarning, match="is disabled"):
        c, report = ozfp4.matmul(a, b, report=True, accuracy="scaled")
    assert report.backend == "fp4"
    assert "every kernel of 'int8' failed" in report.fallback
    assert_same_bits(c.cpu(), EXACT)
    with pytest.raises(RuntimeError, match="every kernel of 'int8' failed its self-test"):
        ozfp4.matmul(a, b, backend="int8", accuracy="scaled")
    about = {x.name: x for x in ozfp4.info().backends if x.device.startswith("cuda:0")}
    assert not about["int8"].available
    assert about["fp4"].available


def test_planes_of_a_kernel_that_fails_later_are_refused(break_kernels):
    a, b = on_device()
    prepared = ozfp4.prepare(b, side="right", backend="int8", accuracy="scaled")
    assert_same_bits((a @ prepared).cpu(), EXACT)
    break_kernels(lambda pair: pair.element == "u8")
    for pair in SERVING:
        if pair.element == "u8":
            with pytest.warns(RuntimeWarning, match="is disabled"):
                guard.test(pair, short=True)
    with pytest.raises(RuntimeError, match=r"the kernel of its planes, failed .* prepare it anew"):
        ozfp4.matmul(a, prepared)


def test_products_without_a_right_kernel_are_refused(break_kernels):
    break_kernels(lambda pair: True)
    a, b = on_device()
    out = torch.full((40, 40), 7.0, dtype=torch.float64, device=DEVICE)
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(RuntimeError, match="no other backend is left on cuda:0"),
    ):
        ozfp4.matmul(a, b, out=out, accuracy="scaled")
    assert (out == 7.0).all()
    assert_same_bits(ozfp4.matmul(A, B, accuracy="scaled"), EXACT)  # the CPU is another device


def test_a_disabled_kernel_makes_no_product(break_kernels):
    a, b = on_device()
    for _ in range(3):
        assert_same_bits(ozfp4.matmul(a, b, accuracy="scaled").cpu(), EXACT)
    break_kernels(lambda pair: pair.element == "u8")
    for pair in SERVING:
        if pair.element == "u8":
            with pytest.warns(RuntimeWarning, match="is disabled"):
                guard.test(pair, short=True)
    assert ozfp4.matmul(a, b, report=True, accuracy="scaled")[1].backend == "fp4"
    for _ in range(2):
        assert_same_bits(ozfp4.matmul(a, b, accuracy="scaled").cpu(), EXACT)


def test_a_capture_before_the_first_use_is_refused():
    a, b = on_device()
    out = torch.empty(40, 40, dtype=torch.float64, device=DEVICE)
    on_cuda.check_device(a.device)
    for backend in ("int8", "fp4"):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out.zero_()  # torch warns of empty graphs
            with pytest.raises(RuntimeError, match="before the capture"):
                ozfp4.matmul(a, b, out=out, backend=backend, accuracy="scaled")
        ozfp4.matmul(a, b, out=out, backend=backend, accuracy="scaled")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ozfp4.matmul(a, b, out=out, backend=backend, accuracy="scaled")
        out.zero_()
        graph.replay()
        assert_same_bits(out.cpu(), EXACT)


def test_the_whole_self_test():
    tested = ozfp4.selftest(short=True)
    assert tested, str(tested)
    assert {v.kernel for v in tested.verdicts} >= set(SERVING)
    assert len(ozfp4.info().kernels) == len(tested.verdicts)
