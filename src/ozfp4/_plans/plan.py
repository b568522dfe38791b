"""Plans: what a product needs to know before it sees data, as immutable, printable values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from .._support.integers import check_integers, to_words
from .._support.table import Table, Tabular

SCHEMES = {"I": _core.Scheme.I, "II": _core.Scheme.II}
ALPHABETS = _core.ALPHABETS
PLANNED = ("ti16",)  # alphabets of plans and of the model, which no kernel multiplies
FAMILIES = ("least", "paper", "paper-karatsuba")
PAIR = ("first", "second")
_CorePlan = _core.Plan  # the attribute _core of the class below hides the module from its annotation
ALPHABET_TEXT = {
    "fp4": "S = {0, ±1, ±2, ±3, ±4, ±6, ±8, ±12} (E2M1 × 2)",
    "int8": "-128..127",
    "fp64": "integers up to 2^22 (digits) or m / 2 (residues) in magnitude",
    "ti16": "-2047..2047 (TI16 of PTX 9.4)",
}


@dataclass(frozen=True)
class Term:
    """One plane product A_plane × B_plane with an integer weight.

    Scheme II: `modulus` is set and the weight is taken modulo it. In a complex plan `part` is "first" or "second", one of the
    two outputs of the modulus. Scheme I and INT8 products: `group` is set and the weight is a plain integer (base^group for
    scheme I).
    """

    a_plane: int
    b_plane: int
    weight: int
    modulus: int | None = None
    group: int | None = None
    part: str | None = None


@dataclass(frozen=True, repr=False)
class Plan(Tabular):
    """Moduli or digit groups, planes, terms and limits of a product; immutable.

    Made by :func:`ozfp4.plan` and :func:`ozfp4.plan_for`. Let ``l = plan.encode(x)`` and
    ``k = plan.encode(y, operand="b")``. Then ``sum(t.weight * l[t.a_plane] * k[t.b_plane])`` over
    the terms of one modulus is congruent to ``x * y``. Over all terms of a plan without moduli it
    equals ``x * y``.

    Attributes
    ----------
    scheme : str
        "I", "II" or "INT8".
    alphabet : str
        Number format of the limbs, which one matrix unit multiplies exactly: "fp4", "int8" or
        "fp64".
    family : str
        The set of moduli and terms: "least", "paper" or "paper-karatsuba".
    bits : int
        Capacity c: scaled integers are at most 2^c in magnitude.
    moduli : tuple of int
        Pairwise coprime moduli in the order in which they are used; empty without moduli.
    is_complex : bool
        Whether the plan is for complex products, see Notes.
    terms : tuple of Term
        The plane products: which planes, with which weight, for which modulus or group.
    base : int or None
        Base of the digits of scheme I (and of the 9-product INT8 plan).
    k_max : int
        Longest inner dimension for which the plan is exact, whatever the data are.
    products : int
        Number of plane products Q; for a complex plan the planes have half of the entries.
    planes_a, planes_b : int
        How many planes :meth:`encode` makes of A, and of B.

    Notes
    -----
    **Complex plans** multiply integers x + i y. Modulo m, with r^2 = -1, the two residues x + r y
    and x - r y are multiplied each by itself: two products for each modulus. Their outputs P and
    Q give the parts (P + Q) / 2 and (P - Q) / (2 r). Without such an r there are four products of
    x and y. Each is one product of planes for int8 and fp64; for fp4 it is as many as the modulus
    takes in a plan of real products. `bits` and `k_max` count for the parts of the result, sums
    of 2 K products of integers.

    Examples
    --------
    >>> import ozfp4
    >>> plan = ozfp4.plan(100, 100, 1000, backend="int8", accuracy="scaled")
    >>> plan.products, plan.planes_a, len(plan.moduli), plan.moduli[:3]
    (15, 15, 15, (256, 255, 253))
    >>> x, y = plan.encode([123456789]), plan.encode([-987654321], operand="b")
    >>> m = plan.moduli[1]
    >>> total = sum(t.weight * int(x[t.a_plane, 0]) * int(y[t.b_plane, 0]) for t in plan.terms if t.modulus == m)
    >>> (total - 123456789 * -987654321) % m
    0
    >>> ozfp4.plan(1, 1, 1024, backend="fp4", accuracy="scaled").terms[-1]
    Term(a_plane=48, b_plane=48, weight=1, modulus=7, group=None, part=None)
    >>> plan = make_plan("II", "int8", "least", 53, 2 * 16384, is_complex=True)
    >>> plan.products, plan.moduli[:4]
    (34, (241, 233, 229, 221))
    """

    scheme: str
    alphabet: str
    family: str
    bits: int
    moduli: tuple[int, ...]
    is_complex: bool
    terms: tuple[Term, ...] = field(hash=False)
    base: int | None = field(compare=False)
    k_max: int = field(compare=False)
    products: int = field(compare=False)
    planes_a: int = field(compare=False)
    planes_b: int = field(compare=False)
    _core: _CorePlan = field(compare=False)
    _made_by: tuple[Callable[..., Plan], tuple[Any, ...]] = field(compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made_by

    def _key(self) -> tuple[Any, ...]:
        """The facts that equal plans share."""
        return (
            self.scheme, self.alphabet, self.family, self.bits, self.moduli, self.is_complex, self.terms
        )  # fmt: skip

    @property
    def backend(self) -> str:
        """The backend that runs this plan; named as its alphabet."""
        return self.alphabet

    @property
    def modulus_product(self) -> int:
        """P, the product of all moduli (1 without moduli)."""
        return math.prod(self.moduli)

    def encode(self, x: npt.ArrayLike, operand: str = "a") -> npt.NDArray[np.int8] | npt.NDArray[np.int32]:
        """Limb planes of the integers `x`, shape ``(planes, *x.shape)``.

        `x` holds signed integers of NumPy or, of any size, Python's (dtype object). int8, or int32 for the fp64 alphabet, as
        its limbs do not fit a byte. Both operands are encoded alike. For a complex plan the last axis of `x` holds the pairs
        (x, y) of A, and (x, -y) of B; the planes are without it. Raises ValueError for integers outside the plan's range,
        TypeError for other types.
        """
        if operand not in ("a", "b"):
            raise ValueError(f"operand: {operand!r} is neither 'a' nor 'b'")
        integers = check_integers("x", np.asarray(x))
        self._check_range("x", integers)
        return self._core.encode(to_words(integers))

    def _check_range(self, name: str, integers: npt.NDArray[Any]) -> None:
        """ValueError for integers that the plan does not encode."""
        least, largest, limit = -(2**self.bits), 2**self.bits, f"-2**{self.bits}..2**{self.bits}"
        if self.scheme == "INT8":
            least, largest, limit = -128, 127, "-128..127"
        for x in (integers.min(), integers.max()) if integers.size else ():
            if not least <= int(x) <= largest:
                raise ValueError(f"{name}: {x} is outside the plan's range {limit}")

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
            rows = [_modulus_row(self, m) for m in self.moduli]
            yield Table(rows, ("modulus", "products", "planes", "weights"))
        elif self.scheme == "I":
            groups = 1 + max(t.group or 0 for t in self.terms)
            yield Table([*facts, ("digits", f"{self.planes_a} of base {self.base}, {groups} groups i + j")])
        else:
            yield Table([*facts, ("weights", ", ".join(str(t.weight) for t in self.terms))])


def plan_of_core(core: _core.Plan, make: Callable[..., Plan], *arguments: Any) -> Plan:
    """The value of a plan of the core; `make` returns it for these arguments."""
    return Plan(
        core.scheme.name,
        core.alphabet,
        core.family,
        core.bits,
        tuple(core.moduli),
        core.is_complex,
        tuple(_terms_of(core)),
        core.base or None,
        core.k_max,
        core.products,
        core.planes_a,
        core.planes_b,
        core,
        (make, arguments),
    )


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
    planes = [t.a_plane for t in terms]
    weights = ", ".join(str(t.weight) for t in terms)
    return str(modulus), str(len(terms)), f"{min(planes)}..{max(planes)}", weights


@lru_cache(maxsize=256)
def make_plan(scheme: str, alphabet: str, family: str, bits: int, k: int, is_complex: bool = False) -> Plan:
    core = _core.make_plan(SCHEMES[scheme], alphabet, family, bits, k, is_complex)
    return plan_of_core(core, make_plan, scheme, alphabet, family, bits, k, is_complex)


@lru_cache(maxsize=2)
def make_int8_plan(products: int) -> Plan:
    return plan_of_core(_core.make_int8_matmul_plan(products), make_int8_plan, products)
