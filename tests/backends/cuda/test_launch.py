"""What a product on a GPU hands to the extension, without a GPU: tensors lie on torch's CPU, and a fake extension multiplies
what it is given, by addresses and strides alone.

That the real extension does the same is tested in tests/cuda/test_matmul.py.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._options import Options
from ozfp4.backends.cuda import extension, integers, launch
from ozfp4.backends.cuda.findings import Findings, make_report
from ozfp4.backends.cuda.variant import Variant
from ozfp4.backends.cuda.views import prepare
from ozfp4.dispatch import complex_product, repeated
from ozfp4.request.library import Operands
from ozfp4.request.operands import matmul_request, matmul_shape
from ozfp4.request.out import check_out
from ozfp4.request.update import update_request
from ozfp4.testing import assert_same_bits
from support import STACKS, noise

torch = pytest.importorskip("torch")

PLAN = ozfp4.plan(1, 1, 20_000, backend="int8", accuracy="scaled")
VARIANT = Variant(0)


@pytest.fixture(autouse=True)
def cuda(fake_cuda: Any) -> Iterator[Any]:
    PLAN._device_plans.clear()
    yield fake_cuda
    PLAN._device_plans.clear()


def fill(a: Any, b: Any, out: Any, findings: Any = None) -> Any:
    request = matmul_request(Operands(a, b, out, torch, on_device=True), Options(accuracy="scaled"))
    empty = 0 in (*a.shape, *b.shape)
    return launch.matmul(request, PLAN, None if empty else VARIANT, findings)[2]


def again(monkeypatch: pytest.MonkeyPatch, made: Any, given: Any, c: Any, others: Any) -> Any:
    """The product of others, which a launch for those that were given is repeated for."""
    monkeypatch.setattr(repeated, "made", {})
    repeated.enter(("key",), made, (*given, None, None), c.shape, c.dtype)
    return repeated.again(("key",), (*others, None, None))


@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_every_stack_is_one_problem(shapes: Any) -> None:
    rng = np.random.default_rng(3)
    a, b = (torch.from_numpy(rng.standard_normal(s)) for s in shapes)
    out = torch.from_numpy(noise(tuple(torch.matmul(a, b).shape), np.float64))
    fill(a, b, out)
    assert_same_bits(out, ozfp4.matmul(a, b))


@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_an_update_of_any_stack(shapes: Any) -> None:
    """C of any shape that broadcasts, and the result itself; what is launched reads and writes it by its strides."""
    rng = np.random.default_rng(8)
    a, b = (torch.from_numpy(rng.standard_normal(s)) for s in shapes)
    result = tuple(torch.matmul(a, b).shape)
    for extents in (result, result[1:], result[:-1] + (1,) * (len(result) > 0), ()):
        c = torch.from_numpy(np.asarray(rng.standard_normal(extents)))
        for out in (None, c) if extents == result and c.numel() else (None,):
            expected = ozfp4.gemm(-0.5, a, b, 3, c)
            request = update_request(
                -0.5,
                Operands(a, b, out, torch, on_device=True),
                3,
                c,
                False,
                False,
                Options(accuracy="scaled"),
            )
            empty = 0 in (*request.a.shape, *request.b.shape)
            found = launch.matmul(request, PLAN, None if empty else VARIANT)[0]
            assert_same_bits(found, expected)


def test_a_failed_launch_leaves_its_counters_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("launching repair")

    a, b = torch.ones(3, 4, dtype=torch.float64), torch.ones(4, 5, dtype=torch.float64)
    out, memory = torch.empty(3, 5, dtype=torch.float64), SimpleNamespace(counters=64, workspace=4096)
    monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: 5)
    monkeypatch.setattr(launch, "_memories", {(None, 5): memory})
    fill(a, b, out)
    assert list(launch._memories) == [(None, 5)]
    monkeypatch.setattr(extension.require_cuda().Problem, "launch", fail)
    with pytest.raises(RuntimeError, match="launching repair"):
        fill(a, b, out)
    assert launch._memories == {}


def test_a_stream_has_one_memory_whoever_launches_first(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)

    def made(device: int) -> SimpleNamespace:
        both.wait(10)
        return SimpleNamespace(counters=64, workspace=4096)

    monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: 5)
    monkeypatch.setattr(launch, "_memories", {})
    monkeypatch.setattr(launch, "StreamMemory", made)
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: launch.memory_of(1, 0), range(2))
    assert first is second is launch._memories[0, 5]


def test_a_launch_holds_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread, whose launch has failed, forgets it; and so does one that comes with many streams."""
    is_alive: list[bool] = []

    class Memory:
        counters, workspace = 64, 4096

    def watched(*_: Any, **__: Any) -> None:
        launch.forget(launch._memories[None, 5])
        assert launch._memories == {}
        is_alive.append(known() is not None)

    memory = Memory()
    known = weakref.ref(memory)
    monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: 5)
    monkeypatch.setattr(launch, "_memories", {(None, 5): memory})
    del memory
    monkeypatch.setattr(extension.require_cuda().Problem, "launch", watched)
    a, b = torch.ones(3, 4, dtype=torch.float64), torch.ones(4, 5, dtype=torch.float64)
    fill(a, b, torch.empty(3, 5, dtype=torch.float64))
    assert is_alive == [True]
    assert known() is None


