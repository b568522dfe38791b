"""The bits that ``accuracy="standard"`` must return: its definition (docs/inside/accuracy.md) written again in Python's integers.

    facts        of each line: largest exponent, lowest bit, nonzero entries, sum of exponents
    capacity     c of each line, from its facts alone; integers rn(x 2^s), s = c - 1 - e
    certificate  of each entry: exact, by depth, by magnitudes, or none
    result       fl(V 2^-(s + t)) where there is one, else a chain of fused multiply-adds

Nothing here calls the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._oracle import (
    FORMATS,
    PRECISIONS,
    Array,
    Integers,
    Sums,
    over_stacks,
    round_to_float,
    scale_exponents,
    scaled_sums,
    special_entries,
    split,
    with_specials,
)

NO_EXPONENT = -1500
NO_LOWEST = 1500
STANDARD_EXTRA_BITS = 4
# In "correct": four times a mean depth, and the bits beyond the precision from there on.
CORRECT_EXTRA_BITS = ((20, 23), (15, 19), (12, 16), (0, 15))
CHAIN_SHIFTS = {np.dtype(np.float64): 540, np.dtype(np.float32): 80}


class Certificate(IntEnum):
    """The reason for the value of an entry.

    `MAGNITUDE` is for "standard", `RESULT`, the rounding test, for "correct"; `SPECIAL` for NaN
    and infinity. An entry with `NONE` is computed from its row and column.
    """

    NONE = 0
    EXACT = 1
    DEPTH = 2
    MAGNITUDE = 3
    RESULT = 4
    SPECIAL = 5


class Facts(NamedTuple):
    """Facts of the entries of a line that decide its conversion; `k` counts its entries, zeros included."""

    exponent: int
    lowest: int
    nonzeros: int
    exponent_sum: int
    k: int

    @property
    def span(self) -> int:
        """Bits that hold every entry as an integer."""
        return 0 if self.nonzeros == 0 else self.exponent - self.lowest + 1

    @property
    def depth(self) -> int:
        """How far the nonzero entries lie below the largest one's exponent, added up."""
        return self.nonzeros * self.exponent - self.exponent_sum


def line_facts(rows: Array) -> list[Facts]:
    """The facts of each row of a float64 or float32 matrix.

    Zeros and non-finite entries count in `k` alone.
    """
    significands, exponents = split(rows)
    nonzero, top = significands != 0, exponents + 52
    low = exponents + np.frexp((significands & -significands).astype(np.float64))[1] - 1
    return [
        Facts(
            int(t[n].max(initial=NO_EXPONENT)),
            int(b[n].min(initial=NO_LOWEST)),
            int(n.sum()),
            int(t[n].sum()),
            len(n),
        )
        for t, b, n in zip(top, low, nonzero, strict=True)
    ]


def line_capacity(accuracy: str, bits: int, facts: Facts, precision: int) -> int:
    """Capacity c of a line.

    It is `bits` in "scaled". In "standard" it is p + 4, in "correct" p + 15 to p + 23 by the
    mean depth of the line. It is less where all entries fit fewer bits.
    """
    if accuracy == "scaled":
        return bits
    extra = STANDARD_EXTRA_BITS
    if accuracy == "correct":
        extra = next(more for depth, more in CORRECT_EXTRA_BITS if 4 * facts.depth >= depth * facts.nonzeros)
    return min(max(facts.span, 2), precision + extra)


class Record(NamedTuple):
    """The state of a line: its facts, its capacity, and how many entries its conversion may round."""

    facts: Facts
    capacity: int
    rounded: int


def standard_record(facts: Facts, capacity: int) -> Record:
    """Every nonzero entry counts as rounded unless all fit."""
    return Record(facts, capacity, 0 if facts.span <= capacity else facts.nonzeros)


def error_bound(a: Record, b: Record) -> int:
    """E: V differs from 2^(s + t) (A B)_ij by no more."""
    by_a, by_b = min(a.rounded, b.facts.nonzeros), min(b.rounded, a.facts.nonzeros)
    return (by_b << (a.capacity - 1)) + (by_a << (b.capacity - 1))


def certify(a: Record, b: Record, precision: int, magnitude: int = 0) -> Certificate:
    """`EXACT` or `DEPTH` by the lines alone, `MAGNITUDE` by the sum of the products of their bytes, else `NONE`."""
    error = error_bound(a, b)
    if error == 0:
        return Certificate.EXACT
    overlap = a.facts.nonzeros + b.facts.nonzeros - a.facts.k
    if overlap >= 2:
        quarters = ((overlap - 1) ** 4).bit_length() - 1  # floor(4 log2(overlap - 1))
        deep = 4 * (a.facts.depth + b.facts.depth)
        terms = [other.capacity - 1 for line, other in ((a, b), (b, a)) if line.rounded]
        h = max(terms) + len(terms) - 1  # E <= n 2^h, n the fewer nonzero entries
        if deep <= overlap * (quarters + 4 * (a.capacity + b.capacity - h - precision - 2)):
            return Certificate.DEPTH
    least = (min(a.facts.nonzeros, b.facts.nonzeros) - 1) * magnitude
    passes = error << (precision + 16) <= least << (a.capacity + b.capacity)
    return Certificate.MAGNITUDE if passes else Certificate.NONE


