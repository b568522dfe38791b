"""einsum: shapes, types and values of np.einsum's; one rounding a step, by Python's fractions; refusals before any step."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ozfp4
from device_names import CPU, CUDA
from ozfp4._api import contraction
from ozfp4.testing import assert_same_bits, correct_matmul, exact_matmul
from support import noise
from support.devices import Device

RNG = np.random.default_rng(0)


def whole(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Small integers: every sum of theirs is exact, in whatever order."""
    return [np.random.default_rng(1).integers(-9, 10, shape).astype(float) for shape in shapes]


CASES = [
    ("ij,jk", (2, 3), (3, 4)),
    ("ij,jk->ki", (2, 3), (3, 4)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)),
    ("ijb,kbj->ikb", (2, 3, 5), (4, 5, 3)),
    ("...ij,...jk", (5, 1, 2, 3), (4, 3, 4)),
    ("ab...,...b->a...", (2, 3, 4, 5), (4, 1, 3)),
    ("...i,...i", (2, 3), (5, 1, 3)),
    ("ij,jk", (2, 1), (3, 4)),
    ("ij,jk->ij", (2, 1), (3, 4)),
    ("i,i->i", (1,), (3,)),
    ("ii", (3, 3)),
    ("ii->i", (3, 3)),
    ("ijij->ij", (2, 3, 2, 3)),
    ("iij,jk->ik", (3, 3, 2), (2, 4)),
    ("ijji,ik->jk", (2, 3, 3, 2), (2, 4)),
    ("iiii,i->", (2, 2, 2, 2), (2,)),
    ("ij->", (3, 4)),
    ("ij->j", (3, 4)),
    ("ba", (2, 3)),
    ("...", (2, 3)),
    ("...ij->...", (2, 3, 4)),
    ("ij,kl->", (3, 4), (2, 5)),
    ("ij,kl->ik", (3, 4), (2, 5)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("ij,ij->i", (3, 4), (3, 4)),
    ("ij,j->ij", (3, 4), (4,)),
    ("i,j", (3,), (4,)),
    ("i,->i", (3,), ()),
    (",", (), ()),
    ("", ()),
    ("i,i", (3,), (3,)),
    ("ijk,jil,kl->kl", (2, 3, 4), (3, 2, 5), (4, 5)),
    ("ab,bc,cd,de->ae", (2, 3), (3, 4), (4, 5), (5, 2)),
    ("ea,fb,abcd,gc,hd->efgh", (2, 3), (2, 3), (3, 3, 3, 3), (2, 3), (2, 3)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("i,i,i", (3,), (3,), (3,)),
    ("i,j,k->", (2,), (3,), (4,)),
    ("ij,jk", (0, 3), (3, 4)),
    ("ij,jk", (2, 0), (0, 4)),
    ("bij,bjk", (0, 2, 3), (0, 3, 4)),
    ("i->", (0,)),
    ("i,j->ij", (0,), (3,)),
    ("Aa,aB->AB", (2, 3), (3, 4)),
]
each_case = pytest.mark.parametrize(("text", "shapes"), [pytest.param(c[0], c[1:], id=f"{c}") for c in CASES])


def check_like_numpy(text: str, *operands: np.ndarray, **options) -> None:
    ours, theirs = ozfp4.einsum(text, *operands, **options), np.einsum(text, *operands)
    assert type(ours) is type(theirs)
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    assert (ours == theirs).all()
    out = noise(theirs.shape, theirs.dtype)
    assert ozfp4.einsum(text, *operands, **options, out=out) is out
    assert (out == theirs).all()


@each_case
def test_like_numpy(text: str, shapes) -> None:
    for dtype in (np.float64, np.float32, np.complex128, np.complex64):
        operands = [x.astype(dtype) for x in whole(*shapes)]
        if dtype in (np.complex128, np.complex64):
            operands = [np.asarray(x * (1 + 2j) - 3j, dtype) for x in operands]
        check_like_numpy(text, *operands)
        check_like_numpy(text, *(x.copy(order="F") for x in operands), accuracy="scaled")
        check_like_numpy(text, *(x[::-1][::-1] if x.ndim else x for x in operands), optimize=False)


@pytest.mark.parametrize("device", [CPU, CUDA], indirect=True)
@each_case
def test_tensors_have_the_bits_of_arrays(text: str, shapes, device: Device) -> None:
    rng = np.random.default_rng(3)
    larger = [tuple(e if e < 2 else e * device.sized(1, 5) for e in shape) for shape in shapes]
    reals = [np.asarray(rng.standard_normal(s) * 2.0 ** rng.integers(-40, 40, s)) for s in larger]
    for dtype in (np.float64, np.float32, np.complex128, np.complex64):
        arrays = [np.asarray(x * (1 + 2j) - 3j if np.dtype(dtype).kind == "c" else x, dtype) for x in reals]
        for options in (
            {}, {"accuracy": "correct"}, {"accuracy": "correct", "rounding": "up"}, {"accuracy": "scaled"},
        ):  # fmt: skip
            expected = np.asarray(ozfp4.einsum(text, *arrays, **options))
            assert_same_bits(np.asarray(device.einsum(text, *arrays, **options)), expected, options)
            out = noise(expected.shape, dtype)
            assert device.einsum(text, *arrays, **options, out=out) is out
            assert_same_bits(out, expected, options)


extents = st.tuples(*[st.sampled_from([1, 2, 3, 2, 3, 0])] * 4)
terms = st.lists(st.text("abcd", max_size=4), min_size=1, max_size=4)


@given(terms, extents, st.randoms(use_true_random=False), st.sampled_from([True, False, "optimal"]))
def test_like_numpy_on_any_subscripts(labels: list[str], size, random, optimize) -> None:
    operands = whole(*(tuple(size["abcd".index(label)] for label in term) for term in labels))
    known = sorted(set("".join(labels)))
    result = "".join(random.sample(known, random.randint(0, len(known))))
    check_like_numpy(f"{','.join(labels)}->{result}", *operands, optimize=optimize)
    check_like_numpy(",".join(labels), *operands, optimize=optimize)


def fractions(text: str, *operands: np.ndarray) -> np.ndarray:
    """The real sum, rounded to nearest once."""
    inputs, result = text.split("->")
    terms = inputs.split(",")
    size = {
        label: n
        for term, x in zip(terms, operands, strict=True)
        for label, n in zip(term, x.shape, strict=True)
    }
    sums: dict[tuple[int, ...], Fraction] = {}
    for index in itertools.product(*map(range, size.values())):
        at = dict(zip(size, index, strict=True))
        product = Fraction(1)
        for term, x in zip(terms, operands, strict=True):
            product *= Fraction(float(x[tuple(at[label] for label in term)]))
        key = tuple(at[label] for label in result)
        sums[key] = sums.get(key, Fraction(0)) + product
    found = np.zeros([size[label] for label in result])
    for key, value in sums.items():
        found[key] = float(value)
    return found


def graded(*shape: int) -> np.ndarray:
    """Entries of magnitudes so different that sums in FP64 have no correct digit."""
    return RNG.standard_normal(shape) * 2.0 ** RNG.integers(-70, 70, shape)


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("ij,jk->ik", [(3, 5), (5, 4)]),
        ("ijk,kjl->li", [(3, 2, 4), (4, 2, 3)]),
        ("bij,jkb->kib", [(2, 3, 4), (4, 3, 2)]),
        ("ij,ij->", [(3, 4), (3, 4)]),
        ("iij,jk->ik", [(3, 3, 4), (4, 2)]),
        ("ijk->j", [(3, 4, 5)]),
        ("ii->", [(9, 9)]),
        ("ij,kj->ikj", [(3, 4), (2, 4)]),
        ("i,j->ij", [(3,), (4,)]),
    ],
)
def test_one_step_rounds_once(text: str, shapes) -> None:
    operands = [graded(*shape) for shape in shapes]
    for x in operands:
        x[..., -1] = -x[..., 0] * (1 + 2.0**-40)
    assert_same_bits(ozfp4.einsum(text, *operands, accuracy="correct"), fractions(text, *operands))


