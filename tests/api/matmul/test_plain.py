"""Plain products and updates of arrays and tensors on the CPU, which go straight to the core, against the general way, where
Python checks the operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._request import library
from ozfp4.testing import assert_same_bits
from support import chosen, noise

rng = np.random.default_rng(3)
A, B = rng.standard_normal((2, 9, 9)) / 3
OPERANDS = {
    "square": (A, B),
    "views": (A.T, B[:, ::-1]),
    "float32": (A.astype(np.float32), B.astype(np.float32)),
    "mixed": (A.astype(np.float32), B),
    "complex": (A + 1j * B, B - 2j),
    "complex by real": ((A + 1j * B).astype(np.complex64), B),
    "real by complex": (A[:, ::2].T, (A + 1j * B)[:, 3:]),
    "matrix by vector": (A, B[2]),
    "vector by matrix": (A[2], B + 1j),
    "stacks": (rng.standard_normal((2, 1, 3, 4)), rng.standard_normal((5, 4, 2))),
    "a stack by one": (rng.standard_normal((6, 3, 4))[::-1], rng.standard_normal((4, 7))),
    "empty": (np.ones((0, 3)), np.ones((3, 2))),
    "no terms": (np.ones((2, 0)), np.ones((0, 3))),
    "no matrices": (np.ones((0, 2, 3)), np.ones((3, 2)) + 1j),
}


def is_plain(a: Any, b: Any, **asked: Any) -> bool:
    return _core.multiply_plain(a, b, None, "standard", asked) is not NotImplemented


@pytest.mark.parametrize("name", OPERANDS)
def test_the_same_bits(name: str) -> None:
    a, b = OPERANDS[name]
    ozfp4.matmul(A, B, report=True)  # the first product of a process is never plain
    for asked in (
        {},
        {"accuracy": "correct", "rounding": "up"},
        {"accuracy": "scaled", "scheme": "I"},
        {"backend": "fp64", "workspace_limit": 10**6},
    ):
        assert is_plain(a, b, **asked)
        found = ozfp4.matmul(a, b, **asked)
        expected, report = ozfp4.matmul(a, b, report=True, **asked)
        assert_same_bits(found, expected)
        assert report.accuracy == asked.get("accuracy", "standard")


ASKED: list[dict[str, Any]] = [{}, {"accuracy": "correct", "rounding": "down"}, {"backend": "fp64"}]


@pytest.mark.parametrize("name", OPERANDS)
def test_out_is_written_where_it_lies(name: str) -> None:
    a, b = OPERANDS[name]
    expected = [ozfp4.matmul(a, b, report=True, **asked)[0] for asked in ASKED]
    shape, dtype = expected[0].shape, expected[0].dtype
    for asked, c in zip(ASKED, expected, strict=True):
        wide = noise((*shape[:-1], 2 * shape[-1]), dtype)
        for out in (noise(shape, dtype), noise(shape[::-1], dtype).T, wide[..., ::-2], wide[..., 1::2]):
            kept = wide[..., ::2].copy()
            assert _core.multiply_plain(a, b, out, "standard", asked) is out
            assert_same_bits(out.copy(), c)
            if out.base is wide and out.strides[-1] > 0:
                assert_same_bits(wide[..., ::2].copy(), kept)


def test_general_outs() -> None:
    c, wide = ozfp4.matmul(A, B, report=True)[0], noise((9, 18))
    read_only = noise((9, 9))
    read_only.flags.writeable = False
    for out in (
        noise((9, 8)), noise((9,)), noise((9, 9), np.float32), noise((9, 9)).astype(">f8"), read_only, A, B[::-1],
        np.broadcast_to(noise((9,)), (9, 9)), np.lib.stride_tricks.as_strided(noise((99,)), (9, 9), (64, 8)),
        np.ma.array(noise((9, 9))), c.tolist(),
    ):  # fmt: skip
        assert _core.multiply_plain(A, B, out, "standard", {}) is NotImplemented
    wide[:, :9] = A
    assert _core.multiply_plain(wide[:, :9], B, wide[:, 9:], "standard", {}) is NotImplemented
    assert_same_bits(ozfp4.matmul(wide[:, :9], B, out=wide[:, 9:]).copy(), c)


@pytest.fixture
def plain_tensors() -> Any:
    torch = pytest.importorskip("torch")
    multiply = library.short_way(torch.zeros(1))
    if multiply is None:
        pytest.skip("this torch offers no structures")
    return multiply


def by_columns(torch: Any, x: Any) -> Any:
    return torch.from_numpy(x.copy()).mT.contiguous().mT if x.ndim > 1 else torch.from_numpy(x.copy())


@pytest.mark.parametrize("name", OPERANDS)
def test_tensors(plain_tensors: Any, name: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = OPERANDS[name]
    x, y = by_columns(torch, a), by_columns(torch, b)
    for asked in ASKED:
        expected = ozfp4.matmul(a, b, **asked)
        found = plain_tensors(x, y, None, "standard", asked)
        if expected.size == 0 or a.size == 0:
            assert found is NotImplemented
        else:
            assert type(found) is torch.Tensor
            assert found.is_contiguous()
            assert_same_bits(found.clone().numpy(), expected)
            found.untyped_storage().resize_(0)  # as of torch's own
            out = torch.from_numpy(noise((*expected.shape, 2), expected.dtype))[..., 1]
            version = out._version
            assert plain_tensors(x, y, out, "standard", asked) is out
            assert out._version == version + 1
            assert_same_bits(out.numpy().copy(), expected)
        assert_same_bits(ozfp4.matmul(x, y, **asked).numpy(), expected)


def test_general_tensors(plain_tensors: Any) -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.from_numpy(A.copy()), torch.from_numpy(B.copy())

    def is_plain(x: Any, y: Any, out: Any = None) -> bool:
        return plain_tensors(x, y, out, "standard", {}) is not NotImplemented

    class Own(torch.Tensor):
        pass

    ozfp4.matmul(A, B, report=True)
    assert is_plain(a, b, torch.empty_like(a))
    watched = a.clone().requires_grad_()
    freed = a.clone()
    freed.untyped_storage().resize_(8)
    z = a * (1 + 1j)
    negated = torch.imag((z * 1j).conj())
    assert negated.is_neg()
    for x in (
        watched,
        freed,
        a.to_sparse(),
        a.as_subclass(Own),
        A,
        z.conj(),
        negated,
        a.half(),
        a.long(),
        a.to("meta"),
    ):
        assert not is_plain(b, x)
        assert not is_plain(x, b)
        assert not is_plain(a, b, x)
    assert not is_plain(a[:, :3], b)
    assert not is_plain(a, b, a)
    assert not is_plain(a, b, b.mT)
    assert not is_plain(a, b, torch.empty(9, dtype=a.dtype).expand(9, 9))
    with torch.no_grad():
        assert is_plain(watched, b)
    with torch.autograd.forward_ad.dual_level():
        assert not is_plain(a, b)
    found: list[bool] = []
    torch.func.vmap(lambda x: found.append(is_plain(a, b)) or x)(a)
    torch.jit.trace(lambda x: found.append(is_plain(a, b)) or x, (a,), check_trace=False)
    assert len(found) == 2
    assert not any(found)
    with torch.utils._python_dispatch.TorchDispatchMode():
        assert not is_plain(a, b)
    assert is_plain(a, b)


def test_general_operands_of_matmul() -> None:
    ozfp4.matmul(A, B, report=True)
    for a, b in (
        (A, B[:4]),
        (A.astype(">f8"), B),
        (np.arange(9).reshape(3, 3), A[:3]),
        (A[0], B[0]),
        (np.float64(1), B),
        (np.ones((2, 3, 3)), np.ones((4, 3, 3))),
        (np.ma.array(A), B),
    ):
        assert not is_plain(a, b)
    for asked in (
        {"rounding": "up"},
        {"accuracy": "exact"},
        {"workspace_limit": 0},
        {"workspace_limit": True},
        {"bits": 53},
        {"report": False},
        {"plan": None},
        {"unknown": 1},
    ):
        assert not is_plain(A, B, **asked)
    assert_same_bits(ozfp4.matmul(A.astype(">f8"), B), ozfp4.matmul(A, B))
    for wrong in (20.0, np.float64(20)):
        with pytest.raises(TypeError, match="bits"):
            chosen.matmul(A, B, bits=wrong, accuracy="scaled")


# ---- Updates --------------------------------------------------------------------------------------------------------

FACTORS: list[tuple[complex, complex]] = [(-1, 1), (0.5, -2.0), (0, 1), (3, 0)]


def update(multiply: Any, alpha: Any, a: Any, b: Any, beta: Any = 0, c: Any = None, **asked: Any) -> Any:
    """By the core's function, as gemm calls it."""
    own = [
        asked.pop(name, default) for name, default in (("trans_a", False), ("trans_b", False), ("out", None))
    ]
    return multiply(a, b, own[2], "standard", asked, True, alpha, beta, c, *own[:2])


