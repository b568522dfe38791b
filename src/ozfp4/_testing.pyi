"""What only the tests ask of the C++ code; in builds with -DOZFP4_TESTING=ON (sources: csrc/bindings/testing_*)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ._core import Plan, Scheme

MAX_PREFIXES: int

def make_fp8_plan(scheme: Scheme, bits: int, k: int) -> Plan:
    """A plan over an alphabet that the package does not have: the integers of E4M3."""

def make_moduli_plan(alphabet: str, bits: int, moduli: Sequence[int]) -> Plan:
    """A plan of scheme II modulo these numbers."""

def fp4_rate(has_codes: bool, has_tcgen05: bool, has_tcgen05_bytes: bool) -> float:
    """The rate of an FP4 unit beside that of bytes, by the kernels that run on a GPU."""

def rank_units(
    scheme: Scheme, family: str, bits: int, k: int, rates: Sequence[tuple[str, float]]
) -> list[tuple[str, int]]:
    """(backend, products) of the units that have a plan, the cheapest first."""

def cut_for_copies(
    m: int,
    n: int,
    row: int,
    column: int,
    entry: int,
    budget: int,
    has_whole_rows: bool = False,
    has_whole_columns: bool = False,
) -> tuple[int, int]: ...
def prefix_rule(plan: Plan, prefixes: int) -> tuple[int, int, list[float]]:
    """(least, all, limits of the counts 1, 2, ...) of the rule for the last `prefixes` counts."""

def chains(plan: Plan) -> list[list[tuple[int, int, int]]]:
    """For each group (plane of A, plane of B, multiplier of what was accumulated before)."""

def moduli_needed(plan: Plan, norm_product_squared: float) -> int:
    """Least prefix of the moduli that is exact for ||a||² ||b||² up to the given bound."""

# A submodule at run time; it cannot be imported from, so a namespace describes it. Scalars in, scalars out.
class arith:  # noqa: N801
    limbed_ranges: tuple[tuple[int, int, int], ...]  # limbs, bits, products of a sum
    balanced_ranges: tuple[tuple[int, int, int], ...]  # limbs, bits, products of a sum
    @staticmethod
    def split_integer(x: npt.ArrayLike, shift: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def dot_of_byte_limbs(limbs: int, inner: int, x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[int, ...]: ...
    @staticmethod
    def wrong_residues_of_sums(m: int, most: int) -> int: ...
    @staticmethod
    def balanced_limbs2(x: npt.ArrayLike, scale: float, /) -> Any: ...
    @staticmethod
    def balanced_limbs3(x: npt.ArrayLike, scale: float, /) -> Any: ...
    @staticmethod
    def balanced_dot2(x: npt.ArrayLike, y: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def balanced_dot3(x: npt.ArrayLike, y: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def limbed_dot2(x: npt.ArrayLike, y: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def limbed_dot3(x: npt.ArrayLike, y: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def limbed_dot4(x: npt.ArrayLike, y: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def e2m1_decode(code: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def e2m1_encode(limb: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def e2m1_has(limb: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def exponent64(x: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def exponent32(x: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def scaled_integer64(x: npt.ArrayLike, shift: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def scaled_integer32(x: npt.ArrayLike, shift: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def limb13(v: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def quotient13(v: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def balanced_digit(v: npt.ArrayLike, width: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def small_residue(v: npt.ArrayLike, m: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def residue_of_pieces(v: npt.ArrayLike, m: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def reduce32(x: npt.ArrayLike, m: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def reduce64(x: npt.ArrayLike, m: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def fold_unsigned(x: npt.ArrayLike, m: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def fold_signed(x: npt.ArrayLike, m: npt.ArrayLike, bound: npt.ArrayLike, /) -> Any: ...
    @staticmethod
    def round64(words: npt.ArrayLike, exponent: npt.ArrayLike) -> npt.NDArray[np.float64]: ...
    @staticmethod
    def round32(words: npt.ArrayLike, exponent: npt.ArrayLike) -> npt.NDArray[np.float32]: ...
    @staticmethod
    def round_pieces(words: npt.ArrayLike, exponent: npt.ArrayLike) -> npt.NDArray[np.float64]: ...
    @staticmethod
    def round_fast64(
        words: npt.ArrayLike, exponent: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]: ...
    @staticmethod
    def round_fast32(
        words: npt.ArrayLike, exponent: npt.ArrayLike
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]: ...
    @staticmethod
    def word_counts() -> list[int]: ...
    @staticmethod
    def wide(x: npt.NDArray[np.uint32], y: npt.NDArray[np.uint32], factor: int) -> dict[str, Any]: ...
    @staticmethod
    def parts(
        numbers: npt.NDArray[np.uint32], cut: int
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]: ...
    @staticmethod
    def crt(
        residues: npt.NDArray[np.uint32], moduli: Sequence[int], words: int
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.bool_]]: ...
    @staticmethod
    def column_crt(
        columns: npt.ArrayLike,
        inverse: int,
        offset: int,
        negated: npt.ArrayLike,
        product: npt.ArrayLike,
        lowest: npt.ArrayLike,
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.bool_]]: ...

# The cases of the self-test (csrc/product/trust).
def trust_cases(element: str, short: bool) -> list[tuple[str, Any, Any, Any]]:
    """(name, rows of A, columns of B, the product) of each."""

def trust_alphabet(element: str) -> tuple[list[int], int]:
    """The limbs that cases have, and their longest K at the limit."""

def trust_products(kind: str, short: bool, single: bool) -> list[tuple[str, Any, Any, Any, str, bool]]:
    """(name, A, columns of B, the product, accuracy, whether they are of float32), all in float64."""
