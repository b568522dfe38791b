"""Problems that every way must multiply to the bits of the references."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from support import (
    HARD,
    KINDS,
    LINES,
    MODES,
    STRUCTURED,
    any_operands,
    hard_operands,
    integers,
    joined,
    reference,
    structured_operands,
)

Array = npt.NDArray[Any]
Shape = tuple[int, int, int]  # m, k, n

#: Around the ends of tiles, which hold 16 rows and 64 or 512 entries along K: below, at and above.
SHAPES: tuple[Shape, ...] = (
    (7, 9, 5), (16, 31, 17), (5, 33, 70), (2, 513, 3), (17, 65, 33), (3, 130, 50), (1, 1, 1), (16, 64, 16),
)  # fmt: skip
#: Bits beyond those of a significand: around the ends of machine words, and of what the encoders take in one way.
WIDE_BITS = (54, 60, 62, 63, 64, 76, 82, 83, 94, 95, 103, 104, 109, 128, 150, 160, 177, 200)
#: Around the most bits of complex plans, and beyond, where plans of real products are used.
COMPLEX_BITS = (54, 60, 62, 63, 64, 76, 82, 83, 150)


#: These make kinds that are neither in KINDS nor in LINES.
MAKERS = ((HARD, hard_operands), (STRUCTURED, structured_operands))


class Mode(NamedTuple):
    """Keyword arguments that decide the bits of a product."""

    accuracy: str
    rounding: str = "nearest"
    bits: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        return {name: value for name, value in self._asdict().items() if value is not None}


class Problem(NamedTuple):
    """Operands of a kind; their place in the corpus picks the bits and the seed."""

    number: int
    kind: str
    shape: Shape
    dtypes: tuple[Any, Any]

    def __str__(self) -> str:
        types = "-".join(np.dtype(x).name for x in dict.fromkeys(self.dtypes))
        return f"{self.kind}-{'x'.join(map(str, self.shape))}-{types}"

    @property
    def numbers(self) -> str:
        """That of NumPy's dtype of the result: "f", "c", "i" or "u"."""
        return np.result_type(*self.dtypes).kind

    @property
    def modes(self) -> tuple[Mode, ...]:
        if self.numbers in "iu":
            return (Mode("scaled"),)
        modes = tuple(Mode(*pair) for pair in MODES)
        wide = COMPLEX_BITS if self.numbers == "c" else WIDE_BITS
        bits = 2 + self.number * 7 % 52, wide[self.number % len(wide)]
        return (*modes, *(Mode("scaled", bits=each) for each in bits))

    def operands(self, times: int = 1) -> tuple[Array, Array]:
        """`times`: as often as many rows, columns and entries of them."""
        m, k, n = (times * extent for extent in self.shape)
        if self.numbers in "iu":
            rng = np.random.default_rng(self.number)
            pairs = zip(((m, k), (k, n)), self.dtypes, strict=True)
            a, b = (integers.operand(rng, self.kind, shape, np.dtype(dtype).name) for shape, dtype in pairs)
            return a, b
        make = next((own for kinds, own in MAKERS if self.kind in kinds), any_operands)
        single = bool({np.float32, np.complex64} & set(self.dtypes))
        parts = [
            make(self.kind, m, k, n, seed=self.number + i, dtype=np.float32 if single else np.float64)
            for i in range(2)
        ]
        return tuple(
            joined(re, im).astype(dtype) if np.dtype(dtype).kind == "c" else re.astype(dtype)
            for re, im, dtype in zip(*parts, self.dtypes, strict=True)
        )  # type: ignore[return-value]


@cache
def arrays(problem: Problem) -> tuple[Array, Array]:
    found = problem.operands()
    for x in found:
        x.flags.writeable = False
    return found


@cache
def expected(problem: Problem, mode: Mode) -> Array:
    """The product by the references, once a session."""
    a, b = arrays(problem)
    if problem.numbers in "iu":
        return integers.wrapped(integers.exact(a, b), np.result_type(a, b))
    return reference(a, b, *mode)


def _corpus() -> list[Problem]:
    single, double = np.float32, np.float64
    found: list[tuple[str, Shape, tuple[Any, Any]]] = []
    for j, dtype in enumerate((double, single)):
        found += [(kind, SHAPES[(i + 3 * j) % len(SHAPES)], (dtype, dtype)) for i, kind in enumerate(KINDS)]
        found += [
            (kind, ((9, 20, 7), (6, 50, 35))[(i + j) % 2], (dtype, dtype)) for i, kind in enumerate(HARD)
        ]
        found += [
            (kind, ((5, 33, 70), (3, 60, 9))[(i + j) % 2], (dtype, dtype)) for i, kind in enumerate(LINES)
        ]
        found += [
            (kind, ((9, 40, 20), (3, 5, 4))[(i + j) % 2], (dtype, dtype)) for i, kind in enumerate(STRUCTURED)
        ]
    found += [(kind, (9, 20, 6), (double, single)) for kind in ("normal", "final-ties")]
    found += [(kind, (9, 20, 6), (single, double)) for kind in ("whole-range", "zero-lines")]
    found += [("normal", shape, (double, double)) for shape in ((0, 4, 5), (3, 0, 5), (3, 4, 0))]
    found += [("integers", (2, 2050, 3), (double, double)), ("phi32", (9, 2101, 10), (double, double))]
    wide, narrow = (np.complex128, double), (np.complex64, single)
    pairs = [pair for pair in product((*wide, *narrow), repeat=2) if np.result_type(*pair).kind == "c"]
    kinds = ("normal", "small-integers", "sparse", "deep", "tiny", "huge", "specials")
    found += [(kinds[i % len(kinds)], (5, 23, 7), pair) for i, pair in enumerate((*pairs, *pairs[:2]))]
    found += [("whole-range", shape, pair) for pair in pairs[:3] for shape in ((7, 40, 9), (1, 1, 3))]
    # More columns and rows than a word of the list of chains holds.
    found += [("deep", shape, pairs[0]) for shape in ((3, 9, 140), (140, 9, 3))]
    shapes: tuple[Shape, ...] = ((1, 1, 1), (3, 5, 4), (17, 70, 9), (2, 1100, 3))
    for i, (dtype, kind) in enumerate(product(integers.DTYPES, integers.KINDS)):
        found.append((kind, shapes[i % 4], (dtype, dtype)))
    return [Problem(number, *problem) for number, problem in enumerate(found)]


CORPUS = _corpus()
#: Ordinary, of the whole range, of lines apart, subnormal, special and empty: whether arguments arrive.
WIRING = [
    Problem(number, kind, shape, (np.float64, np.float64))
    for number, (kind, shape) in enumerate([
        ("normal", (17, 65, 33)), ("whole-range", (5, 33, 70)), ("row-exponents", (21, 37, 19)), ("subnormal", (7, 9, 5)),
        ("specials", (40, 6, 33)), ("normal", (3, 0, 4)),
    ])
]  # fmt: skip
#: Where loops are cut into ranges of several threads, and into blocks and pieces of K.
LARGE = [
    Problem(number, kind, shape, (np.float64, np.float64))
    for number, (kind, shape) in enumerate([("phi8", (130, 300, 70)), ("specials", (130, 40, 70)), ("normal", (9, 2100, 20))])
]  # fmt: skip
