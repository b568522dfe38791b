"""``ozfp4.emulate()`` of torch's products by name: caught calls where ozfp4 is set to be faster, all else as in torch."""

from __future__ import annotations

import asyncio
import copy
import importlib
import itertools
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, no_type_check

import pytest

import ozfp4
from ozfp4._emulation import chains, choice
from ozfp4._emulation.summary import Decision, Problem
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")
from torch_devices import entries, on_devices, outcome  # noqa: E402

from ozfp4._emulation.for_torch import names, operators  # noqa: E402

REAL, COMPLEX = torch.float64, torch.complex128
NOISE = -7.25
MODES = ("fastest", "always")
MATMUL, LINEAR, OPERATOR = torch.matmul, torch.nn.functional.linear, torch.Tensor.__matmul__


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Problem], bool]], None]:
    """ozfp4 is the faster one, of all products until a rule is given, whatever chains they have (test_chains.py)."""
    monkeypatch.setattr(
        chains, "made", lambda problem, options, compute: compute(**options.keywords_of(problem.dtype))
    )

    def tell(rule: Callable[[Problem], bool]) -> None:
        monkeypatch.setattr(choice, "_fastest", lambda problem, options: Decision(rule(problem), "told"))

    tell(lambda problem: True)
    return tell


@pytest.fixture(autouse=True)
def _names_are_restored() -> Any:
    def stands() -> bool:
        return (
            torch.matmul is MATMUL
            and torch.nn.functional.linear is LINEAR
            and torch.Tensor.__matmul__ is OPERATOR
            and not {"matmul", "__matmul__", "mm", "addmm_"} & vars(torch.Tensor).keys()
        )

    assert stands()
    yield
    assert stands()


def called(path: str) -> Callable[..., Any]:
    """The function under the name at the time of the call."""
    *modules, name = path.split(".")
    return lambda *args: getattr(importlib.import_module(".".join(modules)), name)(*args)


