"""A rank that fails amid a product: every other one hears of it, or has what it needs, and the group serves the next product."""

from __future__ import annotations

import time
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from cases import part  # noqa: E402
from meshes import mesh_of, placed  # noqa: E402
from ranks import Here, Ranks, group  # noqa: E402
from test_agreement import alike, check_in_order, error_of, operands  # noqa: E402

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
    """Products whose partial results move, of which some ranks or one cannot make theirs."""
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
    elif here.rank == 1:
        reduce.partial_product = broken
    try:
        return error_of(lambda: ozfp4.distributed.matmul(a, b, **options))
    finally:
        reduce.partial_product = make
        check_in_order(here)


def test_a_rank_that_cannot_multiply_its_piece() -> None:
    texts = group(4).run(product_of_pieces, "a limit")
    assert all(text.startswith("WorkspaceError: workspace_limit = 1 ") for text in texts[:3])
    assert texts[3].startswith("RuntimeError: rank 0 refused: WorkspaceError: workspace_limit = 1 ")


@pytest.mark.parametrize("what", ["residues", "finish", "count_listed"])
def test_a_rank_whose_piece_breaks(failing: Ranks, what: str) -> None:
    own = f"MemoryError: no more for {what}"
    told = alike(failing, f"RuntimeError: rank 1 refused: {own}", own)
    assert failing.run(product_of_pieces, what) == told