@pytest.mark.parametrize("name", OPERANDS)
def test_updates(name: str) -> None:
    a, b = OPERANDS[name]
    product = ozfp4.matmul(a, b, report=True)[0]
    c = (rng.standard_normal((2, *product.shape)) + 2).astype(product.dtype)
    factors = FACTORS if product.dtype.kind != "c" else [*FACTORS, (1j, 2), (1 - 2j, 0.5j)]
    for alpha, beta in factors:
        for asked in ({}, {"accuracy": "correct"}, {"accuracy": "scaled", "backend": "fp64"}):
            addend = None if beta == 0 else c[1]
            expected = ozfp4.gemm(alpha, a, b, beta, addend, report=True, **asked)[0]
            assert_same_bits(update(_core.multiply_plain, alpha, a, b, beta, addend, **asked), expected)
            out = noise(expected.shape, expected.dtype)
            assert update(_core.multiply_plain, alpha, a, b, beta, addend, out=out, **asked) is out
            assert_same_bits(out, expected)
            if addend is not None:
                out[...] = addend
                assert update(_core.multiply_plain, alpha, a, b, beta, out, out=out, **asked) is out
                assert_same_bits(out, expected)


@pytest.mark.parametrize("name", OPERANDS)
def test_updates_of_tensors(plain_tensors: Any, name: str) -> None:
    torch = pytest.importorskip("torch")
    a, b = OPERANDS[name]
    x, y = by_columns(torch, a), by_columns(torch, b)
    for alpha, beta in FACTORS:
        c = None if beta == 0 else by_columns(torch, ozfp4.matmul(a, b) + 1)
        expected = ozfp4.gemm(alpha, a, b, beta, None if c is None else c.numpy(), report=True)[0]
        found = update(plain_tensors, alpha, x, y, beta, c)
        if expected.size == 0 or a.size == 0:
            assert found is NotImplemented
            continue
        assert_same_bits(found.numpy(), expected)
        out = torch.from_numpy(noise(expected.shape, expected.dtype)) if c is None else c
        version = out._version
        assert update(plain_tensors, alpha, x, y, beta, c, out=out) is out
        assert out._version == version + 1
        assert_same_bits(out.numpy().copy(), expected)


