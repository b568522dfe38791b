"""Integer products that tell a right kernel from one that is nearly right, with their results known beforehand.

A case is written in classes: entry (i, k) of A is ``a[row_class[i], k_class[k]]``, and B alike, so the exact result is a
small integer product whatever the extents. No reference here goes through a BLAS.

>>> for case in cases(ALPHABETS["e2m1"], short=True):
...     a, b, expected = case.rows_of_a(case.a), case.rows_of_b(case.b), case.expected()    # expected = a @ b.T
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Alphabet:
    """What a unit multiplies: the limbs, and the longest run of the largest ones that its accumulator holds exactly.

    Attributes
    ----------
    name : str
    limbs : tuple of int
        All of them where they are few enough for every pair to be tried, else those at the ends and around powers of two.
    k_limit : int
        The largest product of two limbs times k_limit is at most the accumulator's exact limit.
    """

    name: str
    limbs: tuple[int, ...]
    k_limit: int

    @property
    def low(self) -> int:
        return min(self.limbs)

    @property
    def high(self) -> int:
        return max(self.limbs)


_S = (-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12)
_BYTES = tuple(range(-128, 128))
_WIDE = tuple(sorted({s * min(2**e + d, 2**22) for e in range(23) for d in (-1, 0, 1) for s in (-1, 1)}))

_WIDER = tuple(sorted({s * min(2**e + d, 2**26) for e in range(27) for d in (-1, 0, 1) for s in (-1, 1)}))

ALPHABETS = {
    # Elements of the GPU kernels: FP32 accumulators up to 2^24; INT32 ones as far as every kernel folds them, up to
    # 2^31 - 2^16, or 2^29 where the fold of signed sums adds an offset.
    "e2m1": Alphabet("e2m1", _S, 116_508),
    "u8": Alphabet("u8", tuple(range(256)), 33_024),
    "s8": Alphabet("s8", _BYTES, 32_768),
    # Alphabets of the CPU: FP32 up to 2^24, FP64 up to 2^53.
    "fp4": Alphabet("fp4", _S, 116_508),
    "int8": Alphabet("int8", _BYTES, 1024),
    "fp64": Alphabet("fp64", _WIDE, 512),
    # Machine words of the CPU: sums up to 2^62, which also wrap modulo 2^32.
    "words": Alphabet("words", _WIDER, 1024),
}


@dataclass(frozen=True)
class Case:
    """One product of integer matrices, A (m × K) times the transpose of B (n × K).

    `a` and `b` are int64, one row for each class of rows and one column for each class of places along K.
    """

    name: str
    a: Integers
    b: Integers
    k_class: npt.NDArray[np.intp]
    row_class: npt.NDArray[np.intp]
    column_class: npt.NDArray[np.intp]
    minus_zero: bool = False  # write zeros as the code of minus zero, where there is one
    repeats: int = (
        1  # in one launch, where a kernel takes many products: more of them make it choose larger tiles
    )

    @property
    def shape(self) -> tuple[int, int, int]:
        """m, n, K."""
        return len(self.row_class), len(self.column_class), len(self.k_class)

    def rows_of_a(self, classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A matrix of the shape of `a`, in any type, as an m × K matrix."""
        return classes[:, self.k_class][self.row_class]

    def rows_of_b(self, classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """A matrix of the shape of `b`, in any type, as an n × K matrix."""
        return classes[:, self.k_class][self.column_class]

    def expected(self) -> Integers:
        """The exact product, m × n."""
        counts = np.bincount(self.k_class, minlength=self.a.shape[1])
        small = (self.a * counts) @ self.b.T  # int64: NumPy multiplies integers without a BLAS
        whole: Integers = small[self.row_class][:, self.column_class]
        return whole


def _case(
    name: str, a: Any, b: Any, k_class: Any = None, rows: Any = None, columns: Any = None, **rest: Any
) -> Case:
    """A case; classes that are left out stand for themselves."""

    def classes(given: Any, extent: int) -> npt.NDArray[np.intp]:
        return np.arange(extent) if given is None else np.asarray(given, np.intp)

    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    return Case(
        name, a, b, classes(k_class, a.shape[1]), classes(rows, len(a)), classes(columns, len(b)), **rest
    )


def scattered(seed: int, *shape: int) -> npt.NDArray[np.uint64]:
    """Numbers below 2^64 that look random (SplitMix64): importing NumPy's generators takes longer than a short test."""
    count = int(np.prod(shape))
    x = (np.arange(1, count + 1, dtype=np.uint64) + np.uint64(seed << 32)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: npt.NDArray[np.uint64] = (x ^ (x >> np.uint64(31))).reshape(shape)
    return mixed


def _some_limbs(seed: int, alphabet: Alphabet, *shape: int) -> Integers:
    which = scattered(seed, *shape) % np.uint64(len(alphabet.limbs))
    limbs: Integers = np.array(alphabet.limbs)[which.astype(np.intp)]
    return limbs


def every_pair(alphabet: Alphabet, k: int) -> Case:
    """Every limb with every limb, the same pair in all of K."""
    limbs = np.array(alphabet.limbs)[:, np.newaxis]
    return _case(f"every pair of limbs, K = {k}", limbs, limbs, np.zeros(k, np.intp))


def every_place(alphabet: Alphabet, k: int, other: int, *, of: str) -> Case:
    """A single one in every row, at another k in each, against values that differ everywhere: shows each entry's place,
    and the scale of each block of entries along K."""
    one_hot, values = np.eye(k, dtype=np.int64), _some_limbs(1, alphabet, other, k)
    a, b = (one_hot, values) if of == "rows" else (values, one_hot)
    return _case(f"each place along K and in {of}, K = {k}", a, b)


def near_the_limit(alphabet: Alphabet, k: int, rows: int, columns: int) -> Case:
    """All limbs the largest, of either sign, but for three places with odd ones: sums at the limit, and odd ones near it."""
    fill = np.array([alphabet.low, alphabet.high] * 4)
    odd = np.array([limb for limb in alphabet.limbs if limb % 2 and abs(limb) <= 3])
    i, place = np.arange(8)[:, np.newaxis], np.arange(4)
    a, b = odd[(i + place) % len(odd)], odd[(i * place) % len(odd)]
    a[:, 0] = b[:, 0] = fill
    a[:2] = b[:2] = fill[
        :2, np.newaxis
    ]  # two rows and columns without odd limbs: the sum at the limit itself
    k_class = np.zeros(k, np.intp)
    k_class[[k // 3, (2 * k) // 3, k - 1]] = [1, 2, 3]
    return _case(f"sums at the limit, K = {k}", a, b, k_class, np.arange(rows) % 8, np.arange(columns) % 8)


def alternating(alphabet: Alphabet, k: int, rows: int) -> Case:
    """Largest limbs whose signs change along K, in runs from one entry to three quarters of it: sums that climb and fall."""
    place = np.arange(k, dtype=np.int32)
    k_class = place & 1  # a bit for each column of B: which of the two ends its limb is
    for bit, run in ((1, 2), (2, 4), (3, 5), (4, 6), (5, 8)):
        k_class |= (place >> run & 1) << bit
    k_class[k // 2 :] |= 64
    k_class[3 * k // 4 :] |= 128
    classes = np.arange(256)
    b = np.where(classes >> np.arange(8)[:, np.newaxis] & 1, alphabet.low, alphabet.high)
    a = np.array([np.full(256, alphabet.high), np.full(256, alphabet.low), b[0], b[4]])
    odd = np.array([limb for limb in alphabet.limbs if limb % 2])
    # The last entry is odd times odd, so that every sum is odd where the largest limb is even.
    a, b = (np.column_stack([x, odd[np.arange(len(x)) % len(odd)]]) for x in (a, b))
    k_class[-1] = 256
    return _case(f"alternating signs, K = {k}", a, b, k_class, np.arange(rows) % 4)


def any_limbs(alphabet: Alphabet, m: int, n: int, k: int, **rest: Any) -> Case:
    """Limbs that look random in extents at and around the boundaries of tiles; rows repeat after 7, columns after 5."""
    a, b = _some_limbs(m, alphabet, min(m, 7), k), _some_limbs(n + 1000, alphabet, min(n, 5), k)
    return _case(f"extents {m} x {n} x {k}", a, b, None, np.arange(m) % 7, np.arange(n) % 5, **rest)


_SHORT_EXTENTS = ((1, 1, 1), (17, 1, 65), (1, 33, 127), (65, 129, 33), (130, 67, 257))
_EDGES = (1, 2, 7, 15, 16, 17, 63, 64, 65, 127, 128, 129, 191, 193, 255, 256, 257)
_K_EDGES = (1, 2, 31, 32, 33, 63, 64, 65, 95, 96, 97, 127, 128, 129, 191, 192, 193, 255, 256, 257, 383, 384, 385, 511,
            512, 513, 767, 768, 769, 1535, 1537)  # fmt: skip
_MOST_REPEATS = 12


def cases(alphabet: Alphabet, *, short: bool) -> Iterator[Case]:
    """All cases of an alphabet; the short form takes milliseconds on a CPU."""
    limit = alphabet.k_limit
    yield every_pair(alphabet, 1)
    if short:
        # Few rows: what such a long K takes is mostly memory that is touched for the first time.
        yield near_the_limit(alphabet, limit, 4, 4)
        yield alternating(alphabet, limit, 2)
        yield every_place(alphabet, 128, 24, of="rows")
        yield every_place(alphabet, 128, 24, of="columns")
        extents = list(_SHORT_EXTENTS)
        large = [(130, 257, 192)]
    else:
        yield every_pair(alphabet, 129)
        for k in (limit, limit - 1, limit // 2 + 1, min(limit, 4097)):
            yield near_the_limit(alphabet, k, 8, 8)
            yield alternating(alphabet, k, 4)
        yield near_the_limit(alphabet, limit, 67, 130)
        yield alternating(alphabet, limit, 70)
        for k in (64, 256, 512):
            yield every_place(alphabet, k, 96, of="rows")
            yield every_place(alphabet, k, 96, of="columns")
        # Each edge with others, in strides that meet different ones.
        edges, k_edges = len(_EDGES), len(_K_EDGES)
        extents = [
            (_EDGES[i], _EDGES[(5 * i + 3) % edges], _K_EDGES[(7 * i) % k_edges]) for i in range(edges)
        ]
        extents += [
            (_EDGES[(3 * i + 7) % edges], _EDGES[(2 * i) % edges], _K_EDGES[i]) for i in range(k_edges)
        ]
        large = [(300, 520, 1000), (513, 257, 640), (1025, 769, 384)]
    if alphabet.name in ("u8", "s8"):
        large.append((200, 300, 1024))  # the smallest outputs that take the widest tiles of Hopper's kernel
    # The limit may be shorter than the longest of these extents.
    for m, n, k in dict.fromkeys(extents):
        yield any_limbs(alphabet, m, n, min(k, limit))
    for m, n, k in large:
        yield any_limbs(alphabet, m, n, min(k, limit), repeats=_MOST_REPEATS)
    if alphabet.name == "e2m1":
        yield any_limbs(alphabet, 40, 24, 200, minus_zero=True)


@dataclass(frozen=True)
class WholeProduct:
    """A whole product of float64 or float32 matrices, `a` (m × k) times `b` (k × n), and its exact result rounded once to
    their dtype; `accuracy` is "correct" where the integers do not tell it; `updates`: to be made as an update that adds
    nothing."""

    name: str
    a: npt.NDArray[Any]
    b: npt.NDArray[Any]
    expected: npt.NDArray[Any]
    accuracy: str = "scaled"
    updates: bool = False


def whole_products(
    *, short: bool, most_inner: int | None = None, single: bool = False
) -> Iterator[WholeProduct]:
    """Products of integers of 53 bits, or of 24 in float32 (`single`), times powers of two, for all stages together;
    `most_inner`: no longer ones along K."""
    # The long K is for outputs of few tiles, whose K a GPU cuts into ranges.
    shapes = (
        [(19, 700, 23)]
        if short
        else [(1, 1, 1), (19, 700, 23), (70, 129, 33), (9, 9000, 140), (300, 65, 270)]
    )
    for m, k, n in shapes:
        if most_inner is None or k <= most_inner:
            yield _whole_product(m, k, n, single)


def number_products(*, short: bool, single: bool = False) -> Iterator[WholeProduct]:
    """The same for the CPU's words: of few products, whose sums need no residues, and of more; B by rows and by columns."""
    for m, k, n in (
        ((5, 7, 35), (6, 301, 33)) if short else ((1, 1, 1), (5, 7, 35), (70, 129, 33), (6, 1201, 33))
    ):
        product = replace(
            _whole_product(m, k, n, single), name=f"numbers {m} x {k} x {n}{_OF_FLOAT32 * single}"
        )
        yield product
        turned = replace(product, a=product.b.T, b=product.a.T, expected=product.expected.T)
        yield replace(turned, name=f"{product.name} transposed")


def thin_products(*, single: bool = False) -> Iterator[WholeProduct]:
    """The same of few columns or rows, the other operand's lines along K and across it: its K in one block and in several."""
    for m, k, n in ((1, 1, 1), (70, 129, 2), (300, 65, 8), (19, 2500, 3), (9, 8000, 8), (33, 8192, 1)):
        product = replace(
            _whole_product(m, k, n, single), name=f"few lines {m} x {k} x {n}{_OF_FLOAT32 * single}"
        )
        yield product
        turned = replace(product, a=product.b.T, b=product.a.T, expected=product.expected.T)
        yield replace(turned, name=f"{product.name} transposed")
        yield replace(product, name=f"{product.name} by columns", a=np.asfortranarray(product.a))
        yield replace(turned, name=f"{product.name} transposed by rows", b=np.ascontiguousarray(turned.b))


def tile_products(most_inner: int) -> Iterator[WholeProduct]:
    """The same of short K, both operands' lines along K and across it; few tiles and many of them, which may be larger."""
    for m, k, n in (
        (1, 1, 1),
        (64, most_inner, 64),
        (70, most_inner - 1, 130),
        (150, 17, 33),
        (40, 128, 100),
        (900, 63, 801),
        (901, 128, 800),
    ):
        product = replace(_whole_product(m, k, n), name=f"tiles {m} x {k} x {n}")
        yield product
        turned = replace(product, a=np.asfortranarray(product.a), b=np.asfortranarray(product.b))
        yield replace(turned, name=f"{product.name} by columns")


_OF_FLOAT32 = " of float32"


def _whole_product(m: int, k: int, n: int, single: bool = False) -> WholeProduct:
    rows, columns, places = min(m, 7), min(n, 5), min(k, 16)
    dtype, bits = (np.float32, 24) if single else (np.float64, 53)
    shift = np.uint64(63 - bits)  # leaves a bit more, which becomes the sign
    a, b = (
        (scattered(k + i, x, places) >> shift).astype(np.int64) - 2**bits
        for i, x in ((0, rows), (1, columns))
    )
    row_class, column_class, k_class = np.arange(m) % rows, np.arange(n) % columns, np.arange(k) % places
    counts = np.bincount(k_class, minlength=places).astype(object)
    whole = (a.astype(object) * counts) @ b.T.astype(object)  # Python integers
    # Of an integer: once, ties to even. Python's go to float32 by way of float64, those of 64 bits at once: 2^48 K fits.
    rounded = whole.astype(np.int64).astype(dtype) if single else whole.astype(dtype)
    scale_a, scale_b = (np.arange(m) % 40 - 20)[:, np.newaxis], np.arange(n) % 50 - 25
    return WholeProduct(
        f"whole product {m} x {k} x {n}{_OF_FLOAT32 * single}",
        np.ldexp(a[:, k_class][row_class].astype(dtype), scale_a),
        np.ldexp(b[:, k_class][column_class].astype(dtype).T, scale_b),
        np.ldexp(rounded[row_class][:, column_class], scale_a + scale_b),
    )


def repaired_product(*, single: bool = False) -> WholeProduct:
    """What is left after two products have cancelled that are larger by 2^30, or by 2^600 (2^100 in float32): entry by entry the
    product of two numbers, which FP64 rounds once. The first need pairs of FP64 numbers, the second exact sums."""
    a, b = _cancelling(single, (30, 100 if single else 600))
    expected = np.multiply.outer(*(x.astype(np.float64) for x in (a[:, 16], b[16]))).astype(a.dtype)
    (m, k), n = a.shape, b.shape[1]
    return WholeProduct(f"repaired product {m} x {k} x {n}{_OF_FLOAT32 * single}", a, b, expected, "correct")


def long_products() -> Iterator[WholeProduct]:
    """Sums that cancel but for twice one product, of lines of 106 bits by lines of 106 and of 60: on a GPU "correct" converts
    them exactly, by more moduli than its plan has."""
    m, n, half = 19, 23, 150
    for depth in (53, 7):
        x, y = (
            np.ldexp(
                ((scattered(seed, count, half) >> np.uint64(11)) | np.uint64(2**52 + 1)).astype(float),
                np.arange(half) * 5 % (deepest + 1),
            )
            for seed, count, deepest in ((1, m, 53), (2, n, depth))
        )
        a, b = np.concatenate([x, -x], 1), np.concatenate([y, y], 1).T
        a[:, -1] *= -1
        expected = 2 * np.multiply.outer(x[:, -1], y[:, -1])
        yield WholeProduct(
            f"long lines {m} x {2 * half} x {n} by {53 + depth} bits", a, b.copy(), expected, "correct"
        )


def chained_product(*, single: bool = False) -> WholeProduct:
    """The same sums as chains of fused multiply-adds: the largest entries of the lines meet zeros, so that nothing certifies an
    entry, and the roundings of a chain are what cancellation leaves. Another order, or a product that is rounded by itself,
    gives other numbers."""
    a, b = _cancelling(single, (0, 30, 100 if single else 600))
    a[:, 5] = b[20] = 2.0**120 if single else 2.0**700
    precision = 24 if single else 53

    def left(factor: int, y: int, z: int, w: int) -> int:
        """fma(-factor, w, fma(y, z, factor w)), in units of 2^(-2 precision)."""
        large = factor * w << precision
        total = large + y * z
        cut = max(total.bit_length() - precision, 0)
        quotient, rest = divmod(total, 1 << cut)
        up = 2 * rest > 1 << cut or (2 * rest == 1 << cut and quotient % 2 == 1)
        return (quotient + up << cut) - large

    y, z, w = ([int(np.ldexp(float(v), precision)) for v in x] for x in (a[:, 16], b[16], b[0]))
    sums = [
        [left(int(f), v, *pair) for pair in zip(z, w, strict=True)] for f, v in zip(a[:, 0], y, strict=True)
    ]
    expected = np.ldexp(np.array(sums, dtype=float), -2 * precision).astype(a.dtype)
    (m, k), n = a.shape, b.shape[1]
    return WholeProduct(f"chained product {m} x {k} x {n}{_OF_FLOAT32 * single}", a, b, expected, "standard")


def _cancelling(single: bool, exponents: tuple[int, ...]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Rows F, y, -F with F one of the powers of two in turn, and columns z + 1, z, z + 1, at places 0, 16 and 32 along K."""
    m, n, k = 37, 70, 33
    dtype = np.float32 if single else np.float64
    y, z = (
        (scattered(seed, count, 1)[:, 0] * 2.0**-64 + 0.5).astype(dtype) for seed, count in ((1, m), (2, n))
    )
    a, b = np.zeros((m, k), dtype), np.zeros((k, n), dtype)
    a[:, 0] = np.ldexp(1.0, np.array(exponents)[np.arange(m) % len(exponents)])
    a[:, 16], a[:, 32] = y, -a[:, 0]
    b[0] = b[32] = z + 1
    b[16] = z
    return a, b


def case_named(element: str, name: str) -> Case:
    """The case of this name among all of an element's, as a report of a failure states it; ValueError if there is none.

    >>> case_named("u8", "extents 17 x 1 x 65").shape
    (17, 1, 65)
    """
    for short in (True, False):
        for case in cases(ALPHABETS[element], short=short):
            if case.name == name:
                return case
    raise ValueError(f"name: {name!r} is no case of {element!r}")


def whole_product_named(name: str) -> WholeProduct:
    """The whole product whose name begins the given one, as a report of a failure states it; ValueError if there is none."""
    for product in (
        *(p for single in (False, True) for p in whole_products(short=False, single=single)),
        *(p for single in (False, True) for p in thin_products(single=single)),
        *tile_products(256),
        repaired_product(),
        repaired_product(single=True),
        chained_product(),
        chained_product(single=True),
        *long_products(),
    ):
        if name.partition(",")[0] == product.name:
            return product
    raise ValueError(f"name: {name!r} is no whole product")
