"""The cost model: what "auto" takes on which device and why, measured figures before nominal ones, launches of chains."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._backends.cuda import extension
from ozfp4._cost import model, peaks
from ozfp4._cost.choice import choose
from ozfp4._cost.rates import DEVICES, TERA, device_rates
from ozfp4._dispatch import on_cuda, this_machine
from ozfp4._plans import make_plan
from ozfp4._request import library


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Nothing is known of this machine, and what a test finds out no other one sees."""
    monkeypatch.setenv("OZFP4_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(this_machine, "gpu_identity", lambda index: {"device": str(index)})
    this_machine._forget()
    yield
    this_machine._forget()


def machine(name: str) -> peaks.DevicePeaks:
    rates = device_rates(name)
    assert rates is not None
    return peaks.gpu_peaks(rates)


@pytest.mark.parametrize("rates", DEVICES, ids=lambda rates: rates.name)
def test_peaks_stand_as_the_units_do(rates: Any) -> None:
    """A unit of half the bits is twice as wide, but for the FP4 units of B300, of three times FP8 by instructions of K = 96."""
    if rates.fp4_step_64:
        assert rates.fp4 == 3 * rates.fp8
        assert rates.fp4_step_64 == 2 * rates.fp8
        assert rates.int8_warp == rates.int8
    elif rates.fp4:
        assert rates.fp4 == 2 * rates.int8
    if rates.fp8 and not rates.fp4_step_64:
        assert rates.int8 in (
            rates.fp8,
            2 * rates.fp8,
            2 * rates.fp8 + 1,
        )  # half where its sums are FP32, and rounded


@pytest.mark.parametrize("rates", DEVICES, ids=lambda rates: rates.name)
def test_fp4_where_int8_is_gone(rates: Any) -> None:
    choice = choose(peaks.gpu_peaks(rates), "II", "least", 53, 16384)
    assert choice.backend == ("fp4" if "B300" in rates.name else "int8")
    assert set(choice.order) == {"int8", "fp4"}
    assert choice.reason.startswith(f"least products / rate: {choice.backend} ")


def test_kernels_by_tcgen05_store_no_digits() -> None:
    b300 = machine("B300")
    assert b300.rates["I", "fp4"] == b300.rates["I", "int8"] < b300.rates["II", "fp4"] / 50
    assert b300.packed == {"II"}
    assert machine("RTX 5090").packed == {"I", "II"}
    assert machine("H200").packed == frozenset()


def test_families_of_the_paper_are_fp4() -> None:
    choice = choose(machine("H200"), "II", "paper", 53, 100)
    assert choice.order == ("fp4",)
    assert choice.reason == "family 'paper' is made of limbs of fp4"


def test_only_backends_with_a_plan_are_taken(no_int8_unit: None) -> None:
    # The FP64 alphabet sums 87381 products of digits exactly, no more.
    assert ozfp4.plan(1, 1, 1000, scheme="I", accuracy="scaled").backend == "fp64"
    assert ozfp4.plan(1, 1, 100_000, scheme="I", accuracy="scaled").backend == "int8"


def test_launches_of_chains() -> None:
    least = make_plan("II", "fp4", "least", 53, 1000)
    assert model.passes(least, 1000) == 3
    assert model.passes(make_plan("II", "int8", "least", 53, 1000), 1000) == 1
    long = make_plan("II", "fp4", "least", 53, 300_000)
    assert model.passes(long, 300_000) > 3 * 2


def test_terms_of_an_estimate() -> None:
    plan = make_plan("II", "int8", "least", 53, 1024)
    unit = peaks.DevicePeaks("X", {("II", "int8"): 2.0 * TERA}, 1e12, launch=1e-6)
    times = model.estimate(plan, (1024, 512, 256), unit)
    assert times is not None
    assert times.products == plan.products * 1024 * 512 * 256 / TERA
    assert times.preprocess == (16 + plan.planes_a) * 256 * (1024 + 512) / 1e12
    assert times.reconstruct == (8 + len(plan.moduli)) * 1024 * 512 / 1e12
    assert times.launches == 4e-6
    assert times.total == pytest.approx(times.products + times.preprocess + times.reconstruct + 4e-6)
    assert model.estimate(make_plan("II", "fp4", "least", 53, 1), (1, 1, 1), unit) is None


def test_measured_figures_come_before_nominal_ones(fresh: Any, no_int8_unit: None) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 9, 9))
    _, report = ozfp4.matmul(a, b, report=True)
    assert report.backend == "fp64"
    assert "(typical figures of a thread)" in report.reason
    assert report.reason in str(report)
    assert ozfp4.matmul(a, b, backend="int8", report=True)[1].reason == "asked for"

    assert this_machine.keep_measured(None, {"fp64": 1e9, "int8": 1e12, "fp4": 1e9, "bandwidth": 5e9})
    assert this_machine.this_cpu().bandwidth == 5e9
    assert this_machine.this_cpu().rates["II", "int8"] == pytest.approx(1e12)
    assert this_machine.this_cpu().rates["I", "int8"] == pytest.approx(1e12)
    c, report = ozfp4.matmul(a, b, report=True)
    assert report.backend == ozfp4.plan(9, 9, 9, accuracy="scaled").backend == "int8"
    assert "measured on this machine" in report.reason
    assert np.array_equal(c, ozfp4.matmul(a, b, backend="fp64"))


