"""torch.func: vmap has the bits of one product after the other, derivatives of derivatives are torch's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
from torch.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # by torch itself
COUNT = 3


def entries(*shape: int, dtype: Any = torch.float64) -> Any:
    g = torch.Generator().manual_seed(31 * len(shape) + sum(shape))
    return torch.randn(shape, dtype=dtype, generator=g)


def mapped(shape: tuple[int, ...], dim: int | None) -> Any:
    """Entries of that shape, with one more axis at `dim` if given."""
    return entries(*shape) if dim is None else entries(*shape[:dim], COUNT, *shape[dim:])


def one_by_one(function: Callable[..., Any], dims: tuple[int | None, ...], operands: tuple[Any, ...]) -> Any:
    chosen = (
        [x if dim is None else x.select(dim, i) for x, dim in zip(operands, dims, strict=True)]
        for i in range(COUNT)
    )
    return torch.stack([function(*each) for each in chosen])


LEFT = [((2, 4), None), ((2, 4), 1), ((2, 1, 2, 4), 3), ((4,), None), ((4,), 1)]
RIGHT = [((4, 2), None), ((4, 2), 0), ((3, 4, 2), 2), ((4,), None), ((4,), 0)]


@pytest.mark.parametrize(
    ("left", "right"), [pair for pair in product(LEFT, RIGHT) if {pair[0][1], pair[1][1]} != {None}]
)
def test_vmap_of_matmul(left: Any, right: Any) -> None:
    dims = left[1], right[1]
    operands = mapped(*left), mapped(*right)
    assert_same_bits(vmap(ozfp4.matmul, dims)(*operands), one_by_one(ozfp4.matmul, dims, operands))


ADDENDS = [((), None), ((), 0), ((1,), 0), ((1,), None)]
UPDATES = list(product(LEFT[::2] + LEFT[3:], RIGHT[::2] + RIGHT[3:], ADDENDS))


@pytest.mark.parametrize(("left", "right", "addend"), UPDATES)
def test_vmap_of_gemm(left: Any, right: Any, addend: Any) -> None:
    def update(a: Any, b: Any, c: Any) -> Any:
        return ozfp4.gemm(2, a, b, -1, c)

    dims, operands = (left[1], right[1], addend[1]), (mapped(*left), mapped(*right), mapped(*addend))
    if set(dims) == {None} or (
        addend[0] and len(left[0]) == len(right[0]) == 1
    ):  # C has more axes than the result
        return
    assert_same_bits(vmap(update, dims)(*operands), one_by_one(update, dims, operands))


def test_vmap_of_a_whole_addend() -> None:
    a, b, c = entries(2, 4), entries(5, 4, 3), entries(5, 2, 3, COUNT)

    def update(x: Any) -> Any:
        return ozfp4.gemm(2, a, b, -1, x)

    assert_same_bits(vmap(update, 3)(c), one_by_one(update, (3,), (c,)))


def test_vmap_of_gram_of_integers_and_of_vmap() -> None:
    x = entries(4, COUNT, 3)
    for left in (False, True):

        def one(a: Any, left: bool = left) -> Any:
            return ozfp4.gram(a, left=left)

        assert_same_bits(vmap(one, 1)(x), one_by_one(one, (1,), (x,)))
    n = torch.arange(24).reshape(3, 2, 4) * 2**58
    assert_same_bits(vmap(ozfp4.matmul, (0, None))(n, n[0].mT), n @ n[0].mT)

    def update(x: Any, y: Any) -> Any:
        return ozfp4.gemm(3, x, y, -1, x[:, :2])

    assert_same_bits(vmap(update, (0, None))(n, n[0].mT), 3 * (n @ n[0].mT) - n[..., :2])
    assert_same_bits(vmap(ozfp4.gram)(n), n.mT @ n)
    a, b = entries(3, 2, 4), entries(5, 4, 2)
    both = vmap(vmap(ozfp4.matmul, (None, 0)), (0, None))(a, b)
    assert_same_bits(both, ozfp4.matmul(a[:, None], b))


# ---- Derivatives of derivatives, of functions that are made of a product; as torch makes them of its product

A, B, C = entries(2, 3), entries(3, 2), entries(2)
Product = Callable[[Any, Any], Any]


def square_sum(multiply: Product) -> Callable[..., Any]:
    return lambda a, b: (multiply(a, b) ** 2).sum()


def direction(multiply: Product) -> Callable[..., Any]:
    return lambda a: jvp(multiply, (a, B), (a * a, B - 2))[1]


DERIVATIVES: dict[str, Callable[[Product], Any]] = {
    "grad": lambda f: grad(square_sum(f), (0, 1))(A, B),
    "vjp": lambda f: vjp(f, A, B)[1](torch.ones_like(f(A, B))),
    "jvp": lambda f: jvp(f, (A, B), (A + 1, B - 2)),
    "jvp of one": lambda f: jvp(lambda a: f(a, B), (A,), (A + 1,)),
    "jacrev": lambda f: jacrev(f, (0, 1))(A, B),
    "jacfwd": lambda f: jacfwd(f, (0, 1))(A, B),
    "hessian": lambda f: hessian(square_sum(f), (0, 1))(A, B),
    "reverse twice": lambda f: jacrev(jacrev(square_sum(f), (0, 1)), (0, 1))(A, B),
    "forward twice": lambda f: jvp(direction(f), (A,), (A + 3,)),
    "reverse over forward": lambda f: jacrev(direction(f))(A),
    "three times forward": lambda f: jacfwd(jacfwd(jacfwd(lambda a: square_sum(f)(a, a.mT))))(A),
    "three times, mixed": lambda f: jacrev(jacfwd(jacrev(lambda a: square_sum(f)(a, a.mT))))(A),
    "vmap of grad": lambda f: vmap(grad(square_sum(f)), (0, None))(entries(4, 2, 3), B),
    "grad of vmap": lambda f: grad(lambda a: vmap(f, (0, None))(a, B).sin().sum())(entries(4, 2, 3)),
    "linearize": lambda f: linearize(f, A, B)[1](A + 1, B - 2),
}
OTHERS: dict[str, tuple[Product, Product]] = {
    "matmul": (ozfp4.matmul, torch.matmul),
    "gemm": (lambda a, b: ozfp4.gemm(-2, a, b, 3, C), lambda a, b: -2 * (a @ b) + 3 * C),
    "gram": (lambda a, b: ozfp4.gram(a) @ b, lambda a, b: a.mT @ a @ b),
}


@pytest.mark.parametrize("name", DERIVATIVES)
@pytest.mark.parametrize("of", OTHERS)
def test_as_torch(of: str, name: str) -> None:
    ours, theirs = OTHERS[of]
    found, expected = (DERIVATIVES[name](multiply) for multiply in (ours, theirs))
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_a_gradient_in_a_gradient_of_torch() -> None:
    """Levels of torch.func inside of what autograd follows."""
    a = A.clone().requires_grad_()
    grad(square_sum(ozfp4.matmul), 1)(a, B).sum().backward()
    b = A.clone().requires_grad_()
    grad(square_sum(torch.matmul), 1)(b, B).sum().backward()
    torch.testing.assert_close(a.grad, b.grad, rtol=1e-12, atol=1e-12)


# ---- Shapes: what one product refuses

REFUSED: dict[str, tuple[str, Callable[..., Any], tuple[int | None, ...], tuple[tuple[int, ...], ...]]] = {
    "gram of vectors": (r"^a: a matrix or a stack .* shape is \(4,\)", ozfp4.gram, (0,), ((4,),)),
    "gram of numbers": (r"^a: a matrix or a stack .* shape is \(\)", ozfp4.gram, (0,), ((),)),
    "left of numbers": (r"^a: a 0-d array", ozfp4.matmul, (0, None), ((), (4,))),
    "right of numbers": (r"^b: a 0-d array", ozfp4.matmul, (None, 0), ((2, 4), ())),
    "numbers": (r"^a: a 0-d array", ozfp4.matmul, (0, 0), ((), ())),
    "inner dimensions": (
        r"^inner .* a has shape \(2, 4\), b has shape \(5,\)",
        ozfp4.matmul,
        (1, 0),
        ((2, 4), (5,)),
    ),
    "stacks": (r"^stacks .* shape \(3, 2, 4\)", ozfp4.matmul, (0, None), ((3, 2, 4), (2, 4, 2))),
}
ADDENDS_REFUSED: dict[str, tuple[tuple[int | None, ...], tuple[tuple[int, ...], ...]]] = {
    "C as the whole": ((0, None, None), ((2, 4), (4, 2), (COUNT, 2, 2))),
    "C of a stack": ((None, 0, None), ((2, 4), (4, 2), (1, 2, 2))),
    "C mapped, of a stack": ((0, 0, 1), ((2, 4), (4, 2), (5, 2, 2))),
    "C mapped, alone": ((None, None, 2), ((2, 4), (4, 2), (5, 2, 2))),
    "C wider": ((0, None, None), ((1, 4), (4, 2), (2, 2))),
    "C of vectors": ((0, None, 0), ((4,), (4,), (1,))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_shapes_that_one_product_refuses(name: str) -> None:
    message, function, dims, shapes = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        vmap(function, dims)(*map(mapped, shapes, dims))
    with pytest.raises(ValueError, match=message):
        function(*(entries(*shape) for shape in shapes))


@pytest.mark.parametrize("name", ADDENDS_REFUSED)
def test_addends_that_one_update_refuses(name: str) -> None:
    dims, shapes = ADDENDS_REFUSED[name]

    def update(a: Any, b: Any, c: Any) -> Any:
        return ozfp4.gemm(2, a, b, -1, c)

    message = rf"^c: shape {re.escape(str(shapes[2]))} does not broadcast to the result's shape"
    with pytest.raises(ValueError, match=message):
        vmap(update, dims)(*map(mapped, shapes, dims))
    with pytest.raises(ValueError, match=message):
        update(*(entries(*shape) for shape in shapes))


def test_numbers_are_no_operands_of_an_update() -> None:
    numbers, b = entries(COUNT), entries(4)
    with pytest.raises(ValueError, match=r"^a: a 0-d array"):
        vmap(lambda a: ozfp4.gemm(2, a, b))(numbers)
