"""Products of operands that are cut along K, from partial products: of A and B moves only what the lines say of themselves.

Each rank has all rows of A and all columns of B, of each a piece. What the pieces of a line say makes the scale of the line, as
on one device; with it each rank encodes and multiplies its own piece, and the residues of an entry, one for each modulus, are
those of the whole product once they are summed. Every rank receives those of its part of the result, sums them, and
reconstructs: the one rounding. What no certificate covers there, and lines with NaN or infinity, are multiplied again from
whole lines, which are gathered. So all bits are those of one device.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

from .._dispatch import pieces
from .._options import Options
from .._request import library
from .._request.library import require_torch
from . import _agree as agree
from . import _cost as cost
from ._collectives import Group, Pending, exchange, gather, move
from ._layout import Extents, Placed, Problem, chunk_sizes
from ._local import Products

MOST_RANKS = (
    64  # so many residues of a modulus reconstruct sums on a GPU (kMaxSplits in csrc/plan/schedule.hpp)
)
# Bytes of the residues of a block: while one travels, the next one may be multiplied, and the memory is that of two on their way
# out and two on their way in.
MOST_BYTES = {"cpu": 2**28, "cuda": 2**31}
ALIGNED = 256  # columns or rows of a block are a multiple of this: whole tiles
MANY = 16  # where more than one entry of so many is left, all of a rank's part are multiplied again
REPAIR_BYTES = 2**31  # of the whole lines of an operand that a rank gathers at a time


def why_not(problem: Problem, dtype_a: Any, dtype_b: Any, options: dict[str, Any], bounds: bool) -> str:
    """ "" where the product can be made from partial products, else why it cannot. The same on all ranks."""
    if not problem.cuts_inner:
        return "a has to be cut along its columns and b along its rows"
    if len(problem.a.shape) != 2 or len(problem.b.shape) != 2:
        return "stacks of matrices are redistributed"
    if problem.result.axis not in (-2, -1, None):
        return "the result is cut along its rows or its columns, or replicated"
    kinds = [library.is_integer(dtype) for dtype in (dtype_a, dtype_b)]
    if all(kinds):
        if options.get("overflow", "wrap") != "wrap":
            return "whether an entry fits its dtype is asked of whole lines"
        return (
            ""
            if require_torch().promote_types(dtype_a, dtype_b) in _SUMMED
            else "its integers are not summed by torch"
        )
    if any(not (dtype.is_floating_point or dtype.is_complex) for dtype in (dtype_a, dtype_b)):
        return f"it is for floating-point operands, or for integers alone; these are {dtype_a} and {dtype_b}"
    if bounds:
        return "bounds of errors are made from whole lines"
    if problem.ranks > MOST_RANKS:
        return f"it is for groups of at most {MOST_RANKS} ranks, this one has {problem.ranks}"
    plan = options.get("plan")
    if options.get("scheme", "II") != "II" or (plan is not None and (not plan.moduli or plan.is_complex)):
        return "residues are those of scheme II"
    return ""


def is_captured(problem: Problem) -> bool:
    """Whether a CUDA graph is being captured, in which nobody can ask how many entries are left."""
    return problem.device == "cuda" and bool(require_torch().cuda.is_current_stream_capturing())


def multiply(group: Group, problem: Problem, a: Any, b: Any, products: Products, out: Any) -> None:
    """This rank's part of the result into `out`. Range: what :func:`why_not` has nothing against.

    Raises
    ------
    Exception
        As ``ozfp4.matmul`` does, on the rank whose product it is.
    RuntimeError
        On the others then; or the ranks would multiply by different plans, or a rank has ended.
    """
    if 0 in (problem.m, problem.n):
        return
    if out.dtype.is_complex:
        _multiply_parts(group, problem, a, b, products, out)
        return
    computed = problem.result
    if computed.axis is None:
        computed = computed.cut(-2, chunk_sizes(problem.m, group.size))
    mine = out
    if computed is not problem.result:
        size = prod(computed.local(0)) * problem.item
        mine = agree.together(group, size, lambda: out.new_empty(computed.local(group.rank)))
    if library.is_integer(out.dtype):
        _add_integers(group, computed, a, b, products, mine)
    elif problem.k == 0:
        products(a.new_empty((mine.shape[0], 0)), b.new_empty((0, mine.shape[1])), mine, None)
    else:
        a, b = (x.detach().resolve_neg() for x in (a, b))
        _add_residues(group, problem, computed, a, b, products, mine)
    if computed is not problem.result:
        agree.confirm(group, products.failure)
        out.copy_(move(group, mine, computed, problem.result))
    elif products.failure is not None:
        raise products.failure


def _multiply_parts(group: Group, problem: Problem, a: Any, b: Any, products: Products, out: Any) -> None:
    """A complex product as the real one that has its bits (docs/accuracy.md): of two complex operands (re, im) side by side along
    K, else the real and the imaginary part of one of them side by side."""
    torch = require_torch()
    inner = 1 + (a.is_complex() and b.is_complex())
    by_columns = b.is_complex()
    twice = {-2: 1 + (not by_columns), -1: 1 + by_columns}  # how far each axis of the result grows

    def grown(of: Placed, rows: int, columns: int) -> Placed:
        by = {-2: rows, -1: columns, None: 1}[of.axis]
        shape = of.shape[0] * rows, of.shape[1] * columns
        return Placed(shape, of.axis, tuple(by * size for size in of.sizes))

    laid_a, laid_b = grown(problem.a, twice[-2], inner), grown(problem.b, inner, twice[-1])
    result = grown(problem.result, twice[-2], twice[-1])

    def take() -> tuple[Any, Any, Any]:
        shape = result.local(group.rank)
        return *_as_real(a, b), torch.empty(shape, dtype=out.dtype.to_real(), device=out.device)

    items = (problem.item_a, laid_a), (problem.item_b, laid_b), (problem.item, result)
    a, b, found = agree.together(group, sum(item * prod(x.local(0)) for item, x in items), take)
    real = replace(
        problem, a=laid_a, b=laid_b, result=result,
        item_a=a.element_size(), item_b=b.element_size(), item=problem.item // 2,
    )  # fmt: skip
    multiply(group, real, a, b, products, found)
    rows, columns = out.shape
    if twice[-1] == 2:
        out.copy_(torch.view_as_complex(found.view(rows, columns, 2)))
    else:
        parts = found.view(rows, 2, columns)
        out.copy_(torch.complex(parts[:, 0], parts[:, 1]))


def _as_real(a: Any, b: Any) -> tuple[Any, Any]:
    """The operands of the real product."""
    torch = require_torch()
    a, b = (x.detach().resolve_conj().resolve_neg() for x in (a, b))
    if not b.is_complex():
        return torch.stack([a.real, a.imag], 1).flatten(0, 1), b
    if not a.is_complex():
        return a, torch.view_as_real(b).flatten(1)
    x, y = b.real, b.imag
    pairs = torch.stack([torch.stack([x, y], -1), torch.stack([-y, x], -1)], 1).flatten(2).flatten(0, 1)
    return torch.view_as_real(a).flatten(1), pairs


def _add_integers(group: Group, computed: Placed, a: Any, b: Any, products: Products, out: Any) -> None:
    """Modulo 2^w of the result's dtype the sum of the ranks' products is that of all of K; of bool, whether any is true."""
    torch = require_torch()

    def take() -> Any:
        """The partial product; what is sent of it and received has room then, too."""
        partial = torch.empty(computed.shape, dtype=out.dtype, device=out.device)
        torch.empty((2, *computed.shape), dtype=out.dtype, device=out.device)
        return partial

    partial = agree.together(group, 3 * prod(computed.shape) * out.element_size(), take)
    products(a, b, partial, None)
    agree.confirm(group, products.failure)
    parts = [computed.part(partial, rank) for rank in range(group.size)]
    found = exchange(group, parts, [tuple(out.shape)] * group.size)
    summed = _SUMMED[out.dtype]
    total = found[0].view(summed)
    for part in found[1:]:
        if out.dtype == torch.bool:
            total |= part.view(summed)
        else:
            total += part.view(summed)
    out.copy_(total.view(out.dtype))


def _summed() -> dict[Any, Any]:
    """Dtypes of integers, and those of the same bits that torch adds everywhere."""
    torch = require_torch()
    names = {"bool": "uint8", "uint8": "uint8", "int8": "int8"}
    names |= {f"{sign}int{bits}": f"int{bits}" for sign in ("", "u") for bits in (16, 32, 64)}
    return {
        getattr(torch, name): getattr(torch, same) for name, same in names.items() if hasattr(torch, name)
    }


_SUMMED = _summed()


def _add_residues(
    group: Group, problem: Problem, computed: Placed, a: Any, b: Any, products: Products, out: Any
) -> None:
    asked = Options.of(products.options)
    axis = computed.axis
    assert axis is not None
    free = -3 - axis  # the other one
    piece, step = _prepare(group, problem, computed, asked, a, b, out.dtype)
    own = (computed.begin(group.rank), computed.sizes[group.rank])
    ranges = [(computed.begin(rank), computed.sizes[rank]) for rank in range(group.size)]

    def ordered(along: Any, block: Any) -> Any:
        return (along, block) if axis == -2 else (block, along)

    def finish(begin: int, width: int, coming: Pending) -> None:
        received = coming.wait()
        rows, columns = ordered(own, (begin, width))
        if rows[1] and columns[1]:
            products.attempt(
                lambda: piece.finish(received, group.size, rows, columns, out.narrow(free, begin, width))
            )

    extent, before = computed.shape[free], None
    is_hidden = cost.hides_residues(problem, computed)
    for begin in range(0, extent, step):
        width = min(step, extent - begin)
        parts = [ordered(along, (begin, width)) for along in ranges]
        sizes = [piece.bytes_of(rows[1], columns[1]) for rows, columns in parts]
        coming = _exchange(group, piece, parts, sizes, a, products)
        if not is_hidden:
            finish(begin, width, coming)
            continue
        if before is not None:
            finish(*before)
        before = begin, width, coming
    if before is not None:
        finish(*before)
    _mend(group, problem, computed, piece, a, b, products, out)


def _prepare(
    group: Group, problem: Problem, computed: Placed, asked: Options, a: Any, b: Any, dtype: Any
) -> tuple[Any, int]:
    """The piece of this rank with the scales of whole lines, and the lines of a block. What fails on a rank raises on all."""
    torch = require_torch()
    piece, failure, words = None, None, None
    try:
        piece = pieces.make(a, b, problem.k, asked, dtype)
        words = piece.facts()
    except Exception as error:
        failure = error
    agree.confirm(group, failure)
    assert piece is not None
    assert words is not None
    digest = hashlib.blake2b(repr(piece.plan._key()).encode(), digest_size=8).digest()
    mark = torch.full_like(words[:1], int.from_bytes(digest, "little", signed=True))
    found = gather(group, torch.cat([words, mark])).wait().cpu()
    if not bool((found[:, -1] == found[0, -1]).all()):
        raise RuntimeError(
            "the ranks' devices would multiply by different plans; with backend= or plan= all take the same one"
        )
    step = 1
    try:
        piece.settle(found[:, :-1])
        step = _step(piece, computed, a.device.type)
        _reserve(piece, computed, step, group, a.device)
        if asked.accuracy == "correct":
            words = piece.rounded()
    except Exception as error:
        failure = error
    agree.confirm(group, failure)
    if asked.accuracy == "correct":
        piece.set_rounded(gather(group, words).wait().sum(0))
    return piece, step


def _step(piece: Any, computed: Placed, device: str) -> int:
    """Lines of a block along the axis that no rank cuts: blocks of about the same size, none too large."""
    axis = computed.axis
    assert axis is not None
    along, extent = computed.shape[axis], computed.shape[-3 - axis]
    most = max(1, MOST_BYTES[device] // max(1, piece.bytes_of(along, ALIGNED))) * ALIGNED
    blocks = -(-extent // most)
    return int(min(most, -(-extent // (blocks * ALIGNED)) * ALIGNED))


def _reserve(piece: Any, computed: Placed, step: int, group: Group, device: Any) -> None:
    """Makes sure that there is memory for two blocks on their way out and two on their way in: torch's allocator keeps what is
    asked for and given back here."""
    assert computed.axis is not None
    own = computed.sizes[group.rank]
    lines = [sum(computed.sizes), group.size * own]
    total = sum(
        2 * piece.bytes_of(*((count, step) if computed.axis == -2 else (step, count))) for count in lines
    )
    require_torch().empty(total, dtype=require_torch().uint8, device=device)


def _exchange(
    group: Group, piece: Any, parts: list[Any], sizes: list[int], a: Any, products: Products
) -> Pending:
    """The residues of this rank's part, of all pieces: those of other ranks, which are on their way, in rank order, and behind
    them its own. Each rank sends every other one the residues of that one's part; zeros after a failure."""
    torch = require_torch()
    import torch.distributed as dist

    own = sizes[group.rank]
    others = [0 if rank == group.rank else size for rank, size in enumerate(sizes)]
    sent = a.new_empty(sum(others), dtype=torch.uint8)
    received = a.new_empty(group.size * own + piece.tail(own), dtype=torch.uint8)
    travelling = received[: (group.size - 1) * own]
    targets = list(sent.split(others))
    targets[group.rank] = received[len(travelling) : len(travelling) + own]
    products.attempt(lambda: piece.residues(parts, targets))
    if products.failure is not None:
        for target in targets:
            target.zero_()
    if group.size == 1:
        return Pending(None, lambda: received)
    by_host = group.goes_by_host(sent)
    given, found = (sent.cpu(), travelling.cpu()) if by_host else (sent, travelling)
    coming = [0 if rank == group.rank else own for rank in range(group.size)]
    work = dist.all_to_all_single(found, given, coming, others, group=group.handle, async_op=True)

    def result() -> Any:
        if by_host:
            travelling.copy_(found)
        return received if given is not None else None  # holds what is sent until it has gone

    return Pending(work, result)


