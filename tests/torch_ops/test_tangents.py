"""Forward mode: no tangent is lost where a product has no derivative, and none is seen where there is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

import pytest

import ozfp4
from ozfp4 import linalg
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
from torch.autograd import forward_ad  # noqa: E402
from torch.func import grad, jvp, vjp, vmap  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # by torch itself
A = torch.arange(1, 10, dtype=torch.float64).reshape(3, 3) ** 2 / 7
B = A.mT.contiguous()
Call = Callable[[Any], Any]


def dual(call: Call) -> Any:
    with forward_ad.dual_level():
        return call(forward_ad.make_dual(A, 2 * A))


LOST: dict[str, Call] = {
    "enclose": lambda x: ozfp4.enclose(x, B),
    "prepare": lambda x: ozfp4.prepare(x, "left"),
    "solve": lambda x: linalg.solve(x, B),
    "the other side of solve": lambda x: linalg.solve(A, x),
}
LEVELS: dict[str, Callable[[Call], Any]] = {
    "dual tensors": dual,
    "jvp": lambda f: jvp(f, (A,), (A,)),
    "vmap in jvp": lambda f: jvp(vmap(f), (A[None],), (A[None],)),
    "vjp in jvp": lambda f: jvp(lambda a: vjp(lambda w: f(a) * w, B)[0], (A,), (A,)),
    "jvp in jvp": lambda f: jvp(lambda a: jvp(lambda w: f(a) * w, (B,), (B,))[0], (A,), (A,)),
    "vjp of dual tensors": lambda f: dual(lambda a: vjp(lambda w: f(a) * w, B)[0]),
}


ALIKE: dict[str, tuple[Call, Call]] = {
    "einsum": (lambda x: ozfp4.einsum("ij,jk", x, B), lambda x: ozfp4.matmul(x, B)),
    "einsum, second": (lambda x: ozfp4.einsum("ij,jk", B, x), lambda x: ozfp4.matmul(B, x)),
    "tensordot": (lambda x: ozfp4.tensordot(x, B, 1), lambda x: ozfp4.matmul(x, B)),
}


def parts(x: Any) -> list[Any]:
    """Tensors, of those with a tangent both, and of tuples all."""
    if isinstance(x, tuple):
        return [each for y in x for each in parts(y)]
    return [x]


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ALIKE)
def test_contractions_have_the_tangents_of_their_product(name: str, level: str) -> None:
    found, expected = (LEVELS[level](function) for function in ALIKE[name])
    for x, y in zip(parts(found), parts(expected), strict=True):
        with forward_ad.dual_level():
            assert_same_bits(x, y)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", LOST)
def test_what_has_no_derivative_refuses_tangents(name: str, level: str) -> None:
    with pytest.raises(
        RuntimeError, match=r"^\S+: the tensor has a tangent, and this product has no derivative"
    ):
        LEVELS[level](LOST[name])
    LOST[name](A)


@pytest.mark.parametrize("name", LOST)
def test_what_has_no_derivative_refuses_gradients_at_all_levels(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"^\S+: the tensor requires grad"):
        grad(lambda a: vmap(LOST[name])(a).sum())(A[None])


@pytest.mark.parametrize(
    "level", [name for name in LEVELS if name != "vmap in jvp"]
)  # torch: vmap has no `out`
@pytest.mark.parametrize("where", ["a", "b", "c", "gram", "out"])
def test_out_has_no_tangent(where: str, level: str) -> None:
    out = torch.full((3, 3), 5.0, dtype=torch.float64)
    calls: dict[str, Call] = {
        "a": lambda x: ozfp4.matmul(x, B, out=out),
        "b": lambda x: ozfp4.matmul(B, x, out=out),
        "c": lambda x: ozfp4.gemm(1, A, B, 1, x, out=out),
        "gram": lambda x: ozfp4.gram(x, out=out),
        "out": lambda x: ozfp4.matmul(A, B, out=x.clone()),
    }
    with pytest.raises(
        RuntimeError, match=r"^\w+\(\): functions with out=... .* one of the arguments has a tangent"
    ):
        LEVELS[level](calls[where])
    assert (out == 5.0).all()


def test_constants_beside_tangents_are_taken() -> None:
    expected, out = ozfp4.matmul(A, B), torch.zeros_like(A)

    def product(x: Any) -> Any:
        ozfp4.matmul(A, B, out=out)
        lower, upper = ozfp4.enclose(x.detach(), B)
        return x + ozfp4.matmul(A, ozfp4.prepare(B, "right")), lower <= upper

    (y, encloses) = dual(product)
    assert bool(encloses.all())
    assert_same_bits(forward_ad.unpack_dual(y).primal, A + expected)
    assert_same_bits(out, expected)


@contextmanager
def forward_mode_elsewhere() -> Iterator[None]:
    entered, done = Event(), Event()

    def other() -> None:
        with forward_ad.dual_level():
            entered.set()
            done.wait(60)

    thread = Thread(target=other)
    thread.start()
    try:
        assert entered.wait(60)
        yield
    finally:
        done.set()
        thread.join()


def test_forward_mode_of_another_thread_changes_nothing() -> None:
    expected, prepared = ozfp4.matmul(A, B), ozfp4.prepare(B, "right")
    with forward_mode_elsewhere():
        assert_same_bits(ozfp4.matmul(A, B), expected)
        assert_same_bits(ozfp4.matmul(A, prepared), expected)
        assert_same_bits(ozfp4.matmul(A, B, report=True)[0], expected)
        assert_same_bits(ozfp4.matmul(A, B, return_bound=True)[0], expected)
        assert_same_bits(
            ozfp4.gemm(1, A, B, plan=ozfp4.plan(3, 3, 3, accuracy="scaled"), accuracy="scaled"),
            ozfp4.matmul(A, B, plan=ozfp4.plan(3, 3, 3, accuracy="scaled"), accuracy="scaled"),
        )
        assert_same_bits(vmap(lambda x: ozfp4.einsum("ij,jk", x, B))(A[None])[0], expected)