@pytest.mark.parametrize("text", ["ij,jk->ki", "bj,jk->bk", "ij,jk->", "i,kl->ikl", "ij,ij->ij"])
def test_each_part_of_a_complex_step_rounds_once(text: str) -> None:
    shapes = {"ij,ij->ij": [(3, 4), (3, 4)], "i,kl->ikl": [(3,), (2, 4)]}.get(text, [(3, 4), (4, 2)])
    a, b = (graded(*shape) + 1j * graded(*shape) for shape in shapes)
    if text == "ij,jk->":  # the axes of one alone are summed before, each sum rounded
        a, b = ozfp4.einsum("ij->j", a, accuracy="correct"), ozfp4.einsum("jk->j", b, accuracy="correct")
        text = "j,j->"
    c = np.asarray(ozfp4.einsum(text, a, b, accuracy="correct"))
    left, right = text.split("->")[0].split(",")
    parts = f"Z{left},Z{right}->{text.split('->')[1]}"
    assert_same_bits(c.real, fractions(parts, np.stack([a.real, -a.imag]), np.stack([b.real, b.imag])))
    assert_same_bits(c.imag, fractions(parts, np.stack([a.real, a.imag]), np.stack([b.imag, b.real])))


def test_real_operands_beside_complex_ones() -> None:
    a, b, c = graded(3, 4), graded(4, 5) + 1j * graded(4, 5), graded(5, 2).astype(np.float32)
    ours = ozfp4.einsum("ij,jk,kl->il", a, b, c, optimize=False)
    assert ours.dtype == np.complex128
    assert_same_bits(ours, ozfp4.matmul(ozfp4.matmul(a, b), c.astype(float)))
    single = ozfp4.einsum("ij,jk->ik", a.astype(np.float32), b.astype(np.complex64))
    assert single.dtype == np.complex64
    out = noise((3, 5), np.complex128)
    assert ozfp4.einsum("ij,jk->ik", a, b, out=out) is out
    assert_same_bits(out, ozfp4.matmul(a, b))


