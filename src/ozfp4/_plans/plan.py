"""Plans: what a product needs to know before it sees data, as immutable, printable values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._support.integers import check_integers, to_words
from .._support.table import Table, Tabular

SCHEMES = {"I": _core.Scheme.I, "II": _core.Scheme.II}
ALPHABETS = _core.ALPHABETS
FAMILIES = ("least", "paper", "paper-karatsuba")
PAIR = ("first", "second")
ALPHABET_TEXT = {
    "fp4": "S = {0, ±1, ±2, ±3, ±4, ±6, ±8, ±12} (E2M1 × 2)",
    "int8": "-128..127",
    "fp64": "integers up to 2^22 (digits) or m / 2 (residues) in magnitude",
}


# The class below has an attribute _core, which would hide the module from its annotation.
_CorePlan = _core.Plan


@dataclass(frozen=True)
class Term:
    """One plane product A_plane × B_plane with an integer weight.

    Scheme II: `modulus` is set and the weight is taken modulo it; of a complex plan `part` is "first" or "second", which of the
    two outputs of the modulus. Scheme I and INT8 products: `group` is set and the weight is a plain integer (base^group for
    scheme I).
    """

    a_plane: int
    b_plane: int
    weight: int
    modulus: int | None = None
    group: int | None = None
    part: str | None = None


class Plan(Tabular):
    """Moduli or digit groups, planes, terms and limits of one way to multiply; immutable.

    Made by :func:`ozfp4.plan` and :func:`ozfp4.plan_for`. With ``l = plan.encode(x)`` and ``k = plan.encode(y, operand="b")``,
    ``sum(t.weight * l[t.a_plane] * k[t.b_plane])`` over the terms of one modulus is congruent to ``x * y``; over all terms of a
    plan without moduli it equals ``x * y``.

    >>> import ozfp4
    >>> plan = ozfp4.plan(100, 100, 1000, backend="int8", accuracy="scaled")
    >>> plan.products, plan.planes_a, len(plan.moduli), plan.moduli[:3]
    (15, 15, 15, (256, 255, 253))
    >>> x, y = plan.encode([123456789]), plan.encode([-987654321], operand="b")
    >>> m = plan.moduli[1]
    >>> total = sum(t.weight * int(x[t.a_plane, 0]) * int(y[t.b_plane, 0]) for t in plan.terms if t.modulus == m)
    >>> (total - 123456789 * -987654321) % m
    0
    """

    __slots__ = ("_core", "_hash", "_request", "_terms")
    _core: _CorePlan
    _request: tuple[Any, ...]
    _terms: tuple[Term, ...]
    _hash: int

    def __init__(self, core: _CorePlan, request: tuple[Any, ...]) -> None:
        object.__setattr__(self, "_core", core)
        object.__setattr__(self, "_request", request)
        object.__setattr__(self, "_terms", tuple(_terms_of(core)))
        object.__setattr__(self, "_hash", hash(self._key()))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a Plan is immutable: {name} cannot be set")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"a Plan is immutable: {name} cannot be deleted")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Plan):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._request,)

    def _key(self) -> tuple[Any, ...]:
        return (
            self.scheme, self.alphabet, self.family, self.bits, self.moduli, self.is_complex, self._terms
        )  # fmt: skip

    @property
    def scheme(self) -> str:
        """Which scheme: "I", "II" or "INT8"."""
        return self._core.scheme.name

    @property
    def alphabet(self) -> str:
        """What one matrix unit multiplies exactly: "fp4", "int8" or "fp64"."""
        return self._core.alphabet

    @property
    def backend(self) -> str:
        """The backend that runs this plan; named as its alphabet."""
        return self.alphabet

    @property
    def family(self) -> str:
        """The set of moduli and terms: "least", "paper" or "paper-karatsuba"."""
        return self._core.family

    @property
    def bits(self) -> int:
        """Capacity c: scaled integers are at most 2^c in magnitude."""
        return self._core.bits

    @property
    def k_max(self) -> int:
        """Longest inner dimension for which the plan is exact whatever the data."""
        return self._core.k_max

    @property
    def base(self) -> int | None:
        """Base of the digits of scheme I (and of the 9-product INT8 plan)."""
        return self._core.base or None

    @property
    def moduli(self) -> tuple[int, ...]:
        """Pairwise coprime moduli in the order in which they are used; empty without moduli."""
        return tuple(self._core.moduli)

    @property
    def is_complex(self) -> bool:
        """Whether the plan is of complex products, each integer x + i y of two, scaled alike.

        Modulo m, with r^2 = -1, the two residues x + r y and x - r y are multiplied each by itself: two products a modulus, whose
        outputs P and Q give the parts (P + Q) / 2 and (P - Q) / (2 r). Where there is no r, four products of x and y. Each is one
        product of planes for int8 and fp64, for fp4 as many as the modulus takes in a plan of real products. `bits` and `k_max`
        count for the parts of the result, sums of 2 K products of integers.

        >>> plan = make_plan("II", "int8", "least", 53, 2 * 16384, is_complex=True)
        >>> plan.products, plan.moduli[:4]
        (34, (241, 233, 229, 221))
        >>> make_plan("II", "fp4", "least", 53, 2 * 16384, is_complex=True).products
        142
        """
        return self._core.is_complex

    @property
    def products(self) -> int:
        """Number of plane products Q, of planes of half the entries where the plan is complex."""
        return self._core.products

    @property
    def planes_a(self) -> int:
        """How many planes :meth:`encode` makes of A."""
        return self._core.planes_a

    @property
    def planes_b(self) -> int:
        """How many planes :meth:`encode` makes of B."""
        return self._core.planes_b

    @property
    def terms(self) -> tuple[Term, ...]:
        """The plane products: which planes, with which weight, for which modulus or group.

        >>> make_plan("II", "fp4", "least", 53, 1024).terms[-1]
        Term(a_plane=48, b_plane=48, weight=1, modulus=7, group=None, part=None)
        """
        return self._terms

    @property
    def modulus_product(self) -> int:
        """P, the product of all moduli (1 without moduli)."""
        return math.prod(self.moduli)

    def encode(self, x: npt.ArrayLike, operand: str = "a") -> npt.NDArray[np.int8] | npt.NDArray[np.int32]:
        """Limb planes of the integers `x`, shape ``(planes, *x.shape)``.

        `x` holds signed integers of NumPy or, of any size, Python's (dtype object). int8, or int32 for the fp64 alphabet, whose
        limbs do not fit a byte. Both operands are encoded alike. Of a complex plan the last axis of `x` holds the pairs (x, y) of
        A, and (x, -y) of B; the planes are without it.
        Raises ValueError for integers outside the plan's range, TypeError for other types.
        """
        if operand not in ("a", "b"):
            raise ValueError(f"operand: {operand!r} is neither 'a' nor 'b'")
        integers = check_integers("x", np.asarray(x))
        if integers.dtype.kind == "O":
            for beyond in (v for v in integers.flat if abs(v) > 2**self.bits):
                raise ValueError(f"x: {beyond} is outside the plan's range of {self.bits} bits")
        return self._core.encode(to_words(integers))

    def _tables(self) -> Iterator[Table]:
        facts = [
            ("scheme", self.scheme),
            ("backend", f"{self.backend}: limbs {ALPHABET_TEXT[self.alphabet]}"),
            ("family", self.family),
            ("bits", f"{self.bits}"),
            ("products", f"{self.products}"),
            ("planes", f"{self.planes_a} of A, {self.planes_b} of B"),
            ("K limit", f"{self.k_max}"),
        ]
        if self.moduli:
            if self.is_complex:
                facts.append(("integers", "complex: x + r y and x - r y modulo m, r^2 = -1"))
            yield Table([*facts, ("P", f"2^{math.log2(self.modulus_product):.2f}")])
            yield Table(
                [_modulus_row(self, m) for m in self.moduli], ("modulus", "products", "planes", "weights")
            )
        elif self.scheme == "I":
            groups = 1 + max(t.group or 0 for t in self.terms)
            yield Table([*facts, ("digits", f"{self.planes_a} of base {self.base}, {groups} groups i + j")])
        else:
            yield Table([*facts, ("weights", ", ".join(str(t.weight) for t in self.terms))])


def _terms_of(core: _core.Plan) -> Iterator[Term]:
    moduli = core.moduli
    for group, a_plane, b_plane, weight in core.terms:
        if moduli:
            part = PAIR[group % core.parts] if core.is_complex else None
            yield Term(a_plane, b_plane, weight, modulus=moduli[group // core.parts], part=part)
        elif core.scheme == _core.Scheme.I:
            yield Term(a_plane, b_plane, core.base**group, group=group)
        else:
            yield Term(a_plane, b_plane, weight, group=group)


def _modulus_row(plan: Plan, modulus: int) -> tuple[str, str, str, str]:
    terms = [t for t in plan.terms if t.modulus == modulus]
    planes = sorted({t.a_plane for t in terms})
    return (
        str(modulus),
        str(len(terms)),
        f"{planes[0]}..{planes[-1]}",
        ", ".join(str(t.weight) for t in terms),
    )


@lru_cache(maxsize=256)
def make_plan(scheme: str, alphabet: str, family: str, bits: int, k: int, is_complex: bool = False) -> Plan:
    request = (scheme, alphabet, family, bits, k, is_complex)
    return Plan(_core.make_plan(SCHEMES[scheme], alphabet, family, bits, k, is_complex), request)


@lru_cache(maxsize=2)
def make_int8_plan(products: int) -> Plan:
    return Plan(_core.make_int8_matmul_plan(products), ("INT8", products))


def _rebuild(request: tuple[Any, ...]) -> Plan:
    return make_int8_plan(request[1]) if request[0] == "INT8" else make_plan(*request)