def _mend(
    group: Group, problem: Problem, computed: Placed, piece: Any, a: Any, b: Any, products: Products, out: Any
) -> None:
    """Entries that are not certified, then those of lines with NaN or infinity: from whole lines."""
    rows, columns = _part(computed, -2, group.rank), _part(computed, -1, group.rank)
    corner = rows[0], columns[0]

    def put(first: Any, second: Any, values: Any) -> None:
        targets = (x - begin for x, begin in zip((first, second), corner, strict=True))
        i, j = (x.to(out.device) for x in targets)
        out[i[:, None], j[None, :]] = values

    arange = require_torch().arange
    listed = products.attempt(piece.count_listed) or 0
    if listed > out.numel() // MANY:
        _blocks(group, problem, a, b, products, (arange(*_ends(rows)), arange(*_ends(columns))), put)
    else:
        places = products.attempt(piece.listed) if listed else None
        if places is None:
            places = arange(0).view(0, 2)
        _from_lines(group, problem, a, b, products, out, corner, places)
    for axis, lines in zip((0, 1), piece.special_lines, strict=True):
        if not lines.numel():
            continue
        begin, count = (rows, columns)[axis]
        own = lines[(lines >= begin) & (lines < begin + count)]
        whole = arange(*_ends((columns, rows)[axis]))
        _blocks(group, problem, a, b, products, (own, whole) if axis == 0 else (whole, own), put)


