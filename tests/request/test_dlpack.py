"""Arrays of other libraries: the bits that NumPy's have, in kind; what is refused, and what nothing is written to then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4._request import dlpack
from ozfp4.testing import assert_same_bits
from support import noise

RANDOM = np.random.default_rng(5)


class Own:
    """An array of a library that has nothing but DLPack, on a device of one's choice."""

    def __init__(self, entries: Any, device: tuple[int, int] = (1, 0)) -> None:
        self.entries, self.place = entries, device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place

    def __dlpack__(self, **options: Any) -> Any:
        return self.entries.__dlpack__(**options)

    @property
    def dtype(self) -> Any:
        return self.entries.dtype


Own.__module__ = "own.arrays"


def own_module() -> ModuleType:
    """The library of `Own`, which takes compact arrays alone, as JAX does."""

    def from_dlpack(x: Any) -> Own:
        assert x.flags.c_contiguous if isinstance(x, np.ndarray) else x.is_contiguous()
        return Own(np.from_dlpack(x))

    module = ModuleType("own")
    module.from_dlpack = from_dlpack  # type: ignore[attr-defined]
    return module


@pytest.fixture(params=["own", "strict", "jax"])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """asarray of a library, and its type of arrays."""
    if request.param == "own":
        monkeypatch.setitem(sys.modules, "own", own_module())
        yield SimpleNamespace(asarray=lambda x: Own(np.array(x)), kind=Own, name="own")
    elif request.param == "strict":
        strict = pytest.importorskip("array_api_strict")
        yield SimpleNamespace(asarray=strict.asarray, kind=type(strict.asarray(0.0)), name="array_api_strict")
    else:
        jax = pytest.importorskip("jax")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)
        yield SimpleNamespace(asarray=jax.numpy.asarray, kind=jax.Array, name="jax")
        jax.config.update("jax_enable_x64", before)


def host(x: Any) -> Any:
    """A result as NumPy's, each of several."""
    return tuple(map(host, x)) if isinstance(x, tuple) else np.from_dlpack(x)


def normal(*shape: int, dtype: str = "float64") -> Any:
    x = RANDOM.standard_normal(shape)
    return (x + 1j * RANDOM.standard_normal(shape) if dtype.startswith("complex") else x).astype(dtype)


def whole(*shape: int, dtype: str = "int64") -> Any:
    return RANDOM.integers(0 if dtype.startswith("u") else -100, 100, shape, dtype=dtype)


PRODUCTS: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
    ("matmul", ozfp4.matmul, (normal(7, 5), normal(5, 3))),
    ("float32", ozfp4.matmul, (normal(7, 5, dtype="float32"), normal(5, 3, dtype="float32"))),
    ("complex", ozfp4.matmul, (normal(7, 5, dtype="complex128"), normal(5, 3, dtype="complex64"))),
    ("integers", ozfp4.matmul, (whole(4, 3), whole(3, 4, dtype="int32"))),
    ("unsigned", ozfp4.matmul, (whole(4, 3, dtype="uint8"), whole(3, 4, dtype="uint8"))),
    ("vectors", ozfp4.matmul, (normal(9), normal(9))),
    ("stacks", ozfp4.matmul, (normal(2, 1, 3, 4), normal(5, 4, 2))),
    ("empty result", ozfp4.matmul, (normal(0, 4), normal(4, 3))),
    ("empty sums", ozfp4.matmul, (normal(3, 0), normal(0, 4))),
    ("bound", lambda a, b: ozfp4.matmul(a, b, return_bound=True), (normal(3, 4), normal(4, 2))),
    ("gemm", lambda a, b, c: ozfp4.gemm(-2, a, b, 3, c, trans_a="T"), (normal(4, 3), normal(4, 2), normal(3, 2))),
    ("integer gemm", lambda a, b, c: ozfp4.gemm(-2, a, b, 3, c), (whole(4, 3), whole(3, 2), whole(4, 2))),
    ("gram", ozfp4.gram, (normal(9, 4),)),
    ("enclose", ozfp4.enclose, (normal(3, 4), normal(4, 2))),
    ("einsum", lambda *x: ozfp4.einsum("ij,jk,kl->li", *x), (normal(3, 4), normal(4, 2), normal(2, 3))),
    ("view", lambda a: ozfp4.einsum("ij->ji", a), (normal(3, 4),)),
    ("diagonal", lambda a: ozfp4.einsum("ii->i", a), (normal(4, 4),)),
    ("lists", lambda a, b: ozfp4.einsum(a, [0, 1], b, [1, 2], [0, 2]), (normal(3, 4), normal(4, 2))),
    ("tensordot", lambda a, b: ozfp4.tensordot(a, b, axes=([1, 2], [1, 0])), (normal(2, 3, 4), normal(4, 3))),
    ("modulo", lambda a, b: ozfp4.matmul_mod(a, b, 97), (whole(4, 3), whole(3, 4))),
    ("int8", ozfp4.int8_matmul, (whole(4, 3, dtype="int8"), whole(3, 4, dtype="int8"))),
    ("left", lambda a, b: ozfp4.matmul(ozfp4.prepare(a, "left"), b), (normal(3, 4), normal(4, 2))),
    ("right", lambda a, b: ozfp4.matmul(a, ozfp4.prepare(b, "right")), (normal(3, 4), normal(4, 2))),
    ("complex right", lambda a, b: ozfp4.matmul(a, ozfp4.prepare(b, "right")), (1j * normal(3, 4), normal(4, 2) - 2j)),
    (
        "both",
        lambda a, b: ozfp4.matmul(ozfp4.prepare(a, "left"), ozfp4.prepare(b, "right")),
        (normal(3, 4), normal(4, 2)),
    ),
]  # fmt: skip


