"""Other libraries in processes of their own: what they are told, what they answer, and what is left of them."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from common import peers

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


def test_times_of_a_peer_with_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    play(
        monkeypatch, "import os, sys; assert sys.argv[1:] == ['time', '8', '0.5']; print(os.environ['PEER'])"
    )
    assert peers.Peer({"PEER": "1.25"}).milliseconds(8, 0.5) == 1.25


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
        peers.Peer({}).milliseconds(8, 0.5)