A, B = (7, 31), (31, 5)
Make = Callable[..., Any]
# torch's function, ozfp4's, shapes of the operands, the row's operation and extents.
FORMS: dict[str, tuple[Make, Make, list[tuple[int, ...]], str, tuple[int, int, int, int]]] = {
    "@": (lambda a, b: a @ b, ozfp4.matmul, [A, B], "matmul", (1, 7, 5, 31)),
    "@=": (lambda a, b: a.__matmul__(b), ozfp4.matmul, [A, B], "matmul", (1, 7, 5, 31)),
    "matmul": (called("torch.matmul"), ozfp4.matmul, [A, B], "matmul", (1, 7, 5, 31)),
    "method": (lambda a, b: a.matmul(b), ozfp4.matmul, [A, B], "matmul", (1, 7, 5, 31)),
    "linalg": (called("torch.linalg.matmul"), ozfp4.matmul, [A, B], "matmul", (1, 7, 5, 31)),
    "by names": (lambda a, b: torch.matmul(input=a, other=b), ozfp4.matmul, [A, B], "matmul", (1, 7, 5, 31)),
    "vector": (called("torch.matmul"), ozfp4.matmul, [(31,), B], "matmul", (1, 1, 5, 31)),
    "vectors": (called("torch.matmul"), ozfp4.matmul, [(31,), (31,)], "matmul", (1, 1, 1, 31)),
    "column": (called("torch.matmul"), ozfp4.matmul, [A, (31,)], "matmul", (1, 7, 1, 31)),
    "stack": (called("torch.matmul"), ozfp4.matmul, [(3, 7, 31), (3, 31, 5)], "matmul", (3, 7, 5, 31)),
    "stack by one": (called("torch.matmul"), ozfp4.matmul, [(3, 2, 7, 31), B], "matmul", (1, 42, 5, 31)),
    "stack by vector": (called("torch.matmul"), ozfp4.matmul, [(3, 7, 31), (31,)], "matmul", (1, 21, 1, 31)),
    "one by stack": (called("torch.matmul"), ozfp4.matmul, [A, (3, 31, 5)], "matmul", (3, 7, 5, 31)),
    "vector by stack": (called("torch.matmul"), ozfp4.matmul, [(31,), (3, 31, 5)], "matmul", (3, 1, 5, 31)),
    "broadcast": (called("torch.matmul"), ozfp4.matmul, [(2, 1, 7, 31), (3, 31, 5)], "matmul", (6, 7, 5, 31)),
    "mm": (called("torch.mm"), ozfp4.matmul, [A, B], "mm", (1, 7, 5, 31)),
    "bmm": (lambda a, b: a.bmm(mat2=b), ozfp4.matmul, [(3, 7, 31), (3, 31, 5)], "bmm", (3, 7, 5, 31)),
    "mv": (called("torch.mv"), ozfp4.matmul, [A, (31,)], "mv", (1, 7, 1, 31)),
    "dot": (called("torch.dot"), ozfp4.matmul, [(31,), (31,)], "dot", (1, 1, 1, 31)),
    "vdot": (called("torch.vdot"), lambda a, b: ozfp4.matmul(a.conj(), b), [(31,), (31,)], "vdot", (1, 1, 1, 31)),
    "inner": (called("torch.inner"), lambda a, b: ozfp4.matmul(a, b.mT), [A, (5, 31)], "inner", (1, 7, 5, 31)),
    "linear": (
        called("torch.nn.functional.linear"), lambda x, w, b: ozfp4.gemm(1, x, w.mT, 1, b), [A, (5, 31), (5,)], "linear",
        (1, 7, 5, 31),
    ),
    "linear of a stack": (
        lambda x, w: torch.nn.functional.linear(x, w, bias=None), lambda x, w: ozfp4.matmul(x, w.mT),
        [(2, 3, 31), (5, 31)], "linear", (1, 6, 5, 31),
    ),
    "addmm": (
        lambda c, a, b: torch.addmm(c, mat1=a, mat2=b, beta=0.5, alpha=-2), lambda c, a, b: ozfp4.gemm(-2, a, b, 0.5, c),
        [(5,), A, B], "addmm", (1, 7, 5, 31),
    ),
    "addmm_": (
        lambda c, a, b: c.clone().addmm_(a, b), lambda c, a, b: ozfp4.gemm(1, a, b, 1, c), [(7, 5), A, B], "addmm_",
        (1, 7, 5, 31),
    ),
    "baddbmm": (
        called("torch.baddbmm"), lambda c, a, b: ozfp4.gemm(1, a, b, 1, c), [(3, 7, 5), (3, 7, 31), (3, 31, 5)], "baddbmm",
        (3, 7, 5, 31),
    ),
    "addmv": (called("torch.addmv"), lambda c, a, b: ozfp4.gemm(1, a, b, 1, c), [(7,), A, (31,)], "addmv", (1, 7, 1, 31)),
    "einsum": (
        lambda a, b: torch.einsum("sij, sjk -> kis", a, b), lambda a, b: ozfp4.einsum("sij,sjk->kis", a, b),
        [(3, 7, 31), (3, 31, 5)], "einsum", (3, 7, 5, 31),
    ),
    "einsum to a number": (
        lambda a, b: torch.einsum("ij,ij", a, b), lambda a, b: ozfp4.einsum("ij,ij", a, b), [A, A], "einsum",
        (1, 1, 1, 217),
    ),
    "einsum of a list": (
        lambda a, b: torch.einsum("ij,jk", [a, b]), ozfp4.matmul, [A, B], "einsum", (1, 7, 5, 31),
    ),
    "tensordot": (
        lambda a, b: torch.tensordot(a, b, dims=([2, 0], [-2, 0])), lambda a, b: ozfp4.tensordot(a, b, ([2, 0], [1, 0])),
        [(3, 7, 31), (3, 31, 5)], "tensordot", (1, 7, 5, 93),
    ),
    "tensordot by a number": (
        lambda a, b: torch.tensordot(a, b, 1), lambda a, b: ozfp4.tensordot(a, b, 1), [(2, 3, 31), (31, 5)], "tensordot",
        (1, 6, 5, 31),
    ),
    "nothing to sum": (called("torch.matmul"), ozfp4.matmul, [(7, 0), (0, 5)], "matmul", (1, 7, 5, 0)),
    "no lines": (called("torch.matmul"), ozfp4.matmul, [(2, 0, 31), B], "matmul", (1, 0, 5, 31)),
}  # fmt: skip


