"""Products of torch within ``ozfp4.emulate``: bits of ozfp4's own, forward and backward, and everything else as torch has it.

On the CPU, and on a GPU where there is one with kernels.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ozfp4
from ozfp4.testing import assert_same_bits
from support import chosen

torch = pytest.importorskip("torch")
from torch_devices import entries, on_devices  # noqa: E402

REAL, COMPLEX = torch.float64, torch.complex128
NOISE = -7.25


def gemm(c: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return ozfp4.gemm(alpha, a, b, beta, c)


def joined(c: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    left = torch.cat(list(a), 1) if len(a) else a.new_zeros(a.shape[1], 0)
    right = torch.cat(list(b), 0) if len(b) else b.new_zeros(0, b.shape[2])
    return ozfp4.gemm(alpha, left, right, beta, c)


# torch's function, ozfp4's, shapes of the operands.
PRODUCTS: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[tuple[int, ...]]]] = {
    "mm": (torch.mm, ozfp4.matmul, [(7, 31), (31, 5)]),
    "mm of nothing": (torch.mm, ozfp4.matmul, [(7, 0), (0, 5)]),
    "mm without lines": (torch.mm, ozfp4.matmul, [(0, 7), (7, 5)]),
    "bmm": (torch.bmm, ozfp4.matmul, [(3, 7, 31), (3, 31, 5)]),
    "bmm of no matrices": (torch.bmm, ozfp4.matmul, [(0, 7, 31), (0, 31, 5)]),
    "mv": (torch.mv, ozfp4.matmul, [(7, 31), (31,)]),
    "dot": (torch.dot, ozfp4.matmul, [(31,), (31,)]),
    "vdot": (torch.vdot, lambda a, b: ozfp4.matmul(a.conj(), b), [(31,), (31,)]),
    "addmm": (torch.addmm, gemm, [(7, 5), (7, 31), (31, 5)]),
    "addmm of a row": (torch.addmm, gemm, [(5,), (7, 31), (31, 5)]),
    "addmm of a number": (torch.addmm, gemm, [(), (7, 31), (31, 5)]),
    "addmv": (torch.addmv, gemm, [(7,), (7, 31), (31,)]),
    "baddbmm": (torch.baddbmm, gemm, [(3, 7, 5), (3, 7, 31), (3, 31, 5)]),
    "baddbmm of a matrix": (torch.baddbmm, gemm, [(1, 7, 5), (3, 7, 31), (3, 31, 5)]),
    "addbmm": (torch.addbmm, joined, [(7, 5), (3, 7, 31), (3, 31, 5)]),
    "addbmm without lines": (torch.addbmm, joined, [(0, 5), (3, 0, 31), (3, 31, 5)]),
    "addbmm of no matrices": (torch.addbmm, joined, [(7, 5), (0, 7, 31), (0, 31, 5)]),
}
UPDATES = [name for name in PRODUCTS if name.startswith(("add", "badd"))]


@on_devices
@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("dtype", [REAL, COMPLEX, torch.float32, torch.complex64, torch.int64])
def test_emulated_operators_have_the_bits_of_ozfp4(device: str, name: str, dtype: Any) -> None:
    function, ours, shapes = PRODUCTS[name]
    if dtype == torch.int64:
        operands = [torch.randint(-(2**62), 2**62, shape).to(device) for shape in shapes]
    else:
        operands = [entries(*shape, dtype=dtype, device=device) for shape in shapes]
    expected = ours(*operands)
    with ozfp4.emulate(dtypes=[dtype], mode="always") as scope:
        result = function(*operands)
        out = torch.full_like(result, 3)
        assert function(*operands, out=out) is out
    for found in (result, out):
        assert_same_bits(found.cpu(), expected.cpu())
    (row,) = scope.summary.rows
    assert (row.operation, row.taken, row.calls, row.reason) == (name.split()[0], True, 2, "always")
    assert row.problem.dtype == str(dtype).removeprefix("torch.")


@on_devices
@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize(("alpha", "beta"), [(-1.5, 0.25), (1, 0), (0, 2)])
def test_factors_of_updates(device: str, name: str, alpha: float, beta: float) -> None:
    function, ours, shapes = PRODUCTS[name]
    operands = [entries(*shape, device=device) for shape in shapes]
    if beta == 0:
        operands[0].fill_(float("nan"))  # not read
    expected = ours(*operands, beta=beta, alpha=alpha)
    with ozfp4.emulate(mode="always"):
        assert_same_bits(function(*operands, beta=beta, alpha=alpha).cpu(), expected.cpu())
        if tuple(operands[0].shape) == tuple(expected.shape):
            c = operands[0].clone()
            assert getattr(c, f"{name.split()[0]}_")(*operands[1:], beta=beta, alpha=alpha) is c
            assert_same_bits(c.cpu(), expected.cpu())


@on_devices
def test_factors_of_integers_lose_what_torch_drops(device: str) -> None:
    n = torch.arange(9, device=device).reshape(3, 3)
    with ozfp4.emulate(dtypes="integers", mode="always") as scope:
        found = torch.addmm(n, n, n, alpha=-1.75, beta=2.5)
    assert_same_bits(found.cpu(), 2 * n.cpu() - n.cpu() @ n.cpu())
    assert scope.summary.caught == 1


@on_devices
@pytest.mark.parametrize("accuracy", ["correct", "scaled"])
def test_keywords_are_those_of_the_products(device: str, accuracy: str) -> None:
    a, b, c = (entries(*shape, device=device) for shape in ((9, 40), (40, 6), (6,)))
    with ozfp4.emulate(mode="always", accuracy=accuracy):
        product, update = torch.mm(a, b), torch.addmm(c, a, b)
    assert_same_bits(product.cpu(), ozfp4.matmul(a, b, accuracy=accuracy).cpu())
    assert_same_bits(update.cpu(), ozfp4.gemm(1, a, b, 1, c, accuracy=accuracy).cpu())


@on_devices
def test_views_and_lazy_tensors(device: str) -> None:
    a, b = entries(9, 40, dtype=COMPLEX, device=device), entries(40, 6, dtype=COMPLEX, device=device)
    cases = [
        (a.conj(), b), (a, b.conj()), (b.mT, a.mT), (b.mH, a.mH), (a[::2], b[:, 1::3]), (a, b[:, :1].expand(-1, 4)),
    ]  # fmt: skip
    with ozfp4.emulate(mode="always"):
        found = [x @ y for x, y in cases] + [a.conj().imag @ b.real]
    expected = [ozfp4.matmul(x, y) for x, y in cases] + [ozfp4.matmul(a.conj().imag, b.real)]
    for ours, plain in zip(found, expected, strict=True):
        assert_same_bits(ours.resolve_conj().cpu(), plain.resolve_conj().cpu())


# ---- Results that go to other tensors


@on_devices
def test_out_is_resized_as_torch_does(device: str) -> None:
    a, b = entries(5, 8, device=device), entries(8, 3, device=device)
    expected = ozfp4.matmul(a, b)
    with ozfp4.emulate(mode="always") as scope:
        empty = torch.empty(0, dtype=REAL, device=device)
        assert torch.mm(a, b, out=empty) is empty
        other = torch.full((2, 2), NOISE, dtype=REAL, device=device)
        with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
            torch.mm(a, b, out=other)
        strided = torch.full((3, 5), NOISE, dtype=REAL, device=device).mT
        torch.mm(a, b, out=strided)
    assert scope.summary.caught == 3
    for found in (empty, other, strided):
        assert_same_bits(found.cpu(), expected.cpu())
    assert not strided.is_contiguous()


@on_devices
def test_out_may_be_an_operand(device: str) -> None:
    """Where torch reads what it has written, and where it allows it."""
    a, v = entries(5, 5, device=device), entries(5, device=device)
    calls: list[tuple[Callable[[Any, Any], Any], Any]] = [
        (lambda x, y: torch.mm(x, x, out=x), ozfp4.matmul(a, a)),
        (lambda x, y: x.addmm_(x, x), ozfp4.gemm(1, a, a, 1, a)),
        (lambda x, y: torch.mv(x, x[0], out=x[1]), ozfp4.matmul(a, a[0])),
        (lambda x, y: y.addmv_(x, y), ozfp4.gemm(1, a, v, 1, v)),
        (lambda x, y: torch.addmm(x[0], a, a, out=x), ozfp4.gemm(1, a, a, 1, a[0])),
        (lambda x, y: torch.addmm(x, a, a, out=x), ozfp4.gemm(1, a, a, 1, a)),
        (lambda x, y: torch.dot(y, y, out=y[0]), ozfp4.matmul(v, v)),
    ]
    for call, expected in calls:
        with ozfp4.emulate(mode="always") as scope:
            found = call(a.clone(), v.clone())
        assert scope.summary.caught == 1
        assert_same_bits(found.cpu(), expected.cpu())


@on_devices
def test_errors_are_torchs_own(device: str) -> None:
    a, b = entries(5, 8, device=device), entries(8, 3, device=device)
    wrong = [
        (torch.mm, (a, a)), (torch.mm, (a, b[0])), (torch.mm, (a, b.to(COMPLEX))),
        (torch.bmm, (a[None], b[None].expand(2, -1, -1))), (torch.mv, (a, b[:3, 0])),
        (torch.addmm, (entries(2, 2, device=device), a, b)),
        (torch.addmm, (entries(5, 3, dtype=torch.float32, device=device), a, b)), (torch.dot, (a[0], a[0][:3])),
    ]  # fmt: skip
    for function, operands in wrong:
        with pytest.raises(RuntimeError) as plain:
            function(*operands)
        with ozfp4.emulate(mode="always"), pytest.raises(RuntimeError) as scoped:
            function(*operands)
        assert str(scoped.value) == str(plain.value)
    whole = torch.ones(5, 5, dtype=torch.int64)
    for factor in (float("nan"), float("inf")):
        with ozfp4.emulate(dtypes="integers", mode="always"), pytest.raises(RuntimeError):
            torch.addmm(whole, whole, whole, alpha=factor)
    out = torch.full((5, 3), NOISE, dtype=REAL, device=device).requires_grad_()
    with (
        ozfp4.emulate(mode="always"),
        pytest.raises(RuntimeError, match=r"out=\.\.\. arguments don't support"),
    ):
        torch.mm(a, b, out=out)
    assert (out == NOISE).all()


# ---- Gradients, maps, modes of torch


@on_devices
def test_gradients_are_products_of_ours(device: str) -> None:
    x, w, bias = entries(6, 40, device=device), entries(5, 40, device=device), entries(5, device=device)
    x.requires_grad_(), w.requires_grad_()
    start = entries(6, 5, device=device)
    with ozfp4.emulate(mode="always") as scope:
        torch.nn.functional.linear(x, w, bias).backward(start)
    assert_same_bits(x.grad.cpu(), ozfp4.matmul(start, w.detach()).cpu())
    assert_same_bits(w.grad.cpu(), ozfp4.matmul(start.mT, x.detach()).cpu())
    calls = sorted((row.operation, row.calls) for row in scope.summary.rows)
    assert calls == [("addmm", 1), ("mm", 1), ("mm", 1)]


def test_a_backward_pass_outside_is_torchs() -> None:
    x = entries(4, 4).requires_grad_()
    with ozfp4.emulate(mode="always") as scope:
        y = (x @ x).sum()
    y.backward()
    assert scope.summary.caught == 1


COMPOSED: dict[str, Callable[[Any, Any], Any]] = {
    "matmul": torch.matmul,
    "linear": lambda a, b: torch.nn.functional.linear(a, b.mT),
    "einsum": lambda a, b: torch.einsum("ij,jk->ik", a, b),
    "tensordot": lambda a, b: torch.tensordot(a, b, 1),
    "multi_dot": lambda a, b: torch.linalg.multi_dot([a, b]),
    "inner": lambda a, b: torch.inner(a, b.mT),
}


@on_devices
@pytest.mark.parametrize("name", COMPOSED)
def test_composed_operators_in_every_mode(device: str, name: str) -> None:
    a, b = entries(7, 31, device=device), entries(31, 5, device=device)
    expected = ozfp4.matmul(a, b)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with ozfp4.emulate(mode="always") as scope, mode():
            found = COMPOSED[name](a, b)
        assert scope.summary.caught == 1, mode
        assert_same_bits(found.cpu(), expected.cpu())


def test_tensors_without_entries_and_of_other_layouts() -> None:
    from torch._subclasses import FakeTensorMode

    a = entries(5, 5)
    with ozfp4.emulate(mode="always") as scope:
        with FakeTensorMode() as fakes:
            assert (fakes.from_tensor(a) @ fakes.from_tensor(a)).shape == (5, 5)
        assert (a.to("meta") @ a.to("meta")).device.type == "meta"
        torch.testing.assert_close(torch.sparse.mm(a.to_sparse(), a), (a.double() @ a))
    assert (scope.summary.caught, scope.summary.left) == (1, 0)  # the plain product of the comparison


# ---- Who is in the scope


def test_calls_by_name_are_as_outside() -> None:
    a = entries(5, 5)
    with ozfp4.emulate(mode="always", accuracy="correct") as scope:
        found, report = chosen.matmul(a, a, bits=40, accuracy="scaled", report=True)
        prepared = ozfp4.prepare(a, "right")
        again = ozfp4.matmul(a, prepared)
        x = a.clone().requires_grad_()
        ozfp4.gemm(1, x, x, 1, x).sum().backward()
    assert report.bits == 40
    assert_same_bits(found, chosen.matmul(a, a, bits=40, accuracy="scaled"))
    assert_same_bits(again, ozfp4.matmul(a, a))
    assert scope.summary.rows == ()


def test_modes_around_the_scope_see_the_products() -> None:
    class Seen(torch.utils._python_dispatch.TorchDispatchMode):
        names: list[str] = []  # noqa: RUF012

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.names.append(str(func))
            return func(*args, **(kwargs or {}))

    a = entries(5, 5)
    with Seen() as seen, ozfp4.emulate(mode="always"):
        a @ a
    assert "ozfp4.matmul.default" in seen.names
    assert "aten.mm.default" not in seen.names


# ---- torch.compile


@pytest.mark.filterwarnings("ignore")  # torch's own
def test_compiled_functions_run_as_they_are_written() -> None:
    torch._dynamo.reset()
    a = entries(6, 6)
    expected = ozfp4.matmul(a, a).cos()
    compiled = torch.compile(lambda x: (x @ x).cos(), backend="aot_eager")
    compiled(a)  # before the scope
    with ozfp4.emulate(mode="always") as scope:
        assert_same_bits(compiled(a), expected)
    assert scope.summary.caught == 1

    def inside(x: Any) -> Any:
        with ozfp4.emulate(mode="always"):
            return (x @ x).cos()

    assert_same_bits(torch.compile(inside, backend="aot_eager")(a), expected)
    decorated = ozfp4.emulate(mode="always")(lambda x: (x @ x).cos())
    assert_same_bits(torch.compile(decorated, backend="aot_eager")(a), expected)


def test_traced_programs_hold_our_operators() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    with ozfp4.emulate(mode="always"):
        graph = make_fx(lambda x: x @ x)(entries(3, 3))
    assert "torch.ops.ozfp4.matmul" in graph.code


@pytest.mark.filterwarnings("ignore")  # torch's own
def test_scopes_that_threads_leave_in_any_order_leave_torch_as_it_was() -> None:
    python_dispatch = torch.utils._python_dispatch
    names = [name for name in vars(python_dispatch) if name.startswith("_is_in_")]
    assert names
    before = {name: getattr(python_dispatch, name) for name in names}
    here = ozfp4.emulate(mode="always")
    here.__enter__()
    entered, leave = threading.Event(), threading.Event()

    def other() -> None:
        with ozfp4.emulate(mode="always"):
            entered.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    entered.wait(60)
    here.__exit__(None, None, None)
    assert all(getattr(python_dispatch, name) for name in names if name != "_is_in_mode")
    leave.set()
    thread.join()
    assert {name: getattr(python_dispatch, name) for name in names} == before


PROGRAM = Path(__file__).parent / "programs" / "compiler_in_a_scope.py"


def test_a_scope_does_without_the_compiler_and_with_it() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
