"""``--device`` of ``ozfp4 run`` and benchmarks/demo.py; a GPU is played by torch's CPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.cli import devices, main
from ozfp4.testing import assert_same_bits

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

import demo

A, B = (np.random.default_rng(7).standard_normal(shape) for shape in ((5, 7), (7, 4)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", A)
    np.save("b.npy", np.asfortranarray(B).astype(">f8"))
    return tmp_path


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
    monkeypatch.setattr(devices, "gpus", lambda: [1, 3])
    monkeypatch.setattr(torch.Tensor, "to", send)
    monkeypatch.setattr(ozfp4, "plan", lambda *a, device, **o: plan(*a, **o))
    return sent


@pytest.mark.parametrize("choice", [[], ["--device", "auto"], ["--device", "cuda"]])
def test_run_takes_the_gpu(
    choice: list[str], gpu: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "a.npy", "b.npy", "-o", "c.npy", *choice]) == 0
    assert gpu == ["cuda:1", "cuda:1"]
    assert_same_bits(np.load("c.npy"), ozfp4.matmul(A, B))
    assert "whole, with copies to the GPU and back" in capsys.readouterr().out


@pytest.mark.parametrize("choice", [["--device", "cpu"], ["--backend", "fp64"]])
def test_run_stays_on_the_cpu(choice: list[str], gpu: list[str], folder: Path) -> None:
    assert main(["run", "a.npy", "b.npy", "-o", "c.npy", *choice]) == 0
    assert gpu == []
    assert_same_bits(np.load("c.npy"), ozfp4.matmul(A, B))


def test_the_demo_takes_the_gpu(gpu: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    s, f = np.random.default_rng(5).standard_normal((2, 9, 9))
    path = tmp_path / "molecule.npz"
    np.savez(path, S=s + s.T, F=f + f.T, C=np.random.default_rng(6).standard_normal((9, 6)))
    assert demo.main([str(path)]) == 0
    text = capsys.readouterr().out
    assert "four products, on the GPU" in text
    assert "OK: 4 ways" in text
    assert len(gpu) == 3 * 5  # four ways, and "correct"
    assert demo.main([str(path), "--device", "cpu"]) == 0
    text = capsys.readouterr().out
    assert "four products, on the CPU" in text
    assert "OK: 6 ways" in text
    assert len(gpu) == 3 * 5


def test_a_build_without_kernels_does_not_import_torch(folder: Path) -> None:
    (folder / "torch.py").write_text("raise SystemExit('torch was imported')\n", encoding="utf-8")
    program = (
        "import sys; sys.path.insert(0, '.')\n"
        "from ozfp4 import cli\n"
        "from ozfp4.backends.cuda import extension\n"
        "extension.extension = lambda: None\n"
        "sys.exit(cli.main(['run', 'a.npy', 'b.npy', '-o', 'c.npy']))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert_same_bits(np.load("c.npy"), ozfp4.matmul(A, B))


@pytest.mark.parametrize(
    ("name", "program", "arguments"),
    [("ozfp4 run", main, ["run", "a.npy", "b.npy", "-o", "c.npy"]), ("demo.py", demo.main, [])],
)
def test_a_gpu_that_is_not_there(
    name: str,
    program: Callable[[list[str]], int],
    arguments: list[str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(devices, "gpus", list)
    assert program([*arguments, "--device", "cuda"]) == 2
    complaint = capsys.readouterr().err.strip()
    assert complaint.startswith(f"{name}: --device: there is no GPU that torch sees")
    assert "\n" not in complaint
    assert not Path("c.npy").exists()