class Short:
    """torch without memory for floating-point or complex matrices of this shape."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def empty(self, *args: Any, **names: Any) -> Any:
        if args and tuple(args[0] if not isinstance(args[0], int) else ()) == self.shape:
            raise RuntimeError("too much")
        return torch.empty(*args, **names)


def without_memory(here: Here, where: str) -> str:
    own = agree.LEAST_CONFIRMED, run.torch, reduce.torch
    agree.LEAST_CONFIRMED = 1
    module, shape = (reduce, (4, 5)) if where == "integers" else (run, (4, 5) if where == "whole" else (2, 5))
    dtype = torch.int64 if where == "integers" else torch.complex128 if where == "complex" else torch.float64
    a, b = inner_parts(here, 6, dtype)
    if where == "complex":
        module, shape = reduce, (2, 10)
    result = "replicated" if where in ("whole", "integers") else "rows"
    try:
        if here.rank == 1:
            module.torch = Short(shape)
        return error_of(lambda: ozfp4.distributed.matmul(a, b, layout=INNER, result=result, method="reduce"))
    finally:
        agree.LEAST_CONFIRMED, run.torch, reduce.torch = own
        check_in_order(here)


@pytest.mark.parametrize("where", ["part", "whole", "integers", "complex"])
def test_results_without_memory_are_known_before_anybody_sends(pair: Ranks, where: str) -> None:
    own = "RuntimeError: too much"
    assert pair.run(without_memory, where) == [f"RuntimeError: rank 1 refused: {own}", own]


class ShortOfBytes:
    """torch without memory for the bytes that are asked for the last of `times`."""

    def __init__(self, times: int) -> None:
        self.times = times

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def empty(self, *args: Any, **names: Any) -> Any:
        self.times -= isinstance(args[0], int)
        if self.times == 0:
            raise RuntimeError("too much")
        return torch.empty(*args, **names)


def lines_without_memory(here: Here, where: str) -> str:
    """A line with NaN, whose products are made anew from whole lines; rank 1 has no memory for these, or for the products."""
    own = agree.LEAST_CONFIRMED, reduce.torch, reduce._Reduction._put_products
    agree.LEAST_CONFIRMED = 1
    a, b = inner_parts(here, 6)
    a[1], a[3] = float("nan"), float("nan")  # of a part each

    def refuse(*_: Any) -> None:
        raise RuntimeError("too much")

    try:
        if here.rank == 1 and where == "lines":
            reduce.torch = ShortOfBytes(2)  # first of all the residues'
        elif here.rank == 1:
            reduce._Reduction._put_products = refuse
        return error_of(lambda: ozfp4.distributed.matmul(a, b, layout=INNER, result="rows", method="reduce"))
    finally:
        agree.LEAST_CONFIRMED, reduce.torch, reduce._Reduction._put_products = own
        check_in_order(here)


@pytest.mark.parametrize("where", ["lines", "products"])
def test_whole_lines_without_memory_leave_nobody_waiting(pair: Ranks, where: str) -> None:
    own = "RuntimeError: too much"
    other = f"RuntimeError: rank 1 refused: {own}" if where == "lines" else ""  # which has its part by then
    assert pair.run(lines_without_memory, where) == [other, own]


def local_product(here: Here, what: str) -> str:
    """DTensors whose parts of the result move on; rank 0 alone has rows to multiply, or one rank breaks."""
    from torch.distributed.tensor import Replicate

    from ozfp4.distributed import _dtensor as dtensor

    mesh = mesh_of(here, (here.size,))
    kind: Any = {"dtype": torch.float64, "device": here.device}
    a = torch.ones((1 if what == "a limit" else here.size, 7), **kind)
    x, y = placed(here, a, mesh, ["S0"]), placed(here, torch.ones((7, 3), **kind), mesh, ["R"])
    options: dict[str, Any] = {"workspace_limit": 1} if what == "a limit" else {"overflow": "wrap"}
    own = dtensor.local_product

    def broken(*_: Any, **__: Any) -> None:
        raise MemoryError("no more")

    if what != "a limit" and here.rank == 1:
        dtensor.local_product = broken
    try:
        return error_of(lambda: ozfp4.distributed.matmul(x, y, placements=[Replicate()], **options))
    finally:
        dtensor.local_product = own
        check_in_order(here)


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
    make = reduce.partial_product

    def broken(*_: Any) -> None:
        raise MemoryError("no more")

    if here.rank == 3:
        reduce.partial_product = broken
    try:
        options: Any = {"method": "reduce", "placements": [Replicate(), Replicate()]}
        return error_of(lambda: ozfp4.distributed.matmul(x, y, **options))
    finally:
        reduce.partial_product = make
        check_in_order(here)


def test_a_rank_of_a_mesh_that_fails_is_named_to_those_beyond_its_group() -> None:
    """Rank 2 hears it in the group of the inner dimension, where rank 3 is the second one, and is no cause of its own."""
    own = "MemoryError: no more"
    told = f"RuntimeError: rank 3 refused: {own}"
    assert group(4).run(pieces_on_a_mesh) == [told, told, told, own]


def malformed(here: Here, whole: Any) -> str:
    a, b = operands(here)
    given = whole if here.rank == 1 else ((4, 5), (5, 3))
    try:
        return error_of(lambda: ozfp4.distributed.matmul(a, b, whole=given))
    finally:
        check_in_order(here)


@pytest.mark.parametrize("whole", [(4, 5), ((4, 5), None), ((4, 5), ("x", 3))])
def test_a_whole_that_is_none(pair: Ranks, whole: Any) -> None:
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
    swap = agree.Group.swap
    agree.Group.swap = None  # type: ignore[method-assign, assignment]
    try:
        if here.rank == 0:
            found.append(error_of(lambda: ozfp4.distributed.matmul(a, b, out=out, **options)))
            assert bool((out == 6).all())
            wrong = torch.full((3, 3), 7.0, **kind)
            found.append(error_of(lambda: ozfp4.distributed.matmul(a, b, out=wrong, **options)))
            assert bool((wrong == 7).all())
        with torch.set_grad_enabled(here.rank == 0):
            found.append(error_of(lambda: ozfp4.distributed.matmul(a, b, **options)))
    finally:
        agree.Group.swap = swap  # type: ignore[method-assign]
        check_in_order(here)
    return found


def test_what_ranks_may_pass_alone_is_no_other_call(pair: Ranks) -> None:
    first, second = pair.run(first_with_out)
    assert first[:2] == ["", ""]
    assert first[2].startswith("ValueError: out: ")
    assert (first[3:], second) == ([""], ["", ""])


def different_calls(here: Here) -> str:
    """Rank 1 begins a call while rank 0 is within one."""
    from ozfp4._torch_ops.agree import take_group

    over = take_group(None)
    try:
        if here.rank == 0:
            return error_of(lambda: agree.confirm(over, None))
        a, b = operands(here)
        return error_of(lambda: ozfp4.distributed.matmul(a, b))
    finally:
        check_in_order(here)


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

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return counted if name == "empty" else getattr(torch, name)

    axis = -1 if layout == "columns" else -2
    n = 12 * here.size
    sizes = chunk_sizes(n, here.size)
    a, whole = torch.ones((here.size, n), dtype=torch.float64), torch.ones((n, n), dtype=torch.float64)
    of_a = Placed((here.size, n), -2, chunk_sizes(here.size, here.size))
    of_b, result = Placed((n, n), axis, sizes), Placed((here.size, n), -2, of_a.sizes)
    problem = Problem(here.size, of_a, of_b, result, 8, 8, 8, "cpu", 1)
    gathered.pieces = lambda problem, computed: [(begin, 2) for begin in range(0, 12 if axis == -1 else n, 2)]
    collectives.torch = Counting()
    out = torch.full((1, n), 7.0, dtype=torch.float64)
    try:
        products = Products({}, False)
        gathered.multiply(
            take_group(None),
            problem,
            a[here.rank : here.rank + 1],
            of_b.part(whole, here.rank),
            products,
            out,
            None,
        )
    finally:
        gathered.pieces, collectives.torch = real, torch
    assert bool((out == n).all())
    return most[0]


@pytest.mark.parametrize("layout", ["columns", "rows"])
def test_two_gathered_pieces_are_there_at_once(layout: str) -> None:
    assert group(3).run(alive, layout) == [2, 2, 2]