def _ends(part: tuple[int, int]) -> tuple[int, int]:
    return part[0], part[0] + part[1]


def _part(computed: Placed, axis: int, rank: int) -> tuple[int, int]:
    """Where a rank's part of the result begins along an axis, and its extent there."""
    if computed.axis == axis:
        return computed.begin(rank), computed.sizes[rank]
    return 0, computed.shape[axis]


def _from_lines(
    group: Group, problem: Problem, a: Any, b: Any, products: Products, out: Any, origin: Any, places: Any
) -> None:
    """The entries at `places` of the whole result, (entries, 2): all products of their rows and columns, these of them kept."""
    torch = require_torch()
    rows, columns = torch.unique(places[:, 0]), torch.unique(places[:, 1])
    at = (
        torch.searchsorted(rows, places[:, 0].contiguous()),
        torch.searchsorted(columns, places[:, 1].contiguous()),
    )

    def put(first: Any, second: Any, values: Any) -> None:
        begins = [int(torch.searchsorted(x, y[0])) for x, y in ((rows, first), (columns, second))]
        is_here = torch.ones(len(places), dtype=torch.bool, device=places.device)
        for found, begin, count in zip(at, begins, values.shape, strict=True):
            is_here &= (found >= begin) & (found < begin + count)
        i, j = ((found[is_here] - begin).to(out.device) for found, begin in zip(at, begins, strict=True))
        chosen = places[is_here]
        targets = [(chosen[:, k] - origin[k]).to(out.device) for k in (0, 1)]
        out[targets[0], targets[1]] = values[i, j]

    _blocks(group, problem, a, b, products, (rows, columns), put)


