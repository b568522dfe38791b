"""``ozfp4 plan``: plans, modelled totals, their assumptions, and one line for bad input."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ozfp4
from ozfp4.bench import speed
from ozfp4.cli import main
from ozfp4.dispatch import this_machine
from ozfp4.plans import make_plan


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    monkeypatch.setattr(this_machine, "_key", lambda index: {"test": str(tmp_path)})
    # No GPU, whatever this machine has.
    monkeypatch.setattr("ozfp4.bench.provenance.have_cuda", lambda: False)
    for cached in (this_machine.this_cpu, this_machine.cpu_choice):
        cached.cache_clear()
    this_machine.generation += 1
    yield
    this_machine.generation += 1
    for cached in (this_machine.this_cpu, this_machine.cpu_choice):
        cached.cache_clear()


def lines(capsys: pytest.CaptureFixture[str], start: str) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith(start)]


def test_every_device_with_what_auto_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan"]) == 0
    text = capsys.readouterr().out
    assert "Modelled time of 4096 × 4096 × 4096" in text
    for device in ("RTX 4090", "A100 SXM", "RTX 5090", "RTX PRO 6000", "B200", "B300"):
        rows = [line.split() for line in text.splitlines() if line.startswith(device)]
        words = len(device.split())
        costs = [row[words:] for row in rows if row[-1] == "hardware*"]
        assert [row[0] for row in costs] == ["int8", "fp4", "fp4", "fp4"]
        assert [row[0] for row in costs if "auto" in row] == ["fp4" if device == "B300" else "int8"]
        assert all(" ".join(row[-4:]) == "*not run on hardware*" for row in costs)
        assert any("nominal figures" in " ".join(row) for row in rows)
    assert "at hand, typical figures of a thread" in text


@pytest.mark.parametrize("scheme", ["I", "II"])
def test_plans_are_listed_with_their_own_figures(scheme: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "100", "--scheme", scheme, "--device", "H200"]) == 0
    table = capsys.readouterr().out.partition("\nModelled")[0]
    listed = [line.split() for line in table.splitlines() if line.startswith(("fp64", "int8", "fp4"))]
    assert len(listed) == {"I": 3, "II": 5}[scheme]
    for backend, family, *figures in listed:
        plan = ozfp4.plan(100, 100, 100, scheme=scheme, backend=backend, family=family)
        moduli, bits = (len(plan.moduli), f"{math.log2(math.prod(plan.moduli)):.1f}") if plan.moduli else "--"
        assert figures == [str(x) for x in (plan.products, moduli, plan.planes_a, bits, plan.k_max)]


def test_totals_are_those_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "1000", "2000", "500", "--device", "H200", "--backend", "int8", "--bits", "24"]) == 0
    (row,) = (line.split() for line in lines(capsys, "H200") if "ran, nominal rates" in line)
    plan = make_plan("II", "int8", "least", 24, 500)
    assert row[4] == str(plan.products)
    figures = [float(cell) for cell in row[5:10]]
    assert figures[4] == pytest.approx(sum(figures[:4]), abs=2e-3)
    assert figures[1] == pytest.approx(1e3 * 2e9 * plan.products / (0.65 * 1979e12), abs=1e-3)


def test_scheme_one_has_one_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "100", "--scheme", "I", "--device", "B300"]) == 0
    rows = [line.split() for line in lines(capsys, "B300") if "hardware" in line]
    assert [(row[1], row[2]) for row in rows] == [("int8", "least"), ("fp4", "least")]


def test_measured_figures_are_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        speed,
        "product_rate",
        lambda method, n: {"fp64": 1e9, "int8": 1e12, "fp4": 2e9}[method.options["backend"]],
    )
    monkeypatch.setattr(speed, "copy_bandwidth", lambda device: 7e9)
    assert main(["plan", "64", "--measure", "--device", "H200"]) == 0
    text = capsys.readouterr().out
    assert "at hand, measured on this machine" in text
    this_machine.this_cpu.cache_clear()
    assert main(["plan", "64", "--device", "H200"]) == 0
    assert "at hand, measured on this machine" in capsys.readouterr().out
    assert this_machine.cpu_choice("II", "least", 53, 64).backend == "int8"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["1", "2"], "2 extents: give one for N × N × N, or three for M N K"),
        (["2", "2", "9223372036854775808"], "N: 9223372036854775808 does not fit 63 bits"),
        (["--device", "X1"], "--device: 'X1' is not in the table of rates; there are 'RTX PRO 6000'"),
        (["--family", "most"], "--family: 'most' is unknown"),
        (["--bits", "201"], "--bits: 201 is outside 2..200"),
        (["--backend", "int8", "--family", "paper"], "family 'paper' is of backend 'fp4' alone"),
        (
            ["300000", "--scheme", "I", "--backend", "fp64"],
            "k = 300000 breaks the digit group bound of scheme I",
        ),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str) -> None:
    assert main(["plan", *arguments]) == 2
    assert complaint in capsys.readouterr().err
