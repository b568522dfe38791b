"""Streamed products equal plain ones bit for bit: dtypes, modes, shapes, views, files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ozfp4
from ozfp4._streaming import call, copies
from ozfp4.testing import assert_same_bits

DTYPES = ["f8", "f4", "c16", "c8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"]
LIMIT = 2**20 + 200_000


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "CHUNK", 3_000)
    monkeypatch.setattr(copies, "DIRECT_CHUNK", 5_000)


def entries(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    """Numbers of many exponents with NaN and infinities, integers of all bits."""
    random, kind = np.random.default_rng(seed), np.dtype(dtype)
    if kind == np.bool_:
        return random.random(shape) < 0.1
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return random.integers(limits.min, limits.max, shape, kind, endpoint=True)
    x = random.standard_normal(shape) * 2.0 ** random.integers(-40, 40, shape)
    if kind.kind == "c":
        x = x + 1j * random.standard_normal(shape)
    x = x.astype(kind)
    if x.size > 50:
        x.flat[3], x.flat[-2], x.flat[x.size // 2] = np.inf, np.nan, 2.0**-140
    return x


def check(a: Any, b: Any, limit: int | None = LIMIT, **options: Any) -> None:
    found, wanted = (
        x if isinstance(x, tuple) else (x,)
        for x in (
            ozfp4.matmul(a, b, device="cpu", workspace_limit=limit, **options),
            ozfp4.matmul(a, b, **options),
        )
    )  # fmt: skip
    for x, y in zip(found, wanted, strict=True):
        assert type(x) is type(y)
        assert x.dtype == y.dtype
        assert_same_bits(x, y)


@pytest.mark.parametrize("first", DTYPES)
def test_dtypes(first: str) -> None:
    a = entries((150, 60), first, 1)
    for seed, second in enumerate(DTYPES):
        check(a, entries((60, 130), second, seed))


@pytest.mark.parametrize(("dtypes", "options"), [
    (("f8", "f8"), {"accuracy": "standard", "return_bound": True}),
    (("f8", "f8"), {"accuracy": "scaled", "return_bound": True}),
    (("f4", "f4"), {"accuracy": "correct", "rounding": "down"}),
    (("f4", "f8"), {"backend": "int8"}),
    (("c16", "c16"), {"accuracy": "correct", "rounding": "up"}),
    (("c8", "f4"), {"accuracy": "standard", "return_bound": True}),
    (("c16", "f8"), {"backend": "fp4", "accuracy": "scaled"}),
    (("f8", "c16"), {"scheme": "I"}),
], ids=str)  # fmt: skip
def test_modes(dtypes: tuple[str, str], options: dict[str, Any]) -> None:
    a, b = entries((120, 50), dtypes[0], 0), entries((50, 110), dtypes[1], 1)
    check(a, b, **options)


@pytest.mark.parametrize(("dtypes", "dtype"), [
    (("f4", "f4"), "float64"), (("c8", "f4"), "complex128"), (("i1", "i1"), "int32"),
    (("i1", "i2"), "uint8"), (("i1", "i1"), "float64"),
])  # fmt: skip
def test_another_dtype(dtypes: tuple[str, str], dtype: str) -> None:
    check(entries((120, 50), dtypes[0], 1), entries((50, 110), dtypes[1], 2), dtype=dtype)


def test_a_plan() -> None:
    plan = ozfp4.plan(1, 1, 60, bits=40, accuracy="scaled", backend="int8")
    check(entries((120, 60), "f8", 1), entries((60, 130), "f8", 2), plan=plan, accuracy="scaled")


SHAPES = [
    ((1, 1), (1, 1)), ((1, 900), (900, 1)), ((900, 1), (1, 900)), ((7,), (7,)), ((7,), (7, 300)), ((300, 7), (7,)),
    ((3, 1, 40, 20), (5, 20, 30)), ((200, 4, 6), (6, 3)), ((4, 6), (200, 6, 3)), ((2000, 1, 1), (2000, 1, 1)),
    ((2, 3, 1, 9, 40), (1, 3, 2, 40, 7)), ((5, 70, 100), (100,)), ((1, 1, 130, 20), (20, 140)), ((1, 130, 50), (3, 50, 140)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("limit", [LIMIT, None])
def test_shapes(shapes: Any, limit: int | None) -> None:
    check(*(entries(shape, "f8", seed) for seed, shape in enumerate(shapes)), limit=limit)


@pytest.mark.parametrize(
    "shapes",
    [((0, 5), (5, 3)), ((3, 0), (0, 4)), ((3, 5), (5, 0)), ((0, 3, 5), (5, 4)), ((0,), (0,))],
    ids=str,
)
@pytest.mark.parametrize("options", [{}, {"accuracy": "correct", "rounding": "down"}], ids=str)
def test_empty_shapes(shapes: Any, options: dict[str, Any]) -> None:
    check(*(np.ones(shape) for shape in shapes), **options)


def slices(extent: int) -> st.SearchStrategy[slice]:
    """Slices of at least one entry of an axis, backwards too."""
    return st.builds(
        lambda first, count, step: slice(first, first + count * step, step)
        if step > 0
        else slice(first + count, first or None, step),
        st.integers(0, extent // 4), st.integers(1, extent // 4), st.sampled_from([1, 2, -1]),
    )  # fmt: skip


@given(st.data())
def test_views(data: st.DataObject) -> None:
    a, b = entries((3, 400, 300), "f8", 1), entries((3, 300, 280), "f8", 2)
    inner = data.draw(slices(300))
    x = a[
        (
            data.draw(st.sampled_from([slice(None), slice(None, None, -1), slice(1, 2)])),
            data.draw(slices(400)),
            inner,
        )
    ]
    y = b[:, inner, data.draw(slices(280))]
    if data.draw(st.booleans()):
        x = np.asfortranarray(x)
    if data.draw(st.booleans()):
        y = np.ascontiguousarray(y.swapaxes(-1, -2)).swapaxes(-1, -2)
    if data.draw(st.booleans()):
        y = y[0]
    check(x, y, limit=data.draw(st.sampled_from([LIMIT, 2**20 + 60_000, None])))


def test_repeated_and_foreign_entries() -> None:
    a = np.broadcast_to(entries((1, 50), "f8", 1), (90, 50))
    b = entries((50, 80), "f8", 2)
    check(a, b.astype(">f8"))
    check(np.broadcast_to(b[:, 0], (4, 90, 50)), b)
    read_only = b.copy()
    read_only.flags.writeable = False
    check(a, read_only)
    check(a.tolist(), b.tolist())


@pytest.mark.parametrize("order", ["C", "F"])
def test_files(tmp_path: Path, order: Any) -> None:
    a = np.memmap(tmp_path / "a", np.float64, "w+", shape=(300, 90), order=order)
    a[...] = entries((300, 90), "f8", 1)
    a.flush()
    read = np.memmap(tmp_path / "a", np.float64, "r", shape=(300, 90), order=order)
    out = np.memmap(tmp_path / "c", np.float64, "w+", shape=(300, 200), order=order)
    b = entries((90, 200), "f8", 2)
    assert ozfp4.matmul(read, b, out=out, device="cpu", workspace_limit=LIMIT) is out
    assert_same_bits(np.asarray(out), ozfp4.matmul(a, b))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "dtypes", [("f8", "f8"), ("c16", "f8"), ("f4", "f4"), ("u1", "i1"), ("?", "?")], ids="-".join
)
def test_out_is_filled_and_nothing_else(dtypes: tuple[str, str], turned: bool) -> None:
    a, b = entries((70, 40), dtypes[0], 1), entries((40, 90), dtypes[1], 2)
    wanted = ozfp4.matmul(a, b)
    big = np.full((95, 75) if turned else (75, 95), 1, wanted.dtype)
    before = big.copy()
    out = (big.T if turned else big)[2:72, 1:91]
    assert ozfp4.matmul(a, b, out=out, device="cpu", workspace_limit=LIMIT) is out
    assert_same_bits(out, wanted)
    out[...] = (before.T if turned else before)[2:72, 1:91]
    assert np.array_equal(big, before)


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.from_numpy(entries(s, "f8", i)) for i, s in enumerate(((150, 60), (60, 130))))
    check(a, b)
    check(a.to(torch.complex128), b)
    check((a.to(torch.complex64) * 1j).conj(), b.float())
    check(a.to(torch.complex128).conj().imag, b)  # lazily negated
    check((a * 0 + 3).nan_to_num(1).to(torch.int16), b.float())  # torch's rules: float32
    check(a.nan_to_num(0, 0, 0).to(torch.int8), torch.ones(60, 9, dtype=torch.uint8))
    out = torch.full((150, 130), float("nan"), dtype=torch.float64)
    version = out._version
    assert ozfp4.matmul(a, b, out=out, device=torch.device("cpu"), workspace_limit=LIMIT) is out
    assert out._version > version
    assert_same_bits(out.numpy(), ozfp4.matmul(a, b).numpy())
    with torch.no_grad():
        assert_same_bits(ozfp4.matmul(a.requires_grad_(), b, device="cpu").numpy(), out.numpy())
    with torch.inference_mode():
        assert_same_bits(ozfp4.matmul(a.detach(), b, device="cpu").numpy(), out.numpy())


def test_arrays_on_the_cpu_take_the_plain_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short product takes a tenth of the time that asking for devices does."""
    a = entries((8, 8), "f8", 1)
    expected = ozfp4.matmul(a, a)
    monkeypatch.setattr(call, "matmul", None)
    assert_same_bits(ozfp4.matmul(a, a, device="cpu"), expected)


