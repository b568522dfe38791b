"""A product in a process that has no memory left is refused, and leaves C: of the library that the argument names."""

import resource
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # without pytest

import library as lib

library = lib.load(sys.argv[1])
n = 1 << 13
# Integers of 53 bits: those of few bits may be multiplied in less memory than is left.
a = np.full((n, n), 1 / 3)
c = np.full((n, n), 3.0)


def call():
    return library.ozfp4_dgemm(lib.ROW, lib.NONE, lib.NONE, n, n, n, 1.0, a, n, a, n, 0.0, c, n, None)


# A product by planes, with all that comes once.
m = 1 << 10
one = np.ones((m, m))
status = library.ozfp4_dgemm(lib.ROW, lib.NONE, lib.NONE, m, m, m, 1.0, a, m, a, m, 0.0, one, m, None)
assert status == lib.OK, lib.error(library)
library.ozfp4_set_num_threads(1)
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (64 << 20), -1))
assert call() == lib.NO_MEMORY, (call(), lib.error(library))
assert lib.error(library).startswith("memory: ")
assert c.min() == c.max() == 3.0
print("refused")