def _blocks(
    group: Group, problem: Problem, a: Any, b: Any, products: Products, lines: tuple[Any, Any], put: Any
) -> None:
    """Calls put(rows, columns, their products) for blocks of the products of some rows with some columns, each rank's own, sorted
    int64 on the CPU, whose pieces the ranks send each other. Every rank takes part until all have theirs; where one has failed
    before, all raise."""
    wanted = _all_lines(group, lines, a.device, products)
    if not any(len(rows) and len(columns) for rows, columns in wanted):
        return
    sizes = problem.a.sizes
    steps = [
        max(1, REPAIR_BYTES // max(1, item * problem.k)) for item in (a.element_size(), b.element_size())
    ]
    most = [max(len(each[side]) for each in wanted) for side in (0, 1)]
    _reserve_lines(group, problem, a, b, wanted, steps)
    dtype = require_torch().promote_types(a.dtype, b.dtype)
    for first in range(0, most[0], steps[0]):
        indices = [rows[first : first + steps[0]] for rows, _ in wanted]
        own_rows = indices[group.rank]
        whole_a = _whole_lines(group, a, 0, indices, [(len(own_rows), size) for size in sizes])
        for second in range(0, most[1], steps[1]):
            indices = [columns[second : second + steps[1]] for _, columns in wanted]
            own_columns = indices[group.rank]
            whole_b = _whole_lines(group, b, 1, indices, [(size, len(own_columns)) for size in sizes])
            extents = len(own_rows), len(own_columns)
            if 0 not in extents:
                products.attempt(
                    partial(_put_products, products, whole_a, whole_b, dtype, put, own_rows, own_columns)
                )


def _put_products(products: Products, a: Any, b: Any, dtype: Any, put: Any, rows: Any, columns: Any) -> None:
    values = a.new_empty((len(rows), len(columns)), dtype=dtype)
    products(a, b, values, None)
    if products.failure is None:
        put(rows, columns, values)


def _reserve_lines(
    group: Group, problem: Problem, a: Any, b: Any, wanted: list[tuple[Any, Any]], steps: list[int]
) -> None:
    """Makes sure on all ranks or on none that there is memory for the lines of a step on their way out, on their way in and put
    together, and for their products; as :func:`_reserve`."""

    def bytes_of(rank: int) -> int:
        own, travelling = [], 0
        for x, side in ((a, 0), (b, 1)):
            lines = [min(len(each[side]), steps[side]) for each in wanted]
            own.append(lines[rank])
            travelling += x.element_size() * (sum(lines) * problem.a.sizes[rank] + 2 * own[side] * problem.k)
        return int(travelling + prod(own) * max(a.element_size(), b.element_size()))

    def take() -> None:
        require_torch().empty(bytes_of(group.rank), dtype=require_torch().uint8, device=a.device)

    agree.together(group, max(bytes_of(rank) for rank in range(group.size)), take)


def _whole_lines(group: Group, x: Any, axis: int, indices: list[Any], shapes: list[Extents]) -> Any:
    """The lines at this rank's indices, of all of K."""
    parts = [x.index_select(axis, each.to(x.device)) for each in indices]
    return require_torch().cat(exchange(group, parts, shapes), 1 - axis)


def _all_lines(
    group: Group, lines: tuple[Any, Any], device: Any, products: Products
) -> list[tuple[Any, Any]]:
    """The rows and columns of all ranks, on the CPU. Raises on all ranks where one has failed: its residues are in the sums of
    the others."""
    torch = require_torch()
    own = torch.tensor(
        [*(len(x) for x in lines), int(products.failure is not None)], dtype=torch.int64, device="cpu"
    )
    counts = gather(group, own.to(device)).wait().cpu()
    if bool(counts[:, 2].any()):
        agree.confirm(group, products.failure)
    counts = counts[:, :2]
    width = counts.max(0).values
    if not bool(counts.prod(1).any()):
        return [(lines[0][:0], lines[1][:0])] * group.size
    padded = torch.zeros(int(width.sum()), dtype=torch.int64, device="cpu")
    padded[: own[0]] = lines[0]
    padded[width[0] : width[0] + own[1]] = lines[1]
    found = gather(group, padded.to(device)).wait().cpu()
    return [
        (each[: count[0]], each[width[0] : width[0] + count[1]])
        for each, count in zip(found, counts, strict=True)
    ]
