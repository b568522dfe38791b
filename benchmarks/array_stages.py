"""The stages of a product one array operation at a time, for NumPy arrays and torch tensors, for comparison with the fused ones.

They are exact like ozfp4's own stages, and written for clarity. Each encoded plane takes one pass over memory, each plane product
one library GEMM. Reconstruction is Garner's, O(L²), or the direct CRT. Every function takes and returns lists of plain 2-D arrays
of one library, on one device.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ozfp4 import Plan

Array = Any  # a NumPy array or a torch tensor

WORD = 32
MASK = (1 << WORD) - 1
HEAD = 62  # bits kept for rounding: 53, and more than two below them


def library(x: Array) -> Any:
    """The module that made the array: numpy or torch."""
    return np if isinstance(x, np.ndarray) else sys.modules["torch"]


def _as(x: Array, kind: str) -> Array:
    return x.astype(kind) if isinstance(x, np.ndarray) else x.to(getattr(library(x), kind))


def _constant(values: Any, like: Array) -> Array:
    array = np.ascontiguousarray(values)
    return array if isinstance(like, np.ndarray) else library(like).from_numpy(array).to(like.device)


# ---- Scale and encode --------------------------------------------------------------------------------------


def scale(x: Array, axis: int, bits: int = 53) -> tuple[Array, Array]:
    """int64 integers and the exponents of the lines along `axis`; every line holds a nonzero entry."""
    xp = library(x)
    top = abs(x).max(**{"axis" if xp is np else "dim": axis})
    largest = top if xp is np else top.values
    shift = bits - _as(xp.frexp(largest)[1], "int64")
    scaled = xp.ldexp(x, shift[:, None] if axis == 1 else shift[None, :])
    return _as(np.rint(scaled) if xp is np else xp.round(scaled), "int64"), shift


def encode(integers: Array, plan: Plan) -> list[Array]:
    """Limb planes, each by a separate pass."""
    if plan.moduli:
        return [_residue_plane(integers, plan, p) for p in range(plan.planes_a)]
    planes, rest = [], integers
    limbs = plan.encode(np.arange(13))[0]  # limb of least magnitude for each remainder by 13
    for _ in range(plan.planes_a):
        limb = _constant(limbs, integers)[rest % 13]
        planes.append(limb)
        rest = (rest - limb) // 13
    return planes


def _residue_plane(integers: Array, plan: Plan, plane: int) -> Array:
    modulus = next(term.modulus for term in plan.terms if term.a_plane == plane)
    assert modulus is not None
    limbs = plan.encode(np.arange(modulus))[plane]
    return _constant(limbs, integers)[integers % modulus]


# ---- Multiply ----------------------------------------------------------------------------------------------


def product(a: Array, b: Array) -> Array:
    """Exact product of two int8 planes: int32 on a GPU by its INT8 units, FP32 on the CPU (64 K <= 2^24)."""
    xp = library(a)
    if xp is not np and a.is_cuda:
        return xp._int_mm(a, b)
    return _as(a, "float32") @ _as(b, "float32")


def multiply(planes_a: Sequence[Array], planes_b: Sequence[Array], plan: Plan) -> list[Array]:
    """Residues (int32) or sums by digit group (int64), a GEMM and a pass of arithmetic for each term."""
    outputs: dict[int, Array] = {}
    for term in plan.terms:
        part = _as(product(planes_a[term.a_plane], planes_b[term.b_plane]), "int32")
        if term.modulus is None:
            key = term.group or 0
            outputs[key] = outputs[key] + part if key in outputs else _as(part, "int64")
        else:
            key = term.modulus
            outputs[key] = (outputs.get(key, 0) + term.weight % key * (part % key)) % key
    return [outputs[key] for key in (plan.moduli or sorted(outputs))]


# ---- Wide integers: little-endian lists of 32-bit words in int64, the last one signed -------------------------


def _words(value: int, count: int) -> list[int]:
    return [value >> WORD * i & MASK for i in range(count - 1)] + [value >> WORD * (count - 1)]


def _carry(words: Sequence[Array]) -> list[Array]:
    out, carry = [], 0
    for word in words[:-1]:
        word = word + carry
        out.append(word & MASK)
        carry = word >> WORD
    return [*out, words[-1] + carry]


def _word_count(plan: Plan, k: int) -> int:
    bits = plan.modulus_product.bit_length() + 12 if plan.moduli else 2 * plan.bits + k.bit_length() + 12
    return bits // WORD + 1


def _horner(digits: Sequence[Array], bases: Sequence[int], count: int) -> list[Array]:
    """digits[0] + bases[0] (digits[1] + bases[1] (...))."""
    words = [_as(digits[-1], "int64"), *(0 * _as(digits[-1], "int64") for _ in range(count - 1))]
    for digit, base in zip(digits[-2::-1], bases[::-1], strict=True):
        words = [word * base for word in words]
        words[0] = words[0] + digit
        words = _carry(words)
    return words


def garner(residues: Sequence[Array], plan: Plan) -> list[Array]:
    """The integers in (-P/2, P/2) by mixed-radix digits: L (L - 1) / 2 updates."""
    half = plan.modulus_product // 2
    digits: list[Array] = []
    for i, m in enumerate(plan.moduli):
        digit = (_as(residues[i], "int64") + half % m) % m
        for earlier, base in zip(digits, plan.moduli, strict=False):
            digit = (digit - earlier) * pow(base, -1, m) % m
        digits.append(digit)
    count = _word_count(plan, 1)
    words = _horner(digits, plan.moduli[:-1], count)
    return _carry([word + constant for word, constant in zip(words, _words(-half, count), strict=True)])


def direct_crt(residues: Sequence[Array], plan: Plan) -> list[Array]:
    """The integers in (-P/2, P/2) by the weighted sum of all residues: L updates, one quotient."""
    P, count = plan.modulus_product, _word_count(plan, 1)
    half = P // 2
    weights = [P // m * pow(P // m, -1, m) % P for m in plan.moduli]
    total: list[Array] = [0] * count
    quotient = 0.0
    for m, weight, r in zip(plan.moduli, weights, residues, strict=True):
        r = (_as(r, "int64") + half % m) % m
        total = [word + r * part for word, part in zip(total, _words(weight, count), strict=True)]
        quotient = quotient + _as(r, "float64") * (weight / P)
    q = _as(quotient, "int64")  # floor, within 1
    total = _carry([word - q * part for word, part in zip(total, _words(P, count), strict=True)])
    low = _as(total[-1] < 0, "int64")
    total = _carry([word + low * part for word, part in zip(total, _words(P, count), strict=True)])
    less = _carry([word - part for word, part in zip(total, _words(P, count), strict=True)])
    high = _as(less[-1] >= 0, "int64")
    shifted = [word - high * part for word, part in zip(total, _words(P, count), strict=True)]
    return _carry([word - part for word, part in zip(shifted, _words(half, count), strict=True)])


def positional(groups: Sequence[Array], plan: Plan, k: int) -> list[Array]:
    """The integers of the digit groups of scheme I."""
    assert plan.base is not None
    return _horner(groups, [plan.base] * (len(groups) - 1), _word_count(plan, k))


# ---- Rounding ----------------------------------------------------------------------------------------------


def round_once(words: Sequence[Array], shift_a: Array, shift_b: Array) -> Array:
    """words * 2^-(s_i + t_j) in FP64, ties to even; for results in the range of normal numbers."""
    xp = library(words[0])
    negative = _as(words[-1] < 0, "int64")
    flipped = [word ^ (-negative & MASK) for word in words[:-1]] + [(words[-1] ^ -negative) & MASK]
    flipped[0] = flipped[0] + negative
    magnitude = _carry(flipped)
    head = 0 * magnitude[-1]
    sticky, dropped = head, head
    for word in reversed(magnitude):
        length = _as(xp.frexp(_as(head, "float64"))[1], "int64")
        room = (HEAD - length).clip(0, WORD)
        head = head << room | word >> (WORD - room)
        sticky = sticky | (word & ((1 << (WORD - room)) - 1))
        dropped = dropped + (WORD - room)
    head = head | _as(sticky != 0, "int64")  # below all bits that can tie
    value = _as(head, "float64") * (1 - 2 * _as(negative, "float64"))
    result: Array = xp.ldexp(value, dropped - (shift_a[:, None] + shift_b[None, :]))
    return result