def test_lazily_conjugated_tensors() -> None:
    torch = pytest.importorskip("torch")
    a, b = graded(3, 4) + 1j * graded(3, 4), graded(4, 5) + 1j * graded(4, 5)
    x, y = torch.from_numpy(a).conj(), torch.from_numpy(b)
    assert x.is_conj()
    for text in ("ij,jk->ik", "ij,jk->", "ij,kl->ijkl", "ij->j"):
        given = (x, y) if "," in text else (x,)
        same = (a.conj(), b) if "," in text else (a.conj(),)
        assert_same_bits(ozfp4.einsum(text, *given), ozfp4.einsum(text, *same))
    with pytest.raises(ValueError, match=r"^out: a lazily conjugated"):
        ozfp4.einsum("ij,jk->ik", x, y, out=torch.zeros(3, 5, dtype=torch.complex128).conj())


def test_every_argument_of_matmul_reaches_it() -> None:
    a, b = graded(6, 5), graded(5, 7)
    swapped = "ij,jk->ki"
    for rounding in ("nearest", "down", "up", "zero"):
        c = ozfp4.einsum(swapped, a, b, accuracy="correct", rounding=rounding)
        assert_same_bits(c.T, correct_matmul(a, b, rounding))
    for backend, scheme in (("fp4", "I"), ("int8", "II"), ("fp64", "II")):
        c = ozfp4.einsum(
            swapped, a, b, backend=backend, scheme=scheme, accuracy="scaled", workspace_limit=2**20
        )
        assert_same_bits(c.T, exact_matmul(a, b))


@pytest.mark.parametrize("text", ["ij,ij->ij", "ij,kl->iljk", "ij,kj->kij"])
def test_entrywise_products_round_as_asked(text: str) -> None:
    a, b = graded(3, 3), graded(3, 3)
    nearest = np.einsum(text, a, b)
    down, up = (ozfp4.einsum(text, a, b, accuracy="correct", rounding=way) for way in ("down", "up"))
    for accuracy in ("standard", "correct", "scaled"):
        assert_same_bits(ozfp4.einsum(text, a, b, accuracy=accuracy), nearest)
    assert ((down == nearest) | (up == nearest)).all()
    assert (np.nextafter(down, np.inf) == up).all()


