"""The interpreter and other devices while products are launched."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from itertools import pairwise

import pytest
from first_gpu import torch

import ozfp4


def test_a_launch_that_waits_for_the_stream_leaves_the_interpreter_free():
    a = torch.ones(32, 32, dtype=torch.float64, device="cuda:0")
    ozfp4.matmul(a, a, accuracy="scaled")
    torch.cuda.synchronize()
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    torch.cuda._sleep(3_000_000_000)  # about two seconds, in which the queue of launches fills up
    begin = time.monotonic()
    for _ in range(3000):
        ozfp4.matmul(a, a, accuracy="scaled")
    waited = time.monotonic() - begin
    done.set()
    thread.join()
    torch.cuda.synchronize()
    assert waited > 0.5  # else the queue was not full, and this shows nothing
    assert max(y - x for x, y in pairwise(ticks)) < 0.25


def test_no_context_on_a_device_that_takes_no_part():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    code = """
import threading, torch, ozfp4
a = torch.ones(64, 64, dtype=torch.float64, device="cuda:1")
def multiply():
    assert (ozfp4.matmul(a, a) == 64).all()
multiply()
thread = threading.Thread(target=multiply)
thread.start()
thread.join()
assert torch.cuda.current_device() == 0
assert not torch._C._cuda_hasPrimaryContext(0)
assert torch._C._cuda_hasPrimaryContext(1)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=600)


def test_the_callers_device_stays():
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    a = torch.ones(64, 64, dtype=torch.float64, device="cuda:1")
    with torch.cuda.device(0):
        torch.ones(1, device="cuda")
        for _ in range(3):
            assert (ozfp4.matmul(a, a, accuracy="scaled") == 64).all()
            assert torch.cuda.current_device() == 0
            assert torch.ones(1, device="cuda").device.index == 0
