"""Storages of torch's tensors: what is smaller than its entries need is refused, and no product keeps torch from resizing one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
import ozfp4._torch_ops  # noqa: E402 - it imports torch

F64, INT = torch.float64, torch.int64


def numbers(*shape: int, dtype: Any = F64) -> Any:
    size = torch.Size(shape).numel()
    return (torch.arange(size) % 7 - 3).to(dtype).reshape(shape)


def definite() -> Any:
    return numbers(4, 4) @ numbers(4, 4).mT + 50 * torch.eye(4, dtype=F64)


def emulated(a: Any, b: Any) -> Any:
    with ozfp4.emulate(mode="always"):
        return torch.mm(a, b)


def emulated_to(a: Any, b: Any, out: Any) -> Any:
    with ozfp4.emulate(mode="always"):
        return torch.mm(a, b, out=out)


def derived(a: Any, b: Any) -> Any:
    return ozfp4.matmul(a.requires_grad_(), b)


def solved_by(lu: Any, piv: Any, b: Any) -> Any:
    return ozfp4.linalg.lu_solve((lu, piv), b)


def to_both(a: Any, b: Any, lower: Any, upper: Any) -> Any:
    return ozfp4.enclose(a, b, out=(lower, upper))


def streamed(a: Any, b: Any, out: Any = None) -> Any:
    return ozfp4.matmul(a, b, out, device="cpu", return_bound=True)


Case = tuple[Callable[..., Any], dict[str, Any]]


def square(names: str, dtype: Any = F64) -> dict[str, Any]:
    """A 4 × 4 matrix for each name."""
    return {name: numbers(4, 4, dtype=dtype) for name in names.split()}


def cases() -> Iterator[tuple[str, Case]]:
    """Functions with fresh operands, by what the errors call them."""
    complex_ones, result = torch.complex128, ozfp4.matmul
    yield "matmul", (result, square("a b out"))
    yield "matmul of a new tensor", (result, square("a b"))
    yield "complex matmul", (result, square("a b out", complex_ones))
    yield "complex matmul of a new tensor", (result, square("a b", complex_ones))
    yield "matmul of float32", (result, square("a b", torch.float32))
    yield "matmul of integers", (result, square("a b out", INT))
    yield "matmul of bool", (result, square("a b", torch.bool))
    yield "vectors", (result, {"a": numbers(4), "b": numbers(4)})
    yield "stacks", (result, {"a": numbers(3, 4, 4), "b": numbers(4, 4)})
    yield "bounds", (lambda a, b: result(a, b, return_bound=True), square("a b"))
    yield "complex bounds", (lambda a, b: result(a, b, return_bound=True), square("a b", complex_ones))
    yield "overflow", (lambda a, b: result(a, b, overflow="raise"), square("a b", torch.int32))
    yield "streamed", (streamed, square("a b"))
    yield "streamed to out", (streamed, square("a b out"))
    yield "gradients", (derived, square("a b"))
    yield "operator", (torch.ops.ozfp4.matmul, square("a b"))
    yield "gemm", (lambda a, b, c, out: ozfp4.gemm(2.0, a, b, 1.0, c, out=out), square("a b c out"))
    yield "gemm of a new tensor", (lambda a, b, c: ozfp4.gemm(2.0, a, b, 1.0, c), square("a b c"))
    yield "complex gemm", (lambda a, b, c: ozfp4.gemm(2j + 1, a, b, 1.0, c), square("a b c", complex_ones))
    yield "integer gemm", (lambda a, b, c: ozfp4.gemm(2, a, b, 1, c), square("a b c", INT))
    yield "gram", (lambda a, out: ozfp4.gram(a, out=out), square("a out"))
    yield "gram of a new tensor", (ozfp4.gram, square("a"))
    yield "enclose", (ozfp4.enclose, square("a b"))
    yield "enclose to out", (to_both, square("a b lower upper"))
    yield "complex enclose", (ozfp4.enclose, square("a b", complex_ones))
    yield "prepare", (lambda x: ozfp4.matmul(ozfp4.prepare(x, "left"), numbers(4, 4)), square("x"))
    yield "plan_for", (ozfp4.plan_for, square("a b"))
    yield "einsum", (lambda a, b: ozfp4.einsum("ij,jk->ki", a, b), square("a b"))
    yield "einsum of one", (lambda a: ozfp4.einsum("ii->i", a), square("a"))
    yield "tensordot", (lambda a, b: ozfp4.tensordot(a, b, 1), square("a b"))
    yield "int8_matmul", (ozfp4.int8_matmul, square("a b", torch.int8))
    yield (
        "int8_matmul to out",
        (
            lambda a, b, out: ozfp4.int8_matmul(a, b, out=out),
            square("a b", torch.int8) | square("out", torch.int32),
        ),
    )
    yield "matmul_mod", (lambda a, b: ozfp4.matmul_mod(a, b, 97), square("a b", INT))
    yield "matmul_mod to out", (lambda a, b, out: ozfp4.matmul_mod(a, b, 97, out=out), square("a b out", INT))
    yield "emulate", (emulated, square("a b"))
    yield "emulate to out", (emulated_to, square("a b out"))
    linalg = ozfp4.linalg
    for name in ("cholesky", "lu_factor", "qr", "det", "slogdet", "inv"):
        yield name, (getattr(linalg, name), {"a": definite()})
    yield "solve", (linalg.solve, {"a": definite(), "b": numbers(4, 2)})
    yield "solve_triangular", (linalg.solve_triangular, {"a": definite().tril(), "b": numbers(4, 2)})
    yield "lstsq", (linalg.lstsq, {"a": definite(), "b": numbers(4, 2)})
    lu, piv = linalg.lu_factor(definite().clone())
    yield "lu_solve", (solved_by, {"lu": lu.clone(), "piv": piv.clone(), "b": numbers(4, 2)})


NAMES = [name for name, _ in cases()]
FREED = [(name, freed) for name, (_, operands) in cases() for freed in operands]
# Bytes that are left: none, less than all entries take, all but the last one's last byte.
LEFT: dict[str, Callable[[int], int]] = {
    "freed": lambda n: 0,
    "short": lambda n: n // 2,
    "one": lambda n: n - 1,
}


def case(name: str) -> Case:
    return dict(cases())[name]


def shown(name: str) -> str:
    """The name of an operand in errors; operands of einsum have numbers."""
    return {"lower": "out", "upper": "out", "lu": "a"}.get(name, rf"{name}|operands\[\d\]")


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize(("name", "freed"), FREED, ids=map("-".join, FREED))
def test_freed_storage_is_refused(name: str, freed: str, left: str) -> None:
    function, operands = case(name)
    before = {key: x.clone() for key, x in operands.items() if key != freed}
    storage = operands[freed].untyped_storage()
    kept = LEFT[left](storage.nbytes())
    storage.resize_(kept)
    with pytest.raises(RuntimeError, match=rf"^({shown(freed)}): .* bytes"):
        function(**operands)
    assert storage.nbytes() == kept
    for key, x in before.items():
        assert_same_bits(operands[key].detach(), x)


def test_views_need_what_they_reach() -> None:
    whole = numbers(6, 6)
    part = whole[:2, :2]
    expected = ozfp4.matmul(part, part)
    whole.untyped_storage().resize_(8 * 8)  # as far as the last entry of the view
    assert_same_bits(ozfp4.matmul(part, part), expected)
    whole.untyped_storage().resize_(8 * 8 - 1)
    with pytest.raises(RuntimeError, match=r"^b: .* 64 bytes .* 63"):
        ozfp4.matmul(numbers(2, 2), part)
    empty = numbers(2, 0)
    empty.untyped_storage().resize_(0)
    assert ozfp4.matmul(empty, empty.mT).shape == (2, 2)


@pytest.mark.parametrize("dtype", [F64, torch.complex128])
def test_lazy_views_of_freed_storage(dtype: Any) -> None:
    a = numbers(4, 4, dtype=torch.complex128)
    x = a.conj() if dtype == torch.complex128 else a.conj().imag
    a.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match=r"^b: .* bytes"):
        ozfp4.matmul(numbers(4, 4, dtype=dtype), x)


def test_zeros_without_memory() -> None:
    zero = torch._efficientzerotensor((4, 4), dtype=F64)
    for given in ({"a": zero, "b": numbers(4, 4)}, {"a": numbers(4, 4), "b": zero}):
        (name,) = (name for name, x in given.items() if x is zero)
        with pytest.raises(RuntimeError, match=rf"^{name}: torch holds no memory for its entries"):
            ozfp4.matmul(**given)
    with pytest.raises(RuntimeError, match=r"^out: torch holds no memory for its entries"):
        ozfp4.matmul(numbers(4, 4), numbers(4, 4), out=zero)
    with pytest.raises(RuntimeError, match=r"^operands\[0\]: torch holds no memory for its entries"):
        ozfp4.einsum("ij->ji", zero)


@pytest.mark.parametrize("name", NAMES)
def test_storages_stay_resizable(name: str) -> None:
    function, operands = case(name)
    found = function(**operands)
    results = found if isinstance(found, tuple) else (found,)
    tensors = [x.detach() for x in (*operands.values(), *results) if isinstance(x, torch.Tensor)]
    assert all(x.untyped_storage().resizable() for x in tensors)


def test_operands_and_results_are_resized_and_multiplied_again() -> None:
    a, b = numbers(4, 4), numbers(4, 4)
    c = ozfp4.matmul(a, b)
    for x in (a, b, c):
        x.resize_(8, 8).copy_(numbers(8, 8))
    assert_same_bits(ozfp4.matmul(a, b, out=c), ozfp4.matmul(numbers(8, 8), numbers(8, 8)))
    a.untyped_storage().resize_(0)
    a.untyped_storage().resize_(64 * 8)
    a.copy_(numbers(8, 8))
    assert_same_bits(ozfp4.matmul(a, b), c)


def test_a_list_of_freed_tensors_is_refused() -> None:
    x = numbers(4)
    x.untyped_storage().resize_(0)
    with pytest.raises(RuntimeError, match=r"^a\[1\]: .*storage"):
        ozfp4.matmul([numbers(4), x], numbers(4, 4).numpy())


@pytest.mark.parametrize("dtype", [F64, INT])
def test_a_freed_tensor_as_a_factor_is_refused(dtype: Any) -> None:
    """torch crashes where it shows one."""
    x = numbers(1, dtype=dtype)[0]
    x.untyped_storage().resize_(0)
    with pytest.raises(TypeError, match=r"^alpha: Tensor of shape \(\) is not a number"):
        ozfp4.gemm(x, numbers(4, 4, dtype=dtype), numbers(4, 4, dtype=dtype))
