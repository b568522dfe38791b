"""The model of a product over several ranks: local products, moving data, and how much of that is hidden.

Seconds of products are operations over the rate of one rank, and encoding of its operands; ranks with the same rows or columns
repeat that. Seconds of moving are bytes that a rank receives over the rate of its links. Where pieces travel while others are
multiplied, the times follow from the order in which ``ozfp4.distributed`` launches both: the same data are hidden
here. Rates are measured on these ranks (``measure``); bytes are those of ``distributed/cost``. Every call begins with one small
collective, in which the ranks agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from ozfp4.distributed import _cost as cost
from ozfp4.distributed._layout import Placed, Problem

# Bytes of the residues that ranks exchange at a time, as in ``distributed/reduce``.
RESIDUE_BLOCK = {"cpu": 2**28, "cuda": 2**31}


@dataclass(frozen=True)
class Machine:
    """One rank and its links; all but `start` and `encode` positive."""

    rate: float  # operations a second of its products, two for each of m n k, of operands that are scaled and encoded
    gather: float  # bytes a second that it receives while all gather
    exchange: float  # and while all send a part to each
    memory: float  # bytes a second that are read and written where residues are added up
    start: float = 0.0  # seconds of a collective that moves next to nothing
    encode: float = 0.0  # seconds to scale and encode an entry of an operand

    def local(self, m: float, n: float, k: float) -> float:
        """Seconds of one rank's m x k by k x n."""
        return 2.0 * m * n * k / self.rate + self.encode * k * (m + n)


@dataclass(frozen=True)
class Times:
    """Modelled seconds: of products and of what moves by themselves, and of both as they overlap."""

    products: float
    moving: float
    total: float

    @property
    def hidden(self) -> float:
        """The share of what moves that lies under products; 0 where nothing moves."""
        if self.moving == 0:
            return 0.0
        return min(1.0, max(0.0, (self.products + self.moving - self.total) / self.moving))

    @property
    def bound(self) -> str:
        """The longer part: "products" or "links"."""
        return "links" if self.moving > self.products else "products"


def predict(problem: Problem, method: str, machine: Machine) -> Times:
    """The modelled times of a float64 product over a group; method "reduce" needs both operands cut along K."""
    return _reduction(problem, machine) if method == "reduce" else _redistribution(problem, machine)


def pipeline(own: float, pieces: Sequence[tuple[float, float]]) -> float:
    """Seconds until all pieces are multiplied, each of which (seconds to come, seconds of its product) travels while others are.

    `own`: of the product that needs none of them. The first piece travels from the beginning; each later one once the one before
    it is there and the products before that are through, as its memory is theirs.
    """
    here = 0.0  # when the last piece has come
    done, before = own, 0.0  # when the last product is through, and the one before it
    for index, (coming, product) in enumerate(pieces):
        here = (max(here, before) if index else 0.0) + coming
        before, done = done, max(done, here) + product
    return done


def _redistribution(problem: Problem, machine: Machine) -> Times:
    way = cost.choose(problem, "redistribute", False, False)
    computed = way.computed
    *stack, m, n = computed.local(0)
    products = prod(stack) * machine.local(m, n, problem.k)
    targets = cost.needed(problem, computed)
    operands = (problem.a, targets[0], problem.item_a), (problem.b, targets[1], problem.item_b)
    moving = [_seconds(source, target, item, problem.ranks, machine) for source, target, item in operands]
    if computed.axis in (-2, -1):
        left = computed.axis == -2
        kept, travelling = (moving[0], 1) if left else (moving[1], 0)
        own, shares = _pieces(problem, computed, operands[travelling][0], -1 if left else -2)
        whole = moving[travelling]
        pieces = [(machine.start + (whole - machine.start) * part, products * work) for part, work in shares]
        total = kept + (pipeline(products * own, pieces) if whole else products)
    else:
        total = sum(moving) + products
    last = _seconds(computed, problem.result, problem.item, problem.ranks, machine)
    return Times(products, sum(moving) + last, machine.start + total + last)


def _seconds(source: Placed, target: Placed, item: int, ranks: int, machine: Machine) -> float:
    """The seconds of moving a matrix from the layout `source` to `target`."""
    received = cost.moved(source, target, ranks) * item
    if not received:
        return 0.0
    return machine.start + received / (machine.gather if target.axis is None else machine.exchange)


def _pieces(
    problem: Problem, computed: Placed, moving: Placed, free: int
) -> tuple[float, list[tuple[float, float]]]:
    """The share of the products that needs no other ranks. Then for each piece of the operand that moves its share of the moving
    data and of the products, in the order of ``distributed/gathered`` and ``cost.pieces``."""
    extent = moving.shape[free]
    if moving.axis is None or not extent:
        return 1.0, []
    steps = cost.pieces(problem, computed) if moving.axis in (-1, -2) else [(0, extent)]
    if moving.axis != free or steps == [(0, extent)]:
        return 0.0, [(width / extent, width / extent) for _, width in steps]
    most = max(moving.sizes)
    own = most / extent
    return own, [(width / most, width / most * (1 - own)) for _, width in steps]


def _reduction(problem: Problem, machine: Machine) -> Times:
    """Blocks of the result: their residues travel while the next block is multiplied, or before it where that is short; then they
    are added up and rounded."""
    way = cost.reduction(problem, False)
    ranks, entries = problem.ranks, prod(way.computed.local(0))
    residues = cost.RESIDUES[problem.device]
    products = machine.local(problem.m, problem.n, max(problem.a.sizes))
    lines = cost.LINE * (problem.m + problem.n) * ranks / machine.gather + 3 * machine.start
    blocks = max(1, -(-residues * problem.m * problem.n // RESIDUE_BLOCK[problem.device]))
    travel = machine.start + residues * entries * (ranks - 1) / blocks / machine.exchange
    added = (residues * ranks + problem.item) * entries / blocks / machine.memory
    now = here = 0.0
    for block in range(blocks if cost.hides_residues(problem, way.computed) else 0):
        now += products / blocks
        before, here = here, max(now, here) + travel
        if block:
            now = max(now, before) + added
    now = max(now, here) + added if here else products + blocks * (travel + added)
    last = _seconds(way.computed, problem.result, problem.item, ranks, machine)
    return Times(products, lines + blocks * travel + last, lines + now + last)
