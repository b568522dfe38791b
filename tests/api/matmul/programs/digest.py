"""The number of threads, and a digest of products by every path. Every loop is cut into several ranges somewhere: most of them
by small shapes, scale by long rows, folds by many entries."""

import hashlib
import sys
from pathlib import Path

import numpy as np

import ozfp4
from ozfp4 import _core

sys.path.append(str(Path(__file__).resolve().parents[3]))  # without pytest

from support import PATHS, chosen, operands

digest = hashlib.sha256()
for kind, shape in (("phi8", (150, 300, 160)), ("specials", (130, 40, 140)), ("whole-range", (65, 129, 70))):
    for dtype in (np.float64, np.float32):
        a, b = operands(kind, *shape, dtype=dtype)
        for path in PATHS:
            accuracy = "standard" if path.family == "least" else "scaled"
            c = chosen.matmul(a, b.copy(order="F"), **path._asdict(), accuracy=accuracy)
            c[np.isnan(c)] = np.nan
            digest.update(c.tobytes())
rng = np.random.default_rng(0)
for m, k, n in ((130, 1100, 5), (750, 3, 750)):
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    for path in PATHS:
        accuracy = "standard" if path.family == "least" else "scaled"
        digest.update(chosen.matmul(a, b, **path._asdict(), accuracy=accuracy).tobytes())
x, y = rng.integers(-128, 128, (300, 90), np.int8), rng.integers(-128, 128, (90, 350), np.int8)
for products in (6, 9):
    digest.update(ozfp4.int8_matmul(x, y, products=products).tobytes())
print(_core.thread_count(), digest.hexdigest())
