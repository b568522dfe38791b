"""Products and updates on the short way through the core: bits, refusals, streams, threads and graphs."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, torch

import ozfp4
from ozfp4._dispatch import on_cuda
from ozfp4.testing import assert_same_bits
from support import chosen

DTYPES = (torch.float64, torch.float32, torch.complex128, torch.complex64, torch.int64, torch.int32)


def noted(own, found, *given):
    result = own(*given)
    if result is not NotImplemented:
        found.append(result)
    return result


@pytest.fixture
def short(monkeypatch):
    """The results that the core made without a closer look at the arguments."""
    cuda, found = on_cuda.ready(DEVICE), []
    monkeypatch.setattr(cuda, "multiply_plain", partial(noted, cuda.multiply_plain, found))
    return found


def draw(*shape, dtype=torch.float64):
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(-1000, 1000, shape, dtype=dtype, device=DEVICE)
    return torch.randn(shape, dtype=dtype, device=DEVICE)


def expected(product, *given, **options):
    return np.asarray(
        product(*(x.cpu().resolve_conj().numpy() if torch.is_tensor(x) else x for x in given), **options)
    )


@pytest.mark.parametrize("left", [0, 64, 32 * 32 * 8 - 1])
@pytest.mark.parametrize("freed", ["a", "b", "c", "out"])
def test_storages_without_all_entries(freed, left, short):
    """Refused by the argument's name, the first time and where a product like it could be launched again."""

    def update(freed=None):
        given = {name: draw(32, 32) for name in ("a", "b", "c", "out")}
        if freed is not None:
            given[freed].untyped_storage().resize_(left)
        return given

    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"^{freed}: .* {32 * 32 * 8} bytes .* {left}:"):
            chosen.gemm(1.0, beta=1.0, **update(freed))
        short.clear()
        ozfp4.gemm(1.0, beta=1.0, **update())
        assert len(short) == 1
    if freed in ("a", "b"):
        for product in (
            chosen.matmul,
            ozfp4.enclose,
            ozfp4.plan_for,
            lambda a, b: ozfp4.einsum("ij,jk", a, b),
        ):
            given = update(freed)
            with pytest.raises(RuntimeError, match=rf"^({freed}|operands\[\d\]): .* bytes"):
                product(given["a"], given["b"])
    whole = draw(32, 32)
    whole.untyped_storage().resize_(left)
    with pytest.raises(RuntimeError, match=r"^x: .* bytes"):
        chosen.prepare(whole, "left")
    with pytest.raises(RuntimeError, match=r"^a: .* bytes"):
        ozfp4.linalg.det(whole)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"bits": 53, "accuracy": "scaled"}, {"accuracy": "correct"}], ids=str
)
@pytest.mark.parametrize(
    "shapes", [((70, 65), (65, 33)), ((3, 64, 64), (64, 64)), ((65,), (65, 33))], ids=str
)
def test_products(shapes, options, dtype, short):
    if options and not (dtype.is_floating_point or dtype.is_complex):
        pytest.skip("for floating-point numbers")
    multiply = chosen.matmul if "bits" in options else ozfp4.matmul
    for turn in range(3):
        a, b = (draw(*shape, dtype=dtype) for shape in shapes)
        right = expected(multiply, a, b, **options)
        assert_same_bits(multiply(a, b, **options).cpu(), right)
        out = torch.empty(right.shape, dtype=dtype, device=DEVICE).fill_(7)
        before = out._version
        assert multiply(a, b, out=out, **options) is out
        assert out._version > before
        assert_same_bits(out.cpu(), right)
        is_short = dtype.is_floating_point or dtype.is_complex
        assert len(short) == (2 * (turn + 1) if is_short and "bits" not in options else 0)


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=str)
def test_updates(dtype, short):
    for turn in range(3):
        a, b, c = draw(64, 65, dtype=dtype), draw(65, 34, dtype=dtype), draw(64, 34, dtype=dtype)
        for given, options in (
            ((1, a, b, 1, c), {}),
            ((-2.0, a, b, 0.5, c[0]), {}),
            ((1, a.mT.contiguous(), b, 1, c), {"trans_a": "C"}),
        ):
            assert_same_bits(ozfp4.gemm(*given, **options).cpu(), expected(ozfp4.gemm, *given, **options))
        right = expected(chosen.gemm, 1, a, b, 1, c)
        assert ozfp4.gemm(1, a, b, 1, c, out=c) is c
        assert_same_bits(c.cpu(), right)
        assert len(short) == 3 * (turn + 1)  # one C has another shape


