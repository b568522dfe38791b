"""Special tensors and operators of torch within ``ozfp4.emulate``: nested ones, inference_mode, wrappers and modes, control
flow, and factors and results that torch alone takes or refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
from torch_devices import entries, outcome  # noqa: E402

A = entries(4, 4)
W = entries(4, 4)


def scoped(call: Callable[[], Any], **options: Any) -> tuple[Any, Any]:
    with ozfp4.emulate(mode="always", **options) as scope:
        return call(), scope.summary


# ---- What is made of products


def test_tensors_of_inference_mode_outside_of_it() -> None:
    with torch.inference_mode():
        w = W.clone()
    calls: list[Callable[[], Any]] = [
        lambda: w @ w,
        lambda: torch.nn.functional.linear(w, w),
        lambda: torch.einsum("ij,jk->ik", w, w),
        lambda: torch.linalg.matrix_power(w, 2),
    ]
    for call in calls:
        found, summary = scoped(call)
        assert summary.caught == 1
        torch.testing.assert_close(found, call())


class Wrapper(torch.Tensor):
    """A tensor with a product in Python, by __torch_dispatch__."""

    inner: Any

    @staticmethod
    def __new__(cls, inner: Any) -> Any:
        return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        assert func is torch.ops.aten.mm.default
        return cls(args[0].inner @ args[1].inner)


class Handing(Wrapper):
    """One that hands its operations to what it holds."""

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls(func(*(x.inner if isinstance(x, cls) else x for x in args), **(kwargs or {})))


def test_wrapper_subclasses_and_modes() -> None:
    for kind in (Wrapper, Handing):
        found, summary = scoped(lambda kind=kind: kind(A) @ kind(W))
        assert type(found) is kind
        assert_same_bits(found.inner, ozfp4.matmul(A, W))
        assert summary.caught == 1

    class Twice(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return args[0] @ args[1] if func is torch.ops.aten.mm.default else func(*args, **(kwargs or {}))

    with ozfp4.emulate(mode="always") as scope, Twice():
        found = A @ W
    assert_same_bits(found, ozfp4.matmul(A, W))
    assert scope.summary.caught == 1


@pytest.mark.filterwarnings("ignore")  # torch's own: nested tensors are a prototype
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("layout", [torch.strided, torch.jagged])
def test_nested_tensors(layout: Any, mode: Any) -> None:
    sdpa = torch.nn.functional.scaled_dot_product_attention
    with mode():
        x = torch.nested.nested_tensor([entries(2, 4), entries(3, 4)], layout=layout)
        calls: list[Callable[[], Any]] = [
            lambda: torch.matmul(x, W),
            lambda: torch.nn.functional.linear(x, W),
        ]
        if layout == torch.strided:
            y = torch.nested.nested_tensor([entries(4, 2), entries(4, 3)])
            q = torch.nested.nested_tensor([entries(2, 3, 4), entries(2, 5, 4)])
            calls += [
                lambda: torch.bmm(x, y),
                lambda: torch.matmul(x, y),
                lambda: sdpa(q, q, q),
                lambda: x.chunk(2, -1)[0],
            ]
            calls[0] = lambda: torch.matmul(x, torch.stack([W, W]))
        for call in calls:
            try:
                plain = call()
            except (RuntimeError, NotImplementedError) as error:  # as in some modes without a scope
                with pytest.raises(type(error)):
                    scoped(call)
                continue
            found, _ = scoped(call)
            for ours, theirs in zip(found.unbind(), plain.unbind(), strict=True):
                torch.testing.assert_close(ours, theirs)


@pytest.mark.filterwarnings("ignore")  # torch's own
def test_operators_that_call_functions() -> None:
    from torch._higher_order_ops.map import map as over
    from torch._higher_order_ops.while_loop import while_loop

    calls: list[Callable[[], Any]] = [
        lambda: torch.cond(A.sum() > 0, lambda x: x @ x, lambda x: x + x, (A,)),
        lambda: while_loop(lambda i, x: i < 2, lambda i, x: (i + 1, x @ x), (torch.tensor(0), A))[1],
        lambda: over(lambda x, w: w @ x, A, W),
    ]
    for call in calls:
        with torch.compiler.set_stance(
            "force_eager"
        ):  # those that compile themselves cannot in a dispatch mode
            torch.testing.assert_close(scoped(call)[0], call())


# ---- Factors and results


def factors_of(dtype: Any) -> list[Any]:
    return [True, False, float("inf"), float("nan"), 1 + 0j, 2j, 300, 2**40, -1, 1e300]


@pytest.mark.parametrize("name", ["float64", "float32", "complex128", "int64", "int8", "uint8"])
def test_factors_are_those_of_torch(name: str) -> None:
    dtype = getattr(torch, name)
    a = torch.arange(4).reshape(2, 2).to(dtype)
    for factor in factors_of(dtype):
        for keywords in ({"alpha": factor}, {"beta": factor}):

            def call(keywords: Any = keywords) -> Any:
                return torch.addmm(a, a, a, **keywords)

            expected, found = outcome(call), scoped(lambda: outcome(call), dtypes=[name])[0]
            if isinstance(expected, tuple):
                assert found == expected, keywords
            else:
                torch.testing.assert_close(found, expected, equal_nan=True, msg=f"{keywords}")


def test_conjugated_and_expanded_results() -> None:
    a = entries(3, 3, dtype=torch.complex128)

    def into(write: Callable[[Any], Any]) -> Callable[[], Any]:
        def call() -> Any:
            out = torch.zeros(3, 3, dtype=torch.complex128).conj()
            write(out)
            return out.resolve_conj()

        return call

    for write in (lambda out: torch.mm(a, a, out=out), lambda out: out.addmm_(a, a)):
        call = into(write)
        found, summary = scoped(call)
        torch.testing.assert_close(found, call())
        assert summary.caught == 1
    v = entries(3)
    for out in (torch.zeros(1).double().expand(3), torch.zeros(1, 4).double().expand(4, 4)):
        calls: list[Callable[[], Any]] = [
            lambda: torch.mv(A[:3, :3], v, out=out),  # noqa: B023
            lambda: torch.mm(A, A, out=out),  # noqa: B023
            lambda: torch.addmm(A, A, A, out=out),  # noqa: B023
        ]
        for call in calls[:1] if out.ndim == 1 else calls[1:]:
            expected, found = outcome(call), scoped(lambda: outcome(call))[0]  # noqa: B023
            if isinstance(expected, tuple):
                assert found == expected
            else:
                torch.testing.assert_close(found, expected)
