"""ozfp4.matmul, gemm and gram where torch watches: modes that change nothing, what is refused, who imports what."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
import ozfp4._torch_ops  # noqa: E402 - it imports torch

A = torch.arange(12, dtype=torch.float64).reshape(3, 4) / 7
B = A.mT.contiguous()
N = torch.arange(12).reshape(3, 4)


def leaf(x: Any = A) -> Any:
    return x.clone().requires_grad_()


# ---- Modes


def test_inference_mode() -> None:
    expected = ozfp4.matmul(A, B)
    with torch.inference_mode():
        assert_same_bits(ozfp4.matmul(leaf(), B), expected)
        assert_same_bits(torch.ops.ozfp4.matmul(A.clone(), B), expected)
        out = torch.empty_like(expected)
        torch.ops.ozfp4.matmul.out(A.clone(), B, out=out)
        assert_same_bits(out, expected)


def test_deterministic_mode_and_autocast_change_nothing() -> None:
    expected = ozfp4.matmul(A, B)
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True)
    try:
        a = leaf()
        ozfp4.matmul(a, B).sum().backward()
        assert_same_bits(ozfp4.matmul(a, B).detach(), expected)
    finally:
        torch.use_deterministic_algorithms(before)
    with torch.autocast("cpu", torch.bfloat16):
        y = ozfp4.matmul(leaf(), B)
        assert y.dtype == torch.float64
        assert_same_bits(y.detach(), expected)
        assert ozfp4.matmul(leaf(A.float()), B.float()).dtype == torch.float32


def test_threads() -> None:
    def step(seed: int) -> list[Any]:
        a = torch.randn(
            20, 30, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
        ).requires_grad_()
        y = ozfp4.gemm(1, a, a, 2, a[:, :20], trans_b=True)
        mapped = torch.vmap(ozfp4.matmul, (0, None))(a.detach().reshape(5, 4, 30), a.detach().mT)
        return [y.detach(), *torch.autograd.grad(y, a, torch.ones_like(y)), mapped]

    alone = [step(seed) for seed in range(12)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(step, range(12)))
    for found, expected in zip(together, alone, strict=True):
        for x, y in zip(found, expected, strict=True):
            assert_same_bits(x, y)


def test_no_grad_leaves_no_graph() -> None:
    with torch.no_grad():
        assert not ozfp4.matmul(leaf(), B).requires_grad
    assert not ozfp4.matmul(A, B).requires_grad
    assert ozfp4.matmul(leaf(), B).requires_grad


def test_out_counts_as_written() -> None:
    out = torch.zeros(3, 3, dtype=torch.float64)
    before = out._version
    torch.ops.ozfp4.gemm.out(A, B, 1.0, 1.0, out, out=out)
    assert out._version > before
    assert_same_bits(out, ozfp4.matmul(A, B))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # by torch itself
def test_tangents_outside_of_torch_func() -> None:
    from torch.autograd import forward_ad

    with forward_ad.dual_level():
        y = ozfp4.matmul(forward_ad.make_dual(A, 2 * A), B)
        assert_same_bits(forward_ad.unpack_dual(y).tangent, ozfp4.matmul(2 * A, B))
        assert forward_ad.unpack_dual(ozfp4.matmul(A, B)).tangent is None


def test_meta_tensors_of_a_graph_have_shapes() -> None:
    y = torch.ops.ozfp4.matmul(A.to("meta"), B.to("meta"))
    assert (y.shape, y.device.type) == ((3, 3), "meta")


# ---- Refusals

OTHER_RESULTS: dict[str, Callable[[Any], Any]] = {
    "report": lambda a: ozfp4.matmul(a, B, report=True),
    "return_bound": lambda a: ozfp4.matmul(a, B, return_bound=True),
}


@pytest.mark.parametrize("name", OTHER_RESULTS)
def test_what_an_operator_cannot_have(name: str) -> None:
    with pytest.raises(ValueError, match=rf"^{name}: .* is not for tensors that require grad"):
        OTHER_RESULTS[name](leaf())
    with pytest.raises(ValueError, match=rf"^{name}: .* is not for tensors that require grad"):
        torch.vmap(OTHER_RESULTS[name])(A.expand(2, 3, 4))
    OTHER_RESULTS[name](A)


@pytest.mark.parametrize("which", ["a", "b", "c", "out"])
def test_out_has_no_gradient(which: str) -> None:
    given = {
        "a": A.clone(),
        "b": B.clone(),
        "c": torch.zeros(3, 3).double(),
        "out": torch.full((3, 3), 5.0).double(),
    }
    given[which].requires_grad_()
    for name, call in (
        ("matmul", lambda: ozfp4.matmul(given["a"], given["b"], out=given["out"])),
        ("gemm", lambda: ozfp4.gemm(1, given["a"], given["b"], 1, given["c"], out=given["out"])),
        ("gram", lambda: ozfp4.gram(given["b"], out=given["out"])),
    ):
        if which in {"matmul": "about", "gemm": "abcout", "gram": "bout"}[name]:
            with pytest.raises(
                RuntimeError, match=rf"^{name}\(\): functions with out=... arguments don't support"
            ):
                call()
    assert (given["out"] == 5.0).all()


def test_flags_that_are_false_are_none() -> None:
    expected = ozfp4.matmul(A, B)
    assert_same_bits(ozfp4.matmul(leaf(), B, report=np.False_).detach(), expected)
    assert_same_bits(ozfp4.matmul(leaf(), B, return_bound=np.False_).detach(), expected)
    limits = {"accuracy": "scaled", "workspace_limit": np.int64(2**29)}
    assert_same_bits(ozfp4.matmul(leaf(), B, **limits).detach(), ozfp4.matmul(A, B, **limits))


@pytest.mark.parametrize("factor", [2**63, 2**64 + 3, -(2**63) - 1, 2**200 - 5])
def test_factors_of_integers_are_taken_modulo_their_words(factor: int) -> None:
    n = torch.arange(9).reshape(1, 3, 3) - 4
    expected = ozfp4.gemm(factor, n[0], n[0], -factor, n[0])
    assert_same_bits(torch.vmap(lambda x: ozfp4.gemm(factor, x, x, -factor, x))(n)[0], expected)
    with pytest.raises(ValueError, match=r"^alpha: .* neither 0 nor 1|^alpha: -?\d+ does not fit"):
        torch.vmap(lambda x: ozfp4.gemm(factor, x, x))(n > 0)
    with pytest.raises(ValueError, match=r"^beta: \d+ does not fit"):
        torch.vmap(lambda x: ozfp4.gemm(1, x, x, 2**64))(n)


# Some of what tests/api refuses of tensors that torch does not watch, and what is of the operators.
WRONG: dict[str, tuple[type[Exception], str, Callable[[Any], Any]]] = {
    "shapes": (ValueError, "^inner dimensions differ", lambda a: ozfp4.matmul(a, A)),
    "names": (ValueError, "^backend: 'x' is unknown", lambda a: ozfp4.matmul(a, B, backend="x")),
    "NumPy": (TypeError, "cannot be mixed: a is a torch", lambda a: ozfp4.matmul(a, B.numpy())),
    "prepared": (
        TypeError,
        "^b: a prepared operand is not for tensors that",
        lambda a: ozfp4.matmul(a, ozfp4.prepare(B, "right")),
    ),
    "sparse": (TypeError, "^a: layout torch.sparse_coo", lambda a: ozfp4.matmul(a.to_sparse(), B)),
    "shape of C": (ValueError, r"^c: shape \(7,\)", lambda a: ozfp4.gemm(1, a, B, 1, torch.zeros(7))),
    "devices": (RuntimeError, "^b: device meta differs from cpu", lambda a: ozfp4.matmul(a, B.to("meta"))),
    "vector": (ValueError, "^a: a matrix or a stack", lambda a: ozfp4.gram(a[0])),
    "no derivative": (RuntimeError, "^a: the tensor requires grad", lambda a: ozfp4.enclose(a, B)),
}


@pytest.mark.parametrize("name", WRONG)
def test_refusals(name: str) -> None:
    error, message, call = WRONG[name]
    with pytest.raises(error, match=message):
        call(leaf())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["shapes", "names", "shape of C", "devices", "vector"])
def test_refused_before_anything_runs(name: str) -> None:
    """Without entries the errors are the same."""
    error, message, call = WRONG[name]
    with pytest.raises(error, match=message):
        call(torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True).from_tensor(A))


def test_overflow_of_integers_is_raised_from_an_operator() -> None:
    n = torch.full((2, 2), 2**62)
    with pytest.raises(OverflowError, match="4 entries"):
        torch.vmap(lambda x: ozfp4.matmul(x, n, overflow="raise"))(n[None])
    with pytest.raises(OverflowError, match="4 entries"):
        torch.vmap(lambda x: ozfp4.gemm(1, x, n, overflow="raise"))(n[None])
    with pytest.raises(ValueError, match=r"^beta: \d+ does not fit the 64 bits"):
        torch.vmap(lambda x: ozfp4.gemm(1, x, n, 2**64, n, overflow="raise"))(n[None])


# ---- Who imports what


def run(code: str) -> None:
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=300).returncode == 0


def test_plain_products_do_without_the_operators() -> None:
    run(
        "import sys, torch, ozfp4\n"
        "ozfp4.matmul(torch.ones(2, 2), torch.ones(2, 2))\n"
        "raise SystemExit('ozfp4._torch_ops' in sys.modules)"
    )


def test_the_first_product_may_be_one_that_is_traced() -> None:
    run(
        "import ozfp4, torch\n"
        "f = torch.compile(ozfp4.gram, fullgraph=True, backend='aot_eager')\n"
        "raise SystemExit(int(f(torch.ones(2, 2)).sum()) != 8)"
    )
