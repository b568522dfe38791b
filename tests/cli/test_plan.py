"""``ozfp4 plan``: plans, what is taken, and one line for bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import ozfp4
from ozfp4._backends.cuda import extension
from ozfp4._cli import main
from ozfp4._cli.commands import plan as plan_command


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variables: Callable[..., None]) -> None:
    variables(OZFP4_CACHE_DIR=str(tmp_path), OZFP4_CPU_KERNEL="sgemm")
    # No GPU, whatever this machine has.
    monkeypatch.setattr("ozfp4._measure.machine.have_cuda", lambda: False)


def test_what_auto_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan"]) == 0
    text = capsys.readouterr().out
    assert "Plans of scheme II for 4096 × 4096 × 4096, 53 bits" in text
    assert "\nthe CPU: fp64 (least products / rate: fp64 " in text
    assert text.endswith(" TOPS (typical figures of a thread))\n")


def test_another_family_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "64", "--family", "paper"]) == 0
    text = capsys.readouterr().out
    (row,) = (line.split() for line in text.splitlines() if line.startswith("fp4"))
    assert row[1:3] == ["paper", "75"]
    assert "\nthe CPU: fp4 (family 'paper' is made of limbs of fp4)" in text


@pytest.mark.parametrize("scheme", ["I", "II"])
def test_plans_are_listed_with_their_own_figures(scheme: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "100", "--scheme", scheme]) == 0
    table = capsys.readouterr().out.partition("\nthe CPU")[0]
    listed = [line.split() for line in table.splitlines() if line.startswith(("fp64", "int8", "fp4"))]
    assert len(listed) == {"I": 4, "II": 5}[scheme]
    for backend, family, *figures in listed:
        plan = ozfp4.plan(100, 100, 100, scheme=scheme, backend=backend, family=family, accuracy="scaled")
        moduli, bits = (len(plan.moduli), f"{math.log2(math.prod(plan.moduli)):.1f}") if plan.moduli else "--"
        assert figures == [str(x) for x in (plan.products, moduli, plan.planes_a, bits, plan.k_max)]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["1", "2"], "2 extents: give one for N × N × N, or three for M N K"),
        (["--bits", "201"], "bits: 201 is outside 2..200"),
        (["--backend", "int8", "--family", "paper"], "family: 'paper' exists for the fp4 alphabet only"),
        (
            ["300000", "--scheme", "I", "--backend", "fp64"],
            "k = 300000 breaks the digit group bound of scheme I",
        ),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], arguments: list[str], complaint: str) -> None:
    assert main(["plan", *arguments]) == 2
    assert complaint in capsys.readouterr().err


def test_gpus_have_the_numbers_of_torch(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_command, "gpus", lambda: [0, 2])
    cuda = SimpleNamespace(cheapest=lambda asked, precision, k, index: ("int8", f"{asked.bits} {k} {index}"))
    monkeypatch.setattr(extension, "require_cuda", lambda: cuda)
    assert main(["plan", "3", "4", "5"]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == ["cuda:0: int8 (53 5 0)", "cuda:2: int8 (53 5 2)"]
