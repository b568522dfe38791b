"""benchmarks/scaling.py over two Gloo processes; its model of products, of what moves and of what is hidden."""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import ranks as processes
import torch

import ozfp4
import scaling
from cluster import measure, model
from cluster.products import Ranks, host_names, problem_of

FAST = model.Machine(rate=1e14, gather=3e11, exchange=2e11, memory=3e12, start=1e-5, encode=1e-11)


def problem(ranks: int, n: int, a: str, b: str, result: str = "rows", device: str = "cuda") -> Any:
    return problem_of(Ranks(0, ranks, torch.device(device)), n, n, n, (a, b), result)


# ---- The model ---------------------------------------------------------------------------------------------


def test_a_pipeline_by_hand() -> None:
    assert model.pipeline(3.0, []) == 3.0
    # It comes at 2, under the first product; is multiplied from 3 to 4.
    assert model.pipeline(3.0, [(2.0, 1.0)]) == 4.0
    # Nothing to do before: 2 + 1; the second comes at 4 and is multiplied until 5.
    assert model.pipeline(0.0, [(2.0, 1.0), (2.0, 1.0)]) == 5.0
    # Products are longer: the first comes at 1, all later ones travel under products.
    assert model.pipeline(0.0, [(1.0, 5.0)] * 4) == 21.0
    # The third begins at the end of the first product, as it takes its memory: it arrives at 1 + 5 + 6.
    assert model.pipeline(0.0, [(1.0, 5.0), (1.0, 1.0), (6.0, 1.0)]) == 13.0


def test_rows_beside_a_replicated_b_move_nothing() -> None:
    times = model.predict(problem(2, 16384, "rows", "replicated"), "auto", FAST)
    assert times.moving == 0
    assert times.total == pytest.approx(FAST.local(8192, 16384, 16384) + FAST.start)


def test_pieces_are_all_of_the_products_and_all_that_moves() -> None:
    for ranks in (2, 3, 8):
        for n in (5, 4096, 20000, 200000):
            for b in ("columns", "rows"):
                given = problem(ranks, n, "rows", b)
                of_products = model.predict(given, "auto", model.Machine(1e14, 1e30, 1e30, 1e30))
                assert of_products.total == pytest.approx(2 * max(given.a.sizes) * n * n / 1e14)
                of_links = model.predict(given, "auto", model.Machine(1e30, 1e9, 1e9, 1e30))
                assert of_links.total == pytest.approx(measure.received(given, "redistribute") / 1e9)


def test_a_reduction_by_hand() -> None:
    given = problem(2, 1024, "columns", "rows")
    entries = 1024**2 // 2
    of_products = model.predict(given, "reduce", model.Machine(1e14, 1e30, 1e30, 1e30))
    assert of_products.total == pytest.approx(2 * 1024 * 1024 * 512 / 1e14)
    of_links = model.predict(given, "reduce", model.Machine(1e30, 1e30, 1e9, 1e30))
    assert of_links.total == pytest.approx(16 * entries / 1e9)
    of_memory = model.predict(given, "reduce", model.Machine(1e30, 1e30, 1e30, 1e12))
    assert of_memory.total == pytest.approx((2 * 16 + 8) * entries / 1e12)
    # Two blocks: the second one's residues travel after the first one's, and both wait for them.
    block, machine = 12288**2 // 8, model.Machine(1e30, 1e30, 1e9, 1e12)
    hidden = model.predict(problem(4, 12288, "columns", "rows"), "reduce", machine)
    assert hidden.total == pytest.approx(2 * 3 * 16 * block / 1e9 + (4 * 16 + 8) * block / 1e12)
    # With fewer ranks less data travel during longer products: nothing is hidden.
    block = 12288**2 // 4
    apart = model.predict(problem(2, 12288, "columns", "rows"), "reduce", machine)
    assert apart.total == pytest.approx(2 * 16 * block / 1e9 + 2 * (2 * 16 + 8) * block / 1e12)


# ---- What follows from measurements ------------------------------------------------------------------------


def of_model(ranks: int, n: int) -> list[dict[str, Any]]:
    """Rows as they would be if the model were right."""
    few = measure.fewer(n)
    rows: list[dict[str, Any]] = [
        measure.Job("links", 0, ranks).key
        | {"all-gather GB/s": 300.0, "all-to-all GB/s": 200.0, "memory GB/s": 3000.0, "start us": 10.0},
        measure.Job("one", n, 1, "rows", "replicated").key
        | {"ms": 1e3 * FAST.local(n, n, n), "ms of an eighth": 1e3 * FAST.local(few, n, n)},
    ]
    for job in measure.jobs([n], ranks):
        if job.kind in ("strong", "weak") and job.ranks == ranks:
            given = problem_of(Ranks(0, ranks, torch.device("cuda")), job.rows, n, n, (job.a, job.b), "rows")
            rows.append(
                job.key | {"ms": 1e3 * model.predict(given, job.method, FAST).total, "bits equal": True}
            )
    return rows


@pytest.mark.parametrize("ranks", [2, 4])
def test_rows_of_the_model_are_those_of_the_model(ranks: int) -> None:
    found = measure.with_model(of_model(ranks, 8192), "cuda")
    kinds = [row["kind"] for row in found]
    assert kinds.count("strong") == len(measure.STRONG)
    assert kinds.count("weak") == len(measure.WEAK)
    for row in found[2:]:
        assert row["percent"] == pytest.approx(0, abs=0.02)
        assert row["efficiency"] == pytest.approx(row["speed-up"] / ranks, abs=1e-3)
        assert 0 < row["efficiency"] <= 1
        work = ranks if row["kind"] == "weak" else 1
        assert row["speed-up"] == pytest.approx(work * found[1]["ms"] / row["ms"], abs=1e-3)
    assert {row["received GB"] for row in found[2:] if row["b"] == "columns"} == {
        round(8 * 8192**2 * (ranks - 1) / ranks / 1e9, 4)
    }