@pytest.mark.parametrize(
    "found",
    [
        {"fp64": -1},
        {"fp64": "fast", "bandwidth": "wide"},
        {"bandwidth": 0},
        {"fp64": float("inf"), "bandwidth": 10**400},  # JSON holds both
        {"fp64": True, "bandwidth": float("nan")},
        {},
        None,
    ],
)
def test_figures_that_make_no_sense_are_left_out(found: Any) -> None:
    nominal = peaks.cpu_peaks("X", 4)
    made = peaks.with_measured(nominal, found)
    assert made.rates == nominal.rates
    assert made.bandwidth == nominal.bandwidth


@pytest.mark.parametrize(
    ("name", "kernels", "backend", "packed"),
    [
        # kernels: of E2M1 codes, of bytes; then both where digits are stored.
        ("NVIDIA B300", ("tcgen05 fp4 K=96", "warp s8 tma", "", "warp s8 tma"), "fp4", {"II"}),
        ("NVIDIA B300", ("tcgen05 fp4", "warp s8 tma", "", "warp s8 tma"), "fp4", {"II"}),
        ("NVIDIA B300", ("", "warp s8 cp.async", "", "warp s8 cp.async"), "int8", set()),
        ("NVIDIA B200", ("tcgen05 fp4", "tcgen05 s8", "", "warp s8 tma"), "int8", {"II"}),
        ("NVIDIA B200", ("tcgen05 fp4", "warp s8 tma", "", "warp s8 tma"), "fp4", {"II"}),
        ("NVIDIA H200", ("", "wgmma s8 sm_90a", "", "wgmma s8 sm_90a"), "int8", set()),
        ("NVIDIA Next", ("tcgen05 fp4", "warp s8 tma", "", "warp s8 tma"), "fp4", {"II"}),
        ("NVIDIA Next", ("tcgen05 fp4", "tcgen05 s8", "", "warp s8 tma"), "int8", {"II"}),
        ("NVIDIA Next", ("warp fp4 tma", "warp s8 tma", "warp fp4 tma", "warp s8 tma"), "int8", {"I", "II"}),
    ],
)
def test_what_a_build_holds_for_a_gpu(
    fresh: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    kernels: tuple[str, str, str, str],
    backend: str,
    packed: set[str],
) -> None:
    held = ["", *dict.fromkeys(kernels)]

    def find_kernel(element: str, device: int, residues: bool = True) -> int | None:
        kernel = kernels[(0 if element == "e2m1" else 1) + (0 if residues else 2)]
        return held.index(kernel) if kernel else None

    fake = SimpleNamespace(kernels=held, find_kernel=find_kernel)
    torch = SimpleNamespace(cuda=SimpleNamespace(get_device_name=lambda index: name))
    monkeypatch.setattr(extension, "require_cuda", lambda: fake)
    monkeypatch.setattr(library, "require_torch", lambda: torch)
    assert this_machine.gpu_choice("II", "least", 53, 4096, 0).backend == backend
    assert this_machine.gpu_choice("I", "least", 53, 4096, 0).backend == "int8"
    assert this_machine.this_gpu(0).packed == packed
    if name == "NVIDIA B300":
        rates = {"tcgen05 fp4 K=96": 13500, "tcgen05 fp4": 9000, "": 150}
        assert this_machine.this_gpu(0).rates["II", "fp4"] == pytest.approx(
            peaks.ATTAINED * TERA * rates[kernels[0]]
        )
    assert this_machine.keep_measured(0, {"fp4": 1.0, "int8": 1e15})
    assert this_machine.gpu_choice("II", "least", 53, 4096, 0).backend == "int8"


def test_factors_of_ways_come_from_what_was_measured(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(this_machine, "nominal_gpu", lambda index: machine("H200"))
    assert this_machine.this_gpu(0).ways == (1.0, 1.0, 1.0, 1.0)
    assert this_machine.keep_measured(
        0, {"thin": 1.5, "stages": 0.5, "tiles": 1e9, "direct": -1, "launch": 2e-6}
    )
    assert this_machine.this_gpu(0).ways == (1.0, 1.5, 1.0, 0.5)  # what makes no sense is left out
    assert this_machine.this_gpu(0).launch == 2e-6
    assert this_machine.this_gpu(1).ways == (1.0, 1.0, 1.0, 1.0)


def test_the_core_has_the_figures_of_each_device(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It chooses backends and ways by them, and gets them anew once others were measured."""
    given: list[Any] = []
    core = SimpleNamespace(set_rates=lambda *about: given.append(about))
    monkeypatch.setattr(on_cuda, "connected", lambda: core)
    monkeypatch.setattr(on_cuda, "_ready", {0, 1})
    monkeypatch.setattr(on_cuda, "_told", {})
    monkeypatch.setattr(this_machine, "nominal_gpu", lambda index: machine("H200"))
    nominal = machine("H200")
    rates = [nominal.rates[scheme, backend] for scheme in ("II", "I") for backend in ("int8", "fp4")]

    def ready(index: int) -> None:
        assert on_cuda.ready(SimpleNamespace(type="cuda", index=index)) is core

    for index in (0, 1, 0, 1):
        ready(index)
    assert given == [(index, rates, (1.0,) * 4, nominal.basis) for index in (0, 1)]
    assert this_machine.keep_measured(0, {"thin": 1.5, "int8": 3e14})
    for index in (0, 0, 1):
        ready(index)
    first, second = given[2:]
    assert first[0] == 0
    assert first[1][0] == pytest.approx(3e14)
    assert first[1][1] == rates[1]
    assert first[2] == (1.0, 1.5, 1.0, 1.0)
    assert first[3] != nominal.basis
    assert second == given[1]