@on_devices
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [REAL, COMPLEX, torch.float32, torch.int64])
def test_taken_products_have_the_bits_of_ozfp4(device: str, told: Any, form: str, dtype: Any) -> None:
    function, ours, shapes, operation, extents = FORMS[form]
    if dtype == torch.int64:
        operands = [torch.randint(-(2**62), 2**62, shape).to(device) for shape in shapes]
        if form == "addmm":
            pytest.skip("a factor of integers is one")
    else:
        operands = [entries(*shape, dtype=dtype, device=device) for shape in shapes]
    expected = ours(*operands)
    with ozfp4.emulate(dtypes=[dtype]) as scope:
        for _ in range(2):  # the second by what the first has found
            assert_same_bits(function(*operands).cpu(), expected.cpu())
    (row,) = scope.summary.rows
    problem = row.problem
    assert (row.operation, row.taken, row.calls, row.reason) == (operation, True, 2, "told")
    assert (problem.stack, problem.m, problem.n, problem.k) == extents


@pytest.mark.parametrize("form", FORMS)
def test_left_products_have_the_bits_of_torch(told: Any, form: str) -> None:
    function, _, shapes, operation, _ = FORMS[form]
    told(lambda problem: False)
    operands = [entries(*shape) for shape in shapes]
    expected = function(*operands)
    with ozfp4.emulate() as scope:
        for _ in range(3):
            assert_same_bits(function(*operands), expected)
    ((row),) = scope.summary.rows
    assert (row.operation, row.taken, row.calls, row.seconds) == (operation, False, 3, None)


def test_no_other_operation_is_looked_at() -> None:
    add, sizes = torch.add, torch.Tensor.size
    with ozfp4.emulate():
        assert torch.add is add
        assert torch.Tensor.size is sizes
        assert not torch._C._is_torch_function_mode_enabled()
        assert not torch.utils._python_dispatch._get_current_dispatch_mode_stack()


# ---- Gradients


def test_gradients_of_taken_products(told: Any) -> None:
    x, w = entries(6, 40).requires_grad_(), entries(40, 5).requires_grad_()
    start = entries(6, 5)
    with ozfp4.emulate() as scope:
        (x @ w).backward(start)
    (row,) = scope.summary.rows
    assert row.taken
    assert_same_bits(x.grad, ozfp4.matmul(start, w.detach().mT))
    assert_same_bits(w.grad, ozfp4.matmul(x.detach().mT, start))


@on_devices
@pytest.mark.filterwarnings("ignore")  # torch's own, of its forward mode
@pytest.mark.parametrize("mode", MODES)
def test_gradients_of_gradients_and_transforms(told: Any, device: str, mode: str) -> None:
    a, stack, v = (entries(*shape, device=device) for shape in ((4, 4), (3, 4, 4), (4,)))
    with ozfp4.emulate(mode=mode) as scope:
        x = entries(4, 4).requires_grad_()
        assert torch.autograd.gradcheck(lambda y: y @ y, x)
        assert torch.autograd.gradgradcheck(lambda y: torch.tensordot(y, y, 1), x)
        mapped = torch.vmap(torch.mm, (None, 0))(a, stack)
        gradient = torch.func.grad(lambda y: torch.mv(y, v).sum())(a)
        _, tangent = torch.func.jvp(torch.mv, (a, v), (a, v))
    assert_same_bits(mapped.cpu(), torch.stack([ozfp4.matmul(a, y) for y in stack]).cpu())
    torch.testing.assert_close(gradient, v.expand(4, -1))
    torch.testing.assert_close(tangent, 2 * ozfp4.matmul(a, v))
    assert scope.summary.caught >= 4
    assert scope.summary.left == 0