def test_transposes(plain_tensors: Any) -> None:
    torch = pytest.importorskip("torch")
    for a, b, c in ((A[:4], B[:, :4], None), (A[:4] + 1j, B[:, :4], None), (A[:4], B[:, :4], A)):
        x, y, z = (None if each is None else torch.from_numpy(each) for each in (a, b, c))
        for trans in (True, "T", "C", np.True_, "t", "N", False):
            asked = {"trans_a": trans, "trans_b": trans}
            if trans in ("N", False):
                given, tensors = (a.T, b.T), (x.mT, y.mT)
            else:
                given, tensors = (a, b), (x, y)
            expected = ozfp4.gemm(2, *given, int(c is not None), c, report=True, **asked)[0]
            is_view = trans in (True, "T", "N", False) or (trans == "C" and a.dtype.kind != "c")
            for multiply, (left, right), addend in (
                (_core.multiply_plain, given, c),
                (plain_tensors, tensors, z),
            ):
                found = update(multiply, 2, left, right, int(c is not None), addend, **asked)
                if is_view and trans is not np.True_:
                    assert_same_bits(np.asarray(found), expected)
                else:
                    assert found is NotImplemented
            assert_same_bits(ozfp4.gemm(2, *given, int(c is not None), c, **asked), expected)
            found = ozfp4.gemm(2, *tensors, int(c is not None), z, **asked)
            assert_same_bits(found.numpy(), expected)


