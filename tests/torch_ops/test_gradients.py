"""Gradients and tangents: against finite differences, and their bits against the exact reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul
from support import chosen, complex_matmul

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # by torch itself
REAL, COMPLEX = torch.float64, torch.complex128


def leaf(*shape: int, dtype: Any = REAL, seed: int = 0) -> Any:
    g = torch.Generator().manual_seed(17 * len(shape) + sum(shape) + seed)
    return torch.randn(shape, dtype=dtype, generator=g).requires_grad_()


CONSTANT = leaf(3, 2, seed=1).detach()
INTEGERS = torch.arange(4).reshape(2, 2)
Case = tuple[Callable[..., Any], tuple[Any, ...]]
MATMUL: dict[str, Case] = {
    "matrices": (ozfp4.matmul, (leaf(2, 3), leaf(3, 2))),
    "one operand": (lambda a: ozfp4.matmul(a, CONSTANT), (leaf(2, 3),)),
    "the same operand twice": (lambda a: ozfp4.matmul(a, a), (leaf(3, 3),)),
    "vectors": (ozfp4.matmul, (leaf(3), leaf(3, seed=1))),
    "vector and stack": (ozfp4.matmul, (leaf(3), leaf(2, 3, 2))),
    "stack and vector": (ozfp4.matmul, (leaf(2, 2, 3), leaf(3))),
    "stacks that broadcast": (ozfp4.matmul, (leaf(2, 1, 2, 2), leaf(3, 2, 1))),
    "a stack of one": (ozfp4.matmul, (leaf(1, 2, 2), leaf(2, 2, 1))),
    "complex": (ozfp4.matmul, (leaf(2, 2, dtype=COMPLEX), leaf(2, 2, 2, dtype=COMPLEX))),
    "real by complex": (ozfp4.matmul, (leaf(2, 2), leaf(2, 2, dtype=COMPLEX))),
    "complex by real": (ozfp4.matmul, (leaf(2, 2, dtype=COMPLEX), leaf(2, 2))),
    "integers beside": (lambda a: ozfp4.matmul(a, torch.arange(6).reshape(3, 2)), (leaf(2, 3),)),
    "settings": (
        lambda a, b: chosen.matmul(a, b, scheme="I", backend="int8", bits=60, accuracy="scaled"),
        (leaf(2, 2), leaf(2, 1)),
    ),
}
GEMM: dict[str, Case] = {
    "all three": (lambda a, b, c: ozfp4.gemm(-1.5, a, b, 0.5, c), (leaf(2, 3), leaf(3, 2), leaf(2, 2))),
    "C of a row": (lambda a, b, c: ozfp4.gemm(2, a, b, -1, c), (leaf(2, 2, 2), leaf(2, 2), leaf(2))),
    "C of a column": (lambda a, b, c: ozfp4.gemm(2, a, b, -1, c), (leaf(2, 2), leaf(2, 2), leaf(2, 1))),
    "C alone": (lambda c: ozfp4.gemm(2, CONSTANT, CONSTANT, 3, c, trans_a=True), (leaf(2),)),
    "no C": (lambda a, b: ozfp4.gemm(3, a, b), (leaf(2, 3), leaf(3))),
    "transposes": (lambda a, b, c: ozfp4.gemm(1, a, b, 1, c, trans_a="T", trans_b=True), (leaf(3, 2), leaf(2, 3), leaf(2, 2))),
    "complex, C real": (lambda a, b, c: ozfp4.gemm(1, a, b, 2, c), (leaf(2, 2, dtype=COMPLEX), leaf(2, 1), leaf(2, 1))),
    "complex factors": (lambda a, b, c: ozfp4.gemm(1 - 2j, a, b, 3j, c), (leaf(2, 2, dtype=COMPLEX), leaf(2, 1), leaf(2, 1))),
    "complex factors, C a row": (
        lambda a, b, c: ozfp4.gemm(2j, a, b, -1 + 1j, c),
        (leaf(2, 2), leaf(2, 2, dtype=COMPLEX), leaf(1, 2, dtype=COMPLEX)),
    ),
    "integers beside": (lambda c: ozfp4.gemm(2, INTEGERS, INTEGERS, 3, c), (leaf(2),)),
    "complex, C a row": (
        lambda a, b, c: ozfp4.gemm(1, a, b, 2, c),
        (leaf(2, 2), leaf(2, 2, dtype=COMPLEX), leaf(1, 2, dtype=COMPLEX)),
    ),
}  # fmt: skip
GRAM: dict[str, Case] = {
    "columns": (ozfp4.gram, (leaf(3, 2),)),
    "rows": (lambda a: ozfp4.gram(a, left=True), (leaf(2, 2, 3),)),
    "complex": (ozfp4.gram, (leaf(2, 2, dtype=COMPLEX),)),
    "complex rows": (lambda a: ozfp4.gram(a, left=True), (leaf(2, 2, dtype=COMPLEX),)),
}
CASES = {
    f"{name}: {case}": value
    for name, cases in (("matmul", MATMUL), ("gemm", GEMM), ("gram", GRAM))
    for case, value in cases.items()
}


@pytest.mark.parametrize("name", CASES)
def test_gradcheck(name: str) -> None:
    """Gradients and tangents, alone and under vmap."""
    function, operands = CASES[name]
    assert torch.autograd.gradcheck(
        function, operands, check_forward_ad=True, check_batched_grad=True, check_batched_forward_grad=True
    )


@pytest.mark.parametrize("name", CASES)
def test_gradgradcheck(name: str) -> None:
    """Twice, and tangents of gradients."""
    function, operands = CASES[name]
    assert torch.autograd.gradgradcheck(function, operands, check_fwd_over_rev=True, check_batched_grad=True)


def test_an_adjoint() -> None:
    """Lazily conjugated operands; torch itself has no tangents of these under vmap."""
    operands = leaf(3, 2, dtype=COMPLEX), leaf(3, 2, dtype=COMPLEX, seed=1)

    def product(a: Any, b: Any) -> Any:
        return ozfp4.gemm(1, a, b, trans_a="C")

    assert torch.autograd.gradcheck(product, operands, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(product, operands, check_fwd_over_rev=True)


# ---- Bits


def test_what_was_broadcast_is_summed_without_rounding() -> None:
    a, b = leaf(1, 3, 4), leaf(5, 4, 2)
    g = leaf(5, 3, 2).detach() * 2.0 ** torch.arange(-30, 30, 2).reshape(5, 3, 2)
    of_a, of_b = torch.autograd.grad(ozfp4.matmul(a, b, accuracy="correct"), (a, b), g)
    x, y, z = (t.detach().numpy() for t in (a, b, g))
    rows, columns = (t.swapaxes(0, 1).reshape(t.shape[1], -1) for t in (z, y))
    assert_same_bits(of_a, correct_matmul(rows, columns.T)[None])
    assert_same_bits(of_b, correct_matmul(x.swapaxes(1, 2), z))


def test_the_sum_of_an_addend_is_rounded_once() -> None:
    c, g = leaf(2), leaf(40, 2).detach()
    g[0], g[1] = 2.0**80, -(2.0**80)
    y = ozfp4.gemm(1, torch.ones(40, 1, dtype=REAL), torch.ones(1, 2, dtype=REAL), 1, c, accuracy="correct")
    (of_c,) = torch.autograd.grad(y, c, g)
    assert_same_bits(of_c, correct_matmul(np.ones(40), g.numpy()))


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 2, 3), (0, 3)], ids=str)
@pytest.mark.parametrize("beta", [1.0, 0.1, 0.3 - 0.7j, 1j], ids=str)
@pytest.mark.parametrize(
    "settings", [{}, {"bits": 5, "accuracy": "scaled"}, {"accuracy": "correct"}], ids=str
)
def test_the_gradient_of_a_whole_addend_is_rounded_once(
    shape: tuple[int, ...], beta: complex, settings: dict[str, Any]
) -> None:
    g, c = leaf(*shape, dtype=COMPLEX).detach(), leaf(*shape, dtype=COMPLEX)
    g = torch.complex(g.real, 0.7 / 0.3 * g.real + 1e-17 * g.imag)  # the terms of a part cancel
    a = torch.zeros((*shape[:-1], 1), dtype=COMPLEX)
    b = torch.zeros((1, *shape[-1:]), dtype=COMPLEX)
    (of_c,) = torch.autograd.grad(chosen.gemm(1, a, b, beta, c, **settings), c, g)
    factor = complex(beta).conjugate()
    expected = complex_matmul(g.numpy().reshape(-1, 1), np.array([[factor]]), correct_matmul)
    assert_same_bits(of_c, expected.reshape(shape))


def test_a_real_factor_multiplies_the_parts() -> None:
    g, c = torch.full((2, 3), complex(float("inf"), 1), dtype=COMPLEX), leaf(2, 3, dtype=COMPLEX)
    a = torch.zeros(2, 1, dtype=COMPLEX)
    (of_c,) = torch.autograd.grad(ozfp4.gemm(1, a, torch.zeros(1, 3, dtype=COMPLEX), 2.0, c), c, g)
    assert_same_bits(of_c, np.full((2, 3), complex(float("inf"), 2)))


def test_a_gradient_of_gram_is_rounded_once() -> None:
    a = leaf(3, 4)
    g = leaf(4, 4).detach() * 2.0 ** torch.arange(-32, 32, 4).reshape(4, 4)
    (of_a,) = torch.autograd.grad(ozfp4.gram(a, accuracy="correct"), a, g)
    x, z = a.detach().numpy(), g.numpy()
    assert_same_bits(of_a, correct_matmul(np.hstack([x, x]), np.vstack([z, z.T])))


def test_a_tangent_is_rounded_once() -> None:
    a, b = leaf(2, 3).detach(), leaf(3, 2).detach()
    of_a, of_b = 1e12 * leaf(2, 3, seed=1).detach(), leaf(3, 2, seed=2).detach()
    _, found = torch.func.jvp(lambda x, y: ozfp4.matmul(x, y, accuracy="correct"), (a, b), (of_a, of_b))
    expected = correct_matmul(torch.hstack([of_a, a]).numpy(), torch.vstack([b, of_b]).numpy())
    assert_same_bits(found, expected)


def test_the_settings_are_those_of_the_product() -> None:
    a, b, g = leaf(5, 6), leaf(6, 3), leaf(5, 3).detach()
    for settings in (
        {"bits": 12, "accuracy": "scaled"},
        {"accuracy": "correct", "rounding": "up"},
        {"family": "paper", "accuracy": "scaled", "backend": "fp4"},
    ):
        of_a, of_b = torch.autograd.grad(chosen.matmul(a, b, **settings), (a, b), g)
        assert_same_bits(of_a, chosen.matmul(g, b.detach().mT, **settings))
        assert_same_bits(of_b, chosen.matmul(a.detach().mT, g, **settings))
    # The operator receives a plan by its names and its bits.
    for accuracy, plan in (
        ("scaled", ozfp4.plan(1, 1, 6, bits=12, backend="int8", accuracy="scaled")),
        ("scaled", ozfp4.plan(1, 1, 6, family="paper", backend="fp4", accuracy="scaled")),
        ("correct", ozfp4.plan(1, 1, 6, backend="int8", accuracy="correct")),
    ):
        c = chosen.matmul(a, b, plan=plan, accuracy=accuracy)
        assert_same_bits(c.detach(), chosen.matmul(a.detach(), b.detach(), plan=plan, accuracy=accuracy))
        (of_a,) = torch.autograd.grad(c, a, g)
        assert_same_bits(of_a, chosen.matmul(g, b.detach().mT, plan=plan, accuracy=accuracy))
    with pytest.raises(ValueError, match=r"^plan: its bits are 53, the accuracy 'standard' needs 57"):
        chosen.matmul(a, b, plan=ozfp4.plan(1, 1, 6, accuracy="scaled"))
    exact = torch.autograd.grad(ozfp4.matmul(a, b), (a, b), g)
    rough = torch.autograd.grad(chosen.matmul(a, b, bits=12, accuracy="scaled"), (a, b), g)
    assert not torch.equal(exact[0], rough[0])


def test_dtypes_of_gradients() -> None:
    a, b = leaf(2, 3).float().detach().requires_grad_(), leaf(3, 2)
    y = ozfp4.matmul(a, b)
    assert y.dtype == REAL
    of_a, of_b = torch.autograd.grad(y, (a, b), torch.ones_like(y))
    assert (of_a.dtype, of_b.dtype) == (torch.float32, REAL)
    c = leaf(2, dtype=REAL)
    y = ozfp4.gemm(1, a, b.detach().float(), 1, c)
    (of_c,) = torch.autograd.grad(y, c, torch.ones_like(y))
    assert of_c.dtype == REAL
    _, tangent = torch.func.jvp(
        lambda x: ozfp4.gemm(1, x, x.detach().mT, 1, c.detach()), (a.detach(),), (a.detach(),)
    )
    assert tangent.dtype == REAL


@pytest.mark.parametrize(
    "shapes", [((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0, 2, 3), (3, 4)), ((0,), (0,))], ids=str
)
def test_no_entries(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (torch.ones(shape, dtype=REAL).requires_grad_() for shape in shapes)
    ozfp4.matmul(a, b).sum().backward()
    assert_same_bits(a.grad, np.zeros(shapes[0]))
    assert_same_bits(b.grad, np.zeros(shapes[1]))


def test_factors_of_zero() -> None:
    """Where alpha is 0 neither A nor B is read for any gradient, where beta is 0 C is not."""
    a, b, c = leaf(2, 2), leaf(2, 2), leaf(2, 2)
    with torch.no_grad():
        a[0, 0], c[0, 0] = float("nan"), float("nan")
    g = torch.full((2, 2), float("inf"), dtype=REAL)
    of_a, of_b = torch.autograd.grad(ozfp4.gemm(0, a, b, 1, c), (a, b), g)
    assert not of_a.any()
    assert not of_b.any()
    (of_c,) = torch.autograd.grad(ozfp4.gemm(1, a, b, 0, c), c, g)
    assert not of_c.any()


def test_products_and_gradients_have_the_bits_of_plain_ones() -> None:
    a, b = leaf(7, 9), leaf(9, 5)
    assert_same_bits(ozfp4.matmul(a, b).detach(), ozfp4.matmul(a.detach(), b.detach()))
    assert_same_bits(ozfp4.gram(a).detach(), ozfp4.gram(a.detach()))
    c = leaf(5)
    assert_same_bits(
        ozfp4.gemm(-1, a, b, 1, c).detach(), ozfp4.gemm(-1, a.detach(), b.detach(), 1, c.detach())
    )


def test_only_what_is_needed_is_kept() -> None:
    """The graph of a product by a constant keeps that constant, and not the operand that it is differentiated by."""
    a, b = leaf(3, 4), leaf(4, 5).detach()
    product = ozfp4.matmul(a, b)  # holds what is saved
    saved = product.grad_fn.saved_tensors
    assert [x is b if x is not None else None for x in saved] == [None, True]
