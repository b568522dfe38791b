"""The four stages in a row equal matmul, and the integers in between are the reference's."""

from __future__ import annotations

import numpy as np
import pytest

import ozfp4
from ozfp4 import stages
from ozfp4.testing import assert_same_bits, integer_product
from support import KINDS, PATHS, Path, chosen, operands

FINITE = [kind for kind in KINDS if kind not in ("specials", "infinities")]


@pytest.mark.parametrize("path", PATHS, ids=str)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", FINITE)
def test_stages_equal_matmul(kind: str, dtype: type, path: Path) -> None:
    bits = 53 if dtype == np.float64 else 24
    for shape in ((5, 23, 6), (1, 1, 1), (18, 520, 3)):
        a, b = operands(kind, *shape, dtype=dtype)
        plan = ozfp4.plan(*shape[::2], shape[1], bits=bits, accuracy="scaled", **path._asdict())
        scaled_a, scaled_b = stages.scale(a, "a", bits), stages.scale(b, "b", bits)
        planes_a = stages.encode(scaled_a.integers, plan, "a")
        planes_b = stages.encode(scaled_b.integers, plan, "b")
        output = stages.multiply(planes_a, planes_b, plan)
        integers, s, t = integer_product(a, b, bits)
        assert (stages.integers(output, plan) == integers).all()
        assert (scaled_a.exponents == s).all()
        assert (scaled_b.exponents == t).all()
        c = stages.reconstruct(output, plan, scaled_a.exponents, scaled_b.exponents, dtype=dtype)
        assert_same_bits(c, chosen.matmul(a, b, **path._asdict(), accuracy="scaled"), (path, kind, shape))