def test_results_are_no_views(told: Any) -> None:
    """Where torch's are none: a program may detach them in place."""
    a, b = torch.ones(3, 4, dtype=REAL, requires_grad=True), torch.ones(4, 5, dtype=REAL)
    with ozfp4.emulate() as scope:
        for made in (
            a[None] @ b,
            torch.nn.functional.linear(a, b.mT),
            torch.nn.functional.linear(a[None], b.mT),
        ):
            assert not made._is_view()
            made.detach_()
            assert_same_bits(made.numpy().reshape(3, 5), torch.full((3, 5), 4.0, dtype=REAL).numpy())
    assert scope.summary.caught == 3


def test_tensors_of_inference_are_torchs_to_refuse(told: Any) -> None:
    with torch.inference_mode():
        out = torch.ones(3, 5, dtype=REAL)
    a, b = torch.ones(3, 4, dtype=REAL), torch.ones(4, 5, dtype=REAL)
    for write in (lambda: out.addmm_(a, b), lambda: torch.mm(a, b, out=out)):
        with ozfp4.emulate(), pytest.raises(RuntimeError, match="inference tensor"):
            write()
    with torch.inference_mode(), ozfp4.emulate() as scope:
        torch.mm(a, b, out=out)
    assert scope.summary.caught
    assert bool((out == 4).all())


def test_out_and_in_place_results_are_checked_as_by_torch(told: Any) -> None:
    a, b = entries(4, 4), entries(4, 4)
    out = torch.full((4, 4), NOISE, dtype=REAL)
    strided = torch.full((4, 4), NOISE, dtype=REAL).mT
    with ozfp4.emulate() as scope:
        before = out._version
        assert torch.mm(a, b, out=out) is out
        torch.matmul(a, b, out=strided)
        c = a.clone()
        assert c.addmm_(a, b) is c
        torch.mm(a[:2], b, out=(resized := torch.ones(0, dtype=REAL)))
        with pytest.warns(UserWarning, match="was resized"):
            torch.mm(a, b, out=torch.ones(3, dtype=REAL))  # torch's own
    assert scope.summary.caught == 4
    assert out._version > before
    for found, expected in (
        (out, ozfp4.matmul(a, b)), (strided, ozfp4.matmul(a, b)), (c, ozfp4.gemm(1, a, b, 1, a)),
        (resized, ozfp4.matmul(a[:2], b)),
    ):  # fmt: skip
        assert_same_bits(found, expected)
    wanted = torch.full((4, 4), NOISE, dtype=REAL).requires_grad_()
    with ozfp4.emulate() as scope:
        with pytest.raises(RuntimeError, match=r"out=\.\.\. arguments don't support"):
            torch.mm(a, b, out=wanted)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            wanted.addmm_(a, b)
        assert torch.zeros(4, 4, dtype=REAL).addmm_(a, wanted).requires_grad  # torch's own
        y = a.clone().requires_grad_()
        square = (y * 1).pow(2)
        with torch.no_grad():
            kept = y * 1
        z = kept.requires_grad_() * b
        with torch.no_grad():
            kept.detach().addmm_(a, b)
        assert square is not None
    assert (wanted == NOISE).all()
    assert scope.summary.caught == 1
    assert z.requires_grad


# ---- Cases that torch handles itself