def test_an_addend_times_zero():
    """C is not read, but its dtype and shape count, the first time and later."""
    a, b = draw(32, 32, dtype=torch.float32), draw(32, 32, dtype=torch.float32)
    for _ in range(2):
        assert ozfp4.gemm(1.0, a, b, 0.0, draw(32, 32)).dtype == torch.float64
        with pytest.raises(ValueError, match=r"^c: "):
            ozfp4.gemm(1.0, a, b, 0.0, draw(31, 32))


def test_operators_and_gradients(short):
    import ozfp4._torch_ops

    for _ in range(3):
        a, b = draw(64, 65), draw(65, 34)
        right = expected(chosen.matmul, a, b)
        before = len(short)
        assert_same_bits(torch.ops.ozfp4.matmul(a, b).cpu(), right)
        assert len(short) == before + 1
        x, y = a.clone().requires_grad_(), torch.nn.Parameter(b.clone())
        c = ozfp4.matmul(x, y)
        assert_same_bits(c.detach().cpu(), right)
        assert len(short) == before + 2
        ones = torch.ones_like(c)
        c.backward(ones)
        assert_same_bits(x.grad.cpu(), expected(chosen.matmul, ones, b.mT))
        assert_same_bits(y.grad.cpu(), expected(chosen.matmul, a.mT, ones))


def test_streams_and_graphs():
    """Small products on one stream share a workspace, those in a graph have their own."""
    pairs = [(draw(64, 64), draw(64, 64)) for _ in range(8)]
    rights = [expected(chosen.matmul, *pair) for pair in pairs]
    chosen.matmul(*pairs[0])
    torch.cuda.synchronize()
    streams = [torch.cuda.Stream() for _ in range(4)]
    found = []
    for turn in range(40):
        with torch.cuda.stream(streams[turn % 4]):
            found.append(chosen.matmul(*pairs[turn % 8]))
    torch.cuda.synchronize()
    for turn, c in enumerate(found):
        assert_same_bits(c.cpu(), rights[turn % 8], turn)
    graph, out = torch.cuda.CUDAGraph(), noisy((64, 64))
    chosen.matmul(*pairs[0], out=out)
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        chosen.matmul(*pairs[1], out=out)
    for _ in range(20):  # at the same time as products on another stream
        graph.replay()
        with torch.cuda.stream(streams[0]):
            other = chosen.matmul(*pairs[2])
    torch.cuda.synchronize()
    assert_same_bits(out.cpu(), rights[1])
    assert_same_bits(other.cpu(), rights[2])


