"""The cost of a product over several ranks, by shapes alone, so that every rank chooses the same way. Bytes are those that a rank
receives. The rates are nominal and only rank ways; benchmarks/scaling.py measures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .._streaming.tiles import OPERATIONS
from ._layout import Placed, Problem

METHODS = ("auto", "redistribute", "reduce")

LINK = {"cuda": 2.5e11, "cpu": 2.0e9}  # bytes a second that a rank receives
BETWEEN_HOSTS = {"cuda": 5.0e10, "cpu": 1.0e9}
RATE = {"cuda": OPERATIONS, "cpu": 1.0e11}  # operations a second of a rank's products, 2 m n K
START = {"cuda": 3.0e-5, "cpu": 2.0e-4}  # seconds of a collective, whatever it moves
# Bytes of an entry's partial result: some 16 moduli of a byte, or seven of four bytes.
RESIDUES = {"cuda": 16, "cpu": 28}
WORD = 8  # bytes of a partial sum of integers
LINE = 48  # bytes of the facts of a row or column that ranks exchange

# Operands or residues move by themselves where that takes less than this share of the products' time. Beyond, one piece travels
# while another is multiplied: products of pieces are slower, and slower during a collective.
PIECES_FROM = 0.25
LEAST_COLUMNS = 1024  # of a piece
MOST_PIECES = 8  # the first, for which a rank waits, is a small part
MOST_BYTES = 2**32  # of a piece as it is gathered
MOST_WHOLE = 2**34  # of what comes at once


@dataclass(frozen=True)
class Way:
    """One way to a result."""

    method: str  # "redistribute" or "reduce"
    computed: Placed  # the result as the ranks compute it, before it is moved to where it belongs
    bytes: int  # that a rank receives
    seconds: float  # modelled


@lru_cache(maxsize=4096)
def choose(problem: Problem, method: str, reduces: bool, has_integers: bool) -> Way:
    """The way of the least modelled seconds, the first of equal ones. `reduces`: partial results can be added up.

    Precondition: that is so where `method` is "reduce".
    """
    ways = [] if method == "reduce" else redistributions(problem)
    if reduces and method != "redistribute":
        ways.append(reduction(problem, has_integers))
    return min(ways, key=lambda way: way.seconds)


def redistributions(problem: Problem) -> list[Way]:
    """The ways that move entries of A, B and C: each rank computes some rows, columns or matrices, or all of them."""
    result, ranks = problem.result.whole, problem.ranks
    axes = [-2, -1] + ([-len(result.shape)] if len(result.shape) > 2 else [])
    own = problem.result.axis
    axes.sort(key=lambda axis: axis != own)  # of equal ones that which leaves the result where it is
    places = [result.cut(axis, ranks) for axis in axes]
    places.insert(0 if own is None else len(places), result)
    ways = []
    for computed in places:
        a, b = needed(problem, computed)
        moves = [
            moved(problem.a, a, ranks) * problem.item_a,
            moved(problem.b, b, ranks) * problem.item_b,
            moved(computed, problem.result, ranks) * problem.item,
        ]
        share = 1.0
        if computed.axis is not None:
            share = max(computed.sizes) / max(1, computed.shape[computed.axis])
        # Before a result moves, all ranks make sure that everybody has one.
        received, collectives = sum(moves), sum(move > 0 for move in moves) + (computed != problem.result)
        seconds = seconds_of(problem, received, collectives, share)
        ways.append(Way("redistribute", computed, received, seconds))
    return ways


def pieces(problem: Problem, computed: Placed) -> list[tuple[int, int]]:
    """Where the pieces of an operand begin, and how wide they are, as it comes to a rank that needs all of its lines.

    They are pieces of all its columns (for A, rows). If these are cut themselves, they are pieces of the columns of each rank,
    and the parts of all ranks make a piece together. A piece as wide as all of them comes at once. Precondition: the ranks
    compute rows or columns, and that operand's matrices are cut.
    """
    moving, free, item = (problem.b, -1, problem.item_b)
    if computed.axis == -1:
        moving, free, item = problem.a, -2, problem.item_a
    extent, received = moving.shape[free], moved(moving, moving.whole, problem.ranks) * item
    work = seconds_of(problem, 0, 0, max(computed.sizes) / max(1, sum(computed.sizes)))
    is_short = received / link(problem) < PIECES_FROM * work and moving.entries * item <= MOST_WHOLE
    if is_short or extent == 0:
        return [(0, extent)]
    if moving.axis != free:
        return steps(extent, max(LEAST_COLUMNS, -(-extent // MOST_PIECES)))
    most = max(moving.sizes)
    line = max(1, moving.entries // extent * item * problem.ranks)
    return steps(most, max(LEAST_COLUMNS, min(-(-2 * most // MOST_PIECES), MOST_BYTES // line)))


def steps(extent: int, width: int) -> list[tuple[int, int]]:
    """Where parts of that width begin, and how wide they are; the last may be less."""
    return [(begin, min(width, extent - begin)) for begin in range(0, extent, width)]


def link(problem: Problem) -> float:
    """Bytes a second that a rank receives."""
    return (LINK if problem.hosts == 1 else BETWEEN_HOSTS)[problem.device]


def reduction(problem: Problem, has_integers: bool) -> Way:
    """The way that moves exact partial results: each rank multiplies all rows and columns, of its part of K."""
    result, ranks = problem.result, problem.ranks
    computed = result.cut(-2, ranks) if result.axis is None else result
    parts = 2 if problem.item > WORD else 1  # of complex128
    of_entry = WORD if has_integers else parts * RESIDUES[problem.device]
    received = computed.largest * of_entry * (ranks - 1) + LINE * (problem.m + problem.n) * ranks
    received += moved(computed, result, ranks) * problem.item
    share = max(problem.a.sizes) / problem.k if problem.k else 0.0
    return Way("reduce", computed, received, seconds_of(problem, received, 3 + (computed != result), share))


def hides_residues(problem: Problem, computed: Placed) -> bool:
    """Whether the residues of a block of the result travel while the next one is multiplied. Precondition: A is cut along K."""
    received = computed.largest * RESIDUES[problem.device] * (problem.ranks - 1)
    return received / link(problem) >= PIECES_FROM * seconds_of(
        problem, 0, 0, max(problem.a.sizes) / problem.k
    )


def seconds_of(problem: Problem, received: int, collectives: int, share: float) -> float:
    """Modelled seconds: `share` of all operations on the busiest rank, and what it receives."""
    operations = 2.0 * problem.result.entries * problem.k * share
    kind = problem.device
    return operations / RATE[kind] + received / link(problem) + collectives * START[kind]


def needed(problem: Problem, computed: Placed) -> tuple[Placed, Placed]:
    """The parts of both operands that each rank needs for its part of the result."""

    def of(operand: Placed, own: int) -> Placed:
        axis = computed.axis
        is_of_stack = axis is not None and axis < -2 and len(operand.shape) == -axis
        if axis == own or (is_of_stack and operand.shape[0] == computed.shape[0]):
            return Placed(operand.shape, axis, computed.sizes)
        return operand.whole

    return of(problem.a, -2), of(problem.b, -1)


def moved(source: Placed, target: Placed, ranks: int) -> int:
    """Entries that the rank that gets most receives, to bring a matrix from the layout `source` to the layout `target`."""
    if source.axis is None or source == target or ranks == 1 or source.entries == 0:
        return 0
    extent = source.shape[source.axis]
    missing = source.entries // extent * (extent - min(source.sizes))
    return missing if target.axis is None else missing // target.shape[target.axis] * max(target.sizes)