@pytest.mark.filterwarnings("ignore")  # torch's own: nested and quantised tensors
def test_other_kinds_of_tensors_and_what_torch_refuses(told: Any) -> None:
    a, b = entries(4, 4), entries(4, 4)
    nested = torch.nested.nested_tensor([a[:2], a[:3]])
    jagged = torch.nested.nested_tensor([a[:2], a[:3]], layout=torch.jagged)

    class Other(torch.Tensor):
        pass

    calls: list[Callable[[], Any]] = [
        lambda: a.to_sparse() @ b,
        lambda: torch.mm(a.to_sparse_csr(), b).to_dense(),
        lambda: torch.nn.functional.linear(a, b.to_sparse()),
        lambda: torch.matmul(torch.stack([a, a]), b.to_sparse()),
        lambda: torch.matmul(nested, torch.stack([b, b])).unbind()[1],
        lambda: torch.nn.functional.linear(jagged, b).unbind()[0],
        lambda: a.as_subclass(Other) @ b,
        lambda: a @ b.numpy(),
        lambda: a.numpy() @ b,
        lambda: a @ 3,
        lambda: a @ a[:3],
        lambda: a @ b.float(),
        lambda: torch.mm(a, b[0]),
        lambda: torch.mm(a),
        lambda: torch.mm(a, b, a),
        lambda: torch.mm(a, b, nothing=3),
        lambda: torch.addmm(a, mat1=b),
        lambda: torch.einsum("ij,jk", a, b, b),
        lambda: torch.einsum("ij,jk", a, b[:3]),
        lambda: torch.tensordot(a, b, ([0, 0], [0, 1])),
        lambda: torch.tensordot(a, b, 3),
        lambda: torch.tensordot(a, b, -1),
        lambda: torch.tensordot(a, b, ([5], [0])),
        lambda: torch.nn.functional.linear(a, b, a),
        lambda: torch.inner(a[0, 0], b),
        lambda: torch.quantize_per_tensor(a.float(), 0.1, 0, torch.qint8) @ a.float(),
    ]
    expected = [outcome(call) for call in calls]
    with ozfp4.emulate(dtypes=["float64", "float32"]) as scope:
        found = [outcome(call) for call in calls]
        assert torch.matmul(a.to("meta"), b.to("meta")).device.type == "meta"
    for ours, theirs in zip(found, expected, strict=True):
        if isinstance(theirs, tuple):
            assert ours == theirs
        else:
            torch.testing.assert_close(ours, theirs)
    assert scope.summary.rows == ()


def test_sums_that_are_no_product(told: Any) -> None:
    a, v = entries(4, 4), entries(4)
    with ozfp4.emulate() as scope:
        for _ in range(2):
            for text, operands in (
                ("ii->i", [a]),
                ("i,j->ij", [v, v]),
                ("ij,jk->k", [a, a]),
                ("ii,ij->j", [a, a]),
            ):
                with ozfp4.emulate(min_size=2**62):
                    expected = torch.einsum(text, *operands)
                assert_same_bits(torch.einsum(text, *operands), expected)
            torch.einsum("i,ij,j", v, a, v)
    (row,) = scope.summary.rows
    assert (row.operation, row.taken, row.calls) == ("einsum", False, 2)
    assert row.reason == "of more than two operands, whose way is the library's own"


def test_functions_of_torch_that_multiply_by_name(told: Any) -> None:
    layer = torch.nn.Linear(4, 4, dtype=REAL)
    attention = torch.nn.MultiheadAttention(4, 2, dtype=REAL)
    x = entries(3, 2, 4)
    with torch.no_grad(), ozfp4.emulate() as scope:
        assert_same_bits(layer(x[0]), ozfp4.gemm(1, x[0], layer.weight.mT, 1, layer.bias))
        attention(x, x, x)
        torch.svd_lowrank(entries(6, 6), 2)
    assert {"linear", "baddbmm", "bmm", "matmul"} >= {row.operation for row in scope.summary.rows}
    assert scope.summary.caught > 4


def test_products_without_room_are_torchs() -> None:
    n = torch.arange(6400).reshape(80, 80)
    scope = ozfp4.emulate(dtypes="integers", workspace_limit=1)
    with scope:
        assert_same_bits(n @ n, torch.mm(n, n))
    assert {row.reason for row in scope.summary.rows} == {"ozfp4 needs more than workspace_limit"}
    assert scope.summary.caught == 0


