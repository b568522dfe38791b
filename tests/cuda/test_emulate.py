"""``ozfp4.emulate`` on a GPU: backward passes in torch's own threads, captured graphs, what is taken by thresholds.

Products themselves: tests/emulation and tests/suites, which take the GPU where there is one. Skipped where torch, a GPU or its
kernels are missing."""

from __future__ import annotations

import threading

import pytest
from first_gpu import DEVICE, torch

import ozfp4
from ozfp4._emulation import chains, choice
from ozfp4._emulation.summary import Decision
from ozfp4.testing import assert_same_bits

REAL = torch.float64


def entries(*shape, dtype=REAL):
    generator = torch.Generator().manual_seed(sum(shape))
    return (3 * torch.randn(shape, dtype=dtype, generator=generator)).exp().to(DEVICE)


@pytest.fixture
def told(monkeypatch):
    monkeypatch.setattr(choice, "_fastest", lambda problem, options: Decision(True, "told"))


def test_the_backward_pass_is_caught_in_the_thread_of_the_device():
    x, w = entries(33, 70).requires_grad_(), entries(70, 20).requires_grad_()
    start = entries(33, 20)
    threads = set()
    with ozfp4.emulate(mode="always") as scope:
        y = x @ w
        y.register_hook(lambda grad: threads.add(threading.get_ident()))
        y.backward(start)
    assert threads
    assert scope.summary.caught == 3
    assert_same_bits(x.grad.cpu(), ozfp4.matmul(start, w.detach().mT).cpu())
    assert_same_bits(w.grad.cpu(), ozfp4.matmul(x.detach().mT, start).cpu())
    outer, inner = ozfp4.emulate(mode="always"), ozfp4.emulate(mode="always", accuracy="correct")
    x.grad = None
    with outer, inner:
        (x @ w).backward(start)
    assert (outer.summary.caught, inner.summary.caught) == (0, 3)
    assert_same_bits(x.grad.cpu(), ozfp4.matmul(start, w.detach().mT, accuracy="correct").cpu())


@pytest.mark.parametrize("mode", ["always", "fastest"])
def test_a_graph_captures_what_ran_before(told, mode):
    a, b = entries(64, 80), entries(80, 48)
    out = torch.full((64, 48), float("nan"), dtype=REAL, device=DEVICE)
    expected = ozfp4.matmul(a, b).cpu()
    graph = torch.cuda.CUDAGraph()
    with ozfp4.emulate(mode=mode) as scope:
        torch.mm(a, b, out=out)
        out.fill_(float("nan"))
        with torch.cuda.graph(graph):
            torch.mm(a, b, out=out)
    assert scope.summary.caught == 2
    out.fill_(float("nan"))
    graph.replay()
    assert_same_bits(out.cpu(), expected)


def test_fastest_takes_what_the_threshold_says():
    a = entries(4096, 4096)
    with ozfp4.emulate() as scope:
        c = a @ a
        small = a[:64, :64] @ a[:64, :64]
    rows = {row.problem.m: row for row in scope.summary.rows}
    assert not rows[64].taken
    expected = ozfp4.matmul(a, a) if rows[4096].taken else torch.mm(a, a)
    assert_same_bits(c.cpu(), expected.cpu())
    assert_same_bits(small.cpu(), (a[:64, :64] @ a[:64, :64]).cpu())


def test_gradients_of_what_is_caught_by_name_are_ours_after_the_scope(told):
    x, w = entries(33, 70).requires_grad_(), entries(70, 20).requires_grad_()
    start = entries(33, 20)
    with ozfp4.emulate() as scope:
        y = x @ w
    y.backward(start)
    assert scope.summary.caught == 1
    assert_same_bits(y.detach().cpu(), ozfp4.matmul(x.detach(), w.detach()).cpu())
    assert_same_bits(x.grad.cpu(), ozfp4.matmul(start, w.detach().mT).cpu())
    assert_same_bits(w.grad.cpu(), ozfp4.matmul(x.detach().mT, start).cpu())


# ---- Places where the last product had many chains


@pytest.fixture
def no_places(told, monkeypatch):
    """ozfp4 is the faster one, its kernels are tested, and no place is known."""
    with ozfp4.emulate():
        for shape, product in FORMS.values():
            product(normal(*shape))
    torch.cuda.synchronize()  # pending counts
    monkeypatch.setattr(chains, "_places", {})


