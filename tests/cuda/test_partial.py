"""Pieces of K on a GPU: the CPU's facts of lines, and the bits of whole products."""

from __future__ import annotations

from dataclasses import replace

import pytest
from first_gpu import DEVICE, torch
from piece_cases import MOST_BITS, Case, cases, check, operands

from ozfp4._backends.partial import Partial
from ozfp4._dispatch import decision
from ozfp4._dispatch.product import partial_product
from ozfp4._options import Options
from ozfp4._plans.plan import make_plan

SQUARES = 4  # of the words of a piece


def make(a, b, k, plan, asked, dtype):
    return partial_product(a, b, k, asked._replace(plan=plan, bits=None), dtype)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("backend", ["int8", "fp4"])
def test_pieces_have_the_bits_of_the_whole(seed, backend):
    for case in cases(60, seed):
        bits = None if case.bits is None else min(case.bits, MOST_BITS[backend])
        check(replace(case, backend=backend, bits=bits), make, "cuda")


@pytest.mark.parametrize("accuracy", ["scaled", "standard", "correct"])
@pytest.mark.parametrize("kind", ["normal", "spread", "special"])
def test_larger_products_by_pieces(accuracy, kind):
    for m, n, cuts in ((300, 517, (4096, 1000, 0, 7)), (65, 1030, (70000, 30000)), (1, 1, (1, 0, 2))):
        for seed in range(2):
            check(
                Case(m, n, cuts, kind, accuracy, "int8", regions=(m // 2, m - m // 2), seed=seed),
                make,
                "cuda",
            )


@pytest.mark.parametrize("accuracy", ["standard", "correct"])
def test_normal_entries_are_not_left(accuracy):
    left = check(Case(140, 250, (300, 0, 200, 1524), "normal", accuracy, "int8"), make, "cuda")
    assert left.sum() <= 2


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_facts_are_those_of_the_cpu(dtype):
    for kind in ("normal", "spread", "wild", "sparse", "small", "pieces", "special"):
        for m, n, k, seed in (
            (7, 9, 5, 0), (40, 33, 9000, 1), (1, 500, 70, 2), (513, 1, 300, 3), (64, 64, 4097, 2),
        ):  # fmt: skip
            case = Case(m, n, (k,), kind, "standard", "int8", dtype=dtype, seed=seed)
            a, b = operands(case)
            asked = Options(accuracy="standard", backend="int8")
            plan = make_plan("II", "int8", "least", decision.capacity(asked, dtype == "float32"), k)
            host = Partial(a, b, k, plan, asked, a.dtype).facts()
            device = make(a.to(DEVICE), b.to(DEVICE), k, plan, asked, a.dtype).facts().cpu()
            rest = [i for i in range(host.shape[1]) if i != SQUARES]
            assert torch.equal(host[:, rest], device[:, rest]), (kind, m, n, k)
            x, y = (words[:, SQUARES].contiguous().view(torch.float64) for words in (host, device))
            assert bool(((x == 0) == (y == 0)).all())
            assert bool((y >= x * (1 - 1e-9)).all())  # both are bounds; that of the device is the wider one
            assert bool((y <= x * (1 + 1e-3)).all())


def test_a_long_piece():
    """More of K than one accumulator holds."""
    check(Case(33, 48, (200_000, 131_072, 1), "normal", "standard", "int8"), make, "cuda")
