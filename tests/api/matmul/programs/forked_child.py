"""A forked child has the bits of its parent."""

import os
import warnings

import numpy as np

import ozfp4

warnings.simplefilter("ignore")
a = np.random.default_rng(0).standard_normal((200, 200))
before = ozfp4.matmul(a, a, backend="fp4").tobytes()
child = os.fork()
if child == 0:
    os._exit(0 if ozfp4.matmul(a, a, backend="fp4").tobytes() == before else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