def magnitude_bytes(rows: Array, records: Sequence[Record]) -> Integers:
    """floor(|x| 2^(7 - e)) of each entry, e the exponent of the largest of its row; 0 where it is not finite."""
    significands, exponents = split(rows)
    largest = np.array([record.facts.exponent for record in records], np.int64)[:, np.newaxis]
    found: Integers = np.abs(significands) >> np.clip(largest - 7 - exponents, 0, 62)
    return found


# A number exactly, as a significand and the exponent of 2. Python's Fraction looks for common divisors at every step.
Dyadic = tuple[int, int]


def dyadic(x: float) -> Dyadic:
    """A finite number, exactly."""
    numerator, denominator = float(x).as_integer_ratio()
    return numerator, 1 - denominator.bit_length()


def times(x: Dyadic, y: Dyadic) -> Dyadic:
    return x[0] * y[0], x[1] + y[1]


def plus(x: Dyadic, y: Dyadic) -> Dyadic:
    exponent = min(x[1], y[1])
    return (x[0] << (x[1] - exponent)) + (y[0] << (y[1] - exponent)), exponent


def fused(row: Array, column: Array, dtype: npt.DTypeLike) -> Dyadic | None:
    """The end of the chain of fused multiply-adds of a finite row and column, or None where it overflows."""
    precision, most, lowest = FORMATS[np.dtype(dtype)]
    total, exponent = 0, 0
    lines = (x.tolist() for line in (row, column) for x in split(line))
    for a, place_a, b, place_b in zip(*lines, strict=True):
        term, place = a * b, place_a + place_b
        if not term:  # it changes no number
            continue
        if place < exponent:
            total, exponent = total << (exponent - place), place
        total += term << (place - exponent)
        drop = max(total.bit_length() - precision, lowest - exponent)
        if drop > 0:
            rest = total & ((1 << drop) - 1)
            total, exponent = total >> drop, exponent + drop
            half = 1 << (drop - 1)
            total += rest > half or (rest == half and total & 1)
        if total.bit_length() + exponent > most + 1:
            return None
    return total, exponent


def chain(row: Array, column: Array, dtype: npt.DTypeLike) -> Dyadic:
    """The end of the chain of fused multiply-adds of a finite row and column, in the order of k and the precision of `dtype`.

    If it overflows it is repeated with both times 2^-540 (2^-80), rounded.
    """
    end = fused(row, column, dtype)
    if end is not None:
        return end
    shift = CHAIN_SHIFTS[np.dtype(dtype)]
    a, b = (
        np.array([round_to_float(int(m), int(e) - shift, dtype) for m, e in zip(*split(x), strict=True)])
        for x in (row, column)
    )
    end = fused(a, b, dtype)
    assert end is not None
    return end[0], end[1] + 2 * shift


def scaled_product(
    a: Array, b: Array, accuracy: str, precision: int, bits: int = 53, engine: str = "auto"
) -> tuple[Sums, list[Record], list[Record]]:
    """V of every entry of two 2-D matrices, and the records of rows and columns; `rounded` is counted in "correct" alone."""
    shifts, records = [], []
    for lines in (a, b.T):
        facts = line_facts(lines)
        capacities = [line_capacity(accuracy, bits, f, precision) for f in facts]
        shifts.append(scale_exponents(lines, np.array(capacities, np.int64)))
        records.append([standard_record(*line) for line in zip(facts, capacities, strict=True)])
        if accuracy == "correct":
            significands, places = split(lines)
            lost = (np.int64(1) << np.clip(-places - shifts[-1][:, np.newaxis], 0, 60)) - 1
            counts = np.count_nonzero(significands & lost, axis=1).tolist()
            records[-1] = [r._replace(rounded=n) for r, n in zip(records[-1], counts, strict=True)]
    return scaled_sums(a, b, shifts[0], shifts[1], engine), records[0], records[1]


def certificates(
    a: Array, b: Array, rows: Sequence[Record], columns: Sequence[Record], precision: int
) -> npt.NDArray[np.int8]:
    """The certificate of every entry in ``accuracy="standard"``."""
    found = np.zeros((len(rows), len(columns)), np.int8)
    magnitudes = magnitude_bytes(a, rows) @ magnitude_bytes(b.T, columns).T
    for i, j in np.ndindex(*found.shape):
        found[i, j] = certify(rows[i], columns[j], precision, int(magnitudes[i, j]))
    for entry in special_entries(a, b):
        found[entry] = Certificate.SPECIAL
    return found


def standard_matmul(
    a: npt.ArrayLike, b: npt.ArrayLike, *, engine: str = "auto"
) -> tuple[Array, npt.NDArray[np.int8]]:
    """Reference of "standard": the result, bit for bit, and its certificates.

    The result is that of ``ozfp4.matmul(a, b, accuracy="standard")`` (NaNs as such). Operands,
    engine and result are those of :func:`exact_matmul`. The certificates are an int8 array of the
    same shape, of values of :class:`Certificate`. With `NONE` the entry is a chain of fused
    multiply-adds.
    """

    def multiply(x: Array, y: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        precision = PRECISIONS[dtype]
        sums, rows, columns = scaled_product(x, y, "standard", precision, engine=engine)
        found = certificates(x, y, rows, columns, precision)
        result = sums.rounded(dtype)
        for i, j in np.argwhere(found == Certificate.NONE):
            result[i, j] = round_to_float(*chain(x[i], y[:, j], dtype), dtype)
        return with_specials(result, x, y), found

    product, found = over_stacks(a, b, multiply)
    return product, found