def test_arrays_of_other_libraries() -> None:
    jax = pytest.importorskip("jax")
    with jax.default_device(jax.devices("cpu")[0]):
        a = jax.numpy.ones((40, 30), dtype="float32")
        found = ozfp4.matmul(a, a.T, device="cpu")
    assert type(found) is type(a)
    assert_same_bits(np.asarray(found), np.full((40, 40), 30, np.float32))


def test_an_overflow_leaves_out_as_it_was() -> None:
    a = np.full((300, 50), 2**14, np.int32)
    a[-1] = 2**30  # in the last rows alone
    out = np.full((300, 300), 77, np.int32)
    with pytest.raises(
        OverflowError, match=r"overflow: entries of the product do not fit int32; nothing was written"
    ):
        ozfp4.matmul(a, a.T, out=out, device="cpu", workspace_limit=LIMIT, overflow="raise")
    assert (out == 77).all()
    small = np.full((300, 50), 2**9, np.int32)
    ozfp4.matmul(small, small.T, out=out, device="cpu", workspace_limit=LIMIT, overflow="raise")
    assert (out == 50 * 2**18).all()


@pytest.mark.parametrize("device", ["cpu", "cpu:0", ["cpu"]], ids=str)
def test_a_product_on_the_cpu_without_a_limit_is_not_streamed(
    monkeypatch: pytest.MonkeyPatch, device: Any
) -> None:
    monkeypatch.setattr(call, "multiply", None)
    a = entries((40, 30), "f8", 1)
    for options in (
        {},
        {"accuracy": "correct", "rounding": "up"},
        {"return_bound": True},
        {"accuracy": "scaled"},
    ):
        check(a, entries((30, 50), "f8", 2), None, **options)
    for first, second in (("f4", "f8"), ("c16", "f8"), ("i4", "i8")):
        check(entries((3, 40, 30), first, 1), entries((30, 50), second, 2), None)
    out, done = np.full((40, 40), np.nan), list[float]()
    with ozfp4.progress(done.append):
        assert ozfp4.matmul(a, a.T, out=out, device=device) is out
    assert_same_bits(out, ozfp4.matmul(a, a.T))
    assert done[-1] == 1
    x = entries((40, 30), "i8", 3)
    with pytest.raises(OverflowError, match=r"^overflow: "):
        ozfp4.matmul(x, x.T, device=device, overflow="raise")
