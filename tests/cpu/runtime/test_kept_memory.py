"""Workspace is kept for the next product, and given back some seconds after the last one."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

PROGRAM = """
import os, time
import numpy as np
import ozfp4

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

ozfp4.set_num_threads(2)
x = np.random.default_rng(1).standard_normal((2500, 2500))
out = np.empty_like(x)
before = resident()
_, report = ozfp4.matmul(x, x, out=out, backend="fp64", report=True)
print(report.workspace, resident() - before)
time.sleep(11)
print(resident() - before)
"""


def memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.nightly
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="nothing tells of the process's memory")
@pytest.mark.skipif(memory() < 2**33, reason="less is kept on a machine with less than 8 GiB")
def test_memory_is_given_back() -> None:
    began = time.monotonic()
    program = PROGRAM
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    workspace, kept, left = map(int, done.stdout.split())
    assert time.monotonic() - began > 11
    assert workspace > 2**28
    assert kept > workspace // 2
    assert left < 2**27 + 2**25  # what is always kept, and what libraries allocate
