"""Seeded operands, enumerated once and used by tests and benchmarks alike.

A *kind* fills an m × k by k × n pair with values. A *view* lays an array out in memory in some other way. A *stack*
is a pair of shapes, a *path* a way to multiply. All are functions of their arguments and the seed.

>>> a, b = operands("cancelling", 7, 30, 5, seed=1)
>>> a = VIEWS["reversed"](a)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ozfp4._options import ROUNDINGS

Array = npt.NDArray[Any]
Kind = Callable[[np.random.Generator, int, int, int, "Format"], tuple[Array, Array]]


class Format:
    """Bits and exponents of a float type, as the generators need them.

    Attributes
    ----------
    dtype : float64 or float32
    precision : int
        Bits of the significand.
    max_exponent, min_exponent, lowest : int
        Exponents of the largest finite, the smallest normal and the smallest subnormal number.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        info = np.finfo(np.dtype(dtype))
        self.dtype = np.dtype(dtype)
        self.precision = info.nmant + 1
        self.max_exponent = int(info.maxexp) - 1
        self.min_exponent = int(info.minexp)
        self.lowest = int(info.minexp) - int(info.nmant)


def _signs(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    return rng.choice(np.array([-1.0, 1.0]), shape)


def _odd_fractions(rng: np.random.Generator, shape: tuple[int, ...], f: Format) -> Array:
    """Random significands in [1, 2) with the last bit set."""
    digits = rng.integers(2 ** (f.precision - 2), 2 ** (f.precision - 1), shape)
    fractions: Array = np.ldexp(2.0 * digits + 1.0, 1 - f.precision)
    return fractions


def _normal(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    return rng.standard_normal((m, k)), rng.standard_normal((k, n))


def _uniform(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    return rng.random((m, k)), rng.random((k, n))


def spread(rng: np.random.Generator, shape: tuple[int, ...], phi: int) -> Array:
    """The paper's ±(1 + u) 2^e, u uniform in [0, 1), e a uniform integer in 0..phi."""
    return _signs(rng, shape) * np.ldexp(1.0 + rng.random(shape), rng.integers(0, phi + 1, shape))


def _spread(phi: int) -> Kind:
    def kind(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
        return spread(rng, (m, k), phi), spread(rng, (k, n), phi)

    return kind


def _bit_patterns(rng: np.random.Generator, shape: tuple[int, ...], f: Format) -> Array:
    """Finite values with uniformly distributed bits: every exponent, subnormal numbers included."""
    width = f.dtype.itemsize
    bits = rng.integers(0, 256, (*shape, width), dtype=np.uint8).view(f"u{width}")[..., 0]
    x: Array = bits.view(f.dtype).copy()
    x[~np.isfinite(x)] = 0
    return x


def _whole_range(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    return _bit_patterns(rng, (m, k), f), _bit_patterns(rng, (k, n), f)


def _row_exponents(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Every row of A and column of B at another exponent, so that C meets overflow and underflow."""
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    a = np.ldexp(a, rng.integers(f.lowest, f.max_exponent - 1, (m, 1)))
    return a, np.ldexp(b, rng.integers(f.lowest, f.max_exponent - 1, (1, n)))


def _subnormal(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """A of subnormal numbers, many of them the smallest; B moderate, with some columns huge."""
    digits = rng.integers(0, 2 ** rng.integers(1, f.precision, (m, 1)), (m, k))
    a = _signs(rng, (m, k)) * np.ldexp(digits.astype(np.float64), f.lowest)
    return a, np.ldexp(rng.standard_normal((k, n)), rng.integers(0, f.max_exponent - 2, (1, n)))


def _largest(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """A at the largest finite number and its neighbours; C around the overflow threshold."""
    top = float(np.finfo(f.dtype).max)
    a = _signs(rng, (m, k)) * (top - np.ldexp(rng.integers(0, 4, (m, k)), f.max_exponent + 1 - f.precision))
    b = _signs(rng, (k, n)) * np.ldexp(1.0 + rng.random((k, n)), rng.integers(-6, 2, (1, n)))
    b[:, ::2] = 0.0
    if k:
        b[rng.integers(0, k), ::2] = 1.0  # these columns give back the largest numbers
    return a, b


def _tiny_results(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """C among the subnormal numbers and below half of the smallest."""
    a = np.ldexp(rng.standard_normal((m, k)), f.lowest // 2)
    return a, np.ldexp(rng.standard_normal((k, n)), f.lowest - f.lowest // 2 + rng.integers(-6, 30, (1, n)))


def _zero_lines(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Rows of A and columns of B that are all zeros, of both signs, and single zeros."""
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    a[rng.random((m, k)) < 0.3] = -0.0
    b[rng.random((k, n)) < 0.3] = 0.0
    a[::3] = 0.0
    b[:, 1::2] = -0.0
    return a, b


def _spikes(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """One entry of each row dwarfs the others, which lose some or all of their bits."""
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    if k:
        a[np.arange(m), rng.integers(0, k, m)] *= 2.0 ** rng.integers(0, 70, m)
        b[rng.integers(0, k, n), np.arange(n)] *= 2.0 ** rng.integers(0, 70, n)
    return a, b


def _scaling_ties(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Entries halfway between two scaled integers; the largest entry of each row has exponent 0."""

    def lines(rows: int) -> Array:
        digits = rng.integers(0, 2 ** rng.integers(1, f.precision, (rows, k)))
        x: Array = _signs(rng, (rows, k)) * np.ldexp(2.0 * digits + 1.0, -f.precision)
        if k:
            x[np.arange(rows), rng.integers(0, k, rows)] = 1.0 + rng.random(rows)
        return x

    return lines(m), lines(n).T


def _final_ties(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Results halfway between two floats, or off that by one bit far below; also subnormal results.

    C_ij = ±x ± half an ulp ± (nothing or something below 2^-2 ulps), assembled from products along K.
    """
    half = f.precision // 2
    a, b = np.zeros((m, k)), np.zeros((k, n))
    a[:, :1] = _signs(rng, (m, 1)) * _odd_fractions(rng, (m, 1), f)
    a[: m // 2, :1] -= np.copysign(2.0 ** (1 - f.precision), a[: m // 2, :1])  # even ones
    b[:1] = 1.0
    a[:, 1:2] = rng.integers(-1, 2, (m, 1)) * 2.0**-half
    b[1:2] = 2.0 ** (half - f.precision)
    a[:, 2:3] = rng.integers(-1, 2, (m, 1)) * 2.0 ** (1 - f.precision)
    b[2:3] = rng.integers(-1, 2, (1, n)) * 2.0 ** (1 - f.precision)
    order = rng.permutation(k)
    # Half of the rows and columns are small; where they meet, C has lost 0 to all of its bits to underflow.
    lost = rng.integers(0, f.precision + 2, (1, n))
    down_a, down_b = f.min_exponent // 2, f.min_exponent - f.min_exponent // 2 - lost
    a, b = a[:, order], b[order]
    a[::2] = np.ldexp(a[::2], down_a)
    return a, np.where(rng.random((1, n)) < 0.5, np.ldexp(b, down_b), b)


def _cancelling(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Sums that vanish, or leave one small product of many large ones."""
    half = k // 2
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    a[:, half : 2 * half], b[half : 2 * half] = a[:, :half], -b[:half]
    a[:, 2 * half :] *= 2.0 ** -(f.precision // 2)
    a[: m // 2, 2 * half :] = 0.0
    order = rng.permutation(k)
    return a[:, order], b[order]


def _integers(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Scaled integers at the limit, 2^c, 2^c - 1, 2^(c-1) and neighbours; half of the rows have one sign."""
    top = 2.0**f.precision
    corners = np.array([top, top - 1, top - 2, top / 2, top / 2 + 1, top / 2 - 1, 1.0, 0.0])

    def lines(rows: int) -> Array:
        x = rng.choice(corners, (rows, k))
        x[::2] = top - 1
        x[1::2] *= _signs(rng, x[1::2].shape)
        return x

    return lines(m), lines(n).T


def _small_integers(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    return rng.integers(-9, 10, (m, k)).astype(f.dtype), rng.integers(-9, 10, (k, n)).astype(f.dtype)


def _identity(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    return np.eye(m, k), _bit_patterns(rng, (k, n), f)


def _specials(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """NaN and infinities of both signs here and there, and zeros."""
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    for x in (a, b):
        x[rng.random(x.shape) < 0.2] = 0.0
        for value in (np.nan, np.inf, -np.inf):
            x[rng.random(x.shape) < min(0.05, 0.7 / max(k, 1))] = value
    return a, b


def _infinities(rng: np.random.Generator, m: int, k: int, n: int, f: Format) -> tuple[Array, Array]:
    """Infinities with products that agree in sign in some entries and cancel in others; no NaN, no zeros."""
    a, b = np.abs(rng.standard_normal((m, k))), np.abs(rng.standard_normal((k, n)))
    a[:, ::2] *= -1
    b[::2] *= -1
    for x in (a, b):
        np.copyto(x, np.copysign(np.inf, x), where=rng.random(x.shape) < min(0.2, 2 / max(k, 1)))
        x *= np.where(rng.random(x.shape) < 0.05, -1, 1)
    return a, b


KINDS: dict[str, Kind] = {
    "normal": _normal,
    "uniform": _uniform,
    "phi0": _spread(0),
    "phi8": _spread(8),
    "phi32": _spread(32),
    "whole-range": _whole_range,
    "row-exponents": _row_exponents,
    "subnormal": _subnormal,
    "largest": _largest,
    "tiny-results": _tiny_results,
    "zero-lines": _zero_lines,
    "spikes": _spikes,
    "scaling-ties": _scaling_ties,
    "final-ties": _final_ties,
    "cancelling": _cancelling,
    "integers": _integers,
    "small-integers": _small_integers,
    "identity": _identity,
    "specials": _specials,
    "infinities": _infinities,
}


def operands(
    kind: str, m: int, k: int, n: int, *, seed: int = 0, dtype: npt.DTypeLike = np.float64
) -> tuple[Array, Array]:
    """A pair of matrices of one kind.

    Parameters
    ----------
    kind : str
        A key of ``KINDS``.
    m, k, n : int
        Shapes (m, k) and (k, n); any of them may be 0.
    seed : int
    dtype : float64 or float32

    Returns
    -------
    a, b : C-contiguous arrays of `dtype`
    """
    rng = np.random.default_rng([seed, list(KINDS).index(kind), m, k, n])
    with np.errstate(all="ignore"):  # conversions to float32 overflow and underflow on purpose
        a, b = KINDS[kind](rng, m, k, n, Format(dtype))
        return np.ascontiguousarray(a, dtype=dtype), np.ascontiguousarray(b, dtype=dtype)


# ---- Lines: kinds with columns of B made like rows of A


def _deep(rng: np.random.Generator, lines: int, k: int, f: Format) -> Array:
    """Over most of the exponents, so that hardly a line is exact."""
    reach = 600 if f.precision == 53 else 90
    return np.ldexp(rng.standard_normal((lines, k)), rng.integers(-reach, reach // 2, (lines, k)))


def _undone(rng: np.random.Generator, lines: int, k: int, f: Format) -> Array:
    """The second half undoes the first but for a little."""
    x, half = rng.standard_normal((lines, k)), k // 2
    x[:, half : 2 * half] = -x[:, :half]
    return x * (1 + (rng.random((lines, k)) < 0.1) * 2.0**-20)


def _beside_subnormal(rng: np.random.Generator, lines: int, k: int, f: Format) -> Array:
    low, high = (-1060, 300) if f.precision == 53 else (-140, 30)
    return np.ldexp(rng.standard_normal((lines, k)), np.where(rng.random((lines, k)) < 0.3, high, low))


def _at(double: int, single: int) -> Callable[[np.random.Generator, int, int, Format], Array]:
    return lambda rng, lines, k, f: np.ldexp(
        rng.standard_normal((lines, k)), double if f.precision == 53 else single
    )


LINES: dict[str, Callable[[np.random.Generator, int, int, Format], Array]] = {
    "deep": _deep,
    "undone": _undone,
    "beside-subnormal": _beside_subnormal,
    "sparse": lambda rng, lines, k, f: rng.standard_normal((lines, k)) * (rng.random((lines, k)) < 0.1),
    "tiny": _at(-537, -75),
    "huge": _at(511, 63),
    "zeros": lambda rng, lines, k, f: np.zeros((lines, k)),
}


def line_operands(
    kind: str, m: int, k: int, n: int, *, seed: int = 0, dtype: npt.DTypeLike = np.float64
) -> tuple[Array, Array]:
    """As `operands`, of a key of ``LINES``."""
    rng = np.random.default_rng([seed, m, k, n, *kind.encode()])
    a, b = (LINES[kind](rng, lines, k, Format(dtype)).astype(dtype) for lines in (m, n))
    return a, np.ascontiguousarray(b.T)


def any_operands(
    kind: str, m: int, k: int, n: int, *, seed: int = 0, dtype: npt.DTypeLike = np.float64
) -> tuple[Array, Array]:
    """Operands of a kind in ``KINDS`` or ``LINES``."""
    return (operands if kind in KINDS else line_operands)(kind, m, k, n, seed=seed, dtype=dtype)


def noise(shape: tuple[int, ...], dtype: npt.DTypeLike = np.float64) -> Array:
    """A new array with all bytes 0xAB, as ``out=`` before a call, so that a gap shows."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    return np.full(size, 0xAB, np.uint8).view(dtype).reshape(shape)


# ---- Views -------------------------------------------------------------------------------------------------


def _in_larger(x: Array) -> Array:
    """A slice in the middle of a larger array of noise."""
    larger = noise(tuple(e + 5 for e in x.shape), x.dtype)
    inside: Array = larger[tuple(slice(2, 2 + e) for e in x.shape)]
    inside[...] = x
    return inside


def _strided(x: Array) -> Array:
    """Every third entry along the last axis, every second along the others."""
    steps = (*(2 for _ in x.shape[:-1]), 3)
    larger = noise(tuple(max(e * s, 1) for e, s in zip(x.shape, steps, strict=True)), x.dtype)
    inside: Array = larger[tuple(slice(0, e * s, s) for e, s in zip(x.shape, steps, strict=True))]
    inside[...] = x
    return inside


def _reversed(x: Array) -> Array:
    everything = (slice(None, None, -1),) * x.ndim
    view: Array = x[everything].copy()[everything]
    return view


def _transposed(x: Array) -> Array:
    """The last two axes swapped in memory: column-major matrices in a C-ordered stack."""
    if x.ndim == 1:
        return np.copy(x)
    view: Array = x.swapaxes(-1, -2).copy().swapaxes(-1, -2)
    return view


def _unaligned(x: Array) -> Array:
    """A field of packed records, one byte off any alignment, with an odd distance between entries."""
    records = np.zeros(x.shape, np.dtype([("pad", np.uint8), ("value", x.dtype)]))
    values: Array = records["value"]
    values[...] = x
    return values


def _swapped(x: Array) -> Array:
    swapped: Array = x.astype(x.dtype.newbyteorder("S"))
    return swapped


def _read_only(x: Array) -> Array:
    copy: Array = np.copy(x)
    copy.flags.writeable = False
    return copy


# Each takes an array of at least one axis and returns an equal one with another layout.
VIEWS: dict[str, Callable[[Array], Array]] = {
    "contiguous": np.copy,
    "fortran": lambda x: np.asfortranarray(x).copy(order="F"),
    "transposed": _transposed,
    "in-larger": _in_larger,
    "strided": _strided,
    "reversed": _reversed,
    "unaligned": _unaligned,
    "swapped-bytes": _swapped,
    "read-only": _read_only,
}


def constant_rows(x: Array) -> Array:
    """A view that repeats the first row (stride 0); for x with at least one row."""
    return np.broadcast_to(x[..., :1, :], x.shape)


def constant_columns(x: Array) -> Array:
    """A view that repeats the first column (stride 0); for x with at least one column."""
    return np.broadcast_to(x[..., :1], x.shape)


# ---- Stacks ------------------------------------------------------------------------------------------------

# Shapes of a and b that NumPy's matmul accepts: vectors, matrices, stacks, broadcasting, empty ones.
STACKS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((5,), (5,)),
    ((0,), (0,)),
    ((5,), (5, 3)),
    ((4, 5), (5,)),
    ((5,), (2, 5, 3)),
    ((2, 4, 5), (5,)),
    ((3, 2, 4, 5), (5,)),
    ((2, 4, 5), (2, 5, 3)),
    ((1, 4, 5), (2, 5, 3)),
    ((2, 4, 5), (1, 5, 3)),
    ((4, 5), (2, 5, 3)),
    ((2, 4, 5), (5, 3)),
    ((3, 2, 4, 5), (5, 3)),
    ((3, 1, 4, 5), (1, 2, 5, 3)),
    ((3, 2, 4, 5), (2, 5, 3)),
    ((2, 5, 3), (3, 1, 3, 4)),
    ((2, 1, 2, 1, 3), (1, 3, 2, 3, 1)),
    ((0, 4, 5), (5, 3)),
    ((0, 4, 5), (1, 5, 3)),
    ((2, 0, 5), (2, 5, 3)),
    ((2, 4, 0), (2, 0, 3)),
    ((2, 4, 5), (2, 5, 0)),
    ((1, 1, 1, 1), (1, 1)),
)


def stack_operands(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], *, seed: int = 0, dtype: npt.DTypeLike = np.float64
) -> tuple[Array, Array]:
    """Operands of a pair of `STACKS`, with exponents that differ from matrix to matrix.

    Parameters
    ----------
    shapes : pair of shapes
    seed : int
    dtype : float64 or float32

    Returns
    -------
    a, b : C-contiguous arrays of `dtype`
    """
    rng = np.random.default_rng([seed, *shapes[0], *shapes[1]])
    a, b = (
        rng.standard_normal(shape) * 2.0 ** rng.integers(-20, 20, (*shape[:-2], *(1 for _ in shape[-2:])))
        for shape in shapes
    )
    return a.astype(dtype), b.astype(dtype)


# ---- Paths -------------------------------------------------------------------------------------------------


class Path(NamedTuple):
    """Keyword arguments of ``ozfp4.matmul`` that decide how the integers are multiplied, and nothing else."""

    scheme: str
    backend: str
    family: str

    def __str__(self) -> str:
        return "-".join(self)


PATHS = (
    Path("II", "fp4", "least"),
    Path("II", "fp4", "paper"),
    Path("II", "fp4", "paper-karatsuba"),
    Path("II", "int8", "least"),
    Path("II", "fp64", "least"),
    Path("I", "fp4", "least"),
    Path("I", "fp4", "paper"),
    Path("I", "int8", "least"),
    Path("I", "fp64", "least"),
)
#: Paths for every accuracy, and for complex numbers and integers as well.
LEAST = tuple(path for path in PATHS if path.family == "least")

# ---- Modes -------------------------------------------------------------------------------------------------

ACCURACIES = ("scaled", "standard", "correct")
#: An accuracy and a rounding that it takes.
MODES = (("scaled", "nearest"), ("standard", "nearest"), *(("correct", rounding) for rounding in ROUNDINGS))
