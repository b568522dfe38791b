# ruff: noqa: E402, N811
"""Scopes that the garbage collector ends, amid others: of NumPy or torch, in a mode."""

import faulthandler
import gc
import sys

faulthandler.dump_traceback_later(60, exit=True)
import numpy as np

import ozfp4

kind, mode = sys.argv[1:]
if kind == "torch":
    import torch  # noqa: F401
if mode == "always" and kind == "torch":
    from ozfp4._emulation.for_torch import mode as module
elif kind == "torch":
    from ozfp4._emulation.for_torch.names import EXCHANGE as module
else:
    from ozfp4._emulation.for_numpy import EXCHANGE as module

original = np.matmul


def generator():
    with ozfp4.emulate(mode=mode):
        yield


def abandon():
    steps = generator()
    next(steps)
    kept = [steps]
    kept.append(kept)


class Collecting:
    def __init__(self, lock):
        self.lock = lock

    def __enter__(self):
        self.lock.__enter__()
        gc.collect()

    def __exit__(self, *exception):
        gc.collect()
        self.lock.__exit__()


module._lock = Collecting(module._lock)
gc.disable()
for _ in range(3):
    abandon()
    with ozfp4.emulate(mode=mode) as scope:
        abandon()
        assert np.matmul is not original
gc.collect()
assert np.matmul is original