def test_streams_that_have_memory_are_not_without_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: stream)
    monkeypatch.setattr(launch, "_memories", {})
    monkeypatch.setattr(launch, "StreamMemory", lambda device: SimpleNamespace(counters=64, workspace=4096))
    for stream in range(launch._MOST_STREAMS + 3):
        launch.memory_of(stream, 0)
    assert list(launch._memories) == [(0, stream) for stream in range(3, launch._MOST_STREAMS + 3)]


class LittleMemory:
    """A device that has no room for a tensor of more than so many bytes; what was asked for."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, room: int) -> None:
        self.room, self.asked, self._own = room, [], torch.empty
        monkeypatch.setattr(torch, "empty", self.empty)
        streams = {(None, 5): SimpleNamespace(counters=64, workspace=4096)}
        monkeypatch.setattr(launch, "_memories", streams)
        monkeypatch.setattr(launch, "_KEPT_WORKSPACE", 0)
        monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: 5)

    def empty(self, *extents: Any, **about: Any) -> Any:
        if about.get("dtype") == torch.uint8:
            self.asked.append(*extents)
            if extents[0] > self.room:
                raise torch.cuda.OutOfMemoryError(f"no room for {extents[0]} bytes")
        return self._own(*extents, **about)


def in_any_workspace(monkeypatch: pytest.MonkeyPatch, least: int) -> None:
    """Problems that take all that they may, 40,000 bytes where nothing limits them."""
    problem = extension.require_cuda().Problem
    own = problem.__init__

    def made(self: Any, *about: Any, **further: Any) -> None:
        own(self, *about, **further)
        self.bytes = min(self.limit, 40_000)
        if self.bytes < least:
            raise _core.WorkspaceError(
                f"workspace_limit = {self.limit} bytes is too small: at least {least} bytes"
            )

    monkeypatch.setattr(problem, "__init__", made)


def test_a_product_without_room_takes_half_of_its_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or half of that; also one that is launched again, when other tensors have taken the room."""
    a, b = (torch.from_numpy(np.random.default_rng(7).standard_normal(s)) for s in ((7, 6), (6, 5)))
    expected, out = ozfp4.matmul(a, b), torch.from_numpy(noise((7, 5), np.float64))
    in_any_workspace(monkeypatch, 4096)
    memory = LittleMemory(monkeypatch, 15_000)
    findings = Findings(PLAN)
    made = fill(a, b, out, findings)
    assert memory.asked == [40_000, 20_000, 10_000]
    assert_same_bits(out, expected)
    assert make_report(PLAN, a, b, made.problem, findings, "why", None).workspace == 10_000
    memory.room, memory.asked = 6_000, []
    assert_same_bits(again(monkeypatch, made, (a, b), out, (a, b)), expected)
    assert memory.asked == [10_000, 5_000]


