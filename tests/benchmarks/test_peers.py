"""Children of the benchmarks: started when asked, and ended, with all their files, whether or not somebody closes them."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from common import gpu, methods, peers

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def nothing_left_open() -> Iterator[None]:
    """What is collected without having been closed warns."""
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
        gc.collect()
    assert [str(warning.message) for warning in caught] == []


@pytest.fixture
def child(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """In place of the peer's process one that answers each line with its number, until the tenth, and notes its end."""
    program = tmp_path / "child.py"
    program.write_text(
        "import json, sys\n"
        "for n, line in enumerate(sys.stdin, 1):\n"
        "    if n == 10: sys.exit('tired\\nof this')\n"
        "    print(json.dumps({'error': 'no'} if 'bad' in line else {'result': n}), flush=True)\n"
        f"open({str(tmp_path / 'ended')!r}, 'w').close()\n",
        encoding="utf-8",
    )
    popen = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda command, **options: popen([sys.executable, str(program)], **options)
    )
    return tmp_path / "ended"


def test_operands_and_product_pass_through_files(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((3, 5)), rng.standard_normal((5, 4))

    def ask(self: object, product: list[str]) -> None:
        with np.load(product[0]) as operands:
            np.save(product[1], operands["a"] @ operands["b"])

    monkeypatch.setattr(peers.Peer, "ask", ask)
    assert np.array_equal(peers.Peer({}).multiply(a, b), a @ b)


def test_methods_that_are_never_used_open_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "have_cuda", lambda: True)
    monkeypatch.setattr(methods, "gpu_backends", lambda: {"fp4", "int8"})
    before = len(os.listdir("/proc/self/fd"))
    found = methods.at_hand(__file__)
    assert {"cublas-55", "cublas-dynamic", "gemmul8", "cuda-II-int8-least"} <= set(found)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_peer_that_nobody_closes_ends_its_child(child: Path) -> None:
    peer = peers.Peer({})
    assert [peer.ask(x=1), peer.ask(x=2)] == [1, 2]
    assert not child.exists()
    del peer
    gc.collect()
    assert child.exists()


def test_closing_ends_the_child_and_the_next_request_starts_another(child: Path) -> None:
    with peers.Peer({}) as peer:
        assert [peer.ask(x=1), peer.ask(x=2)] == [1, 2]
        with pytest.raises(peers.PeerError, match="no"):
            peer.ask(bad=1)
    assert child.exists()
    assert peer.ask(x=1) == 1
    peer.close()
    peer.close()


def test_the_last_words_of_a_child(child: Path) -> None:
    with peers.Peer({}) as peer:
        for _ in range(9):
            peer.ask()
        for _ in range(2):
            with pytest.raises(peers.PeerError, match="of this"):
                peer.ask()


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
