"""Products while another thread changes the environment: a getenv without the interpreter's lock meets a setenv."""

import os
import threading
import time

import numpy as np

import ozfp4

a = np.random.default_rng(0).standard_normal((8, 8))
ozfp4.matmul(a, a)  # with all that comes once
over = time.monotonic() + 1


def multiply():
    while time.monotonic() < over:
        ozfp4.matmul(a, a)


threads = [threading.Thread(target=multiply) for _ in range(3)]
for thread in threads:
    thread.start()
count = 0
while time.monotonic() < over:
    os.environ[f"OZFP4_TESTS_{count}"] = "x"
    count += 1
    if count % 3000 == 0:
        for i in range(count - 3000, count):
            del os.environ[f"OZFP4_TESTS_{i}"]
for thread in threads:
    thread.join()