@pytest.mark.parametrize("is_captured", [False, True])
def test_a_product_that_no_blocks_have_room_for(is_captured: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names what the whole product wants; nothing is laid out anew while a graph is captured."""
    a, out = torch.ones(3, 3, dtype=torch.float64), torch.from_numpy(noise((3, 3), np.float64))
    before = out.clone()
    in_any_workspace(monkeypatch, 4096)
    memory = LittleMemory(monkeypatch, 12_000 if is_captured else 3_000)
    if is_captured:
        monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: -1)
    with pytest.raises(torch.cuda.OutOfMemoryError, match="no room for 40000 bytes"):
        fill(a, a, out)
    assert memory.asked == ([40_000] if is_captured else [40_000, 20_000, 10_000, 5_000, 40_000])
    assert torch.equal(out.view(torch.int64), before.view(torch.int64))


def outs() -> dict[str, Any]:
    """Places for a result of 6 x 3 x 5 in larger tensors; what is around them must stay."""

    def big(*extents: int) -> Any:
        return torch.from_numpy(noise(extents, np.float64))

    return {
        "contiguous": (x := big(6, 3, 5), x),
        "corner": (x := big(6, 4, 8), x[:, :3, :5]),
        "steps": (x := big(12, 6, 15), x[::2, 1::2, ::3]),
        "transposed": (x := big(5, 3, 6), x.permute(2, 1, 0)),
        "columns first": (x := big(6, 5, 3), x.mT),
        "one axis of two": (x := big(2, 3, 3, 5), x.flatten(0, 1)),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(outs()))
@pytest.mark.parametrize("one_b", [True, False])
def test_an_out_of_any_strides(name: str, one_b: bool) -> None:
    rng = np.random.default_rng(4)
    a = torch.from_numpy(rng.standard_normal((6, 3, 4)))
    b = torch.from_numpy(rng.standard_normal((4, 5) if one_b else (6, 4, 5)))
    whole, out = outs()[name]
    before = whole.clone()
    fill(a, b, out)
    expected = ozfp4.matmul(a, b)
    assert_same_bits(out, expected)
    written = torch.zeros(whole.numel(), dtype=torch.bool)
    written.as_strided(out.shape, out.stride(), out.storage_offset()).fill_(True)
    assert torch.equal(whole.flatten()[~written], before.flatten()[~written])


def test_a_stack_of_two_outs_that_overlap_is_refused() -> None:
    a = torch.ones(6, 3, 4, dtype=torch.float64)
    memory = torch.zeros(100, dtype=torch.float64)
    for out in (memory.as_strided((6, 3, 5), (14, 5, 1)), memory[:15].reshape(3, 5).expand(6, 3, 5)):
        with pytest.raises(ValueError, match="out: entries of the array share memory with each other"):
            check_out(out, (6, 3, 5), torch.float64, a=a)
    for out, x in (
        (memory[:90].reshape(6, 3, 5), memory[89:93]),
        (memory[2:92].reshape(6, 3, 5), memory[:3]),
    ):
        with pytest.raises(ValueError, match="out: the array shares memory with a"):
            check_out(out, (6, 3, 5), torch.float64, a=x)
    check_out(memory[:90].reshape(6, 3, 5), (6, 3, 5), torch.float64, a=memory[90:])


@pytest.mark.parametrize("count", [2**31, 2**32 + 5, 2**40 + 3])
def test_the_extents_of_a_stack_are_not_narrowed(cuda: Any, count: int) -> None:
    shape = matmul_shape((count, 1, 1), (count, 1, 1))
    geometry = ((count, 1, 1), (1, 1, 1), torch.float32)
    problem = prepare(cuda, shape, geometry, geometry, geometry, (0, 0, 0), 0, 2**20, VARIANT).problem
    assert problem.extents == [count]
    assert problem.strides == ([4], [4], [4])
    assert problem.limit == 2**20


def test_a_report_gathers_what_every_turn_found() -> None:
    a, b = torch.ones(5, 3, 4, dtype=torch.float64), torch.ones(4, 2, dtype=torch.float64)
    out = torch.from_numpy(noise((5, 3, 2), np.float64))
    findings = Findings(PLAN)
    made = fill(a, b, out, findings)
    assert (out == 4).all()
    report = make_report(PLAN, a, b, made.problem, findings, "why", None)
    assert report.moduli_used == 5  # of the last of three turns
    assert (report.special_rows, report.special_columns) == (3, 1)
    assert report.exponents == (52 - 53, 52 - 51)
    assert report.workspace == 4096


def test_a_schedule_on_the_device_outlives_the_launches_of_every_stream(
    cuda: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    used: list[int] = []
    cuda.steps = SimpleNamespace(record_stream=lambda stream: used.append(stream.cuda_stream))
    monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: 5)
    monkeypatch.setattr(launch, "_memories", {(None, 5): SimpleNamespace(counters=64, workspace=4096)})
    monkeypatch.setattr(launch, "_KEPT_WORKSPACE", 0)
    a, out = torch.ones(3, 3, dtype=torch.float64), torch.zeros(3, 3, dtype=torch.float64)
    fill(a, a, out)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=8))
    made = fill(a, a, out)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=9))
    assert_same_bits(again(monkeypatch, made, (a, a), out, (a, a)), out)
    assert used == [7, 8, 9]


def test_a_schedule_on_the_device_stays_for_a_graph(cuda: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which reads it whenever it is replayed; plans that were made for products are forgotten."""
    cuda.steps = SimpleNamespace(data_ptr=lambda: 4096)
    monkeypatch.setattr(launch, "_steps_of_graphs", {})
    monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: -1)
    a, out = torch.ones(3, 3, dtype=torch.float64), torch.zeros(3, 3, dtype=torch.float64)
    fill(a, a, out)
    again(monkeypatch, fill(a, a, out), (a, a), out, (a, a))
    assert launch._steps_of_graphs == {4096: cuda.steps}


