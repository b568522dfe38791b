"""Pieces of K multiplied one by one with shared scales. Their summed residues give the bits of the whole product, except for
entries that are reported as left."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from piece_cases import Case, cases, check

from ozfp4._backends.partial import Partial


@pytest.mark.parametrize("seed", range(8))
def test_pieces_have_the_bits_of_the_whole(seed):
    for case in cases(150, seed):
        check(case)


@pytest.mark.parametrize("accuracy", ["standard", "correct"])
def test_normal_entries_are_not_left(accuracy):
    """The capacities and certificates are those of whole lines: what these settle, pieces settle."""
    left = check(Case(40, 50, (300, 0, 200, 524), "normal", accuracy))
    assert left.sum() <= 1


def test_facts_of_a_piece_alone_would_be_wrong():
    """The scale of one piece is not that of the line: this test can fail."""
    case = Case(6, 7, (20, 30), "pieces", "standard")

    class Alone(Partial):
        def settle(self, facts):
            super().settle(facts[:1])

    with pytest.raises(AssertionError):
        check(case, Alone)
    check(case)


def test_noise_and_empty_pieces():
    assert not check(Case(5, 4, (0, 0, 3, 0), "integers", "standard")).any()