SQUARE = normal(4, 4) + 4 * np.eye(4)
PRODUCTS += [
    ("cholesky", ozfp4.linalg.cholesky, (SQUARE @ SQUARE.T,)),
    ("solve", ozfp4.linalg.solve, (SQUARE, normal(4, 2))),
    ("inv", ozfp4.linalg.inv, (SQUARE,)),
    ("det", ozfp4.linalg.det, (SQUARE,)),
    ("slogdet", ozfp4.linalg.slogdet, (SQUARE,)),
    ("qr", ozfp4.linalg.qr, (normal(5, 3),)),
    ("lstsq", lambda a, b: ozfp4.linalg.lstsq(a, b).solution, (normal(5, 3), normal(5))),
    ("lu", lambda a, b: ozfp4.linalg.lu_solve(ozfp4.linalg.lu_factor(a), b), (SQUARE, normal(4))),
    ("triangle", lambda a, b: ozfp4.linalg.solve_triangular(a, b, lower=True), (np.tril(SQUARE), normal(4))),
]


@pytest.mark.parametrize(("product", "operands"), [p[1:] for p in PRODUCTS], ids=[p[0] for p in PRODUCTS])
def test_the_same_bits_in_kind(library: Any, product: Callable[..., Any], operands: tuple[Any, ...]) -> None:
    expected = product(*operands)
    found = product(*map(library.asarray, operands))
    for x, y in zip(*((r if isinstance(r, tuple) else (r,)) for r in (found, expected)), strict=True):
        assert isinstance(x, library.kind)
        assert_same_bits(np.from_dlpack(x), np.asarray(y))


def test_a_report_stays_one(library: Any) -> None:
    c, report = ozfp4.matmul(library.asarray(normal(3, 4)), library.asarray(normal(4, 2)), report=True)
    assert isinstance(c, library.kind)
    assert isinstance(report, ozfp4.Report)


def test_a_plan_of_operands(library: Any) -> None:
    a, b = normal(3, 4), normal(4, 2)
    assert ozfp4.plan_for(library.asarray(a), library.asarray(b)) == ozfp4.plan_for(a, b)


def test_operands_are_left_as_they_are(library: Any) -> None:
    a = normal(3, 3)
    x = library.asarray(a)
    ozfp4.matmul(x, x)
    assert_same_bits(np.from_dlpack(x), a)


# ---- Where to ------------------------------------------------------------------------------------------------------------


def test_out(library: Any) -> None:
    a, b = normal(3, 4), normal(4, 2)
    out = library.asarray(noise((3, 2), np.float64))
    x, y = library.asarray(a), library.asarray(b)
    if library.name == "jax":
        before = np.array(out)
        with pytest.raises(TypeError, match=r"^out: arrays of jax are immutable; leave out= out"):
            ozfp4.matmul(x, y, out=out)
        assert_same_bits(np.array(out), before)
        return
    assert ozfp4.matmul(x, y, out=out) is out
    assert_same_bits(np.from_dlpack(out), ozfp4.matmul(a, b))
    c = library.asarray(normal(3, 2))
    expected = ozfp4.gemm(1, a, b, 2, np.from_dlpack(c))
    assert ozfp4.gemm(1, x, y, 2, c, out=c) is c
    assert_same_bits(np.from_dlpack(c), expected)
    pair = tuple(library.asarray(noise((3, 2), np.float64)) for _ in "ab")
    found = ozfp4.enclose(x, y, out=pair)
    assert all(one is other for one, other in zip(found, pair, strict=True))
    for one, other in zip(pair, ozfp4.enclose(a, b), strict=True):
        assert_same_bits(np.from_dlpack(one), other)