def test_an_entrywise_product_warns_of_nothing() -> None:
    x = np.array([1e308, np.inf, 0.0, 1e-320])
    y = np.array([1e308, 0.0, np.nan, 1e-320])
    assert_same_bits(ozfp4.einsum("i,i->i", x, y), np.array([np.inf, np.nan, np.nan, 0.0]))


def test_mixed_precision_is_float64_from_the_first_step() -> None:
    a, b = graded(3, 4).astype(np.float32), graded(4, 5).astype(np.float32)
    c = graded(5, 2)
    ours = ozfp4.einsum("ij,jk,kl->il", a, b, c, optimize=False)
    assert ours.dtype == np.float64
    assert_same_bits(ours, ozfp4.matmul(ozfp4.matmul(a.astype(float), b.astype(float)), c))
    assert_same_bits(ozfp4.einsum("ij,kl->kl", a, c), ozfp4.einsum("ij->", a.astype(float)) * c)


def test_the_order_is_the_path() -> None:
    a, b, c = graded(3, 4), graded(4, 5), graded(5, 2)
    left = ozfp4.matmul(ozfp4.matmul(a, b), c)
    right = ozfp4.matmul(a, ozfp4.matmul(b, c))
    assert (left != right).any()
    text = "ij,jk,kl->il"
    assert_same_bits(ozfp4.einsum(text, a, b, c, optimize=["einsum_path", (0, 1), (0, 1)]), left)
    assert_same_bits(ozfp4.einsum(text, a, b, c, optimize=["einsum_path", (1, 2), (0, 1)]), right)
    assert_same_bits(ozfp4.einsum(text, a, b, c, optimize=["einsum_path", (2, 1, 0)]), right)
    assert_same_bits(ozfp4.einsum(text, a, b, c, optimize=False), left)


@each_case
@pytest.mark.parametrize(
    "dtype", [np.int64, np.int8, np.uint8, np.uint64, np.int32, np.bool_], ids=lambda t: t.__name__
)
def test_integers_wrap_as_numpy_s(text: str, shapes, dtype: type) -> None:
    info = None if dtype is np.bool_ else np.iinfo(dtype)
    rng = np.random.default_rng(4)
    operands = [
        rng.random(shape) < 0.5
        if info is None
        else rng.integers(info.min, info.max, shape, dtype, endpoint=True)
        for shape in shapes
    ]
    check_like_numpy(text, *map(np.asarray, operands))


def test_integers_beside_each_other_and_beside_real_numbers() -> None:
    rng = np.random.default_rng(5)
    for first, second in itertools.product(
        (np.int8, np.uint64, np.int64, np.bool_, np.float32, np.complex64), repeat=2
    ):
        a, b = rng.integers(0, 2, (3, 4)).astype(first), rng.integers(0, 2, (4, 5)).astype(second)
        for text in ("ij,jk->ki", "ij,jk->", "ij,kl->ij"):
            check_like_numpy(text, a, b)


def test_integer_tensors_like_torch_s() -> None:
    torch = pytest.importorskip("torch")
    for dtype in (torch.int64, torch.int32, torch.int8, torch.uint8):
        operands = [torch.from_numpy(x).to(dtype) for x in whole((2, 3, 4), (4, 3))]
        # Sums of one operand alone are int64 in torch, and it refuses to multiply them with another integer.
        for text in (
            "ijk,kj->ik",
            *(["ijk,kj->", "ijk,lm->ijm", "ijk->j"] if dtype == torch.int64 else []),
            "ijk,kj->ijk",
        ):
            given = operands[: 1 + text.count(",")]
            ours = ozfp4.einsum(text, *given)
            assert ours.dtype == dtype
            assert torch.equal(ours, torch.einsum(text, *given))
    with pytest.raises(TypeError, match=r"^operands: torch has no common dtype"):
        ozfp4.einsum("i,i", torch.ones(3, dtype=torch.uint64), torch.ones(3, dtype=torch.int64))


