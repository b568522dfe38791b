"""tensordot: shapes, types and values of np.tensordot's, rounded as matmul rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits
from support import noise
from support.devices import Device
from support.dtypes import both_types
from support.integers import DTYPES
from support.integers import noise as numbers


def whole(*shape: int) -> np.ndarray:
    return np.random.default_rng(1).integers(-9, 10, shape).astype(float)


CASES = [
    ((2, 3), (3, 4), 1),
    ((2, 3, 4), (3, 4, 5), 2),
    ((3, 4), (3, 4), 2),
    ((2, 3), (4, 5), 0),
    ((2, 3, 4), (4, 3, 2), ([1, 0], [1, 2])),
    ((2, 3, 4), (4, 3, 2), ([0, 1, 2], [2, 1, 0])),
    ((2, 3, 4), (5, 3, 6), (1, 1)),
    ((2, 3, 4), (5, 3, 6), (-2, [-2])),
    ((2, 3), (4, 5), ([], [])),
    ((2, 0), (0, 4), 1),
    ((0, 3), (3, 4), 1),
    ((), (3,), 0),
    ((), (), 0),
    ((5,), (5,), 1),
    ((5,), (5,), True),
    ((2, 1), (1, 3), 1),
]


@pytest.mark.parametrize(("a", "b", "axes"), CASES, ids=str)
@both_types
def test_like_numpy(a, b, axes, dtype: type, device: Device) -> None:
    x, y = whole(*a).astype(dtype), whole(*b).astype(dtype, order="F")
    ours, theirs = device.tensordot(x, y, axes), np.tensordot(x, y, axes)
    assert device.name != "numpy" or type(ours) is np.ndarray
    assert ours.dtype == theirs.dtype
    assert_same_bits(ours + 0.0, theirs + 0.0)
    out = noise(theirs.shape, dtype)
    assert device.tensordot(x, y, axes=axes, out=out) is out
    assert_same_bits(out + 0.0, theirs + 0.0)


@pytest.mark.parametrize(("a", "b", "axes"), CASES[:-2], ids=str)
def test_like_torch(a, b, axes) -> None:
    torch = pytest.importorskip("torch")
    x, y = torch.from_numpy(whole(*a)), torch.from_numpy(whole(*b))
    pair = axes if isinstance(axes, int) else tuple([i] if isinstance(i, int) else i for i in axes)
    ours, theirs = ozfp4.tensordot(x, y, axes), torch.tensordot(x, y, dims=pair)
    assert type(ours) is torch.Tensor
    assert torch.equal(ours, theirs)
    out = torch.full(theirs.shape, float("nan"), dtype=torch.float64)
    assert ozfp4.tensordot(x, y, axes, out=out) is out
    assert torch.equal(out, theirs)


def test_axes_of_extent_1_broadcast_as_in_torch_and_not_as_in_numpy() -> None:
    torch = pytest.importorskip("torch")
    for a, b, axes in (
        ((3, 1), (4, 2), ([1], [0])),
        ((2, 5), (1, 3), ([1], [0])),
        ((1, 2), (5, 1), ([0, 1], [0, 1])),
    ):
        x, y = whole(*a), whole(*b)
        ours = ozfp4.tensordot(torch.from_numpy(x), torch.from_numpy(y), axes)
        assert torch.equal(ours, torch.tensordot(torch.from_numpy(x), torch.from_numpy(y), axes))
        for function in (np.tensordot, ozfp4.tensordot):
            with pytest.raises(ValueError):
                function(x, y, axes)


def test_two_axes_are_the_default_and_arguments_reach_matmul() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.standard_normal((5, 3, 4)) * 1e9, rng.standard_normal((3, 4, 6))
    x, y = a.reshape(5, 12), b.reshape(12, 6)
    assert_same_bits(ozfp4.tensordot(a, b), ozfp4.matmul(x, y))
    for options in (
        {"accuracy": "correct", "rounding": "up"},
        {"accuracy": "scaled", "backend": "fp4", "scheme": "I", "workspace_limit": 2**20},
        {
            "accuracy": "scaled",
            "plan": ozfp4.plan(5, 6, 12, bits=20, backend="fp4", scheme="I", accuracy="scaled"),
        },
        {
            "accuracy": "scaled",
            "plan": ozfp4.plan(5, 6, 12, family="paper", backend="fp4", accuracy="scaled"),
        },
    ):
        assert_same_bits(ozfp4.tensordot(a, b, **options), ozfp4.matmul(x, y, **options))
    mixed = ozfp4.tensordot(a.astype(np.float32), b)
    assert_same_bits(mixed, ozfp4.matmul(x.astype(np.float32), y))


A, B = whole(2, 3, 4), whole(4, 3)
REFUSED = [
    ((A, B, 3), ValueError, r"^axes: 3 is outside 0\.\.2; a has shape \(2, 3, 4\), b has shape \(4, 3\)$"),
    ((A, B, -1), ValueError, r"^axes: -1 is outside 0\.\.2"),
    ((A, B, 2), ValueError, r"^axes: axis 1 of a is 3, axis 0 of b is 4$"),
    ((A, B, (0, 0)), ValueError, r"^axes: axis 0 of a is 2, axis 0 of b is 4$"),
    ((A, B, ([3], [0])), ValueError, r"^axes: 3 is no axis of a, whose shape is \(2, 3, 4\)$"),
    ((A, B, ([2], [-3])), ValueError, r"^axes: -3 is no axis of b, whose shape is \(4, 3\)$"),
    ((A, B, ([2, -1], [0, 1])), ValueError, r"^axes: an axis of a comes twice"),
    ((A, B, ([2, 1], [0])), ValueError, r"^axes: 2 of a do not go with 1 of b$"),
    ((A, B, 1.5), TypeError, r"^axes: 1\.5 is neither a number nor a pair"),
    ((A, B, "ab"), TypeError, r"^axes: 'ab' is neither"),
    ((A, B, ([0], [1], [2])), TypeError, r"^axes: \(\[0\], \[1\], \[2\]\) is neither"),
    ((A, B.astype(np.float16), 1), TypeError, r"^b: dtype float16 is not supported"),
    ((np.ma.masked_array(A), B, 1), TypeError, r"^a: masked arrays"),
]


@pytest.mark.parametrize(("arguments", "error", "pattern"), REFUSED, ids=[c[2][:60] for c in REFUSED])
def test_refused(check_refused, arguments, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, ozfp4.tensordot, *arguments)
    check_refused(error, pattern, ozfp4.tensordot, *arguments, out=noise((2, 3, 3)))


def test_out_and_names_refused(check_refused) -> None:
    square = np.ones((4, 4))
    for names, error, pattern in (
        ({"out": square}, ValueError, r"^out: the array shares memory with b$"),
        (
            {"out": noise((4, 3, 3))},
            ValueError,
            r"^out: shape \(4, 3, 3\) is not the result's shape \(2, 3, 4\)$",
        ),
        ({"out": noise((2, 3, 4)), "backend": "fp8"}, ValueError, r"^backend: 'fp8'"),
        ({"out": noise((2, 3, 4)), "dims": 1}, TypeError, r"unexpected keyword argument 'dims'"),
    ):
        b = square if names["out"] is not square else square.T
        a = A if names["out"] is not square else np.eye(4)
        check_refused(error, pattern, ozfp4.tensordot, a, b, 1, **names)


@pytest.mark.parametrize(
    "axes",
    [
        (np.array([1, 0]), np.array([0, 1])),
        np.array([[1], [0]]),
        np.array([[1, 0], [0, 1]]),
        np.array([1, 0]),
        np.array(1),
        (np.array([1]), 0),
    ],
    ids=repr,
)
def test_axes_in_arrays(axes) -> None:
    x = whole(3, 3)
    assert_same_bits(ozfp4.tensordot(x, x, axes) + 0.0, np.tensordot(x, x, axes) + 0.0)
    for wrong in (np.array([[1.0], [0.0]]), (np.array([1.0]), np.array([0.0])), np.array([True, False])):
        with pytest.raises(TypeError, match=r"^axes: "):
            ozfp4.tensordot(x, x, wrong)


@pytest.mark.parametrize("axes", [1, 0, ([0], [1])], ids=str)
def test_what_is_returned_beside_the_product(axes: Any) -> None:
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((4, 5)), rng.standard_normal((5, 4))
    c, bound, report = ozfp4.tensordot(a, b, axes, return_bound=True, report=True)
    assert_same_bits(c, ozfp4.tensordot(a, b, axes))
    assert c.shape == bound.shape
    assert report.accuracy == "standard"
    error = np.abs(np.tensordot(a, b, axes) - c)
    assert (error <= 2 * bound + 2.0**-50).all()
    plan = ozfp4.plan(1, 1, 5, backend="int8")
    assert_same_bits(ozfp4.tensordot(a, b, axes, plan=plan), c)
    n = np.full((3, 3), 100, np.int8)
    with pytest.raises(OverflowError, match=r"^overflow: .* not fit int8"):
        ozfp4.tensordot(n, n, axes, overflow="raise")


@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_integers(dtype: str, device: Device) -> None:
    a, b = numbers((3, 4, 5), dtype), numbers((5, 4, 2), dtype)
    expected = np.tensordot(a, b, axes=([1, 2], [1, 0]))
    found = device.tensordot(a, b, axes=([1, 2], [1, 0]))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
