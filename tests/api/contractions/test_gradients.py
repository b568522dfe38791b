"""Gradients, tangents and vmap of einsum and tensordot: for small integers, with exact sums, torch's bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")  # by torch itself

EINSUMS = [
    ("ij,jk->ik", (3, 4), (4, 5)), ("ij,jk->ki", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("ij,ij->ij", (3, 4), (3, 4)), ("i,j->ij", (3,), (4,)), ("ijk,ilk->lj", (2, 3, 4), (2, 5, 4)), ("ijk->k", (2, 3, 4)),
    ("ii->i", (4, 4)), ("ii,ij", (3, 3), (3, 2)), ("...i,...i", (2, 3), (2, 3)), ("ij,kj->k", (3, 4), (5, 4)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)), ("ab,bc->ac", (3, 1), (4, 2)), ("ij,jk->ik", (0, 4), (4, 5)),
]  # fmt: skip
TENSORDOTS = [
    ((2, 3, 4), (4, 3, 5), ([1, 2], [1, 0])), ((2, 3), (3, 4), 1), ((2, 3), (4, 5), 0), ((2, 3), (2, 3), 2),
    ((2, 1), (3, 4), ([1], [0])),
]  # fmt: skip


def integers(shape: tuple[int, ...], seed: int, dtype: Any = None) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.integers(-9, 10, shape).astype(float)
    if dtype is not None and dtype.is_complex:
        x = x + 1j * rng.integers(-9, 10, shape)
    return torch.from_numpy(np.asarray(x)).to(dtype or torch.float64)


def check(
    ours: Callable[..., Any], theirs: Callable[..., Any], shapes: list[tuple[int, ...]], dtypes: list[Any]
) -> None:
    """Values, gradients, gradients of those and tangents."""
    found = []
    for function in (ours, theirs):
        given = [
            integers(s, i, dtype).requires_grad_()
            for i, (s, dtype) in enumerate(zip(shapes, dtypes, strict=True))
        ]
        c = function(*given)
        g = integers(tuple(c.shape), 20, c.dtype).requires_grad_()
        first = torch.autograd.grad(c, given, g, create_graph=True)
        directions = [
            integers(s, 30 + i, x.dtype) for i, (s, x) in enumerate(zip(shapes, first, strict=True))
        ]
        second = torch.autograd.grad(first, [*given, g], directions, allow_unused=True)
        tangents = [integers(s, 40 + i, x.dtype) for i, (s, x) in enumerate(zip(shapes, given, strict=True))]
        _, tangent = torch.func.jvp(function, tuple(x.detach() for x in given), tuple(tangents))
        found.append([c, *first, *(x for x in second if x is not None), tangent])
    assert len(found[0]) == len(found[1])
    for x, y in zip(*found, strict=True):
        assert_same_bits(x.detach().resolve_conj() + 0.0, y.detach().resolve_conj() + 0.0)


@pytest.mark.parametrize("case", EINSUMS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.complex128], ids=str)
def test_einsum(case: tuple[Any, ...], dtype: Any) -> None:
    text, *shapes = case
    check(lambda *x: ozfp4.einsum(text, *x), lambda *x: torch.einsum(text, *x), shapes, [dtype] * len(shapes))


@pytest.mark.parametrize("case", TENSORDOTS, ids=str)
@pytest.mark.parametrize("options", [{}, {"accuracy": "correct"}, {"backend": "int8"}], ids=str)
def test_tensordot(case: tuple[Any, ...], options: dict[str, Any]) -> None:
    *shapes, axes = case

    def ours(a: Any, b: Any) -> Any:
        return ozfp4.tensordot(a, b, axes, **options)

    check(ours, lambda a, b: torch.tensordot(a, b, axes), shapes, [torch.float64] * 2)


def test_operands_of_two_dtypes() -> None:
    a, b = integers((3, 4), 1, torch.float32).requires_grad_(), integers((4, 5), 2)
    c = ozfp4.einsum("ij,jk->ki", a, b)
    g = integers((5, 3), 3)
    (found,) = torch.autograd.grad(c, a, g)
    assert_same_bits(found, (b @ g).T.float().contiguous())


def test_mapped_over_an_axis() -> None:
    a, b = integers((6, 3, 4), 1), integers((4, 5), 2)
    mapped = torch.vmap(lambda x: ozfp4.einsum("ij,jk->ki", x, b))(a)
    assert_same_bits(mapped, torch.stack([ozfp4.einsum("ij,jk->ki", x, b) for x in a]))
    mapped = torch.vmap(lambda x: ozfp4.tensordot(x, b, 1))(a)
    assert_same_bits(mapped, torch.stack([ozfp4.tensordot(x, b, 1) for x in a]))


@pytest.mark.parametrize("function", [
    lambda a, b, out: ozfp4.einsum("ij,jk", a, b, out=out), lambda a, b, out: ozfp4.tensordot(a, b, 1, out=out),
])  # fmt: skip
def test_out_is_refused(function: Callable[..., Any]) -> None:
    a, b, out = (
        integers((3, 4), 1).requires_grad_(),
        integers((4, 5), 2),
        torch.full((3, 5), 7.0, dtype=torch.float64),
    )
    with pytest.raises(RuntimeError, match=r"^out: it is not for tensors that require grad"):
        function(a, b, out)
    assert (out == 7).all()
