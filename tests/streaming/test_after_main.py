"""Products on devices in threads that outlive the main one, and at exit."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("torch")

PROGRAM = """
import atexit, threading, time
import numpy as np, torch, ozfp4
a = np.random.default_rng(0).standard_normal((300, 200))
def multiply(word):
    c = ozfp4.matmul(a, a.T, device="cpu", workspace_limit=2**21)
    print(word, bool((c == ozfp4.matmul(a, a.T)).all()), flush=True)
def later():
    time.sleep(0.5)
    multiply("thread")
atexit.register(multiply, "exit")
threading.Thread(target=later).start()
"""


def test_products_go_on() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert (done.stdout.split(), done.stderr) == (["thread", "True", "exit", "True"], "")
