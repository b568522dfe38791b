"""Cuts of products into tiles: every entry once, within the limit, with the traffic that is foretold."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from traffic import moved_bytes

from ozfp4._streaming.tiles import Matrix, Sizes, Tiling, best_tiling

GIB = 2**30


@st.composite
def sizes(draw: st.DrawFn) -> Sizes:
    matrices = draw(st.integers(1, 5))
    shared = draw(st.sampled_from([(False, False), (True, False), (False, True)]))
    few = st.integers(1, 24)
    first, second = (True, True) if matrices == 1 else shared
    a, b, c = (Matrix(draw(few), draw(few), draw(few), each) for each in (first, second, False))
    return Sizes(
        matrices, *(draw(st.integers(1, 700)) for _ in range(3)), a, b, c, keeps=draw(st.booleans()),
        least_workspace=draw(st.integers(1, 1000)), line_workspace=draw(few),
    )  # fmt: skip


@st.composite
def tilings(draw: st.DrawFn) -> Tiling:
    made = draw(sizes())
    cut = draw(st.integers(1, made.m)), draw(st.integers(1, made.n))
    group = draw(st.integers(1, made.matrices))
    if group > 1:
        cut = made.m, made.n
    least = max(1, cut[0], made.m // 12), max(1, cut[1], made.n // 12)  # not thousands of tiles
    return Tiling(made, group, *least, draw(st.sampled_from("ab")), draw(st.booleans()))


@given(tilings())
def test_every_entry_is_in_one_tile(tiling: Tiling) -> None:
    made = tiling.sizes
    seen = np.zeros((made.matrices, made.m, made.n), np.int8)
    for tile in tiling.tiles():
        seen[tuple(slice(*each) for each in tile)] += 1
        assert tile.entries <= tiling.matrices * tiling.rows * tiling.columns
        assert tile.matrices[1] - tile.matrices[0] == 1 or (tile.rows, tile.columns) == (
            (0, made.m),
            (0, made.n),
        )
    assert (seen == 1).all()
    assert len(list(tiling.tiles())) == tiling.count


@pytest.mark.parametrize("resident", ["a", "b"])
@pytest.mark.parametrize(
    ("shared", "places"), [((False, False), (2, 2)), ((True, False), (1, 2)), ((False, True), (2, 1))]
)
def test_the_next_matrices_of_a_stack_travel_meanwhile(
    resident: str, shared: tuple[bool, bool], places: tuple[int, int]
) -> None:
    """Where a tile is a whole product, each brings both operands, but for one that stands in all."""
    a, b = (Matrix(8, 15, is_shared=each) for each in shared)
    tiling = Tiling(Sizes(5, 40, 50, 60, a, b, Matrix(8, 15)), 1, 40, 50, resident)
    assert (tiling.slots("a"), tiling.slots("b")) == places


@given(tilings())
def test_pieces_fit_their_places(tiling: Tiling) -> None:
    made = tiling.sizes
    for tile in tiling.tiles():
        for side, matrix in (("a", made.a), ("b", made.b)):
            assert tiling.piece(side, tile).entries * matrix.entry <= tiling.piece_bytes(side)


@given(tilings())
def test_a_resident_block_stays_for_its_strips(tiling: Tiling) -> None:
    pieces = [tiling.piece(tiling.resident, tile) for tile in tiling.tiles()]
    changes = sum(x != y for x, y in pairwise(pieces))
    assert changes <= tiling.count // tiling.strips - 1
    assert tiling.count % tiling.strips == 0


def bytes_of_all(made: Sizes) -> dict[str, int]:
    """Bytes of the entries of both operands and of the result, each of them once."""
    count_a, count_b = (1 if x.is_shared else made.matrices for x in (made.a, made.b))
    return {
        "a": count_a * made.m * made.k * made.a.entry,
        "b": count_b * made.n * made.k * made.b.entry,
        "c": made.matrices * made.m * made.n * made.c.entry,
    }


@given(tilings())
def test_the_traffic_is_no_more_than_blocks_times_the_other_operand(tiling: Tiling) -> None:
    made = tiling.sizes
    whole, moved = bytes_of_all(made), moved_bytes(tiling)
    assert moved >= sum(whole.values())
    other = "b" if tiling.resident == "a" else "a"
    own, length = (made.m, tiling.rows) if tiling.resident == "a" else (made.n, tiling.columns)
    times = -(-own // length)
    if not getattr(made, tiling.resident).is_shared and getattr(made, other).is_shared:
        times *= -(-made.matrices // tiling.matrices)
    assert moved <= whole[tiling.resident] + times * whole[other] + whole["c"]


@given(sizes(), st.integers(1, 40))
def test_the_best_is_within_the_limit(made: Sizes, part: int) -> None:
    everything = Tiling(made, made.matrices, made.m, made.n, "b")
    limit = (everything.held_bytes + everything.wanted_workspace) // part
    try:
        tiling = best_tiling(made, limit)
    except MemoryError as error:
        least = int(str(error).rpartition(" ")[2])
        assert least > limit
        smallest = best_tiling(made, least)
        assert smallest.held_bytes + smallest.least_workspace == least
        return
    assert tiling.held_bytes + tiling.least_workspace <= limit
    if part == 1:
        assert moved_bytes(tiling) == sum(bytes_of_all(made).values())


def large(m: int, n: int, k: int) -> Sizes:
    side = Matrix(8, 22, is_shared=True)
    return Sizes(1, m, n, k, side, side, Matrix(8, 46), keeps=True, least_workspace=2**25)


@pytest.mark.parametrize(
    ("m", "n", "k", "resident"),
    [(65536, 4096, 65536, "b"), (4096, 65536, 65536, "a")],
)
def test_the_small_operand_stays(m: int, n: int, k: int, resident: str) -> None:
    tiling = best_tiling(large(m, n, k), 24 * GIB)
    assert tiling.resident == resident
    assert tiling.is_kept
    assert moved_bytes(tiling) == 8 * (m * k + k * n + m * n)
    assert tiling.held_bytes + tiling.wanted_workspace < 24 * GIB
    assert (
        16 <= tiling.count <= 128
    )  # so many that the first and the last do not show, so few that each is large


def test_both_operands_larger_than_the_limit() -> None:
    made = large(65536, 65536, 65536)
    tiling = best_tiling(made, 24 * GIB)
    operations = 2 * 65536**3
    assert moved_bytes(tiling) / 5e10 < 1.05 * operations / 9e13  # the bus is not what it waits for
    assert tiling.seconds(24 * GIB) < 1.7 * operations / 9e13  # by figures that are cautious of small tiles


def test_a_long_inner_dimension_is_refused_with_what_would_do() -> None:
    with pytest.raises(
        MemoryError,
        match=r"workspace_limit: 1000000000 bytes .* inner dimension of 100000000: .* 2433554",
    ):
        best_tiling(large(10, 10, 10**8), 10**9)
