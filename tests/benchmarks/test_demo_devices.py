"""``--device`` of benchmarks/demo.py; a GPU is played by torch's CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import demo
import ozfp4
from ozfp4._measure import machine


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices that arrays were sent to."""
    torch = pytest.importorskip("torch")
    sent: list[str] = []
    to = torch.Tensor.to

    def send(tensor: Any, where: Any, *further: Any, **options: Any) -> Any:
        if where != "cuda:1":
            return to(tensor, where, *further, **options)
        sent.append(where)
        return tensor

    plan = ozfp4.plan
    monkeypatch.setattr(machine, "gpus", lambda: [1, 3])
    monkeypatch.setattr(torch.Tensor, "to", send)
    monkeypatch.setattr(ozfp4, "plan", lambda *a, device, **o: plan(*a, **o))
    return sent


def test_the_demo_takes_the_gpu(gpu: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    s, f = np.random.default_rng(5).standard_normal((2, 9, 9))
    path = tmp_path / "molecule.npz"
    np.savez(path, S=s + s.T, F=f + f.T, C=np.random.default_rng(6).standard_normal((9, 6)))
    assert demo.main([str(path)]) == 0
    text = capsys.readouterr().out
    assert "four products, on the GPU" in text
    assert "OK: 4 ways" in text
    assert len(gpu) == 3
    assert demo.main([str(path), "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert "four products, on the CPU" in text
    assert "OK: 6 ways" in text
    assert len(gpu) == 3


def test_a_build_without_kernels_does_not_import_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise SystemExit('torch was imported')\n", encoding="utf-8")
    program = (
        "import sys; sys.path.insert(0, '.')\n"
        "from ozfp4._backends.cuda import extension\n"
        "extension.extension = lambda: None\n"
        "from ozfp4._measure.machine import gpus\n"
        "sys.exit(len(gpus()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_gpu_that_is_not_there(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(machine, "gpus", list)
    assert demo.main(["--device", "cuda"]) == 2
    complaint = capsys.readouterr().err.strip()
    assert complaint.startswith("demo.py: --device: there is no GPU that torch sees")
    assert "\n" not in complaint
