"""A product on a GPU like one before is launched without a check, and has the bits, errors and version marks of the first.

Tensors lie on torch's CPU and are taken for ones on a GPU; tests/cuda/test_repeated.py has the same on one.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4.backends.cuda import launch
from ozfp4.cost.choice import Choice
from ozfp4.dispatch import complex_product, on_cuda, repeated, this_machine
from ozfp4.request import library
from ozfp4.testing import assert_same_bits
from ozfp4.trust import guard

torch = pytest.importorskip("torch")
_CPU = 1  # of DLDeviceType


class Gpu:
    """Counts the products that took the short way."""

    relaunched = 0


@pytest.fixture(params=["structures", "attributes"])
def gpu(
    request: Any, fake_cuda: Any, monkeypatch: pytest.MonkeyPatch, new_process: Callable[[], None]
) -> Gpu:
    """A fake one; forms of tensors are read both ways."""
    counted = Gpu()

    def relaunch(*arguments: Any) -> None:
        counted.relaunched += 1
        own(*arguments)

    own = launch.relaunch
    monkeypatch.setattr(repeated, "relaunch", relaunch)
    monkeypatch.setattr(repeated, "made", {})
    monkeypatch.setattr(on_cuda, "_ready", {None})
    monkeypatch.setattr(on_cuda, "check_device", lambda device: None)
    monkeypatch.setattr(complex_product.on_cuda, "check_device", lambda device: None)
    monkeypatch.setattr(this_machine, "gpu_choice", lambda *_: Choice(("int8", "fp4"), ""))
    monkeypatch.setattr(guard, "serving_kernel", lambda plan, index: 0)
    take = library.take_operands

    def taken(a: Any, b: Any, out: Any, allowed: Any) -> Any:
        """As the real one, but that tensors lie on a device."""
        operands = take(a, b, out, allowed)
        if operands.torch is None:
            return operands
        return library.Operands(a.resolve_neg(), b.resolve_neg(), out, torch, on_device=True)

    monkeypatch.setattr(library, "take_operands", taken)
    monkeypatch.setattr(library, "plain_tensors", lambda: None)
    monkeypatch.setattr(torch.Tensor, "is_cuda", True)
    if request.param == "attributes":
        reader = None
    else:
        api = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
        if api is None:
            pytest.skip("this torch offers no structures")
        reader = _core.TensorForms(api, library.unwatched(), _CPU)
    monkeypatch.setattr(repeated, "_reader", lambda: reader)
    return counted


def draw(*shape: int, dtype: str = "float64", seed: list[int] = [0]) -> Any:  # noqa: B006 - counts
    seed[0] += 1
    rng = np.random.default_rng(seed[0])
    if np.dtype(dtype).kind in "iu":
        return torch.from_numpy(rng.integers(0, 50, shape).astype(dtype))
    x = rng.standard_normal((2, *shape))
    return torch.from_numpy(np.asarray(x[0] + 1j * x[1] if np.dtype(dtype).kind == "c" else x[0], dtype))


def noisy(*shape: int, dtype: str = "float64") -> Any:
    return draw(*shape, dtype=dtype)


def expected(product: Callable[..., Any], *given: Any, **options: Any) -> np.ndarray:
    """That of arrays."""
    arrays = [x.resolve_conj().numpy() if isinstance(x, torch.Tensor) else x for x in given]
    return np.asarray(product(*arrays, **options))


SHAPES = [((4, 5), (5, 3)), ((5,), (5, 3)), ((4, 5), (5,)), ((2, 4, 5), (5, 3)), ((2, 1, 4, 5), (3, 5, 3))]


@pytest.mark.parametrize("left", [0, 8, 127])
@pytest.mark.parametrize("freed", ["a", "b", "c", "out"])
def test_storages_without_all_entries_are_not_repeated(gpu: Gpu, freed: str, left: int) -> None:
    def update() -> dict[str, Any]:
        return {name: torch.ones(4, 4, dtype=torch.float64) for name in ("a", "b", "c", "out")}

    for _ in range(2):
        ozfp4.gemm(1.0, beta=1.0, **update())
    given = update()
    given[freed].untyped_storage().resize_(left)
    with pytest.raises(RuntimeError, match=rf"^{freed}: .* 128 bytes .* {left}:"):
        ozfp4.gemm(1.0, beta=1.0, **given)
    assert gpu.relaunched == 1


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "complex64", "int64", "int32"])
@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("has_out", [False, True])
def test_products(gpu: Gpu, shapes: Any, dtype: str, has_out: bool) -> None:
    for turn in range(3):
        a, b = (draw(*shape, dtype=dtype) for shape in shapes)
        right = expected(ozfp4.matmul, a, b)
        out = noisy(*right.shape, dtype=dtype) if has_out else None
        before = None if out is None else out._version
        found = ozfp4.matmul(a, b, out=out)
        assert out is None or (found is out and out._version > before)
        assert_same_bits(found, right)
        assert gpu.relaunched == turn


def test_an_out_with_gaps(gpu: Gpu) -> None:
    for dtype in ("float64", "complex128", "int64"):
        for whole, place in (
            (noisy(8, 6, dtype=dtype), lambda x: x[::2, 1::2]),
            (noisy(3, 4, dtype=dtype), lambda x: x.mT),
        ):
            for _ in range(2):
                a, b = draw(4, 5, dtype=dtype), draw(5, 3, dtype=dtype)
                rest = whole.clone()
                out = place(whole)
                assert ozfp4.matmul(a, b, out) is out
                assert_same_bits(out, expected(ozfp4.matmul, a, b))
                place(rest)[...] = out
                assert torch.equal(rest, whole)
    assert gpu.relaunched == 4  # of a complex result whose columns are apart the parts are copied


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_updates(gpu: Gpu, dtype: str) -> None:
    for turn in range(3):
        a, b, c = draw(4, 5, dtype=dtype), draw(5, 3, dtype=dtype), draw(4, 3, dtype=dtype)
        row = draw(3, dtype=dtype)
        out = noisy(4, 3, dtype=dtype)
        cases = [
            ((1, a, b, 1, c), {}), ((2.0, a, b, -0.5, row), {}), ((-1.5, a, b), {}), ((1, a, b, 0, c), {}),
            ((3, a.mT.contiguous(), b, 1, c), {"trans_a": True}), ((1, a, b), {}), ((3, a, b, 0.0, c), {}),
        ]  # fmt: skip
        for given, options in cases:
            right = expected(ozfp4.gemm, *given, **options)
            assert_same_bits(ozfp4.gemm(*given, **options), right, (turn, given, options))
            assert ozfp4.gemm(*given, out=out, **options) is out
            assert_same_bits(out, right)
        right = expected(ozfp4.gemm, 1, a, b, 1, c)
        before = c._version
        assert ozfp4.gemm(1, a, b, 1, c, out=c) is c
        assert c._version > before
        assert_same_bits(c, right)
        assert gpu.relaunched == 15 * turn + 1  # C as `out` is like another one


def test_factors_that_are_no_real_numbers(gpu: Gpu) -> None:
    for _ in range(2):
        a, b, c = (draw(4, 4, dtype="complex128") for _ in range(3))
        for alpha, beta in ((1j, 1), (1, 1j), (1 + 1j, 0), (0, 1), (0.0, 0.0)):
            right = expected(ozfp4.gemm, alpha, a, b, beta, c)
            assert_same_bits(ozfp4.gemm(alpha, a, b, beta, c), right, (alpha, beta))


def test_conjugated_operands(gpu: Gpu) -> None:
    for _ in range(2):
        a, b = draw(4, 5, dtype="complex128"), draw(5, 3, dtype="complex128")
        for x, y in ((a, b), (a.conj(), b), (a, b.conj())):
            assert_same_bits(ozfp4.matmul(x, y), expected(ozfp4.matmul, x, y))
        assert_same_bits(ozfp4.gemm(1, a.mT, b, trans_a="C"), expected(ozfp4.gemm, 1, a.mT, b, trans_a="C"))
        real = draw(4, 5)
        assert_same_bits(ozfp4.matmul(real, b), expected(ozfp4.matmul, real, b))
    assert gpu.relaunched >= 4


def test_what_overlaps_is_refused_all_the_same(gpu: Gpu) -> None:
    memory = noisy(400)
    a, b = memory[:20].view(4, 5), memory[40:55].view(5, 3)
    apart, inside, at_the_end = memory[20:32].view(4, 3), memory[8:20].view(4, 3), memory[18:30].view(4, 3)
    for _ in range(2):
        ozfp4.matmul(a, b, out=apart)
    assert gpu.relaunched == 1
    for out in (inside, at_the_end):
        kept = memory.clone()
        with pytest.raises(ValueError, match="out: the array shares memory with a"):
            ozfp4.matmul(a, b, out=out)
        assert torch.equal(memory, kept)
    for _ in range(2):
        ozfp4.gemm(1, a, b, 1, apart, out=apart)
    kept = memory.clone()
    with pytest.raises(ValueError, match="out: the array shares memory with c"):
        ozfp4.gemm(1, a, b, 1, apart, out=memory[22:34].view(4, 3))
    assert torch.equal(memory, kept)
    assert gpu.relaunched == 2


def test_columns_that_interleave_are_looked_at_more_closely(gpu: Gpu) -> None:
    memory = noisy(4, 10)
    a, b, out = memory[:, 0:10:2], draw(5, 3), memory[:, 1:7:2]
    for _ in range(2):
        right = expected(ozfp4.matmul, a, b)
        assert_same_bits(ozfp4.matmul(a, b, out=out), right)
    assert gpu.relaunched == 0


@pytest.mark.parametrize(
    "options",
    [
        {"bits": 53, "accuracy": "scaled"},
        {"accuracy": "exact"},
        {"scheme": ["II"]},
        {"workspace_limit": 2.0**30},
        {"progress": 1},
    ],
)
def test_arguments_are_refused_all_the_same(gpu: Gpu, options: Any) -> None:
    a, b = draw(4, 5), draw(5, 3)
    for good in ({}, {"backend": "int8", "accuracy": "scaled"}, {"workspace_limit": 2**30}):
        for _ in range(2):
            ozfp4.matmul(a, b, **good)
    with pytest.raises((TypeError, ValueError)):
        ozfp4.matmul(a, b, **options)


def test_factors_are_refused_all_the_same(gpu: Gpu) -> None:
    a, b, c = draw(4, 5), draw(5, 3), draw(4, 3)
    for _ in range(2):
        ozfp4.gemm(1, a, b, 1, c)
    for alpha, beta in ((True, 1), (1, True), (np.nan, 1), (1, "1")):
        with pytest.raises((TypeError, ValueError)):
            ozfp4.gemm(alpha, a, b, beta, c)
    with pytest.raises(ValueError, match="trans_a"):
        ozfp4.gemm(1, a, b, 1, c, trans_a=0)


def test_tensors_that_differ_in_more_than_data(gpu: Gpu) -> None:
    a, b = draw(4, 4), draw(4, 4)
    negated = torch._neg_view(a)
    for x, y in (
        (a, b),
        (a.mT, b),
        (a, b.float()),
        (a[:3], b),
        (negated, b),
        (a, b[:, :0]),
        (a[0], b),
        (a, b),
    ):
        for _ in range(2):
            assert_same_bits(ozfp4.matmul(x, y), expected(ozfp4.matmul, x.resolve_neg(), y))
    shifted = noisy(17)[1:].view(4, 4)
    assert_same_bits(ozfp4.matmul(shifted, b), expected(ozfp4.matmul, shifted, b))
    with pytest.raises(TypeError):
        ozfp4.matmul(a.to_sparse(), b)


def test_operands_that_are_converted_are_so_every_time(gpu: Gpu) -> None:
    for _ in range(3):
        a, b, c = draw(4, 5, dtype="int64"), draw(5, 3), draw(4, 3, dtype="int32")
        assert_same_bits(ozfp4.matmul(a, b), expected(ozfp4.matmul, a, b))
        for given in ((1, a, b, 1, c), (1, a.double(), b, 1, c), (1, a, b)):
            assert_same_bits(ozfp4.gemm(*given), expected(ozfp4.gemm, *given))
    assert gpu.relaunched == 0


def test_tensors_that_require_grad(gpu: Gpu) -> None:
    a, b = draw(4, 5), torch.nn.Parameter(draw(5, 3))
    with torch.no_grad():
        for turn in range(3):
            assert_same_bits(ozfp4.matmul(a, b), expected(ozfp4.matmul, a, b.detach()))
            assert gpu.relaunched == turn
    assert repeated._forms((a, b), torch) is None


def test_who_watches_sees_what_would_be_repeated(gpu: Gpu) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    a, b, c = draw(4, 5), draw(5, 3), draw(4, 3)
    for _ in range(2):
        ozfp4.matmul(a, b)
        ozfp4.gemm(1, a, b, 1, c)
    assert gpu.relaunched == 2
    with Mode():
        assert_same_bits(ozfp4.matmul(a, b), expected(ozfp4.matmul, a, b))
        assert_same_bits(ozfp4.gemm(1, a, b, 1, c), expected(ozfp4.gemm, 1, a, b, 1, c))
    assert [name for name in seen if name.startswith("ozfp4")] == [
        "ozfp4.matmul.default",
        "ozfp4.gemm.default",
    ]
    many = draw(2, 4, 5)
    mapped = torch.func.vmap(lambda x: ozfp4.matmul(x, b))(many)
    assert_same_bits(mapped, expected(ozfp4.matmul, many, b))


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested")
def test_others_of_torch_are_not_repeated(gpu: Gpu) -> None:
    class Other(torch.Tensor):
        pass

    a = draw(4, 5)
    nested = torch.nested.nested_tensor([a, a])
    zero = torch._efficientzerotensor((4, 5), dtype=torch.float64)  # without memory
    for x in (a.as_subclass(Other), a.to_sparse(), nested, zero, a[:0], a.numpy(), 1.0):
        assert repeated._forms((x, a), torch) is None
    assert repeated._forms((a, None), torch) is not None


def test_the_workspace_of_small_products_is_kept(
    gpu: Gpu, fake_cuda: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of a stream, but not while it is captured, nor of large ones."""
    used: list[tuple[int, int]] = []
    cuda = launch.extension.require_cuda()
    own = cuda.Problem.launch

    def watched(
        self: Any, a: int, b: int, c: int, workspace: int, counters: int, *rest: Any, **further: Any
    ) -> None:
        used.append((workspace, counters))
        own(self, a, b, c, workspace, counters, *rest, **further)

    monkeypatch.setattr(cuda.Problem, "launch", watched)
    memory = torch.zeros(launch._KEPT_WORKSPACE, dtype=torch.uint8)
    kept = type("Memory", (), {"counters": 4096, "workspace": memory.data_ptr()})
    monkeypatch.setattr(launch, "_memories", {(None, 3): kept})
    a, b = draw(4, 5), draw(5, 3)
    for number in (3, 3, -1):
        monkeypatch.setattr(cuda, "stream_id", lambda stream, device, number=number: number)
        assert_same_bits(ozfp4.matmul(a, b), expected(ozfp4.matmul, a, b))
    assert [counters for _, counters in used] == [4096, 4096, 0]
    assert [workspace == memory.data_ptr() for workspace, _ in used] == [False, True, False]
    (made,) = repeated.made.values()
    made.launchable.bytes = launch._KEPT_WORKSPACE + 1
    monkeypatch.setattr(cuda, "stream_id", lambda stream, device: 3)
    ozfp4.matmul(a, b)
    assert used[-1][0] != memory.data_ptr()
    assert used[-1][1] == 4096


def test_nothing_is_kept_alive(gpu: Gpu) -> None:
    a, b = draw(4, 5), draw(5, 3)
    for _ in range(2):
        ozfp4.matmul(a, b)
    gc.collect()
    assert not [x for x in gc.get_referrers(a) if isinstance(x, (repeated.Made, launch.Launch))]


def test_structures_of_another_version_are_not_read() -> None:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    table = (ctypes.c_uint64 * 8)(2, 0, 1, 1, 1, 1, 1)  # major and minor number, a pointer, functions
    told = library.unwatched()
    with pytest.raises(ValueError, match=r"api: its version is 2\.0"):
        _core.TensorForms(new(ctypes.addressof(table), b"dlpack_exchange_api", None), told)
    table[0], table[5] = 1, 0
    with pytest.raises(ValueError, match="or it reads no tensors"):
        _core.TensorForms(new(ctypes.addressof(table), b"dlpack_exchange_api", None), told)
    with pytest.raises(ValueError, match="incorrect name"):
        _core.TensorForms(new(ctypes.addressof(table), b"another", None), told)
    with pytest.raises(TypeError):
        _core.TensorForms(7, told)