def test_pairs_may_be_lists(library: Any) -> None:
    a, b, square = normal(3, 4), normal(4, 2), normal(4, 4)
    factors = ozfp4.linalg.lu_factor(square)
    found = ozfp4.linalg.lu_solve([library.asarray(x) for x in factors], library.asarray(b))
    assert isinstance(found, library.kind)
    assert_same_bits(np.from_dlpack(found), ozfp4.linalg.lu_solve(factors, b))
    if library.name == "jax":
        return
    pair = [library.asarray(noise((3, 2), np.float64)) for _ in "ab"]
    found = ozfp4.enclose(library.asarray(a), library.asarray(b), out=pair)
    assert all(one is other for one, other in zip(found, pair, strict=True))
    for one, other in zip(pair, ozfp4.enclose(a, b), strict=True):
        assert_same_bits(np.from_dlpack(one), other)
    with pytest.raises(TypeError, match=r"^out: a pair of arrays is needed, .* given is 3 of them$"):
        ozfp4.enclose(library.asarray(a), library.asarray(b), out=[*pair, pair[0]])
    with pytest.raises(TypeError, match=r"^arrays of two libraries cannot be mixed: .*out\[1\] is of NumPy$"):
        ozfp4.enclose(library.asarray(a), library.asarray(b), out=[pair[0], noise((3, 2), np.float64)])


def test_an_out_that_does_not_fit_is_left_alone(library: Any) -> None:
    if library.name == "jax":
        pytest.skip("immutable")
    before = noise((3, 3), np.float64)
    out = library.asarray(before)
    with pytest.raises(ValueError, match=r"^out: shape \(3, 3\) is not the result's shape \(3, 2\)$"):
        ozfp4.matmul(library.asarray(normal(3, 4)), library.asarray(normal(4, 2)), out=out)
    assert_same_bits(np.from_dlpack(out), before)


# ---- Refused -------------------------------------------------------------------------------------------------------------


def test_two_libraries(library: Any) -> None:
    a, b = normal(3, 4), normal(4, 2)
    x, y = library.asarray(a), library.asarray(b)
    own = library.name
    mixed: list[tuple[Callable[[], Any], str]] = [
        (lambda: ozfp4.matmul(x, b), rf"a is of {own}, b is of NumPy$"),
        (lambda: ozfp4.matmul(a, y), rf"a is of NumPy, b is of {own}$"),
        (lambda: ozfp4.matmul(x, b.tolist()), rf"a is of {own}, b is of NumPy$"),
        (lambda: ozfp4.matmul(x, y, out=noise((3, 2), np.float64)), r"out is of NumPy$"),
        (lambda: ozfp4.matmul(a, b, out=library.asarray(normal(3, 2))), rf"out is of {own}$"),
        (lambda: ozfp4.gemm(1, x, y, 1, normal(3, 2)), r"c is of NumPy$"),
        (lambda: ozfp4.gemm(1, x, y, 1, 0.5), r"c is of NumPy$"),
        (lambda: ozfp4.einsum("ij,jk", x, b), rf"operands\[0\] is of {own}, operands\[1\] is of NumPy$"),
        (lambda: ozfp4.tensordot(x, b, 1), rf"a is of {own}, b is of NumPy$"),
        (lambda: ozfp4.linalg.solve(library.asarray(normal(3, 3)), a), r"b is of NumPy$"),
        (lambda: ozfp4.matmul(x, ozfp4.prepare(b, "right")), r"b is of NumPy$"),
        (lambda: ozfp4.matmul(a, ozfp4.prepare(y, "right")), rf"b is of {own}$"),
        (
            lambda: ozfp4.matmul(ozfp4.prepare(a, "left"), ozfp4.prepare(y, "right")),
            rf"a is of NumPy, b is of {own}$",
        ),
    ]
    for call, text in mixed:
        with pytest.raises(TypeError, match=rf"^arrays of two libraries cannot be mixed: .*{text}"):
            call()


