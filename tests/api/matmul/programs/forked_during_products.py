"""Children that are forked while loops of other threads run have the bits of their parent, by the backend that is named."""

import os
import sys
import threading
import warnings

import numpy as np

import ozfp4

warnings.simplefilter("ignore")
ozfp4.set_num_threads(4)
x = np.random.default_rng(0).integers(-99, 99, (300, 300))


def multiply():
    return ozfp4.matmul(x, x, backend=sys.argv[1]).tobytes()


before = multiply()
over, wrong = False, 0


def loop():
    global wrong
    while not over:
        wrong += multiply() != before


threads = [threading.Thread(target=loop) for _ in range(2)]
for thread in threads:
    thread.start()
codes = []
for _ in range(10):
    child = os.fork()
    if child == 0:
        os._exit(0 if multiply() == before else 1)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
over = True
for thread in threads:
    thread.join()
raise SystemExit(any(codes) or wrong > 0)