def test_threads_on_one_stream():
    """Launches of one product follow each other, whatever other threads multiply: they share counters and a workspace."""
    rng = np.random.default_rng(3)
    spread = [
        2.0 ** rng.integers(-60, 60, (64, 64)) for _ in range(4)
    ]  # entries that are listed and repaired
    pairs = [(draw(64, 64) * torch.from_numpy(s).to(DEVICE), draw(64, 64)) for s in spread]
    rights = [expected(chosen.matmul, *pair) for pair in pairs]
    found = [[] for _ in pairs]
    chosen.matmul(*pairs[0])

    def multiply(number):
        for _ in range(300):
            found[number].append(chosen.matmul(*pairs[number]))

    threads = [threading.Thread(target=multiply, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    for products, right in zip(found, rights, strict=True):
        assert len(products) == 300
        for c in products:
            assert_same_bits(c.cpu(), right)


def test_a_workspace_larger_than_the_kept_one(short):
    for n in (64, 1000):
        a, b = draw(n, n), draw(n, n)
        for _ in range(2):
            assert_same_bits(ozfp4.matmul(a, b).cpu(), expected(ozfp4.matmul, a, b))
    assert len(short) == 4


def run_first_products(before, **environment):
    program = Path(__file__).parent / "programs" / "first_products.py"
    subprocess.run(
        [sys.executable, str(program), before], check=True, timeout=120, env=os.environ | environment
    )


@pytest.mark.parametrize("before", ["info", "plan", "forced", "attributes"])
def test_the_first_product_of_a_process(before):
    run_first_products(before)


def test_every_stage_is_waited_for():
    """So that an error names the stage that made it."""
    run_first_products("nothing", OZFP4_DEBUG="sync")


def test_bad_factors_are_refused(short):
    a, b = draw(16, 16), draw(16, 16)
    ozfp4.gemm(2, a, b)
    assert len(short) == 1
    for alpha, error in (
        (True, TypeError),
        ("1", TypeError),
        (float("nan"), ValueError),
        (2**53 + 1, ValueError),
    ):
        with pytest.raises(error, match=r"^alpha"):
            ozfp4.gemm(alpha, a, b)
    with pytest.raises(TypeError, match=r"^alpha"):
        ozfp4.gemm(1j, a, b)
    assert len(short) == 1


def test_an_out_between_the_columns_of_an_operand(short):
    memory = draw(64, 128)
    a, out, b = memory[:, ::2], memory[:, 1::2], draw(64, 64)
    right = expected(ozfp4.matmul, a, b)
    assert ozfp4.matmul(a, b, out=out) is out
    assert_same_bits(out.cpu(), right)
    assert not short


def test_threads_that_are_the_first_on_a_stream():
    a, b = draw(64, 64), draw(64, 64)
    right = expected(ozfp4.matmul, a, b)
    torch.cuda.synchronize()
    for _ in range(10):
        stream, found = torch.cuda.Stream(), []

        def multiply(stream=stream, found=found):
            with torch.cuda.stream(stream):
                found.append(ozfp4.matmul(a, b))

        threads = [threading.Thread(target=multiply) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        torch.cuda.synchronize()
        assert len(found) == 4
        for c in found:
            assert_same_bits(c.cpu(), right)


def test_no_memory_is_kept_after_a_product():
    a, b = draw(300, 300), draw(300, 300)
    ozfp4.matmul(a, b)
    ozfp4.gemm(2, a, b, 1, a)
    torch.cuda.synchronize()
    held = torch.cuda.memory_allocated(DEVICE)
    for _ in range(3):
        x, y = draw(300, 300), draw(300, 300)
        ozfp4.gemm(2, x, y, 1, x)
        ozfp4.matmul(x, y)
    del x, y
    assert torch.cuda.memory_allocated(DEVICE) == held


def test_prepared_operands_without_entries():
    a, b = chosen.prepare(draw(0, 1000), "left"), chosen.prepare(draw(1000, 3), "right")
    assert tuple(chosen.matmul(a, b).shape) == (0, 3)
    a, b = chosen.prepare(draw(5, 0), "left"), chosen.prepare(draw(0, 3), "right")
    assert_same_bits(chosen.matmul(a, b).cpu(), np.zeros((5, 3)))


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=str)
def test_matrices_that_share_memory_with_each_other(dtype):
    series = torch.randn(2000, dtype=dtype, device=DEVICE)
    a = series.as_strided((2, 3, 4, 50), (7, 0, 30, 1))
    b = series.as_strided((3, 50, 6), (2, 1, 40)).expand(2, 3, 50, 6)
    expected = ozfp4.matmul(np.ascontiguousarray(a.cpu().numpy()), np.ascontiguousarray(b.cpu().numpy()))
    for _ in range(2):  # the second goes the way of products that were made before
        assert_same_bits(ozfp4.matmul(a, b).cpu(), expected)
    for out, name in (
        (series.as_strided((2, 3, 4, 6), (100, 30, 7, 1)), "a"),
        (series[:144].view(2, 3, 4, 6), "a"),
    ):
        with pytest.raises(ValueError, match=rf"^out: (the array shares memory with {name}|entries of)"):
            ozfp4.matmul(a, b, out=out)