def test_other_refusals_have_their_own_words(library: Any) -> None:
    with pytest.raises(
        ValueError, match=r"^inner dimensions differ: a has shape \(3, 4\), b has shape \(3, 4\)"
    ):
        ozfp4.matmul(library.asarray(normal(3, 4)), library.asarray(normal(3, 4)))
    with pytest.raises(TypeError, match=r"^b: dtype float64 is not supported; allowed is int8$"):
        ozfp4.int8_matmul(library.asarray(whole(3, 4, dtype="int8")), library.asarray(normal(4, 2)))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = own_module()
    monkeypatch.setitem(sys.modules, "own", module)
    return module


def test_a_library_that_takes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "own", ModuleType("own"))
    with pytest.raises(
        TypeError, match=r"^a: Own is of a library without from_dlpack.*pass np\.from_dlpack\(a\)"
    ):
        ozfp4.matmul(Own(normal(3, 4)), Own(normal(4, 2)))


def test_two_devices(own: ModuleType) -> None:
    with pytest.raises(RuntimeError, match=r"^b: device \(2, 1\) differs from \(1, 0\), where a lies$"):
        ozfp4.matmul(Own(normal(3, 4)), Own(normal(4, 2), (2, 1)))
    strict = pytest.importorskip("array_api_strict")
    other = strict.asarray(normal(4, 2), device=strict.Device("device1"))
    with pytest.raises(
        RuntimeError, match=r"^b: device .*device1.* differs from .*CPU_DEVICE.*, where a lies$"
    ):
        ozfp4.matmul(strict.asarray(normal(3, 4)), other)
    c = ozfp4.matmul(strict.reshape(other, (2, 4)), other)
    assert c.device == other.device


@pytest.mark.parametrize("kind", [10, 8, 99])
def test_devices_without_a_kernel(own: ModuleType, kind: int) -> None:
    x = Own(normal(3, 3), (kind, 2))
    with pytest.raises(
        RuntimeError, match=rf"^a: the array of own lies on device \({kind}, 2\) of DLPack; products run on"
    ):
        ozfp4.matmul(x, x)