def covariance(*shape):
    """A kernel of points on a line, of which nearly all entries of a product become chains."""
    points = torch.rand(*shape[:-1], 1, dtype=REAL, generator=torch.Generator().manual_seed(4))
    return torch.exp(-((points - points.mT) ** 2) / (2 * 0.05**2)).to(DEVICE)


def normal(*shape):
    return torch.randn(shape, dtype=REAL, generator=torch.Generator().manual_seed(5)).to(DEVICE)


def counts(scope):
    return scope.summary.caught, scope.summary.left


FORMS = {
    "small": ((96, 96), lambda x: x @ x),
    "large": ((1536, 1536), lambda x: x @ x),
    "stack": ((3, 256, 256), lambda x: x @ x),
    "update": ((512, 512), lambda x: torch.addmm(x, x, x, beta=0.5)),
    "complex": ((384, 384), lambda x: torch.mm(x * (1 + 0.5j), x * (1 - 0.25j))),
}


@pytest.mark.parametrize("form", FORMS)
def test_after_many_repairs_products_of_a_place_are_torchs(no_places, form):
    shape, product = FORMS[form]
    many, few = covariance(*shape), normal(*shape)
    with ozfp4.emulate() as scope:
        for _ in range(3):
            product(many)
            torch.cuda.synchronize()
    assert counts(scope) == (1, 2)
    assert {row.reason for row in scope.summary.rows} == {"told", chains.MANY.reason}
    chains._places.clear()
    with ozfp4.emulate() as scope:
        for _ in range(3):
            product(few)
            torch.cuda.synchronize()
    assert counts(scope) == (3, 0)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_nobody_waits_for_repairs(no_places):
    x, y = covariance(1024, 1024), normal(1024, 1024)

    def product(x):
        return torch.mm(x, x)

    def steps():
        return [product(x) for _ in range(3)] + [torch.mm(y, y) for _ in range(2)]

    with ozfp4.emulate():  # all that comes once
        steps()
        torch.cuda.synchronize()
        steps()
    chains._places.clear()
    torch.cuda.synchronize()
    asleep = torch.cuda.Event()
    torch.cuda._sleep(2 * 10**9)  # a second
    asleep.record()
    torch.cuda.set_sync_debug_mode("error")
    try:
        with ozfp4.emulate() as scope:
            steps()
            assert not asleep.query()
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert counts(scope) == (2, 3)  # the first of each place
    assert {row.reason for row in scope.summary.rows} == {"told", chains.AWAITED.reason}
    torch.cuda.synchronize()
    with ozfp4.emulate() as scope:
        steps()
    assert counts(scope) == (2, 3)  # all of y, none of x
    assert {row.reason for row in scope.summary.rows} == {"told", chains.MANY.reason}


def test_a_graph_has_what_its_place_is_known_for(no_places):
    x, y, out = covariance(1024, 1024), normal(1024, 1024), normal(1024, 1024)

    def product(x):
        torch.mm(x, x, out=out)

    for matrix, expected in ((y, (3, 0)), (x, (1, 2))):
        chains._places.clear()
        native = torch.mm(matrix, matrix)
        graph = torch.cuda.CUDAGraph()
        with ozfp4.emulate() as scope:
            for _ in range(2):
                product(matrix)
                torch.cuda.synchronize()
            with torch.cuda.graph(graph):
                product(matrix)
        assert counts(scope) == expected
        (told_at, _), before = chains._counts[0], chains._counts[0][0].copy()
        out.fill_(float("nan"))
        for _ in range(2):
            graph.replay()
        torch.cuda.synchronize()
        assert (told_at == before).all()  # nothing is counted in a graph
        if matrix is y:
            assert_same_bits(out.cpu(), ozfp4.matmul(y, y).cpu())
        else:
            assert torch.allclose(out, native, rtol=1e-12, atol=0)


def test_integers_have_products_on_a_gpu():
    n = torch.arange(12, device=DEVICE).reshape(3, 4) * 2**59
    with ozfp4.emulate(dtypes="integers") as scope:
        found = n @ n.mT
    assert_same_bits(found.cpu(), ozfp4.matmul(n.cpu(), n.cpu().mT))
    (row,) = scope.summary.rows
    assert row.reason == "torch has no product of integers on a GPU"