@pytest.mark.parametrize(
    "names",
    [{"accuracy": "scaled"}, {"accuracy": "correct"}, {"accuracy": "correct", "rounding": "up"}],
    ids=str,
)
def test_what_is_for_real_numbers_is_refused_for_integers(check_refused, names) -> None:
    a, b = (x.astype(int) for x in whole((3, 4), (4, 5)))
    pattern = rf"^{next(iter(names))}: .* is for products of floating-point numbers"
    for text in ("ij,jk->ik", "ij,kl->il"):
        check_refused(ValueError, pattern, ozfp4.einsum, text, a, b, **names, out=noise((3, 5), np.int64))
    check_refused(ValueError, pattern, ozfp4.tensordot, a, b, 1, **names)


def test_a_good_order_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain from the thin end: never the product of the two large ones."""
    shapes = []

    def matmul(a, b, **names):
        shapes.append((a.shape, b.shape))
        return ozfp4.matmul(a, b, **names)

    monkeypatch.setattr(contraction, "matmul", matmul)
    a, b, c = whole((40, 40), (40, 40), (40, 1))
    check_like_numpy("ij,jk,kl->il", a, b, c)
    assert shapes[:2] == [((40, 40), (40, 1))] * 2


def test_a_matrix_product_copies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(
        contraction, "matmul", lambda a, b, **names: seen.append((a, b)) or ozfp4.matmul(a, b, **names)
    )
    a, b = whole((2, 3, 4), (5, 4))
    ozfp4.einsum("bij,kj->bik", a, b)
    (x, y), *_ = seen
    assert np.shares_memory(x, a)
    assert np.shares_memory(y, b)


def test_one_operand_without_a_sum_is_a_view() -> None:
    (a,) = whole((3, 3))
    for text in ("ij->ji", "ii->i", "ij"):
        view = ozfp4.einsum(text, a)
        assert np.shares_memory(view, a)
        view[...] = 5.0
    assert (a == 5.0).all()
    a.flags.writeable = False
    assert not ozfp4.einsum("ii->i", a).flags.writeable


def test_lists_of_numbers_in_place_of_letters() -> None:
    a, b = whole((2, 3, 4), (4, 3, 5))
    for arguments in (
        (a, [0, 1, 2], b, [2, 1, 3], [3, 0]),
        (a, [7, 51, 0], b, [0, 51, 2]),
        (a, [..., 0, 1], b, [1, 0, 2], [2, ...]),
        (a, [0, ...]),
        (a, (0, 1, 2), (2, 0)),
        (a, np.array([0, 1, 2]), [2]),
    ):
        ours, theirs = ozfp4.einsum(*arguments), np.einsum(*arguments)
        assert ours.shape == theirs.shape
        assert (ours == theirs).all()


def test_an_ellipsis_that_the_result_lacks_is_summed_as_torch_does() -> None:
    torch = pytest.importorskip("torch")
    (a,) = whole((2, 3, 4))
    assert_same_bits(ozfp4.einsum("...i->i", a), torch.einsum("...i->i", torch.from_numpy(a)).numpy())


# ---- Refusals

A, B = whole((3, 4), (4, 5))
REFUSED = [
    (("ij,jk", A), ValueError, r"^subscripts: 'ij,jk' is for 2 operands, given are 1$"),
    (("ij", A, B), ValueError, r"^subscripts: 'ij' is for 1 operands, given are 2$"),
    (("ij,jk->ik->i", A, B), ValueError, r"^subscripts: '-' in 'ik->i' of the result is neither"),
    (("i1,1k", A, B), ValueError, r"^subscripts: '1' in 'i1' of operands\[0\] is neither a letter nor"),
    (("ij,j.k", A, B), ValueError, r"^subscripts: '\.' in 'j\.k' of operands\[1\] is neither"),
    (("ij,j......", A, B), ValueError, r"^subscripts: '\.' in 'j\.\.\.\.\.\.' of operands\[1\]"),
    (("iä,ä", A, B[:, 0]), ValueError, r"^subscripts: 'ä' in 'iä'"),
    (("ij,jk->iik", A, B), ValueError, r"^subscripts: the result has 'i' 2 times in 'ij,jk->iik'$"),
    (("ij,jk->il", A, B), ValueError, r"^subscripts: the result has 'l', which no operand has in"),
    (("i,jk", A, B), ValueError, r"^operands\[0\]: 2 axes do not fit 'i', which is for 1$"),
    (("ij,jkl", A, B), ValueError, r"^operands\[1\]: 2 axes do not fit 'jkl', which is for 3$"),
    (("ij,jkl...", A, B), ValueError, r"^operands\[1\]: 2 axes do not fit 'jkl\.\.\.', which is for at least 3$"),
    (("ij,ik", A, B), ValueError, r"^operands\[1\]: 'i' is 4, and 3 in those before it$"),
    (("ii,jk", A, B), ValueError, r"^operands\[0\]: the diagonal 'i' of shape \(3, 4\) is not square$"),
    (("ii", np.ones((1, 3))), ValueError, r"^operands\[0\]: the diagonal 'i' of shape \(1, 3\) is not"),
    (("...i,...i", A, B[:, :4]), ValueError, r"^operands\[1\]: -1 is 4, and 3 in those"),
    ((A, [0, 52]), ValueError, r"^subscripts: 52 is outside 0\.\.51$"),
    ((A, [0, -1]), ValueError, r"^subscripts: -1 is outside 0\.\.51$"),
    ((A, [0, 1.5]), TypeError, r"^subscripts: \[0, 1\.5\] is no list of integers and Ellipsis"),
    ((A, 3), TypeError, r"^subscripts: 3 is no list of integers"),
    (("",), ValueError, r"^operands: at least one is needed$"),
    (("ij,jk", A, B.astype(np.float16)), TypeError, r"^operands\[1\]: dtype float16 is not supported"),
    (("ij,jk", A.astype(object), B), TypeError, r"^operands\[0\]: dtype object is not supported"),
    (("ij,jk", A, np.ma.masked_array(B)), TypeError, r"^operands\[1\]: masked arrays are not"),
    (("ij", A.astype(np.float16)), TypeError, r"^operands\[0\]: dtype float16"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error", "pattern"), REFUSED, ids=[c[2][:60] for c in REFUSED])
def test_refused(check_refused, arguments, error: type[Exception], pattern: str) -> None:
    check_refused(error, pattern, ozfp4.einsum, *arguments)
    check_refused(error, pattern, ozfp4.einsum, *arguments, out=noise((3, 5)))


PATHS = [
    "best",
    5,
    [(0, 1)],
    ["einsum_path", (0, 7)],
    ["einsum_path", (0, 0)],
    ["einsum_path", (0,)],
    ("x", 10),
    (),
]


@pytest.mark.parametrize("optimize", PATHS, ids=str)
def test_orders_that_are_none(check_refused, optimize) -> None:
    error = TypeError if optimize == 5 else ValueError
    check_refused(error, r"^optimize: ", ozfp4.einsum, "ij,jk", A, B, optimize=optimize, out=noise((3, 5)))


NAMES = [
    ({"backend": "fp8"}, ValueError, r"^backend: 'fp8' is unknown"),
    ({"accuracy": "best"}, ValueError, r"^accuracy: 'best' is unknown"),
    ({"rounding": "up"}, ValueError, r"^rounding: 'up' needs accuracy='correct'"),
    ({"bits": 1}, TypeError, r"unexpected keyword argument 'bits'"),
    ({"casting": "no"}, TypeError, r"unexpected keyword argument 'casting'"),
]


@pytest.mark.parametrize(("names", "error", "pattern"), NAMES, ids=str)
def test_names(check_refused, names, error: type[Exception], pattern: str) -> None:
    """Also where nothing is multiplied."""
    for text, operands, shape in (("ij,jk", (A, B), (3, 5)), ("ij->ji", (A,), (4, 3))):
        check_refused(error, pattern, ozfp4.einsum, text, *operands, **names, out=noise(shape))


def test_out_refused(check_refused) -> None:
    square = np.ones((4, 4))
    overlap = [(square, "operands[0]"), (square[::-1].T, "operands[0]")]
    for out, name in overlap:
        pattern = rf"^out: the array shares memory with {name}$".replace("[", r"\[")
        check_refused(ValueError, pattern, ozfp4.einsum, "ij,jk", square, np.eye(4), out=out)
        check_refused(ValueError, pattern, ozfp4.einsum, "ij->ji", square, out=out)
    for out, error, pattern in (
        (noise((5, 3)), ValueError, r"^out: shape \(5, 3\) is not the result's shape \(3, 5\)$"),
        (noise((3, 5), np.float32), TypeError, r"^out: dtype float32 is not the result's dtype float64$"),
        (np.ma.masked_array(noise((3, 5))), TypeError, r"^out: masked arrays"),
        ([[0.0]], TypeError, r"^out: list is neither"),
    ):
        check_refused(error, pattern, ozfp4.einsum, "ij,jk", A, B, out=out)


def test_tensors_refused() -> None:
    torch = pytest.importorskip("torch")
    a, b = torch.from_numpy(A), torch.from_numpy(B)
    for operands, out, error, pattern in (
        ((a, B), None, TypeError, r"cannot be mixed: operands\[0\] is a torch tensor, operands\[1\] is a NumPy"),
        ((a, b), noise((3, 5)), TypeError, r"cannot be mixed: .* out is a NumPy array"),
        ((a, b.clone().requires_grad_()), noise((3, 5)), TypeError, r"cannot be mixed: .* out is a NumPy array"),
        ((a, b.half().requires_grad_()), None, TypeError, r"^operands\[1\]: dtype torch\.float16"),
        ((a, b.detach().half()), None, TypeError, r"^operands\[1\]: dtype torch\.float16 is not"),
        ((a, b.detach().to_sparse()), None, TypeError, r"^operands\[1\]: layout .* is not supported"),
        ((a.to("meta"), b.detach().to("meta")), None, RuntimeError, r"^operands\[0\]: device meta has no kernel"),
        ((a, a.T), a[:3, :3], ValueError, r"^out: the array shares memory with operands\[0\]$"),
        ((a, a.T), torch.zeros(3, 3, dtype=torch.complex128).conj().imag, ValueError, r"^out: a lazily negated"),
        ((a, a.T), torch.zeros(3, 3), TypeError, r"^out: dtype torch\.float32 is not"),
    ):  # fmt: skip
        with pytest.raises(error, match=pattern):
            ozfp4.einsum("ij,jk->ik", *operands, out=out)
    assert (a.numpy() == A).all()


def test_dtypes_of_three_as_numpy_s() -> None:
    names = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "?"]
    for dtypes in itertools.permutations(names, 3):
        operands = [np.ones(2, name) for name in dtypes]
        assert ozfp4.einsum("i,i,i->i", *operands).dtype == np.einsum("i,i,i->i", *operands).dtype, dtypes


def test_dtypes_of_three_as_torch_s() -> None:
    torch = pytest.importorskip("torch")
    names = ["int8", "uint8", "int16", "int64", "float32", "float64", "complex64", "bool"]
    for dtypes in itertools.permutations(names, 3):
        operands = [torch.ones(2, dtype=getattr(torch, name)) for name in dtypes]
        assert ozfp4.einsum("i,i,i->i", *operands).dtype == torch.einsum("i,i,i->i", *operands).dtype, dtypes


@pytest.mark.parametrize("kind", [list, tuple])
def test_tensors_in_a_list(kind: type) -> None:
    torch = pytest.importorskip("torch")
    a, b = (torch.from_numpy(x) for x in whole((2, 3), (3, 4)))
    assert torch.equal(ozfp4.einsum("ij,jk", kind([a, b])), torch.einsum("ij,jk", kind([a, b])))
    assert torch.equal(ozfp4.einsum("ij->ji", kind([a])), a.T)
    with pytest.raises(TypeError, match=r"cannot be mixed: operands\[0\] is a torch tensor, operands\[1\]"):
        ozfp4.einsum("ij,jk", kind([a, b.numpy()]))
    rows = kind([[1.0, 2.0], [3.0, 4.0]])
    assert ozfp4.einsum("ij->", rows) == 10
