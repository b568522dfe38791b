"""A stream is full, behind a function of the host in Python: the launch that waits there must not hold the interpreter's lock."""

import ctypes
import signal
import threading

import torch

import ozfp4

x = torch.randn(8, 8, dtype=torch.complex128, device="cuda:0")
right = ozfp4.matmul(x, x)
torch.cuda.synchronize()
go_on, stream = threading.Event(), torch.cuda.Stream(0)
waits = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: go_on.wait() and None)
signal.alarm(60)  # ends it, whatever it waits for
with torch.cuda.stream(stream):
    ozfp4.matmul(x, x)
    stream.synchronize()
    assert ctypes.CDLL("libcuda.so.1").cuLaunchHostFunc(ctypes.c_void_p(stream.cuda_stream), waits, None) == 0
    threading.Timer(1, go_on.set).start()
    for _ in range(20_000):  # more than a stream holds
        found = ozfp4.matmul(x, x)
stream.synchronize()
assert torch.equal(found, right)
