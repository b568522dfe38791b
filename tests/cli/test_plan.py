"""``ozfp4 plan``: plans, modelled totals, their assumptions, and one line for bad input."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import ozfp4
from ozfp4._cli import main
from ozfp4._cli.commands import plan as plan_command
from ozfp4._dispatch import this_machine
from ozfp4._measure import clocks
from ozfp4._plans import make_plan


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, no_int8_unit: None) -> Iterator[None]:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    monkeypatch.setenv("OZFP4_CACHE_DIR", str(tmp_path))
    # No GPU, whatever this machine has.
    monkeypatch.setattr("ozfp4._measure.machine.have_cuda", lambda: False)
    this_machine._forget()
    yield
    this_machine._forget()


def lines(capsys: pytest.CaptureFixture[str], start: str) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith(start)]


def test_every_device_with_what_auto_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan"]) == 0
    text = capsys.readouterr().out
    costs, rates = text.partition("Modelled time of 4096 × 4096 × 4096")[2].split("Assumptions")
    for device in ("this CPU", "RTX 4090*", "A100 SXM*", "RTX 5090*", "RTX PRO 6000*", "B200*", "B300*"):
        rows = [
            line.removeprefix(device).split() for line in costs.splitlines() if line.startswith(f"{device} ")
        ]
        backends = ["fp64", "int8", "fp4"] if device == "this CPU" else ["int8", "fp4"]
        assert [row[0] for row in rows] == backends
        auto = {"B300*": "fp4", "this CPU": "fp64"}.get(device, "int8")
        assert [row[0] for row in rows if "(auto)" in row] == [auto]
        assert sum(line.startswith(device) for line in rates.splitlines()) == 1
    assert re.search(r"^this CPU: cpu \(.*\), typical figures of a thread$", text, re.MULTILINE)
    assert "\n*: not run on hardware\n" in text
    assert "nominal figures × 0.65" in text


@pytest.mark.parametrize("size", ["1", "65536", "1000000"])
@pytest.mark.parametrize("rich", [False, True])
def test_no_line_is_longer_than_a_hundred(
    size: str, rich: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if rich:
        monkeypatch.delitem(sys.modules, "rich.table")  # the tables of rich, where it is installed
    for arguments in ([], ["--family", "paper-karatsuba"], ["--scheme", "I"]):
        if size == "1000000" and arguments:
            continue  # beyond their limits of K
        assert main(["plan", size, "--device", "all", *arguments]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) > 30
        # The processor's name has its own length.
        assert max(len(line) for line in printed if not line.startswith("this CPU:")) <= 100


def test_another_family_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "64", "--device", "H200", "--family", "paper"]) == 0
    row, _ = (line.split() for line in lines(capsys, "H200"))
    assert row[1:4] == ["fp4", "paper", "75"]


@pytest.mark.parametrize("scheme", ["I", "II"])
def test_plans_are_listed_with_their_own_figures(scheme: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "100", "--scheme", scheme, "--device", "H200"]) == 0
    table = capsys.readouterr().out.partition("\nModelled")[0]
    listed = [line.split() for line in table.splitlines() if line.startswith(("fp64", "int8", "fp4"))]
    assert len(listed) == {"I": 3, "II": 5}[scheme]
    for backend, family, *figures in listed:
        plan = ozfp4.plan(100, 100, 100, scheme=scheme, backend=backend, family=family, accuracy="scaled")
        moduli, bits = (len(plan.moduli), f"{math.log2(math.prod(plan.moduli)):.1f}") if plan.moduli else "--"
        assert figures == [str(x) for x in (plan.products, moduli, plan.planes_a, bits, plan.k_max)]


def test_totals_are_those_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "1000", "2000", "500", "--device", "H200", "--backend", "int8", "--bits", "24"]) == 0
    row, _ = (line.split() for line in lines(capsys, "H200"))
    plan = make_plan("II", "int8", "least", 24, 500)
    assert row[1:3] == ["int8", str(plan.products)]
    figures = [float(cell) for cell in row[3:6]]
    assert figures[2] == pytest.approx(sum(figures[:2]), abs=2e-3)
    assert figures[1] == pytest.approx(1e3 * 2e9 * plan.products / (0.65 * 1979e12), abs=1e-3)


def test_scheme_one_has_one_family(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "100", "--scheme", "I", "--device", "B300"]) == 0
    costs = capsys.readouterr().out.partition("Modelled")[2].partition("Assumptions")[0]
    rows = [line.split() for line in costs.splitlines() if line.startswith("B300*")]
    assert [row[1] for row in rows] == ["int8", "fp4"]


def test_a_product_without_planes_is_said_to_be_one(
    capsys: pytest.CaptureFixture[str], variables: Callable[..., None]
) -> None:
    variables(OZFP4_CPU_KERNEL=None)  # which asks for planes
    rng = np.random.default_rng(0)
    for extents, asked in (
        ((64, 64, 64), ()),
        ((1, 7, 33), ()),
        ((64, 64, 64), ("--backend", "fp64")),
        ((64, 64, 64), ("--scheme", "I")),
        ((2000, 9, 2000), ()),
        ((2**62, 2**62, 2**62), ()),
    ):
        assert main(["plan", *map(str, extents), "--device", "H200", *asked]) == 0
        text = capsys.readouterr().out
        costs = text.partition("Modelled")[2].partition("Assumptions")[0]
        taken = [line.split()[2] for line in costs.splitlines() if "(auto)" in line and "CPU" in line]
        if max(extents) > 10**6:
            assert not {"words", "limbs"} & {*taken}
            continue
        m, n, k = extents
        options = {
            name.removeprefix("--"): value for name, value in zip(asked[::2], asked[1::2], strict=True)
        }
        a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
        ran = ozfp4.matmul(a, b, accuracy="scaled", report=True, **options)[1]
        without = ran.backend == "direct"
        assert ("without planes" in text) == without
        if without:
            assert taken == ["limbs" if "limbs" in ran.kernel else "words"]
        elif not asked:
            assert taken == [ran.backend]


def test_measured_figures_are_kept(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        clocks,
        "multiply_rate",
        lambda device, plan, n: {"fp64": 1e9, "int8": 1e12, "fp4": 2e9}[plan.alphabet],
    )
    monkeypatch.setattr(clocks, "copy_bandwidth", lambda device: 7e9)
    assert main(["plan", "64", "--measure", "--device", "H200"]) == 0
    text = capsys.readouterr().out
    measured = re.compile(r", measured on this machine with \d+ threads?\n")
    assert measured.search(text)
    this_machine._forget()
    assert main(["plan", "64", "--device", "H200"]) == 0
    assert measured.search(capsys.readouterr().out)
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


@pytest.mark.parametrize(
    ("numbers", "names"),
    [([0], ["this GPU"]), ([1], ["this GPU 1"]), ([0, 2], ["this GPU 0", "this GPU 2"])],
)
def test_gpus_have_the_numbers_of_torch(
    numbers: list[int], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_command, "gpus", lambda: numbers)
    monkeypatch.setattr(this_machine, "this_gpu", lambda index: index)
    assert list(plan_command._at_hand().items())[1:] == list(zip(names, numbers, strict=True))
