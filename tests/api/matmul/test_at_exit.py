"""A process that ends while its daemon threads multiply."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
import sys, threading
import numpy as np
import ozfp4
a, b = np.random.default_rng(0).standard_normal((2, 300, 300))
begun = threading.Barrier(4)

def multiply():
    begun.wait()
    while True:
        if sys.argv[1] == "progress":
            with ozfp4.progress(lambda _: None):
                ozfp4.matmul(a, b, workspace_limit=2**20)
        else:
            ozfp4.matmul(a, b)

ozfp4.matmul(a, b)
for _ in range(3):
    threading.Thread(target=multiply, daemon=True).start()
begun.wait()
"""


@pytest.mark.parametrize("kind", ["repeated", "progress"])
def test_daemon_threads_end_with_the_process(kind: str) -> None:
    """Before Python 3.14 a thread that comes back to an interpreter that has ended is unwound from within the core."""
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, kind], capture_output=True, text=True, timeout=120
        )
        assert (done.returncode, done.stderr) == (0, "")
