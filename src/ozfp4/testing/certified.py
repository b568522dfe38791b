"""What ``accuracy="fp64"`` must return, bit for bit: its definition (docs/accuracy.md) written again in Python's integers.

    facts        of each line: largest exponent, lowest bit, nonzero entries, sum of exponents
    capacity     c of each line, from its facts alone; integers rn(x 2^s), s = c - 1 - e
    certificate  of each entry: exact, by depth, by result, exact because the lines are disjoint, or none
    result       fl(V 2^-(s + t)) where there is one, else the real product rounded once

Nothing here calls the core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from .correct import Array, Lines, over_stacks, real_sums, special_entries, special_value, split
from .oracle import integer_matmul, round_to_float

NO_EXPONENT = -1500
NO_LOWEST = 1500
MOST_EXTRA_BITS = 23
PRECISIONS = {np.dtype(np.float64): 53, np.dtype(np.float32): 24}


class Certificate(IntEnum):
    """Why an entry is what it is; the names of csrc/arith/accuracy/certificate.hpp, and `SPECIAL` for NaN and infinity."""

    NONE = 0
    EXACT = 1
    DEPTH = 2
    RESULT = 3
    SPECIAL = 4


@dataclass(frozen=True)
class Facts:
    """What the entries of a line say about its conversion; `k` counts its entries, zeros included."""

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
    """The facts of each row of a float64 or float32 matrix; zeros and non-finite entries add nothing but to `k`."""
    wide = rows.astype(np.float64)
    fractions, exponents = np.frexp(np.where(np.isfinite(wide), wide, 0.0))
    significands = np.abs(np.ldexp(fractions, 53)).astype(np.int64)  # |x| = significand 2^(exponent - 53)
    nonzero = significands != 0
    top = exponents.astype(np.int64) - 1
    low = top - 52 + np.frexp((significands & -significands).astype(np.float64))[1] - 1
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


def _floor_log2(x: int) -> int:
    return x.bit_length() - 1


def _ceil_log2(x: int) -> int:
    return (x - 1).bit_length()


def _fp64_extra(facts: Facts) -> int:
    """0, 4, 11 (9 where lines are short) or 23 bits beside p: by the mean depth, or by what certifies two such lines with half a
    binade to spare."""
    deep = 9 if facts.k < 512 else 11
    if facts.depth >= 5 * facts.nonzeros:
        return MOST_EXTRA_BITS
    if 4 * facts.depth >= 15 * facts.nonzeros:
        return deep
    overlap = 2 * facts.nonzeros - facts.k
    for extra in (0, 4):
        if (extra or overlap >= 512) and overlap >= 1:
            allowed = overlap * (_floor_log2(overlap) + extra - 2)
            if 4 * facts.depth + overlap <= 2 * allowed:
                return extra
    return deep


def fp64_capacity(facts: Facts, precision: int) -> int:
    """p bits and some more, fewer where all entries fit fewer; the span if it is at most p + 4, but not p + 1 where p serve."""
    extra = _fp64_extra(facts)
    if facts.span <= precision + 4 and (facts.span, extra) != (precision + 1, 0):
        return max(facts.span, 2)
    return min(facts.span, precision + extra)


def correct_capacity(facts: Facts, precision: int) -> int:
    """p + 15 bits, p + 16, p + 19, p + 23 from a mean depth of 3, 3.75, 5 on; fewer where all entries fit fewer."""
    quarters = ((20, MOST_EXTRA_BITS), (15, 19), (12, 16), (0, 15))
    extra = next(extra for depth, extra in quarters if 4 * facts.depth >= depth * facts.nonzeros)
    return min(max(facts.span, 2), precision + extra)


def line_capacity(accuracy: str, bits: int, facts: Facts, precision: int) -> int:
    """c of a line; `bits` is that of the scaled contract."""
    if accuracy == "scaled":
        return bits
    return fp64_capacity(facts, precision) if accuracy == "fp64" else correct_capacity(facts, precision)


@dataclass(frozen=True)
class Record:
    """What is kept of a line: its facts, its capacity, and how many entries its conversion may round."""

    facts: Facts
    capacity: int
    rounded: int


def uncounted_record(facts: Facts, capacity: int) -> Record:
    """Every nonzero entry counts as rounded unless all fit."""
    return Record(facts, capacity, 0 if facts.span <= capacity else facts.nonzeros)


def fp64_record(facts: Facts, precision: int) -> Record:
    """The record of a line in ``accuracy="fp64"``."""
    return uncounted_record(facts, fp64_capacity(facts, precision))


def error_bound(a: Record, b: Record) -> int:
    """E: V differs from 2^(s + t) (A B)_ij by no more."""
    by_a, by_b = min(a.rounded, b.facts.nonzeros), min(b.rounded, a.facts.nonzeros)
    return (by_b << (a.capacity - 1)) + (by_a << (b.capacity - 1))


def error_exponent(a: Record, b: Record) -> int:
    """c of the certificates: E <= K 2^c. For E > 0."""
    k = a.facts.k
    terms = [
        other.capacity - 1 - max(_floor_log2(k) - _ceil_log2(count), 0)
        for line, other in ((a, b), (b, a))
        if (count := min(line.rounded, other.facts.nonzeros)) > 0
    ]
    return max(terms) + len(terms) - 1


def certify(a: Record, b: Record, precision: int) -> Certificate:
    """`EXACT` or `DEPTH` by the lines alone, else `NONE`."""
    if error_bound(a, b) == 0:
        return Certificate.EXACT
    overlap = a.facts.nonzeros + b.facts.nonzeros - a.facts.k
    if overlap < 1:
        return Certificate.NONE
    spare = a.capacity + b.capacity - error_exponent(a, b) - precision - 2
    deep = a.facts.depth + b.facts.depth
    return Certificate.DEPTH if deep <= overlap * (_floor_log2(overlap) + spare) else Certificate.NONE


def certified_length(a: Record, b: Record, precision: int) -> int:
    """From this bit length of |V| on the entry is certified by its size."""
    return error_exponent(a, b) + max(precision, a.facts.k.bit_length()) + 2


def rounded_integers(lines: Lines, shifts: list[int]) -> tuple[Array, list[int]]:
    """rn(x 2^s) of each row, ties to even, of any number of bits; and how many entries of each row were rounded."""
    places = lines.shifts + (lines.exponents + np.array(shifts, np.int64))[:, np.newaxis]
    # Below 1/2 from 55 places on: significands have 53 bits.
    right, left = np.clip(-places, 0, 60), np.where(lines.significands == 0, 0, np.maximum(places, 0))
    quotient = lines.significands >> right  # the floor, of negative numbers too
    rest, one = lines.significands - (quotient << right), np.int64(1) << right
    quotient += (2 * rest > one) | ((2 * rest == one) & (quotient % 2 == 1))
    return quotient.astype(object) << left.astype(object), (rest != 0).sum(axis=1).tolist()


@dataclass(frozen=True)
class Scaled:
    """The wide integers of a product and what they came from: (A B)_ij is about integers[i, j] 2^-(s[i] + t[j])."""

    integers: Array
    s: list[int]
    t: list[int]
    rows: list[Record]
    columns: list[Record]


def _shift(record: Record) -> int:
    return record.capacity - 1 - record.facts.exponent if record.facts.nonzeros else 0


def scaled_product(
    a: Array, b: Array, accuracy: str, precision: int, bits: int = 53, engine: str = "auto"
) -> Scaled:
    """V of every entry of two 2-D matrices, and the records of rows and columns; `rounded` is counted in "correct" alone."""
    sides = []
    for lines in (a, b.T):
        facts = line_facts(lines)
        records = [uncounted_record(f, line_capacity(accuracy, bits, f, precision)) for f in facts]
        shifts = [_shift(record) for record in records]
        integers, counts = rounded_integers(split(lines), shifts)
        if accuracy == "correct":
            records = [Record(r.facts, r.capacity, n) for r, n in zip(records, counts, strict=True)]
        sides.append((integers, shifts, records))
    (x, s, rows), (y, t, columns) = sides
    return Scaled(integer_matmul(x, y.T, engine), s, t, rows, columns)


def disjoint(a: Array, b: Array) -> npt.NDArray[np.bool_]:
    """The entries whose row and column are nonzero at no common index, so that (A B)_ij = 0; NaN is not zero."""
    common = (a != 0).astype(np.float64) @ (b != 0).astype(np.float64)
    return np.asarray(common == 0)


def certificates(a: Array, b: Array, product: Scaled, precision: int) -> npt.NDArray[np.int8]:
    """The certificate of every entry in ``accuracy="fp64"``."""
    found = np.zeros(product.integers.shape, np.int8)
    zeros = disjoint(a, b)
    for i, j in np.ndindex(*found.shape):
        row, column = product.rows[i], product.columns[j]
        certificate = certify(row, column, precision)
        if certificate == Certificate.NONE:
            length = abs(product.integers[i, j]).bit_length()
            if length >= certified_length(row, column, precision):
                certificate = Certificate.RESULT
        if certificate == Certificate.NONE and zeros[i, j]:
            certificate = Certificate.EXACT
        found[i, j] = certificate
    for entry in special_entries(a, b):
        found[entry] = Certificate.SPECIAL
    return found


def correct_certificates(
    a: Array, b: Array, product: Scaled, dtype: npt.DTypeLike, rounding: str = "nearest"
) -> npt.NDArray[np.int8]:
    """The certificate of every entry in ``accuracy="correct"``: `RESULT` is the rounding test."""
    found = np.zeros(product.integers.shape, np.int8)
    zeros = disjoint(a, b)
    for i, j in np.ndindex(*found.shape):
        error, exponent = error_bound(product.rows[i], product.columns[j]), -(product.s[i] + product.t[j])
        low, high = (
            round_to_float(product.integers[i, j] + x, exponent, dtype, rounding) for x in (-error, error)
        )
        passes = low == high and math.copysign(1, low) == math.copysign(1, high)
        exact = error == 0 or (not passes and zeros[i, j])
        found[i, j] = Certificate.EXACT if exact else Certificate.RESULT if passes else Certificate.NONE
    for entry in special_entries(a, b):
        found[entry] = Certificate.SPECIAL
    return found


def fp64_matmul(
    a: npt.ArrayLike, b: npt.ArrayLike, *, engine: str = "auto"
) -> tuple[Array, npt.NDArray[np.int8]]:
    """``ozfp4.matmul(a, b, accuracy="fp64")``, bit for bit (NaNs as such), and why each entry is what it is.

    Parameters
    ----------
    a, b : array_like of float64 or float32
        Shapes as for ``numpy.matmul``.
    engine : {"auto", "flint", "object"}
        See :func:`integer_matmul`.

    Returns
    -------
    product : ndarray
        float32 if both operands are, else float64. A product of two vectors gives a 0-d array.
    certificates : int8 array of the same shape
        Values of :class:`Certificate`; where it is `NONE`, the entry is the real product rounded once.
    """

    def multiply(x: Array, y: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        precision = PRECISIONS[dtype]
        product = scaled_product(x, y, "fp64", precision, engine=engine)
        found = certificates(x, y, product, precision)
        result = np.zeros(found.shape, dtype)
        for i, j in np.ndindex(*found.shape):
            exponent = -(product.s[i] + product.t[j])
            result[i, j] = round_to_float(product.integers[i, j], exponent, dtype)
        unsettled = found == Certificate.NONE
        if unsettled.any():
            i, j = np.flatnonzero(unsettled.any(axis=1)), np.flatnonzero(unsettled.any(axis=0))
            sums = real_sums(x[i], y[:, j], engine)
            for p, q in np.argwhere(unsettled[np.ix_(i, j)]):
                result[i[p], j[q]] = sums.rounded(int(p), int(q), dtype)
        for row, column in special_entries(x, y):
            result[row, column] = special_value(x[row], y[:, column])
        return result, found

    product, found = over_stacks(a, b, multiply)
    return product, found
