"""The bits that ``accuracy="standard"`` must return: its definition (docs/accuracy.md) written again in Python's integers.

    facts        of each line: largest exponent, lowest bit, nonzero entries, sum of exponents
    capacity     c of each line, from its facts alone; integers rn(x 2^s), s = c - 1 - e
    certificate  of each entry: exact, by depth, by magnitudes, or none
    result       fl(V 2^-(s + t)) where there is one, else a chain of fused multiply-adds

Nothing here calls the core.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ._correct import Array, Lines, over_stacks, special_entries, special_value, split
from ._oracle import integer_matmul, round_to_float

NO_EXPONENT = -1500
NO_LOWEST = 1500
STANDARD_EXTRA_BITS = 4
MOST_EXTRA_BITS = 23
CHAIN_SHIFTS = {np.dtype(np.float64): 540, np.dtype(np.float32): 80}
PRECISIONS = {np.dtype(np.float64): 53, np.dtype(np.float32): 24}


class Certificate(IntEnum):
    """Why an entry is what it is: `MAGNITUDE` in "standard", `RESULT`, the rounding test, in "correct"; `SPECIAL` for NaN and
    infinity."""

    NONE = 0
    EXACT = 1
    DEPTH = 2
    MAGNITUDE = 3
    RESULT = 4
    SPECIAL = 5


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


def standard_capacity(facts: Facts, precision: int) -> int:
    """p + 4 bits, fewer where all entries fit fewer."""
    return min(max(facts.span, 2), precision + STANDARD_EXTRA_BITS)


def correct_capacity(facts: Facts, precision: int) -> int:
    """p + 15 bits, p + 16, p + 19, p + 23 from a mean depth of 3, 3.75, 5 on; fewer where all entries fit fewer."""
    quarters = ((20, MOST_EXTRA_BITS), (15, 19), (12, 16), (0, 15))
    extra = next(extra for depth, extra in quarters if 4 * facts.depth >= depth * facts.nonzeros)
    return min(max(facts.span, 2), precision + extra)


def line_capacity(accuracy: str, bits: int, facts: Facts, precision: int) -> int:
    """c of a line; `bits` is that of the scaled contract."""
    if accuracy == "scaled":
        return bits
    return (
        standard_capacity(facts, precision) if accuracy == "standard" else correct_capacity(facts, precision)
    )


@dataclass(frozen=True)
class Record:
    """What is kept of a line: its facts, its capacity, and how many entries its conversion may round."""

    facts: Facts
    capacity: int
    rounded: int


def uncounted_record(facts: Facts, capacity: int) -> Record:
    """Every nonzero entry counts as rounded unless all fit."""
    return Record(facts, capacity, 0 if facts.span <= capacity else facts.nonzeros)


def standard_record(facts: Facts, precision: int) -> Record:
    """The record of a line in ``accuracy="standard"``."""
    return uncounted_record(facts, standard_capacity(facts, precision))


def error_bound(a: Record, b: Record) -> int:
    """E: V differs from 2^(s + t) (A B)_ij by no more."""
    by_a, by_b = min(a.rounded, b.facts.nonzeros), min(b.rounded, a.facts.nonzeros)
    return (by_b << (a.capacity - 1)) + (by_a << (b.capacity - 1))


def _exponent_left(a: Record, b: Record, precision: int) -> int:
    """c_a + c_b - h - p - 2, where E <= n 2^h and n the fewer nonzero entries. For E > 0."""
    terms = [other.capacity - 1 for line, other in ((a, b), (b, a)) if line.rounded]
    h = max(terms) + len(terms) - 1
    return a.capacity + b.capacity - h - precision - 2


def certify(a: Record, b: Record, precision: int) -> Certificate:
    """`EXACT` or `DEPTH` by the lines alone, else `NONE`."""
    if error_bound(a, b) == 0:
        return Certificate.EXACT
    overlap = a.facts.nonzeros + b.facts.nonzeros - a.facts.k
    if overlap < 2:
        return Certificate.NONE
    quarters = ((overlap - 1) ** 4).bit_length() - 1  # floor(4 log2(overlap - 1))
    deep = 4 * (a.facts.depth + b.facts.depth)
    return (
        Certificate.DEPTH
        if deep <= overlap * (quarters + 4 * _exponent_left(a, b, precision))
        else Certificate.NONE
    )


def magnitude_bytes(rows: Array, exponents: list[int]) -> npt.NDArray[np.int64]:
    """floor(|x| 2^(7 - e)) of each entry, e the exponent of the largest of its row; 0 where it is not finite."""
    wide = np.abs(np.where(np.isfinite(rows), rows, 0.0).astype(np.float64))
    fractions, places = np.frexp(wide)
    right = np.clip(53 - places.astype(np.int64) - 7 + np.array(exponents, np.int64)[:, np.newaxis], 0, 62)
    found: npt.NDArray[np.int64] = np.ldexp(fractions, 53).astype(np.int64) >> right
    return found


def certify_magnitude(a: Record, b: Record, magnitude: int, precision: int) -> bool:
    """Whether E 2^(p + 16) <= (n - 1) L 2^(c_a + c_b), L the sum of the products of bytes."""
    n = min(a.facts.nonzeros, b.facts.nonzeros)
    return error_bound(a, b) << (precision + 16) <= ((n - 1) * magnitude) << (a.capacity + b.capacity)


Dyadic = tuple[int, int]  # significand, exponent


def _dyadic(x: float) -> Dyadic:
    numerator, denominator = float(x).as_integer_ratio()
    return numerator, 1 - denominator.bit_length()


def _fused(a: Dyadic, b: Dyadic, c: float, dtype: npt.DTypeLike) -> float:
    """a b + c, rounded once."""
    if not math.isfinite(c):
        return c
    (x, p), (y, q) = (a[0] * b[0], a[1] + b[1]), _dyadic(c)
    low = min(p, q)
    return round_to_float((x << (p - low)) + (y << (q - low)), low, dtype)


def chain(row: Array, column: Array, dtype: npt.DTypeLike) -> Dyadic:
    """The end of the chain of fused multiply-adds of a finite row and column, in the precision of `dtype`: in the order of k;
    repeated with both times 2^-540 (2^-80), rounded, where it ends infinite."""
    for shift in (0, CHAIN_SHIFTS[np.dtype(dtype)]):
        total = 0.0
        for x, y in zip(row.tolist(), column.tolist(), strict=True):
            if x == 0 or y == 0:  # changes no number
                continue
            a, b = _dyadic(x), _dyadic(y)
            if shift:
                a, b = (_dyadic(round_to_float(z, e - shift, dtype)) for z, e in (a, b))
            total = _fused(a, b, total, dtype)
        if math.isfinite(total):
            break
    significand, exponent = _dyadic(total)
    return significand, exponent + 2 * shift


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
    """The certificate of every entry in ``accuracy="standard"``."""
    found = np.zeros(product.integers.shape, np.int8)
    sides = ((a, product.rows), (b.T, product.columns))
    x, y = (magnitude_bytes(lines, [record.facts.exponent for record in of]) for lines, of in sides)
    magnitudes = x @ y.T
    for i, j in np.ndindex(*found.shape):
        row, column = product.rows[i], product.columns[j]
        certificate = certify(row, column, precision)
        if certificate == Certificate.NONE and certify_magnitude(
            row, column, int(magnitudes[i, j]), precision
        ):
            certificate = Certificate.MAGNITUDE
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


def standard_matmul(
    a: npt.ArrayLike, b: npt.ArrayLike, *, engine: str = "auto"
) -> tuple[Array, npt.NDArray[np.int8]]:
    """``ozfp4.matmul(a, b, accuracy="standard")``, bit for bit (NaNs as such), and why each entry is what it is.

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
        Values of :class:`Certificate`; where it is `NONE`, the entry is a chain of fused multiply-adds.
    """

    def multiply(x: Array, y: Array, dtype: np.dtype[Any]) -> tuple[Array, Array]:
        precision = PRECISIONS[dtype]
        product = scaled_product(x, y, "standard", precision, engine=engine)
        found = certificates(x, y, product, precision)
        result = np.zeros(found.shape, dtype)
        for i, j in np.ndindex(*found.shape):
            if found[i, j] == Certificate.SPECIAL:
                result[i, j] = special_value(x[i], y[:, j])
            elif found[i, j] == Certificate.NONE:
                result[i, j] = round_to_float(*chain(x[i], y[:, j], dtype), dtype)
            else:
                exponent = -(product.s[i] + product.t[j])
                result[i, j] = round_to_float(product.integers[i, j], exponent, dtype)
        return result, found

    product, found = over_stacks(a, b, multiply)
    return product, found