def test_products_without_room_where_smaller_ones_had_it(told: Any) -> None:
    n = torch.arange(6400).reshape(80, 80)
    c = torch.zeros_like(n)
    with ozfp4.emulate(dtypes="integers", workspace_limit=1) as scope:
        assert_same_bits(n @ n, n.mm(n))
        c.addmm_(n, n)
    with ozfp4.emulate(mode="always"), ozfp4.emulate(dtypes="integers", workspace_limit=1) as by_mode:
        assert_same_bits(n @ n, c)
    for each, calls in ((scope, 3), (by_mode, 1)):
        assert (each.summary.caught, each.summary.left) == (0, calls)
        assert {row.reason for row in each.summary.rows} == {"ozfp4 needs more than workspace_limit"}


def test_products_without_memory_are_torchs_where_nothing_is_written(
    told: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **named: Any) -> Any:
        raise torch.cuda.OutOfMemoryError("no memory")

    for function in ("matmul", "gemm"):
        monkeypatch.setattr(operators, function, fail)
    a, b = entries(4, 4), entries(4, 4)
    with ozfp4.emulate() as scope:
        assert_same_bits(a @ b, torch.addmm(torch.zeros(4, dtype=REAL), a, b))
        with pytest.raises(torch.cuda.OutOfMemoryError):
            a.clone().addmm_(a, b)
    assert {(row.calls, row.taken, row.reason) for row in scope.summary.rows} == {
        (1, False, "ozfp4 found no memory for it")
    }


# ---- Who is in the scope


@pytest.mark.parametrize("mode", MODES)
def test_other_threads_and_tasks_are_not_in_it(told: Any, mode: str) -> None:
    a = entries(5, 5)
    with ozfp4.emulate(mode=mode) as scope:
        thread = threading.Thread(target=lambda: a @ a)
        thread.start()
        thread.join()
        assert scope.summary.rows == ()
    first, second = ozfp4.emulate(mode=mode), ozfp4.emulate(mode=mode)

    async def task(scope: Any, before: int, after: int) -> None:
        await asyncio.sleep(0.01 * before)
        with scope:
            await asyncio.sleep(0.01 * after)
            a @ a

    async def other() -> None:
        for _ in range(8):
            await asyncio.sleep(0.01)
            a @ a

    async def main() -> None:
        await asyncio.gather(task(first, 0, 4), task(second, 1, 6), other())

    asyncio.run(main())
    assert (first.summary.caught, second.summary.caught) == (1, 1)


@pytest.mark.parametrize("modes", list(itertools.product(MODES, MODES)))
def test_the_innermost_scope_counts(told: Any, modes: tuple[str, str]) -> None:
    a = entries(5, 5)
    outer, inner = (ozfp4.emulate(mode=mode, accuracy="correct") for mode in modes)
    with outer:
        with inner:
            found = a @ a
        a @ a
    assert_same_bits(found, ozfp4.matmul(a, a, accuracy="correct"))
    assert (outer.summary.caught, inner.summary.caught) == (1, 1)
    with outer, ozfp4.emulate(mode=modes[1], dtypes=["float32"]) as blind:
        found = a @ a
        torch.nn.functional.conv1d(a[None], a[:, :, None])
    assert_same_bits(found, torch.mm(a, a))
    assert (outer.summary.caught, blind.summary.caught, blind.summary.left) == (1, 0, 1)


def test_calls_by_name_are_as_outside(told: Any) -> None:
    a = entries(5, 5)
    with ozfp4.emulate(accuracy="correct") as scope:
        x = a.clone().requires_grad_()
        found = ozfp4.gemm(1, x, x, 1, x)
        found.sum().backward()
        ozfp4.linalg.cholesky(a @ a.mT + 1e9 * torch.eye(5, dtype=REAL))
    assert_same_bits(found.detach(), ozfp4.gemm(1, a, a, 1, a))
    assert scope.summary.caught == 1


# ---- What else looks at torch's functions