def test_a_cuda_device_needs_torch(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    x = Own(normal(3, 3), (2, 0))
    monkeypatch.setattr(dlpack, "torch_module", lambda: None)
    with pytest.raises(
        RuntimeError, match=r"^x: the array of own lies on device \(2, 0\) .* torch is imported$"
    ):
        ozfp4.prepare(x, "left")


def test_tensors_view_what_lies_on_a_device(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    viewed: list[Any] = []

    def from_dlpack(x: Own) -> Any:
        viewed.append(x)
        return torch.from_numpy(x.entries)

    stand_in = SimpleNamespace(from_dlpack=from_dlpack)
    monkeypatch.setattr(dlpack, "torch_module", lambda: stand_in)
    a, b = normal(3, 4), normal(4, 2)
    x, y = Own(a, (2, 0)), Own(b, (2, 0))
    c = ozfp4.matmul(x, y)
    assert viewed == [x, y]
    assert isinstance(c, Own)
    assert_same_bits(c.entries, ozfp4.matmul(a, b))
    w = ozfp4.prepare(y, "right")
    y.entries[...] = noise((4, 2), np.float64)  # by its own library, which torch does not see
    assert_same_bits(ozfp4.matmul(x, w).entries, c.entries)
    out = Own(noise((3, 2), np.float64), (2, 0))
    assert ozfp4.matmul(x, w, out=out) is out
    assert_same_bits(out.entries, c.entries)


def test_what_is_prepared_on_a_device_is_a_copy(own: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tensors of the CPU play those of a device."""
    torch = pytest.importorskip("torch")
    api = import_module("ozfp4._api.prepare")
    stand_in = SimpleNamespace(from_dlpack=lambda x: torch.from_numpy(x.entries))
    monkeypatch.setattr(dlpack, "torch_module", lambda: stand_in)
    take = api.library.take_operand
    monkeypatch.setattr(
        api.library,
        "take_operand",
        lambda name, x, allowed: take(name, x, allowed)._replace(a=x, b=x, on_device=True),
    )

    def prepare(x: Any, is_right: bool, is_for_real: bool, precision: int, stays: bool, asked: Any) -> Any:
        return SimpleNamespace(x=x, plan=("II", "int8", "least", 57, 4, False), nbytes=8)

    monkeypatch.setattr(api.on_cuda, "ready", lambda device: SimpleNamespace(prepare=prepare))
    b = normal(4, 2)
    prepared = ozfp4.prepare(Own(b, (2, 0)), "right")
    assert prepared.nbytes == 8 + b.nbytes
    assert prepared._watched is None
    before = b.copy()
    b[...] = noise((4, 2), np.float64)
    assert_same_bits(prepared._held.x.numpy(), before)
    watched = torch.from_numpy(b)
    prepared = ozfp4.prepare(watched, "right")  # one of torch itself is watched, and not copied
    assert prepared._held.x.data_ptr() == watched.data_ptr()
    assert prepared.nbytes == 8
    assert prepared._watched is not None


def test_what_lies_elsewhere_is_not_copied() -> None:
    class Elsewhere:
        device = "gpu:0"

        def __array__(self, *_: Any, **__: Any) -> Any:
            raise AssertionError("copied")

    class OfInstance:
        __array__ = Elsewhere.__array__

        def __init__(self) -> None:
            self.device = "gpu:1"

    class OfCuda(Elsewhere):
        device = "cpu"
        __cuda_array_interface__: dict[str, Any] = {}  # noqa: RUF012

    b = normal(4, 2)
    with pytest.raises(RuntimeError, match=r"^a: Elsewhere lies on device gpu:0, and would be copied"):
        ozfp4.matmul(Elsewhere(), b)
    with pytest.raises(RuntimeError, match=r"^a: OfInstance lies on device gpu:1, and would be copied"):
        ozfp4.matmul(OfInstance(), b)
    with pytest.raises(RuntimeError, match=r"^b: OfCuda lies on a CUDA device, and would be copied"):
        ozfp4.tensordot(b, OfCuda(), 1)
    with pytest.raises(RuntimeError, match=r"^x: Own lies on a device of DLPack kind 2"):
        ozfp4.stages.scale(type("Own", (Own, Elsewhere), {})(b, (2, 0)))
    with pytest.raises(RuntimeError, match=r"^a: Elsewhere lies on device gpu:0"):
        ozfp4.linalg.solve(Elsewhere(), b)


def test_an_array_of_the_cpu_is_taken() -> None:
    class Here:
        device = "CPU:0"

        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.eye(4)

    class Table:
        """A table: attributes are columns, and there is no device."""

        def __array__(self, *_: Any, **__: Any) -> Any:
            return np.eye(4)

        def __getattr__(self, name: str) -> Any:
            if name != "device":
                raise AttributeError(name)
            return [0, 1, 2, 3]

    b = normal(4, 2)
    assert_same_bits(ozfp4.matmul(Here(), b), b)
    assert_same_bits(ozfp4.matmul(Table(), b), b)


# ---- JAX -----------------------------------------------------------------------------------------------------------------


def test_tracers() -> None:
    jax = pytest.importorskip("jax")
    text = r"^a: a tracer of jax has no entries; call this outside of jit, grad and vmap, or by jax\.pure_callback"
    for wrapped in (jax.jit, jax.vmap, lambda f: jax.grad(lambda x: f(x).sum())):
        with pytest.raises(TypeError, match=text):
            wrapped(lambda x: ozfp4.matmul(x, x))(jax.numpy.ones((2, 2)))


def test_inside_jit_by_a_callback() -> None:
    jax = pytest.importorskip("jax")
    a, b = normal(3, 4, dtype="float32"), normal(4, 2, dtype="float32")

    @jax.jit
    def product(x: Any, y: Any) -> Any:
        shape = jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), x.dtype)
        return jax.pure_callback(lambda p, q: ozfp4.matmul(np.asarray(p), np.asarray(q)), shape, x, y)

    assert_same_bits(np.array(product(a, b)), ozfp4.matmul(a, b))


def test_dtypes_that_jax_does_not_hold() -> None:
    jax = pytest.importorskip("jax")
    narrow = jax.numpy.ones((3, 3), jax.numpy.bfloat16)
    with pytest.raises(
        TypeError, match=r"^a: the array of jax, of dtype bfloat16, cannot be viewed by DLPack"
    ):
        ozfp4.matmul(narrow, narrow)
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", False)
    try:
        x = jax.numpy.ones((3, 3), jax.numpy.float32)
        assert ozfp4.matmul(x, x).dtype == np.float32
        with pytest.raises(
            TypeError, match=r"^the result is float64, and jax makes float32 of it; jax\.config\.update"
        ):
            ozfp4.matmul(x, x, return_bound=True)
    finally:
        jax.config.update("jax_enable_x64", before)