def test_over_hosts_the_model_goes_the_way_of_the_run() -> None:
    """Links between hosts are slow: an operand that comes at once within one travels in pieces, which products hide."""
    everybody = Ranks(0, 4, torch.device("cuda"), names=("x", "x", "y", "y"))
    handles = dict.fromkeys((2, 4))
    for size, hosts in ((2, 1), (4, 2)):
        here = measure.on_group(everybody, handles, measure.Job("strong", 8192, size, *measure.STRONG[2]))
        assert here is not None
        assert here.hosts == hosts
        given = problem_of(here, 8192, 8192, 8192, ("rows", "rows"), "rows")
        assert given.hosts == hosts
    for hosts, hides in ((1, False), (2, True)):
        rows = measure.with_model([row | {"hosts": hosts} for row in of_model(2, 8192)], "cuda")
        (row,) = (x for x in rows if (x["kind"], x["a"], x["b"]) == ("strong", "rows", "rows"))
        assert (row["hidden"] > 0) == hides


# ---- Products over ranks -----------------------------------------------------------------------------------


def all_rows(here: processes.Here, n: int) -> list[dict[str, Any]]:
    device = torch.device(here.device)
    handles = {
        size: torch.distributed.new_group(list(range(size))) for size in measure.group_sizes(here.size)
    }
    everybody, found = Ranks(here.rank, here.size, device, names=host_names()), []
    for job in measure.jobs([n], here.size):
        if (mine := measure.on_group(everybody, handles, job)) is not None:
            found.append(measure.row(mine, job, 1))
        everybody.wait()
    return found


@pytest.mark.parametrize("size", [2, 3])
def test_groups_of_one_launch_have_the_bits_of_one_rank(size: int) -> None:
    found = processes.group(size).run(all_rows, 37)
    assert len(found[0]) == len(measure.jobs([37], size))
    for rank, rows in enumerate(found):
        assert all(row["ranks"] > rank for row in rows)
        products = [row for row in rows if row["kind"] in ("strong", "weak") and "skipped" not in row]
        assert products or rank
        assert all(row["bits equal"] is True and row["ms"] > 0 and row["hosts"] == 1 for row in products)
        assert {row["method"] for row in rows if "skipped" in row} <= {"reduce"}
    if size == 3:
        links = [row for row in found[0] if row["kind"] == "links"]
        assert [row["ranks"] for row in links] == [2, 3]
        assert all(row["all-gather GB/s"] > 0 and row["all-to-all GB/s"] > 0 for row in links)


# ---- The command -------------------------------------------------------------------------------------------


def torchrun(*arguments: str, ranks: int = 2) -> subprocess.CompletedProcess[str]:
    start = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    command = [sys.executable, *start, scaling.__file__, "--device", "cpu", *arguments]
    source = str(Path(ozfp4.__file__).parents[1])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": source}
    return subprocess.run(command, capture_output=True, text=True, timeout=100, env=environment)


def test_tables_and_files(tmp_path: Path) -> None:
    done = torchrun("--quick", "--sizes", "24", "40", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "Strong scaling" in done.stdout
    assert "Weak scaling" in done.stdout
    assert done.stdout.count("What a rank receives") == 1  # rank 0 alone speaks
    results = json.loads((tmp_path / "scaling.json").read_text())
    assert results["machine"]["ranks"] == 2
    rows = results["rows"]
    assert len(rows) == len(measure.jobs([24, 40], 2))
    for row in rows:
        if row["kind"] in ("strong", "weak") and "skipped" not in row:
            assert row["bits equal"] is True
            assert row["percent"] == pytest.approx(100 * (row["ms"] / row["model ms"] - 1), abs=1.0)
    with (tmp_path / "scaling.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(rows)


def test_bits_that_differ_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    rows = of_model(2, 64)
    rows[-1]["bits equal"] = False
    scaling._report(argparse.Namespace(output=None), {"device": "any", "cuda": "13"}, rows)
    text = capsys.readouterr().out
    assert text.count("BITS DIFFER: weak N = 64, 2 ranks, a columns, b rows, reduce") == 1


def test_without_torchrun_a_line_says_how(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert scaling.main([]) == 2
    assert capsys.readouterr().err == f"scaling.py: no ranks here; start it with: {scaling.HOW}\n"


@pytest.mark.parametrize(
    ("arguments", "ranks", "message"),
    [
        ([], "1", "1 rank does not scale; start it with: torchrun"),
        (["-o", "/proc/no"], "2", "--output: /proc/no: cannot be made"),
    ],
)
def test_bad_input(
    arguments: list[str],
    ranks: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("WORLD_SIZE", ranks)
    for rank in ("0", "1"):  # one complaint is enough
        monkeypatch.setenv("RANK", rank)
        assert scaling.main(["--device", "cpu", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"scaling.py: {message}") if rank == "0" else error == ""


@pytest.mark.skipif(torch.cuda.is_available(), reason="there are GPUs")
def test_ranks_without_gpus(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "0")
    assert scaling.main(["--device", "cuda"]) == 2
    assert "--device: cuda: torch sees 0 GPUs, and 2 ranks are here" in capsys.readouterr().err