def test_general_operands_of_gemm(plain_tensors: Any) -> None:
    torch = pytest.importorskip("torch")
    c, wide = B + 1, noise((9, 18))
    read_only = c.copy()
    read_only.flags.writeable = False
    z = A + 1j
    refused: list[tuple[Any, ...]] = [
        (True, A, B, 1, c), ("1", A, B, 1, c), (float("nan"), A, B, 1, c), (2**53 + 1, A, B, 1, c), (1j, A, B, 1, c),
        (np.float64(1), A, B, 1, c), (1, A, B, 1), (1, A, B, 0, c), (1, A, B, 1, c[:4]), (1, A, B, 1, c[0]),
        (1, A, B, 1, c.astype(">f8")), (1, A, B, 1, z), (1, z, B, 1, c), (1, A, B, 1, c.astype(int)),
    ]  # fmt: skip
    for given in refused:
        assert update(_core.multiply_plain, *given) is NotImplemented
        tensors = [
            torch.from_numpy(x) if isinstance(x, np.ndarray) and x.dtype.isnative else x for x in given
        ]
        assert update(plain_tensors, *tensors) is NotImplemented
    for out in (read_only, c[::-1], c.T, noise((9, 9), np.float32), wide[:, ::2][:, ::-1].T[:4]):
        kept = out.copy()
        assert update(_core.multiply_plain, 1, A, B, 1, c, out=out) is NotImplemented
        with pytest.raises((TypeError, ValueError), match=r"^out: "):
            ozfp4.gemm(1, A, B, 1, c, out=out)
        assert_same_bits(out.copy(), kept)
    assert (
        update(_core.multiply_plain, 1j, z, B, 1, z, accuracy="correct", rounding="up") is not NotImplemented
    )
    both = {"accuracy": "correct", "rounding": "up"}
    assert update(_core.multiply_plain, 1 + 1j, z, B, 1, z, **both) is NotImplemented
    for wrong in (4, 7, 10, 12):
        with pytest.raises(TypeError, match="arguments"):
            _core.multiply_plain(*[A] * wrong)
    x, y = torch.from_numpy(A.copy()).requires_grad_(), torch.from_numpy(B.copy())
    assert update(plain_tensors, 1, x, y, 1, y) is NotImplemented
    assert update(plain_tensors, 1, y, y, 1, x) is NotImplemented


def test_gemm_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The public function takes this way, but the general one within `ozfp4.progress`."""
    expected = ozfp4.gemm(-1, A, B, 1, B, report=True)[0]
    found: list[float] = []
    with ozfp4.progress(found.append):
        assert_same_bits(ozfp4.gemm(-1, A, B, 1, B), expected)
    assert found[-1] == 1.0

    def take(*given: Any) -> None:
        raise AssertionError("Python looks at the operands")

    monkeypatch.setattr("ozfp4._api.gemm.take", take)
    assert_same_bits(ozfp4.gemm(-1, A, B, 1, B), expected)