@pytest.mark.parametrize(
    "dtypes", [("complex128", "complex128"), ("complex64", "float32"), ("float64", "complex128")]
)
@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_complex_products_and_their_repetition(
    shapes: Any, dtypes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of other data and lazily conjugated alike: what was launched is launched on the real form of what is passed."""
    monkeypatch.setattr(complex_product.on_cuda, "check_device", lambda device: None)  # they lie on the CPU
    rng = np.random.default_rng(5)
    made: list[Any] = []

    def run(real: Any) -> tuple[Any, Any, Any]:
        empty = 0 in (real.shape.m, real.shape.n, real.shape.k, *real.shape.stack)
        c, second, launched = launch.matmul(real, PLAN, None if empty else VARIANT)
        made.append(launched)
        return c, second, None

    def draw() -> list[Any]:
        x = [rng.standard_normal((2, *shape)) for shape in shapes]
        whole = [
            z[0] + 1j * z[1] if dtype.startswith("c") else z[0] for z, dtype in zip(x, dtypes, strict=True)
        ]
        return [torch.from_numpy(np.asarray(z, dtype)).conj() for z, dtype in zip(whole, dtypes, strict=True)]

    a, b = draw()
    request = matmul_request(Operands(a, b, None, torch, on_device=True), Options(accuracy="scaled"))
    c, _, _ = complex_product.multiply(request, lambda real: None, run)
    assert_same_bits(c, np.asarray(ozfp4.matmul(a, b)))
    if made == [None]:
        return
    assert len(made) == 1
    others = draw()
    assert_same_bits(again(monkeypatch, made[0], (a, b), c, others), np.asarray(ozfp4.matmul(*others)))


@pytest.mark.parametrize(
    "dtypes",
    [("int64", "int64"), ("uint64", "uint64"), ("int32", "int32"), ("int8", "int16"), ("uint16", "uint16"), ("int32", "int64")],
)  # fmt: skip
@pytest.mark.parametrize("shapes", [((4, 5), (5, 3)), ((5,), (5, 3)), ((2, 4, 5), (5, 3))])
def test_integers_and_their_repetition(shapes: Any, dtypes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 64 bits they are launched as they lie, others as what they are converted to, of every product anew."""
    rng = np.random.default_rng(6)

    def draw() -> list[Any]:
        drawn = (
            rng.integers(0, 100, (*s[:-1], 2 * s[-1])).astype(d) for s, d in zip(shapes, dtypes, strict=True)
        )
        return [torch.from_numpy(x)[..., ::2] for x in drawn]

    a, b = draw()
    expected = torch.from_numpy(np.matmul(a.numpy(), b.numpy()))
    request = matmul_request(
        Operands(a, b, None, torch, on_device=True),
        Options(accuracy="scaled"),
        np.dtype(expected.numpy().dtype),
    )
    product = integers.matmul(request, PLAN, VARIANT, 0, counts=False, keeps_out=False, findings=None)
    assert torch.equal(product.store(), expected)
    assert product.made is not None
    for _ in range(2):
        others = draw()
        found = again(monkeypatch, product.made, (a, b), product.store(), others)
        assert torch.equal(found, torch.from_numpy(np.matmul(*(x.numpy() for x in others))))
