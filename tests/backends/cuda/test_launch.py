"""What a product on a GPU hands to the extension, without a GPU: tensors lie on torch's CPU, and a fake extension multiplies
what it is given, by addresses and strides alone.

That the real extension does the same is tested in tests/cuda/test_matmul.py.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.backends.cuda import extension, integers, launch
from ozfp4.backends.cuda.findings import Findings, make_report
from ozfp4.backends.cuda.variant import Variant
from ozfp4.backends.cuda.views import prepare
from ozfp4.dispatch import complex_product, repeated
from ozfp4.request.arguments import Arguments
from ozfp4.request.library import Operands
from ozfp4.request.operands import matmul_request, matmul_shape
from ozfp4.request.out import check_out
from ozfp4.request.update import update_request
from ozfp4.testing import STACKS, assert_same_bits, noise

torch = pytest.importorskip("torch")

PLAN = ozfp4.plan(1, 1, 20_000, backend="int8")
VARIANT = Variant(0)
INTEGERS = tuple(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64))
TYPES = {name: np.dtype(name) for name in ("float64", "float32", *INTEGERS)}


def matrix(address: int, dtype: Any, extents: tuple[int, int], strides: tuple[int, int]) -> np.ndarray:
    lowest = sum(min(0, s * (n - 1)) for s, n in zip(strides, extents, strict=True))
    size = sum(abs(s) * (n - 1) for s, n in zip(strides, extents, strict=True)) + np.dtype(dtype).itemsize
    memory = np.frombuffer((ctypes.c_uint8 * size).from_address(address + lowest), np.uint8)
    return np.ndarray(extents, dtype, memory, -lowest, strides)


class Problem:
    """A stack in turns of two matrices. Its workspace holds what the real one's does for a Report: the count of moduli,
    shifts and flags; here the count is the turn's number plus 3, and a turn's first row and column are special."""

    turn_matrices = 2

    def __init__(
        self, plan: Any, a: Any, b: Any, result: Any, extents: list[int], strides_a: list[int],
        strides_b: list[int], strides_c: list[int], device: int, workspace_limit: int, device_steps: int,
        addend: Any = None, strides_addend: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        assert len(extents) == len(strides_a) == len(strides_b) == len(strides_c)
        self.a, self.b, self.result = a, b, result
        self.extents, self.strides = extents, (strides_a, strides_b, strides_c)
        self.addend, self.strides_addend = addend, strides_addend
        assert addend is None or len(strides_addend) == len(extents)
        self.limit = workspace_limit
        self.bytes = 4096

    @property
    def matrices(self) -> list[tuple[int, ...]]:
        return list(product(*map(range, self.extents)))

    @property
    def turns(self) -> int:
        return -(-len(self.matrices) // self.turn_matrices)

    def new_lines(self, turn: int) -> tuple[int, int]:
        return self.a[2], (self.b[2] if turn == 0 else 0)

    def describe(self) -> dict[str, Any]:
        return {
            "units_used": 0, "shift_a": 256, "shift_b": 1024, "special_a": 2048, "special_b": 3072,
            "kernel": "fake", "tile": "1x1", "splits": 1, "bytes": self.bytes,
        }  # fmt: skip

    def launch(
        self, a: int, b: int, c: int, workspace: int, clear_counters: int, stream: int,
        after_scale: int = 0, after_encode: int = 0, after_multiply: int = 0, first_turn: int = 0,
        last_turn: int = 2**63 - 1, alpha: float = 1.0, beta: float = 0.0, addend: int = 0,
    ) -> None:  # fmt: skip
        last = min(last_turn, self.turns)
        for index in self.matrices[first_turn * self.turn_matrices : last * self.turn_matrices]:
            x, y, z = (
                start + sum(i * s for i, s in zip(index, strides, strict=True))
                for start, strides in zip((a, b, c), self.strides, strict=True)
            )
            _, type_a, outer_a, inner, *strides_a = self.a
            _, type_b, outer_b, _, *strides_b = self.b
            rows = matrix(x, TYPES[type_a], (outer_a, inner), tuple(strides_a))
            columns = matrix(y, TYPES[type_b], (outer_b, inner), tuple(strides_b))
            _, type_c, m, n, *strides_c = self.result
            own = None
            if self.addend is not None:
                _, type_d, m, n, *strides_d = self.addend
                start = addend + sum(i * s for i, s in zip(index, self.strides_addend, strict=True))
                own = matrix(start, TYPES[type_d], (m, n), tuple(strides_d))
            is_integer = rows.dtype.kind == "i"
            result = (
                np.matmul(rows, columns.T) if is_integer else ozfp4.gemm(alpha, rows, columns.T, beta, own)
            )
            matrix(z, TYPES[type_c], (m, n), tuple(strides_c))[...] = result
        left = matrix(workspace, np.uint8, (1, self.bytes), (0, 1))[0]
        left[0:4].view(np.int32)[0] = last + 2
        left[256:2048].view(np.int32)[:] = 50 + last
        left[2048:] = 0
        left[[2048, 3072]] = 1


def expand(
    data: int, kind: str, matrices: int, k: int, n: int, matrix_stride: int, k_stride: int, n_stride: int,
    is_conjugated: bool, to: int, stream: int, device: int,
) -> None:  # fmt: skip
    """Complex columns as pairs of real ones, (re, -im) and (im, re) along K."""
    dtype = np.dtype(np.complex128 if kind == "float64" else np.complex64)
    real = np.dtype(kind)
    for i in range(matrices):
        strides = (dtype.itemsize * k_stride, dtype.itemsize * n_stride)
        b = matrix(data + i * dtype.itemsize * matrix_stride, dtype, (k, n), strides)
        b = b.conj() if is_conjugated else b
        place = matrix(
            to + i * 4 * k * n * real.itemsize, real, (2 * n, 2 * k), (2 * k * real.itemsize, real.itemsize)
        )
        for odd, row, values in ((0, 0, b.real), (0, 1, -b.imag), (1, 0, b.imag), (1, 1, b.real)):
            place[odd::2, row::2] = values.T


class Made:
    """A plan on the device whose schedule travels with the launch."""

    cuda_plan = None
    steps: Any = None

    def steps_address(self) -> int:
        return 0


@pytest.fixture(autouse=True)
def cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def take(*arguments: Any) -> Any:
        return arguments

    fake = SimpleNamespace(
        ElementType=SimpleNamespace(**{name: name for name in TYPES}),
        Operand=take, Result=take, Problem=Problem, pointer_alignment=16, counter_bytes=64, most_direct_inner=0,
        stream_id=lambda stream, device: -1, expand=expand,
    )  # fmt: skip
    made = Made()
    monkeypatch.setattr(extension, "require_cuda", lambda: fake)
    PLAN._device_plans.clear()
    monkeypatch.setattr(launch, "DevicePlan", lambda *_: made)
    # A torch built for CUDA has it, and would ask a device for the stream.
    monkeypatch.delattr(torch._C, "_cuda_getCurrentRawStream", raising=False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    prepare.cache_clear()
    yield made
    PLAN._device_plans.clear()
    prepare.cache_clear()


def fill(a: Any, b: Any, out: Any, findings: Any = None) -> Any:
    request = matmul_request(Operands(a, b, out, torch, on_device=True), Arguments())
    empty = 0 in (*a.shape, *b.shape)
    return launch.matmul(request, PLAN, None if empty else VARIANT, findings)[2]


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
                -0.5, Operands(a, b, out, torch, on_device=True), 3, c, False, False, Arguments()
            )
            empty = 0 in (*request.a.shape, *request.b.shape)
            found = launch.matmul(request, PLAN, None if empty else VARIANT)[0]
            assert_same_bits(found, expected)


def test_a_failed_launch_leaves_its_counters_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("launching repair")

    a, b = torch.ones(3, 4, dtype=torch.float64), torch.ones(4, 5, dtype=torch.float64)
    out, counters = torch.empty(3, 5, dtype=torch.float64), torch.zeros(64, dtype=torch.uint8)
    monkeypatch.setattr(extension.require_cuda(), "stream_id", lambda stream, device: 5)
    monkeypatch.setattr(launch, "_counters", {(None, 5): counters})
    fill(a, b, out)
    assert list(launch._counters) == [(None, 5)]
    monkeypatch.setattr(Problem, "launch", fail)
    with pytest.raises(RuntimeError, match="launching repair"):
        fill(a, b, out)
    assert launch._counters == {}


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
    a, out = torch.ones(3, 3, dtype=torch.float64), torch.zeros(3, 3, dtype=torch.float64)
    fill(a, a, out)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=8))
    made = fill(a, a, out)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=9))
    monkeypatch.setattr(repeated, "made", {("key",): (made.prepared, (3, 3), torch.float64)})
    assert_same_bits(repeated.again(("key",), a, a), out)
    assert used == [7, 8, 9]


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
    request = matmul_request(Operands(a, b, None, torch, on_device=True), Arguments())
    c, _, _ = complex_product.multiply(request, run)
    assert_same_bits(c, np.asarray(ozfp4.matmul(a, b)))
    if made == [None]:
        return
    assert len(made) == 1
    monkeypatch.setattr(repeated, "made", {("key",): (made[0].prepared, c.shape, c.dtype)})
    a, b = draw()
    assert_same_bits(repeated.again(("key",), a, b), np.asarray(ozfp4.matmul(a, b)))


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
        Operands(a, b, None, torch, on_device=True), Arguments(), np.dtype(expected.numpy().dtype)
    )
    product = integers.matmul(request, PLAN, VARIANT, 0, counts=False, keeps_out=False, findings=None)
    assert torch.equal(product.store(), expected)
    assert product.made is not None
    key = ("key",)
    monkeypatch.setattr(repeated, "made", {key: (product.made.prepared, expected.shape, expected.dtype)})
    for _ in range(2):
        a, b = draw()
        found = repeated.again(key, a, b)
        assert torch.equal(found, torch.from_numpy(np.matmul(a.numpy(), b.numpy())))
