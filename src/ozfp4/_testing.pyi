"""What only the tests ask of the C++ code; in builds with -DOZFP4_TESTING=ON (sources: csrc/bindings/testing_*)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._core import Plan

_Array = npt.ArrayLike

MAX_PREFIXES: int

def make_moduli_plan(alphabet: str, bits: int, moduli: Sequence[int], /) -> Plan:
    """A plan of scheme II modulo these numbers."""

def fp4_rate(has_codes: bool, has_tcgen05: bool, has_tcgen05_bytes: bool, /) -> float:
    """The rate of an FP4 unit beside that of bytes, by the kernels that run on a GPU."""

def prefix_rule(plan: Plan, prefixes: int, /) -> tuple[int, int, list[float]]:
    """(least, all, limits of the counts 1, 2, ...) of the rule for the last `prefixes` counts."""

def chains(plan: Plan, /) -> list[list[tuple[int, int, int]]]:
    """For each group (plane of A, plane of B, multiplier of what was accumulated before)."""

def moduli_needed(plan: Plan, norm_product_squared: float, /) -> int:
    """Least prefix of the moduli that is exact for ||a||² ||b||² up to the given bound."""

# Submodules at run time; they cannot be imported from, so namespaces describe them. Elementwise functions take scalars, too.
class arith:  # noqa: N801
    limbed_ranges: tuple[tuple[int, int, int], ...]  # limbs, bits, products of a sum
    balanced_ranges: tuple[tuple[int, int, int], ...]  # limbs, bits, products of a sum
    word_counts: list[int]
    @staticmethod
    def split_integer(x: _Array, shift: _Array, /) -> Any: ...
    @staticmethod
    def dot_of_byte_limbs(limbs: int, inner: int, x: _Array, y: _Array, /) -> npt.NDArray[np.uint32]: ...
    @staticmethod
    def wrong_residues_of_sums(m: int, most: int, /) -> int: ...
    @staticmethod
    def balanced_limbs(limbs: int, x: _Array, scale: float, /) -> npt.NDArray[np.int32]: ...
    @staticmethod
    def balanced_dot(limbs: int, x: _Array, y: _Array, /) -> npt.NDArray[np.uint32]: ...
    @staticmethod
    def limbed_dot(limbs: int, x: _Array, y: _Array, /) -> npt.NDArray[np.uint32]: ...
    @staticmethod
    def e2m1_decode(code: _Array, /) -> Any: ...
    @staticmethod
    def e2m1_encode(limb: _Array, /) -> Any: ...
    @staticmethod
    def e2m1_has(limb: _Array, /) -> Any: ...
    @staticmethod
    def exponent64(x: _Array, /) -> Any: ...
    @staticmethod
    def exponent32(x: _Array, /) -> Any: ...
    @staticmethod
    def scaled_integer64(x: _Array, shift: _Array, /) -> Any: ...
    @staticmethod
    def scaled_integer32(x: _Array, shift: _Array, /) -> Any: ...
    @staticmethod
    def limb13(v: _Array, /) -> Any: ...
    @staticmethod
    def quotient13(v: _Array, /) -> Any: ...
    @staticmethod
    def balanced_digit(v: _Array, width: _Array, /) -> Any: ...
    @staticmethod
    def small_residue(v: _Array, m: _Array, /) -> Any: ...
    @staticmethod
    def residue_of_pieces(v: _Array, m: _Array, /) -> Any: ...
    @staticmethod
    def reduce32(x: _Array, m: _Array, /) -> Any: ...
    @staticmethod
    def reduce64(x: _Array, m: _Array, /) -> Any: ...
    @staticmethod
    def fold_unsigned(x: _Array, m: _Array, /) -> Any: ...
    @staticmethod
    def fold_signed(x: _Array, m: _Array, bound: _Array, /) -> Any: ...
    @staticmethod
    def wide(x: _Array, y: _Array, factor: int, /) -> dict[str, Any]: ...
    @staticmethod
    def crt(residues: _Array, moduli: Sequence[int], words: int, /) -> tuple[Any, Any, Any]: ...
    @staticmethod
    def column_crt(
        columns: _Array, inverse: int, offset: int, negated: _Array, product: _Array, lowest: _Array, /
    ) -> tuple[Any, Any]: ...

# Sums of products, and their parts.
exact: Any

# The cases of the self-test (csrc/product/trust).
def trust_cases(element: str, short: bool, /) -> list[tuple[str, Any, Any, Any]]:
    """(name, rows of A, columns of B, the product) of each."""

def trust_alphabet(element: str, /) -> tuple[list[int], int]:
    """The limbs that cases have, and their longest K at the limit."""

def trust_products(kind: str, short: bool, single: bool, /) -> list[tuple[str, Any, Any, Any, str, bool]]:
    """(name, A, columns of B, the product, accuracy, whether they are of float32), all in float64."""
