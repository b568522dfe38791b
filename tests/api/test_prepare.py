"""prepare: products of a prepared operand have the bits of the plain ones; what it cannot serve is refused by name."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import weakref
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul, exact_matmul, forced_on_cpu
from support import KINDS, PATHS, STACKS, Path, chosen, noise, operands, stack_operands

SIDES = [("left",), ("right",), ("left", "right")]


def prepared(a: Any, b: Any, sides: tuple[str, ...], **options: Any) -> tuple[Any, Any]:
    return (
        chosen.prepare(a, "left", **options) if "left" in sides else a,
        chosen.prepare(b, "right", **options) if "right" in sides else b,
    )


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("dtype", [np.float64, np.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_and_accuracy(kind: str, dtype: type, sides: tuple[str, ...]) -> None:
    for accuracy, (m, k, n) in itertools.product(("scaled", "standard", "correct"), ((7, 40, 9), (1, 1, 3))):
        a, b = operands(kind, m, k, n, dtype=dtype)
        x, y = prepared(a, b, sides, accuracy=accuracy)
        out = noise((m, n), dtype)
        assert ozfp4.matmul(x, y, out=out) is out
        assert_same_bits(out, ozfp4.matmul(a, b, accuracy=accuracy), f"{kind} {accuracy}")


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_every_path(path: Path, sides: tuple[str, ...]) -> None:
    a, b = operands("phi8", 33, 70, 20)
    x, y = prepared(a, b, sides, accuracy="scaled", **path._asdict())
    assert_same_bits(ozfp4.matmul(x, y), exact_matmul(a, b), path)
    assert_same_bits(chosen.matmul(x, y, accuracy="scaled", **path._asdict()), exact_matmul(a, b), path)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("bits", [2, 30, 100, 200])
def test_bits(bits: int, sides: tuple[str, ...]) -> None:
    a, b = operands("normal", 6, 50, 8)
    x, y = prepared(a, b, sides, accuracy="scaled", bits=bits)
    assert_same_bits(ozfp4.matmul(x, y), exact_matmul(a, b, bits=bits))
    assert_same_bits(chosen.matmul(x, y, bits=bits, accuracy="scaled"), exact_matmul(a, b, bits=bits))


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_roundings_and_bounds(sides: tuple[str, ...]) -> None:
    a, b = operands("phi32", 11, 60, 13)
    x, y = prepared(a, b, sides, accuracy="correct")
    for rounding in ("nearest", "down", "up", "zero"):
        assert_same_bits(ozfp4.matmul(x, y, rounding=rounding), correct_matmul(a, b, rounding), rounding)
    for found, rounding in zip(ozfp4.enclose(x, y), ("down", "up"), strict=True):
        assert_same_bits(found, correct_matmul(a, b, rounding), rounding)
    with pytest.raises(ValueError, match=r"^accuracy: 'correct' is not what [ab] was prepared for"):
        ozfp4.enclose(*prepared(a, b, sides))
    for accuracy in ("scaled", "standard", "correct"):
        x, y = prepared(a, b, sides, accuracy=accuracy)
        found = ozfp4.matmul(x, y, return_bound=True)
        for have, want in zip(found, ozfp4.matmul(a, b, accuracy=accuracy, return_bound=True), strict=True):
            assert_same_bits(have, want, accuracy)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("shapes", [s for s in STACKS if all(len(x) > 1 for x in s)], ids=str)
def test_stacks(shapes: Any, sides: tuple[str, ...]) -> None:
    a, b = stack_operands(shapes)
    x, y = prepared(a, b, sides)
    assert_same_bits(ozfp4.matmul(x, y), ozfp4.matmul(a, b))


def test_one_operand_serves_many_others() -> None:
    rng = np.random.default_rng(5)
    b = rng.standard_normal((30, 40))
    b[3, 4], b[7] = np.inf, 0.0
    y = ozfp4.prepare(b[:, ::-1], "right")
    tiny, huge = rng.standard_normal((2, 9, 30)) * [[[1e-200]], [[1e200]]]
    for a in (
        tiny,
        huge,
        rng.standard_normal(30),
        rng.standard_normal((2, 3, 1, 30)),
        np.zeros((0, 30)),
        np.float32(tiny),
    ):
        assert_same_bits(ozfp4.matmul(a, y), ozfp4.matmul(a, b[:, ::-1]))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (2, 0, 5), (0, 5, 5)])
def test_empty(shape: tuple[int, ...]) -> None:
    y = ozfp4.prepare(np.zeros(shape), "right")
    assert y.nbytes == 0
    a = np.ones((3, shape[-2]))
    assert_same_bits(ozfp4.matmul(a, y), ozfp4.matmul(a, np.zeros(shape)))


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
@pytest.mark.parametrize("backend", ["fp64", "int8"])
def test_a_small_workspace_takes_blocks_of_the_planes(backend: str, sides: tuple[str, ...]) -> None:
    a, b = operands("normal", 150, 700, 130)
    x, y = prepared(a, b, sides, backend=backend)
    whole = ozfp4.matmul(x, y, report=True)
    assert_same_bits(whole[0], ozfp4.matmul(a, b))
    plain = ozfp4.matmul(a, b, backend=backend, report=True)[1]
    assert whole[1].workspace < plain.workspace
    for limit in (2**20, 2**17):
        assert_same_bits(ozfp4.matmul(x, y, workspace_limit=limit), whole[0], str(limit))


def test_float32_that_meets_float64() -> None:
    a, b = operands("normal", 5, 20, 6)
    single = b.astype(np.float32)
    y = ozfp4.prepare(single, "right", dtype=np.float64)
    assert_same_bits(ozfp4.matmul(a, y), ozfp4.matmul(a, single))
    assert_same_bits(
        ozfp4.matmul(a.astype(np.float32), ozfp4.prepare(single, "right")),
        ozfp4.matmul(a.astype(np.float32), single),
    )
    assert_same_bits(
        ozfp4.matmul(a.astype(np.float32), ozfp4.prepare(b, "right")), ozfp4.matmul(a.astype(np.float32), b)
    )


def test_an_array_is_a_snapshot() -> None:
    a, b = operands("cancelling", 9, 30, 9)  # repair reads the entries
    before = ozfp4.matmul(a, b)
    y = ozfp4.prepare(b, "right")
    b[:] = np.nan
    assert_same_bits(ozfp4.matmul(a, y), before)


def test_the_report_is_that_of_the_plain_product() -> None:
    a, b = operands("normal", 20, 30, 25)
    a[3, 4], b[5, 6] = np.nan, np.inf
    with forced_on_cpu(words=False):
        plain = ozfp4.matmul(a, b, report=True)[1]
    for sides in SIDES:
        report = ozfp4.matmul(*prepared(a, b, sides), report=True)[1]
        for name in (
            "plan",
            "moduli_used",
            "products",
            "bits",
            "exponents",
            "special_rows",
            "special_columns",
            "capacities",
        ):
            assert getattr(report, name) == getattr(plain, name), name
        assert report.certified == plain.certified


def test_it_says_what_it_is(no_int8_unit: None) -> None:
    b = np.ones((40, 30), np.float32)
    y = ozfp4.prepare(b, "right", backend="int8")
    assert (y.shape, y.dtype, y.side, y.accuracy) == ((40, 30), np.float32, "right", "standard")
    assert (y.result_dtype, y.device, y.plan.backend) == ("float32", "cpu", "int8")
    assert y.nbytes == b.size * (4 + y.plan.planes_b)
    for text in (repr(y), y._repr_html_()):
        assert "right operand, 40 × 30 float32 on cpu" in text
    with pytest.raises(AttributeError):
        y.side = "left"  # type: ignore[misc]


def test_tensors() -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.randn(s, dtype=torch.float64) for s in ((3, 9, 20), (20, 7)))
    y = ozfp4.prepare(b, "right")
    assert y.dtype == torch.float64
    c = ozfp4.matmul(a, y)
    assert isinstance(c, torch.Tensor)
    assert_same_bits(c, ozfp4.matmul(a, b))
    assert_same_bits(ozfp4.matmul(ozfp4.prepare(b.mT, "left"), a.mT), ozfp4.matmul(b.mT, a.mT))
    with pytest.raises(TypeError, match="cannot be mixed"):
        ozfp4.matmul(a.numpy(), y)
    b[0].add_(1.0)
    with pytest.raises(
        ValueError, match=r"^b: the tensor was modified in place since it was prepared; ozfp4\.prepare"
    ):
        ozfp4.matmul(a, y)
    with torch.inference_mode():
        unwatched = torch.randn(20, 7, dtype=torch.float64)
        y = ozfp4.prepare(unwatched, "right")
        expected = ozfp4.matmul(a, unwatched)
        unwatched.zero_()
        assert_same_bits(ozfp4.matmul(a, y), expected)


def test_what_it_cannot_serve(no_int8_unit: None) -> None:
    a, b = operands("normal", 5, 20, 6)
    y = ozfp4.prepare(b, "right")
    single = ozfp4.prepare(b.astype(np.float32), "right")
    wide = ozfp4.plan(5, 6, 20, accuracy="correct")
    out = noise((5, 6))
    kept = out.copy()
    refused: list[tuple[type[Exception], str, Any, Any, dict[str, Any]]] = [
        (ValueError, r"^a: it was prepared for the right side; ozfp4\.prepare\(x, side='left'\)", y, b.T, {}),
        (
            ValueError,
            "^accuracy: 'correct' is not what b was prepared for, 'standard'; .*accuracy='correct'",
            a,
            y,
            {"accuracy": "correct"},
        ),
        (
            ValueError,
            "^backend: 'fp4' is not what b was prepared for, 'fp64'; .*backend='fp4'",
            a,
            y,
            {"backend": "fp4"},
        ),
        (ValueError, "^scheme: 'I' is not what", a, y, {"scheme": "I"}),
        (
            ValueError,
            "^plan: b was prepared by another plan",
            a,
            y,
            {"plan": ozfp4.plan(5, 6, 20, accuracy="scaled")},
        ),
        (ValueError, "^rounding: 'up' needs accuracy='correct'", a, y, {"rounding": "up"}),
        (
            ValueError,
            r"^inner dimensions differ: a has shape \(5, 19\), b has shape \(20, 6\)",
            a[:, 1:],
            y,
            {},
        ),
        (
            ValueError,
            "^b: it was prepared for results of float32, and .* float64; .*dtype='float64'",
            a,
            single,
            {},
        ),
        (
            ValueError,
            "^b: it was prepared for another plan, or accuracy 'correct', a for 'standard'",
            ozfp4.prepare(a, "left", plan=wide),
            ozfp4.prepare(b, "right", accuracy="correct", plan=wide),
            {},
        ),
        (ValueError, "^b: it was prepared for another plan", ozfp4.prepare(a, "left", backend="int8"), y, {}),
        (MemoryError, "^workspace_limit", a, y, {"workspace_limit": 1}),
    ]
    for error, text, x, other, options in refused:
        with pytest.raises(error, match=text):
            ozfp4.matmul(x, other, out=out, **options)
        assert_same_bits(out, kept, text)


def test_refusals() -> None:
    b = operands("normal", 5, 20, 6)[1]
    short = ozfp4.plan(1, 1, 9, backend="int8", accuracy="scaled")
    refused: list[tuple[type[Exception], str, Any, str, dict[str, Any]]] = [
        (ValueError, "^side: 'top' is unknown", b, "top", {}),
        (
            ValueError,
            r"^x: a matrix or a stack of matrices is needed, its shape is \(20,\)",
            b[:, 0],
            "left",
            {},
        ),
        (TypeError, "^x: dtype int64 is not supported", b.astype(np.int64), "right", {}),
        (TypeError, "^x: masked arrays", np.ma.masked_array(b), "right", {}),
        (TypeError, "^x: it is prepared already", ozfp4.prepare(b, "right"), "right", {}),
        (ValueError, "^dtype: .* is of no product of float64", b, "right", {"dtype": np.float32}),
        (TypeError, "^dtype: 'bogus' is no dtype", b, "right", {"dtype": "bogus"}),
        (ValueError, "^accuracy: 'exact' is unknown", b, "right", {"accuracy": "exact"}),
        (
            ValueError,
            "^plan: its limit is K <= ",
            np.ones((short.k_max + 1, 1)),
            "right",
            {"plan": short, "accuracy": "scaled"},
        ),
    ]
    for error, text, x, side, options in refused:
        with pytest.raises(error, match=text):
            ozfp4.prepare(x, side, **options)


def test_unknown_names_and_values_come_first() -> None:
    a, b = operands("normal", 5, 20, 6)
    y = ozfp4.prepare(b, "right")
    for text, options in (
        ("backend: 'gpu' is unknown", {"backend": "gpu"}),
        ("accuracy: 'foo' is unknown", {"accuracy": "foo"}),
        ("plan: int is not an ozfp4.Plan", {"plan": 3}),
    ):
        with pytest.raises((TypeError, ValueError), match=f"^{text}") as caught:
            ozfp4.matmul(a, y, **options)
        assert "ozfp4.prepare" not in str(caught.value)


def test_what_takes_no_prepared_operand() -> None:
    a, b = operands("normal", 5, 20, 6)
    y = ozfp4.prepare(b, "right")
    for function in (
        lambda: ozfp4.matmul_mod(np.ones((5, 20), int), y, 7),
        lambda: ozfp4.gram(y),
        lambda: ozfp4.einsum("ij,jk", a, y),
        lambda: ozfp4.tensordot(a, y, 1),
        lambda: ozfp4.plan_for(a, y),
        lambda: ozfp4.linalg.qr(y),
    ):
        with pytest.raises(
            TypeError,
            match=r"^(a|b|operands\[1\]): a prepared operand is not taken here; pass the matrix itself$",
        ):
            function()


def test_it_is_no_array_and_not_copied() -> None:
    a, b = operands("normal", 5, 20, 6)
    y = ozfp4.prepare(b, "right")
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*"):
        a * y
    for function in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=r"^a prepared operand cannot be copied or pickled"):
            function(y)


def test_tensors_are_watched_and_not_kept() -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.randn(s, dtype=torch.float64) for s in ((9, 20), (7, 20)))
    expected = ozfp4.matmul(a, b.mT)
    y = ozfp4.prepare(b.mT, "right")  # of a view that is gone at once
    assert_same_bits(ozfp4.matmul(a, y), expected)
    b.add_(1.0)
    with pytest.raises(ValueError, match=r"^b: the tensor was modified in place"):
        ozfp4.matmul(a, y)
    b.sub_(1.0)
    expected, y = ozfp4.matmul(a, b.mT), ozfp4.prepare(b.mT, "right")
    source = weakref.ref(b)
    del b
    gc.collect()
    assert source() is None
    assert_same_bits(ozfp4.matmul(a, y), expected)
    with pytest.raises(TypeError, match=r"^b: a prepared operand is not taken here"):
        ozfp4.plan_for(a, y)


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_the_operator_is_matmul(kind: str) -> None:
    a, b = operands("normal", 7, 9, 5)
    expected = ozfp4.matmul(a, b)
    if kind == "torch":
        torch = pytest.importorskip("torch")
        a, b = torch.from_numpy(a), torch.from_numpy(b)
    left, right = ozfp4.prepare(a, "left"), ozfp4.prepare(b, "right")
    for found in (a @ right, left @ b, left @ right):
        assert type(found) is type(a)
        assert_same_bits(np.asarray(found), expected)
    assert_same_bits(np.asarray(a.tolist() @ ozfp4.prepare(np.asarray(b), "right")), expected)
    with pytest.raises(ValueError, match=r"^b: it was prepared for the left side"):
        a @ left
    with pytest.raises(TypeError):
        a + right
