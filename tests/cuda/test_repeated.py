"""Products and updates like one before, which are launched without checks: bits, refusals, streams, threads and graphs."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from first_gpu import DEVICE, noisy, torch

import ozfp4
from ozfp4.backends.cuda import launch
from ozfp4.dispatch import repeated
from ozfp4.testing import assert_same_bits
from support import chosen

DTYPES = (torch.float64, torch.float32, torch.complex128, torch.complex64, torch.int64, torch.int32)


@pytest.fixture
def relaunched(monkeypatch):
    """The launches that were repeated."""
    own, found = repeated.relaunch, []

    def watched(*arguments):
        found.append(arguments)
        own(*arguments)

    monkeypatch.setattr(repeated, "relaunch", watched)
    monkeypatch.setattr(repeated, "made", {})
    return found


def draw(*shape, dtype=torch.float64):
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.randint(-1000, 1000, shape, dtype=dtype, device=DEVICE)
    return torch.randn(shape, dtype=dtype, device=DEVICE)


def expected(product, *given, **options):
    return np.asarray(
        product(*(x.cpu().resolve_conj().numpy() if torch.is_tensor(x) else x for x in given), **options)
    )


def test_tensors_are_read_as_structures():
    """Where torch offers that: what attributes say takes three times as long."""
    if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
        pytest.skip("this torch offers no structures")
    a, b = draw(4, 5), draw(5, 3)
    assert repeated._reader() is not None
    assert isinstance(repeated._forms((a, b), torch), bytes)
    assert repeated._forms((a.cpu(), b), torch) is None


@pytest.mark.parametrize("left", [0, 64, 32 * 32 * 8 - 1])
@pytest.mark.parametrize("freed", ["a", "b", "c", "out"])
def test_storages_without_all_entries(freed, left, relaunched):
    """Refused by the argument's name, the first time and where a product like it could be launched again."""

    def update(freed=None):
        given = {name: draw(32, 32) for name in ("a", "b", "c", "out")}
        if freed is not None:
            given[freed].untyped_storage().resize_(left)
        return given

    for _ in range(2):
        with pytest.raises(RuntimeError, match=rf"^{freed}: .* {32 * 32 * 8} bytes .* {left}:"):
            chosen.gemm(1.0, beta=1.0, **update(freed))
        assert not relaunched
        chosen.gemm(1.0, beta=1.0, **update())
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
def test_products(shapes, options, dtype, relaunched):
    if options and not (dtype.is_floating_point or dtype.is_complex):
        pytest.skip("for floating-point numbers")
    for turn in range(3):
        a, b = (draw(*shape, dtype=dtype) for shape in shapes)
        right = expected(chosen.matmul, a, b, **options)
        assert_same_bits(chosen.matmul(a, b, **options).cpu(), right)
        out = torch.empty(right.shape, dtype=dtype, device=DEVICE).fill_(7)
        before = out._version
        assert chosen.matmul(a, b, out=out, **options) is out
        assert out._version > before
        assert_same_bits(out.cpu(), right)
        assert len(relaunched) == 2 * turn


@pytest.mark.parametrize("dtype", DTYPES[:4], ids=str)
def test_updates(dtype, relaunched):
    for turn in range(3):
        a, b, c = draw(64, 65, dtype=dtype), draw(65, 34, dtype=dtype), draw(64, 34, dtype=dtype)
        for given, options in (
            ((1, a, b, 1, c), {}),
            ((-2.0, a, b, 0.5, c[0]), {}),
            ((1, a.mT.contiguous(), b, 1, c), {"trans_a": "C"}),
        ):
            assert_same_bits(chosen.gemm(*given, **options).cpu(), expected(chosen.gemm, *given, **options))
        right = expected(chosen.gemm, 1, a, b, 1, c)
        assert chosen.gemm(1, a, b, 1, c, out=c) is c
        assert_same_bits(c.cpu(), right)
        assert turn == 0 or len(relaunched) > 0


def test_what_overlaps_is_refused():
    memory = draw(10_000)
    a, b, out = memory[:4096].view(64, 64), draw(64, 64), noisy((64, 64))
    for _ in range(2):
        chosen.matmul(a, b, out=out)
    kept = memory.clone()
    with pytest.raises(ValueError, match="shares memory with a"):
        chosen.matmul(a, b, out=memory[4000:8096].view(64, 64))
    assert torch.equal(memory, kept)


def test_operators_and_gradients(relaunched):
    import ozfp4.torch_ops  # noqa: F401 - enters the operators

    for turn in range(3):
        a, b = draw(64, 65), draw(65, 34)
        right = expected(chosen.matmul, a, b)
        before = len(relaunched)
        assert_same_bits(torch.ops.ozfp4.matmul(a, b).cpu(), right)
        assert len(relaunched) == before + (turn > 0)
        x, y = a.clone().requires_grad_(), torch.nn.Parameter(b.clone())
        c = chosen.matmul(x, y)
        assert_same_bits(c.detach().cpu(), right)
        assert len(relaunched) == before + (turn > 0) + 1
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
    for _ in range(20):  # beside products on another stream
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


def test_a_workspace_larger_than_the_kept_one(relaunched):
    for n in (64, 1000):
        a, b = draw(n, n), draw(n, n)
        for _ in range(2):
            assert_same_bits(chosen.matmul(a, b).cpu(), expected(chosen.matmul, a, b))
    sizes = [arguments[0].bytes for arguments in relaunched]
    assert sizes[0] <= launch._KEPT_WORKSPACE < sizes[1]


def test_a_launch_refuses_other_arguments(relaunched):
    a, b = draw(8, 8), draw(8, 8)
    for _ in range(2):
        right = chosen.matmul(a, b)
    launch_again = relaunched[-1][0].relaunch
    out = noisy((8, 8), torch.float64)
    at = a.data_ptr(), b.data_ptr(), out.data_ptr(), 0, 0, 0
    for given, error, words in (
        ((), TypeError, "relaunch: takes 9 arguments, not 0"),
        ((*at, 1.0, 0.0), TypeError, "relaunch: takes 9 arguments, not 8"),
        (("a", *at[1:], 1.0, 0.0, 0), TypeError, ""),
        ((*at, "1", 0.0, 0), TypeError, ""),
        ((-8, *at[1:], 1.0, 0.0, 0), OverflowError, ""),
        ((*at, 0.0, 0.0, 0), ValueError, "alpha, beta, addend: out of range"),
        ((at[0] + 8, *at[1:], 1.0, 0.0, 0), ValueError, "a pointer is aligned otherwise"),
    ):
        with pytest.raises(error, match=words or None):
            launch_again(*given)
    assert torch.isnan(out).all()
    assert torch.equal(chosen.matmul(a, b), right)
