"""The four stages of a product, one by one: scale, encode, multiply, reconstruct.

The first notebook, "The method", explains each. Real NumPy operands on the CPU; the result has the bits of
``ozfp4.matmul(a, b, accuracy="scaled")``.

>>> import numpy as np, ozfp4
>>> from ozfp4 import stages
>>> a, b = np.random.randn(3, 4), np.random.randn(4, 5)
>>> plan = ozfp4.plan(3, 5, 4, backend="fp4")
>>> sa, sb = stages.scale(a, "a"), stages.scale(b, "b")  # integers and exponents
>>> planes_a, planes_b = stages.encode(sa.integers, plan, "a"), stages.encode(sb.integers, plan, "b")
>>> output = stages.multiply(planes_a, planes_b, plan)  # residues, or sums of digits
>>> exact = stages.integers(output, plan)  # Python integers
>>> c = stages.reconstruct(output, plan, sa.exponents, sb.exponents)  # rounded once
>>> bool((c == ozfp4.matmul(a, b, accuracy="scaled")).all())
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from ._options import check_bits, check_integer, check_plan
from ._plans.plan import ALPHABET_TEXT, Plan
from ._request.library import as_array, take_array
from ._support.integers import check_integers, of_words, to_words, words_of


@dataclass(frozen=True)
class Scaled:
    """Result of :func:`scale`.

    Attributes
    ----------
    integers : int64 array, the operand's shape
        round(x · 2^s), ties to even; 0 for non-finite entries. Python integers (dtype object) from 63 bits on.
    exponents : int32 array
        s_i of each row of A, t_j of each column of B.
    special : uint8 array
        Per row (column): bit 0 set if it holds an infinity, bit 1 if a NaN.
    norm_squared : float
        Upper bound of the sum of squares of the integers of any row (column).
    """

    integers: npt.NDArray[Any]
    exponents: npt.NDArray[np.int32]
    special: npt.NDArray[np.uint8]
    norm_squared: float


def _array(name: str, x: object, axes: int, *allowed: type) -> npt.NDArray[Any]:
    array = take_array(name, x, allowed) if allowed else as_array(name, x)
    if array.ndim != axes:
        what = "matrix has" if axes == 2 else "stack of matrices has"
        raise ValueError(f"{name}: {array.ndim} dimensions; a {what} {axes}")
    return array


def _lines(matrix: npt.NDArray[Any], operand: str) -> npt.NDArray[Any]:
    """The operand with K last: rows of A, columns of B."""
    if operand not in ("a", "b"):
        raise ValueError(f"operand: {operand!r} is neither 'a' nor 'b'")
    return matrix if operand == "a" else matrix.T


def _exponents(name: str, x: object, count: int) -> npt.NDArray[np.int32]:
    array = take_array(name, x, (np.int32,))
    if array.shape != (count,):
        raise ValueError(f"{name}: shape {array.shape} is not {(count,)}, one exponent per row or column")
    return array


def _check_limbs(name: str, planes: npt.NDArray[Any], plan: Plan) -> None:
    """ValueError for entries outside the plan's number format: no bound covers their sums. INT8 has every byte."""
    if plan.alphabet == "fp4" and planes.dtype == np.int8:
        good = np.isin(np.abs(planes), (0, 1, 2, 3, 4, 6, 8, 12))
    elif plan.alphabet == "fp64" and planes.dtype == np.float64:
        # FP64 sums chunks of 512 products of digits, of 256 of residues.
        most = max((m // 2 for m in plan.moduli), default=2**22)
        good = (np.abs(planes) <= most) & (planes == np.rint(planes))
    else:
        return
    if not good.all():
        wrong = planes[~good].flat[0]
        raise ValueError(
            f"{name}: the entry {wrong} is no limb of the plan's alphabet, {ALPHABET_TEXT[plan.alphabet]}"
        )


def _count(plan: Plan, moduli: int | None) -> int:
    """How many moduli, or groups, of a plan are used; errors for what is no plan of real products."""
    if check_plan(plan).is_complex:
        raise ValueError("plan: it is of complex products; the stages by themselves take plans of real ones")
    everything = plan._core.count
    if moduli is None:
        return everything
    if not plan.moduli:
        raise ValueError(f"moduli: {moduli!r} given, but this plan has no moduli")
    return check_integer("moduli", moduli, 1, everything, f"1..{everything}, the moduli of this plan")


def quantise(lines: npt.NDArray[Any], exponents: npt.NDArray[np.int32], bits: int) -> npt.NDArray[Any]:
    """round(x · 2^s) of the lines, int64 up to 62 bits and Python integers beyond."""
    words = _core.quantise(lines, exponents, words_of(bits))
    return words.view(np.int64)[..., 0] if words.shape[-1] == 2 else of_words(words)


def scale(x: object, operand: str = "a", bits: int = 53) -> Scaled:
    """Stage 1: integers of at most `bits` bits for each row of A (column of B).

    Parameters
    ----------
    x : array_like
        A float64 or float32 matrix.
    operand : {"a", "b"}
        Scale rows ("a") or columns ("b").
    bits : int
        2..200.

    Returns
    -------
    Scaled
        The integers round(x 2^s), and an exponent s for each row (column).
    """
    matrix = _array("x", x, 2, np.float64, np.float32)
    lines = _lines(matrix, operand)
    capacity = check_bits(bits)
    exponents, special, norm_squared = _core.scale(lines, capacity)
    integers = quantise(lines, exponents, capacity)
    return Scaled(integers if operand == "a" else integers.T, exponents, special, norm_squared)


def encode(
    integers: object, plan: Plan, operand: str = "a", *, moduli: int | None = None
) -> npt.NDArray[Any]:
    """Stage 2: the planes of the integers, ``(planes, rows of A or columns of B, K)``.

    Parameters
    ----------
    integers : array_like
        int64, or Python integers (dtype object).
    plan : Plan
        A plan of real products.
    operand : {"a", "b"}
        Rows of A or columns of B.
    moduli : int, optional
        Use only the first moduli of the plan, as many as this.

    Returns
    -------
    array
        int8 limbs, or float64 for the number format "fp64"; K is contiguous.

    Raises
    ------
    ValueError
        For integers of more bits than the plan has.
    """
    count = _count(plan, moduli)
    array = check_integers("integers", _array("integers", integers, 2, np.int64, np.object_))
    plan._check_range("integers", array)
    return _core.encode(plan._core, count, to_words(np.ascontiguousarray(_lines(array, operand))))


def multiply(
    planes_a: npt.NDArray[Any], planes_b: npt.NDArray[Any], plan: Plan, *, moduli: int | None = None
) -> npt.NDArray[Any]:
    """Stage 3: one output for each group, ``(groups, m, n)``.

    Parameters
    ----------
    planes_a, planes_b : array
        Planes of :func:`encode`.
    plan : Plan
        The plan that they were encoded with.
    moduli : int, optional
        As in :func:`encode`.

    Returns
    -------
    array
        Residues in [0, modulus), or int64 sums of digits.

    Raises
    ------
    ValueError
        For entries outside the plan's number format, and an inner dimension beyond its limit.
    RuntimeError
        If the kernel failed its self-test.
    """
    count = _count(plan, moduli)
    array_a, array_b = _array("planes_a", planes_a, 3), _array("planes_b", planes_b, 3)
    if array_a.shape[2] > plan.k_max:
        raise ValueError(
            f"planes_a: the inner dimension {array_a.shape[2]} exceeds {plan.k_max}, the plan's limit"
        )
    _check_limbs("planes_a", array_a, plan)
    _check_limbs("planes_b", array_b, plan)
    _core.check_trusted(plan.alphabet)
    return _core.multiply(plan._core, count, array_a, array_b)


def integers(output: npt.NDArray[Any], plan: Plan, *, moduli: int | None = None) -> npt.NDArray[Any]:
    """The exact integers of an output of :func:`multiply`, as an array of Python integers."""
    count = _count(plan, moduli)
    return of_words(_core.integers(plan._core, count, _array("output", output, 3)))


def reconstruct(
    output: npt.NDArray[Any],
    plan: Plan,
    exponents_a: npt.NDArray[np.int32],
    exponents_b: npt.NDArray[np.int32],
    *,
    dtype: npt.DTypeLike = np.float64,
    moduli: int | None = None,
) -> npt.NDArray[Any]:
    """Stage 4: the result, integer · 2^-(s_i + t_j), rounded once, ties to even.

    Parameters
    ----------
    output : array
        Output of :func:`multiply`.
    plan : Plan
        Its plan.
    exponents_a, exponents_b : int32 array
        Exponents of :func:`scale`, for rows of A and columns of B.
    dtype : dtype
        float64 or float32.
    moduli : int, optional
        As in :func:`encode`.
    """
    count, kind = _count(plan, moduli), np.dtype(dtype)
    if kind not in (np.float64, np.float32):
        raise TypeError(f"dtype: {kind} is not supported; allowed are float64 and float32")
    array = _array("output", output, 3)
    rows = _exponents("exponents_a", exponents_a, array.shape[1])
    columns = _exponents("exponents_b", exponents_b, array.shape[2])
    return _core.reconstruct(plan._core, count, array, rows, columns, kind == np.float32)
