"""A rank fails amid a product: the others raise too, or finish without it, and the group can make the next product."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from cases import Torch, error_of, part  # noqa: E402
from meshes import mesh_of, placed  # noqa: E402
from ranks import Here, Ranks, group  # noqa: E402
from test_agreement import alike, operands, said  # noqa: E402

import ozfp4.distributed  # noqa: E402
from ozfp4._torch_ops import agree  # noqa: E402
from ozfp4.distributed import _gathered as gathered  # noqa: E402
from ozfp4.distributed import _reduce as reduce  # noqa: E402
from ozfp4.distributed import _run as run  # noqa: E402

INNER = ("columns", "rows")


def inner_parts(here: Here, k: int, dtype: torch.dtype = torch.float64) -> tuple[Any, Any]:
    a, b = (torch.ones(shape, dtype=dtype, device=here.device) for shape in ((4, k), (k, 5)))
    return part(a, "columns", here.rank, here.size), part(b, "rows", here.rank, here.size)


def product_of_pieces(here: Here, what: str) -> str:
    """Products with partial results that move; one rank or several cannot make their part."""
    k = 9 if what == "a limit" else 12
    a, b = inner_parts(here, k)
    options: dict[str, Any] = {"layout": INNER, "method": "reduce"}
    make = reduce.partial_product

    def broken(*args: Any) -> Any:
        piece = make(*args)

        def refuse(*_: Any) -> None:
            raise MemoryError(f"no more for {what}")

        setattr(piece, what, refuse)
        return piece

    if what == "a limit":
        options["workspace_limit"] = 1  # on rank 3 there is nothing to multiply
    changes = [(reduce, "partial_product", broken)] if what != "a limit" and here.rank == 1 else []
    return said(here, lambda: ozfp4.distributed.matmul(a, b, **options), *changes)


def test_a_rank_that_cannot_multiply_its_piece() -> None:
    texts = group(4).run(product_of_pieces, "a limit")
    assert all(text.startswith("WorkspaceError: workspace_limit = 1 ") for text in texts[:3])
    assert texts[3].startswith("RuntimeError: rank 0 refused: WorkspaceError: workspace_limit = 1 ")


@pytest.mark.parametrize("what", ["residues", "finish", "count_listed"])
def test_a_rank_whose_piece_breaks(failing: Ranks, what: str) -> None:
    own = f"MemoryError: no more for {what}"
    told = alike(failing, f"RuntimeError: rank 1 refused: {own}", own)
    assert failing.run(product_of_pieces, what) == told


def short(is_too_much: Callable[[Any], bool]) -> Torch:
    """torch without memory for some shapes, or some numbers of bytes."""

    def empty(*args: Any, **names: Any) -> Any:
        if is_too_much(args[0]):
            raise RuntimeError("too much")
        return torch.empty(*args, **names)

    return Torch(empty=empty)


def reduced_by_rows(here: Here, a: Any, b: Any, result: str, *changes: Any) -> str:
    """Errors of a product that is confirmed before anybody sends, with changes on rank 1 alone."""

    def product() -> Any:
        return ozfp4.distributed.matmul(a, b, layout=INNER, result=result, method="reduce")

    return said(here, product, (agree, "LEAST_CONFIRMED", 1), *(changes if here.rank == 1 else ()))


def without_memory(here: Here, where: str) -> str:
    module, shape = (reduce, (4, 5)) if where == "integers" else (run, (4, 5) if where == "whole" else (2, 5))
    dtype = torch.int64 if where == "integers" else torch.complex128 if where == "complex" else torch.float64
    a, b = inner_parts(here, 6, dtype)
    if where == "complex":
        module, shape = reduce, (2, 10)
    result = "replicated" if where in ("whole", "integers") else "rows"
    full = short(lambda asked: not isinstance(asked, int) and tuple(asked) == shape)
    return reduced_by_rows(here, a, b, result, (module, "torch", full))


@pytest.mark.parametrize("where", ["part", "whole", "integers", "complex"])
def test_results_without_memory_are_known_before_anybody_sends(pair: Ranks, where: str) -> None:
    own = "RuntimeError: too much"
    assert pair.run(without_memory, where) == [f"RuntimeError: rank 1 refused: {own}", own]


def lines_without_memory(here: Here, where: str) -> str:
    """A line with NaN: its products are made anew from whole lines. Rank 1 has no memory for these, or for the products."""
    a, b = inner_parts(here, 6)
    a[1], a[3] = float("nan"), float("nan")  # of a part each

    def refuse(*_: Any) -> None:
        raise RuntimeError("too much")

    sizes: list[int] = []
    full = short(lambda asked: isinstance(asked, int) and sizes.append(asked) is None and len(sizes) == 2)
    change = {
        "lines": (reduce, "torch", full),  # first of all the residues'
        "products": (reduce._Reduction, "_put_products", refuse),
    }[where]
    return reduced_by_rows(here, a, b, "rows", change)


@pytest.mark.parametrize("where", ["lines", "products"])
def test_whole_lines_without_memory_leave_nobody_waiting(pair: Ranks, where: str) -> None:
    own = "RuntimeError: too much"
    other = f"RuntimeError: rank 1 refused: {own}" if where == "lines" else ""  # which has its part by then
    assert pair.run(lines_without_memory, where) == [other, own]


def no_more(*_: Any, **__: Any) -> None:
    raise MemoryError("no more")


def local_product(here: Here, what: str) -> str:
    """DTensors with parts of the result that move on; rank 0 alone has rows to multiply, or one rank breaks."""
    from torch.distributed.tensor import Replicate

    from ozfp4.distributed import _dtensor as dtensor

    mesh = mesh_of(here, (here.size,))
    kind: Any = {"dtype": torch.float64, "device": here.device}
    a = torch.ones((1 if what == "a limit" else here.size, 7), **kind)
    x, y = placed(here, a, mesh, ["S0"]), placed(here, torch.ones((7, 3), **kind), mesh, ["R"])
    options: dict[str, Any] = {"workspace_limit": 1} if what == "a limit" else {"overflow": "wrap"}
    changes = [(dtensor, "local_product", no_more)] if what != "a limit" and here.rank == 1 else []
    return said(here, lambda: ozfp4.distributed.matmul(x, y, placements=[Replicate()], **options), *changes)


def test_a_limit_of_a_local_product_of_dtensors() -> None:
    own, told = group(2).run(local_product, "a limit")
    assert own.startswith("WorkspaceError: workspace_limit = 1 bytes")
    assert told == f"RuntimeError: rank 0 refused: {own}"


def test_a_local_product_of_dtensors_that_fails(pair: Ranks) -> None:
    own = "MemoryError: no more"
    assert pair.run(local_product, "a break") == [f"RuntimeError: rank 1 refused: {own}", own]


def pieces_on_a_mesh(here: Here) -> str:
    """K is cut along the second dimension of a mesh, the rows along the first; rank 3 breaks in its piece."""
    from torch.distributed.tensor import Replicate

    mesh = mesh_of(here, (2, 2))
    kind: Any = {"dtype": torch.float64, "device": here.device}
    x = placed(here, torch.ones((4, 12), **kind), mesh, ["S0", "S1"])
    y = placed(here, torch.ones((12, 5), **kind), mesh, ["R", "S0"])
    options: Any = {"method": "reduce", "placements": [Replicate(), Replicate()]}
    changes = [(reduce, "partial_product", no_more)] if here.rank == 3 else []
    return said(here, lambda: ozfp4.distributed.matmul(x, y, **options), *changes)


def test_a_rank_of_a_mesh_that_fails_is_named_to_those_beyond_its_group() -> None:
    """Rank 2 receives the error in the group of the inner dimension, where rank 3 is the second, and is not named as a cause."""
    own = "MemoryError: no more"
    told = f"RuntimeError: rank 3 refused: {own}"
    assert group(4).run(pieces_on_a_mesh) == [told, told, told, own]


def malformed(here: Here, whole: Any) -> str:
    a, b = operands(here)
    given = whole if here.rank == 1 else ((4, 5), (5, 3))
    return said(here, lambda: ozfp4.distributed.matmul(a, b, whole=given))


@pytest.mark.parametrize("whole", [(4, 5), ((4, 5), None), ((4, 5), ("x", 3))])
def test_bad_whole_shapes_are_refused(pair: Ranks, whole: Any) -> None:
    found = pair.run(malformed, whole)
    assert found[0].startswith("RuntimeError: rank 1 refused: ")
    assert found[1].startswith(("TypeError: ", "ValueError: "))


def first_with_out(here: Here) -> list[str]:
    """After one exchange some ranks pass `out`, and one has the grad mode off: neither is another call."""
    kind: Any = {"dtype": torch.float64, "device": here.device}
    a, b = torch.ones(2, 6, **kind), torch.ones(6, 3, **kind)
    options: dict[str, Any] = {"whole": ((2 * here.size, 6), (6, 3)), "check": "first"}
    found = [error_of(lambda: ozfp4.distributed.matmul(a, b, **options))]
    out = torch.full((2, 3), 7.0, **kind)
    no_swap = (agree.Group, "swap", None)
    wrong = torch.full((3, 3), 7.0, **kind)

    def calls() -> None:
        if here.rank == 0:
            found.append(error_of(lambda: ozfp4.distributed.matmul(a, b, out=out, **options)))
            assert bool((out == 6).all())
            found.append(error_of(lambda: ozfp4.distributed.matmul(a, b, out=wrong, **options)))
            assert bool((wrong == 7).all())
        with torch.set_grad_enabled(here.rank == 0):
            found.append(error_of(lambda: ozfp4.distributed.matmul(a, b, **options)))

    assert said(here, calls, no_swap) == ""
    return found


def test_out_and_grad_mode_may_differ_between_ranks(pair: Ranks) -> None:
    first, second = pair.run(first_with_out)
    assert first[:2] == ["", ""]
    assert first[2].startswith("ValueError: out: ")
    assert (first[3:], second) == ([""], ["", ""])


def different_calls(here: Here) -> str:
    """Rank 1 begins a call while rank 0 is within one."""
    from ozfp4._torch_ops.agree import take_group

    over, (a, b) = take_group(None), operands(here)
    if here.rank == 0:
        return said(here, lambda: agree.confirm(over, None))
    return said(here, lambda: ozfp4.distributed.matmul(a, b))


def test_ranks_in_different_calls_say_so(pair: Ranks) -> None:
    text = "RuntimeError: the ranks are in different calls: within an earlier call on rank 0; a product of parts on rank 1"
    assert pair.run(different_calls) == [text, text]


def alive(here: Here, layout: str) -> int:
    """The most gathered pieces that are there at once."""
    import weakref

    from ozfp4._torch_ops.agree import take_group
    from ozfp4.distributed import _collectives as collectives
    from ozfp4.distributed._gathered import Products
    from ozfp4.distributed._layout import Placed, Problem, chunk_sizes

    made: list[Any] = []
    most = [0]
    empty, real = torch.empty, gathered.pieces

    def counted(shape: Any, *args: Any, **names: Any) -> Any:
        x = empty(shape, *args, **names)
        if isinstance(shape, tuple) and len(shape) == 3 and shape[0] == here.size:
            made.append(weakref.ref(x.untyped_storage()))
            ends = time.monotonic() + 5.0  # torch's own thread lets go of what has come a little later
            while (there := sum(each() is not None for each in made)) > 2 and time.monotonic() < ends:
                time.sleep(0.01)
            most[0] = max(most[0], there)
        return x

    axis = -1 if layout == "columns" else -2
    n = 12 * here.size
    sizes = chunk_sizes(n, here.size)
    a, whole = torch.ones((here.size, n), dtype=torch.float64), torch.ones((n, n), dtype=torch.float64)
    of_a = Placed((here.size, n), -2, chunk_sizes(here.size, here.size))
    of_b, result = Placed((n, n), axis, sizes), Placed((here.size, n), -2, of_a.sizes)
    problem = Problem(here.size, of_a, of_b, result, 8, 8, 8, "cpu", 1)
    gathered.pieces = lambda problem, computed: [(begin, 2) for begin in range(0, 12 if axis == -1 else n, 2)]
    collectives.torch = Torch(empty=counted)
    out = torch.full((1, n), 7.0, dtype=torch.float64)
    try:
        products = Products({}, False)
        gathered.multiply(
            take_group(None), problem, a[here.rank : here.rank + 1], of_b.part(whole, here.rank), products, out, None,
        )  # fmt: skip
    finally:
        gathered.pieces, collectives.torch = real, torch
    assert bool((out == n).all())
    return most[0]


@pytest.mark.parametrize("layout", ["columns", "rows"])
def test_two_gathered_pieces_are_there_at_once(layout: str) -> None:
    assert group(3).run(alive, layout) == [2, 2, 2]
