"""Other libraries in processes of their own: what they are told, what they answer, and what is left of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common import gpu, methods, peers

pytestmark = pytest.mark.slow


def play(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """The program, with the peer's environment and arguments, in place of torch on a GPU."""
    run = subprocess.run

    def played(command: list[str], **options: Any) -> Any:
        return run([sys.executable, "-c", program, *command[3:]], **options)

    monkeypatch.setattr(subprocess, "run", played)


def test_operands_and_product_pass_through_files(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((3, 5)), rng.standard_normal((5, 4))
    program = "import sys, numpy as np; x = np.load(sys.argv[2]); np.save(sys.argv[3], x['a'] @ x['b'])"
    play(monkeypatch, program)
    assert np.array_equal(peers.Peer({}).multiply(a, b), a @ b)


def test_a_row_of_a_peer_with_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    play(
        monkeypatch,
        "import json, os, sys; print(json.dumps({'ms': os.environ['PEER'], 'asked': sys.argv[1:]}))",
    )
    assert peers.Peer({"PEER": "x"}).row(8, 0.5) == {"ms": "x", "asked": ["time", "8", "0.5"]}


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("import sys; sys.exit('tired\\nof this')", "of this"),
        ("raise SystemExit(3)", "its process ended with status 3"),
    ],
)
def test_the_last_words_of_a_process(program: str, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, program)
    with pytest.raises(peers.PeerError, match=f"^{message}$"):
        peers.Peer({}).row(8, 0.5)


def test_methods_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "have_cuda", lambda: True)
    monkeypatch.setattr(methods, "gpu_backends", lambda: {"fp4", "int8"})
    found = methods.at_hand(__file__)
    assert {"cublas-55", "cublas-dynamic", "gemmul8", "cuda-II-int8-least"} <= set(found)
    assert "cuda-II-fp64-least" not in found


def test_the_sampler_leaves_no_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monitor = tmp_path / "nvidia-smi"
    monitor.write_text("#!/bin/sh\nwhile :; do echo '99.5, 1980'; sleep 0.01; done\n", encoding="utf-8")
    monitor.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    sampler = gpu.Sampler()
    process = sampler._process
    assert process is not None
    row: dict[str, float] = {}
    with sampler.during(row):
        while len(sampler.samples) < 3:
            assert process.poll() is None
    sampler.close()
    assert row == {"W": 100, "MHz": 1980}
    assert process.returncode is not None
    sampler.close()
