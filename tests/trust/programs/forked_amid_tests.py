"""Another thread is in the middle of a test, with the locks that it takes, when the process forks."""

import os
import threading
import time

import numpy as np

import ozfp4
from ozfp4._backends import kernels
from ozfp4._trust import guard

a = np.ones((2, 2))
thread = threading.Thread(target=guard.test, args=(kernels.cpu_kernel("fp4"),), kwargs={"short": False})
thread.start()
time.sleep(0.1)
assert thread.is_alive()
child = os.fork()
if child == 0:
    os._exit(0 if (ozfp4.matmul(a, a) == 2).all() else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
thread.join()
raise SystemExit(status)