def test_modes_of_functions_and_devices_see_the_function(told: Any) -> None:
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    a = entries(5, 5)
    with ozfp4.emulate() as scope, Mode(), torch.device("cpu"):
        found = [a @ a, torch.matmul(a, a)]
    for each in found:
        assert_same_bits(each, ozfp4.matmul(a, a))
    assert scope.summary.caught == 2
    assert {torch.Tensor.matmul: 1, torch.matmul: 2}.keys() <= set(seen)


def test_tables_of_functions_have_what_stands_there() -> None:
    table = {MATMUL: 1, torch.Tensor.mm: 2, LINEAR: 3}

    class Table(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return table[func]

    a = entries(2, 2).as_subclass(Table)
    original = torch.matmul
    with ozfp4.emulate():
        assert (table[torch.matmul], table[torch.Tensor.mm], table[torch.nn.functional.linear]) == (1, 2, 3)
        assert (torch.matmul(a, a), a.mm(a), torch.nn.functional.linear(a, a)) == (1, 2, 3)
        assert torch.matmul == original
        assert repr(torch.matmul) == repr(original)
        for function in (torch.matmul, torch.Tensor.mm, torch.nn.functional.linear, torch.einsum):
            assert pickle.loads(pickle.dumps(function)) == function
            assert copy.deepcopy(function) == function


def test_no_product_is_taken_where_torch_compiles(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a = entries(4, 4)
    monkeypatch.setattr(names, "is_compiling", lambda: True)
    with ozfp4.emulate() as scope:
        assert_same_bits(a @ a, torch.mm(a, a))
    assert scope.summary.rows == ()


def test_products_within_ozfp4_are_in_no_scope(told: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    a = entries(4, 4)
    monkeypatch.setattr(operators, "matmul", lambda x, y: torch.matmul(x, y))
    with ozfp4.emulate() as scope:
        a @ a
    assert (scope.summary.caught, scope.summary.left) == (1, 0)


@pytest.mark.filterwarnings("ignore")  # torch's own, of its compilers
def test_compiled_scripted_and_traced_functions_are_torchs(told: Any) -> None:
    @no_type_check  # torch.jit reads types
    def program(x):
        return torch.matmul(x, x).cos() + x @ x + x.mm(x) + torch.nn.functional.linear(x, x)

    torch._dynamo.reset()
    a = entries(6, 6) / 1e3
    expected = program(a)
    before = torch.compile(program, backend="aot_eager", fullgraph=True)
    before(a)
    found = []
    with ozfp4.emulate() as scope:
        torch.compiler.reset()
        meanwhile = torch.compile(program, backend="aot_eager", fullgraph=True)
        found += [before(a), meanwhile(a), torch.jit.script(program)(a)]
        thread = threading.Thread(target=lambda: found.append(meanwhile(a + 0)))
        thread.start()
        thread.join()
        assert "matmul" in torch.fx.symbolic_trace(program).code
        assert scope.summary.caught == 0
        traced = torch.jit.trace(program, a, check_trace=False)
        exported = torch.export.export(torch.nn.Linear(6, 6, dtype=REAL), (a,))
    assert "aten.linear" in exported.graph_module.code
    found += [before(a), meanwhile(a), torch.jit.script(program)(a), traced(a)]
    for each in found:
        torch.testing.assert_close(each, expected)
    assert scope.summary.caught == 0
    torch.testing.assert_close(traced(2 * a), program(2 * a))


def test_autocast_is_torchs(told: Any) -> None:
    a = entries(6, 6).float()
    with torch.autocast("cpu", dtype=torch.bfloat16), ozfp4.emulate(dtypes=["float32", "float64"]) as scope:
        assert (a @ a).dtype == torch.bfloat16
        assert (a.double() @ a.double()).dtype == REAL
    assert scope.summary.caught == 1


PROGRAM = Path(__file__).parent / "programs" / "compilers_in_a_scope.py"


def test_compilers_that_are_first_imported_in_a_scope() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(PROGRAM)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
