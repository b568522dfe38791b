"""Results, bounds, enclosures and reports of products on a GPU, against the CPU path, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from first_gpu import CERTIFIED_MODES, check, noisy, on_device

import ozfp4
from ozfp4.testing import assert_same_bits
from support import STRUCTURED, chosen, operands, structured_operands


def graded(rng, m, k, n, deepest, dtype=np.float64):
    """Entries over 2^-deepest .. 1, rows and columns over 2^-504 .. 2^504 (float32: 2^-60 .. 2^60)."""
    top = 504 if dtype == np.float64 else 60

    def lines(count):
        x = rng.standard_normal((count, k)) * 2.0 ** -rng.integers(0, deepest + 1, (count, k))
        return (x * 2.0 ** rng.integers(-top, top + 1, (count, 1))).astype(dtype)

    return lines(m), lines(n).T.copy()


def cancelling(rng, m, k, n, rest):
    """Sums of products that are 0 but for `rest` of the last ones."""
    x, y = graded(rng, m, k, n, 90)
    a, b = np.concatenate([x, -x], 1), np.concatenate([y, y], 0)
    a[:, -rest:] *= 1 + 2.0**-30 if rest else 1
    return a, b


def repaired(report):
    """Entries that nothing certifies."""
    return report.certified.chains + report.certified.repaired + report.certified.repaired_exactly


def check_counts(a, b, context="", x=None, y=None):
    """As many entries are repaired as on the CPU, in every mode; how many there. From K = 256 on "correct" may convert longer
    lines exactly on a GPU, which leaves fewer."""
    x, y = on_device(a) if x is None else x, on_device(b) if y is None else y
    total = 0
    for mode in CERTIFIED_MODES:
        expected = repaired(chosen.matmul(a, b, **mode, report=True)[1])
        found = repaired(chosen.matmul(x, y, **mode, report=True)[1])
        lengthens = mode["accuracy"] == "correct" and a.shape[-1] >= 256
        assert found <= expected if lengthens else found == expected, (context, *mode.values())
        total += expected
    return total


def of_spans(rng, lines, k, spans):
    """Lines with so many bits from the first bit of the largest entry to the last bit of the smallest one."""
    x = rng.integers(2**52, 2**53, (lines, k)) * rng.choice([-1.0, 1.0], (lines, k))
    depths = rng.integers(0, 1 << 30, (lines, k)) % (np.asarray(spans)[:, None] - 52)
    depths[:, 0], depths[:, 1] = 0, np.asarray(spans) - 53
    x[:, 1] = np.abs(x[:, 1] // 2) * 2 + 1  # its last bit is set
    return x * 2.0**-depths


@pytest.mark.parametrize("k", [256, 300, 1100])
def test_long_lines_are_exact(k):
    """Lines of "correct" up to 106 bits are converted exactly, by more moduli than the plan has: nothing is repaired, whatever
    cancels. Products of the longest ones take the long form of the CRT, others the short one."""
    rng = np.random.default_rng(k)
    for spans_a, spans_b in [((60, 106), (60, 76)), ((95, 106), (95, 106)), ((60, 76), (60, 76))]:
        x = of_spans(rng, 70, k // 2, rng.integers(*spans_a, 70, endpoint=True))
        y = of_spans(rng, 90, k // 2, rng.integers(*spans_b, 90, endpoint=True))
        a, b = np.concatenate([x, -x], 1), np.concatenate([y, y], 1)
        a[:, -1] *= -1  # one product of each entry is left, twice
        c, report = chosen.matmul(on_device(a), on_device(b).T, accuracy="correct", report=True)
        assert_same_bits(c.cpu().numpy(), chosen.matmul(a, b.T, accuracy="correct"), str((spans_a, spans_b)))
        assert repaired(report) == 0
        assert report.moduli_used >= 17
    short = rng.standard_normal((k, 40)).astype(np.float32)  # its planes are those of the plan
    expected = chosen.matmul(a, short[: a.shape[1]], accuracy="correct")
    c = chosen.matmul(on_device(a), on_device(short[: a.shape[1]]), accuracy="correct")
    assert_same_bits(c.cpu().numpy(), expected, "float32 and float64")
    lines = of_spans(rng, 64, k, rng.integers(100, 112, 64))  # some are longer
    for out in (noisy((64, 64)), None):
        c = chosen.matmul(on_device(lines), on_device(lines).T, accuracy="correct", out=out)
        assert_same_bits(c.cpu().numpy(), chosen.matmul(lines, lines.T, accuracy="correct"), "longer")


@pytest.mark.parametrize("permuted", [False, True], ids=["in order", "permuted"])
@pytest.mark.parametrize("kind", list(STRUCTURED))
def test_structured(kind, permuted):
    """Entries of lines without a common nonzero index are exact zeros: "correct" does not count them as repaired."""
    for case, shape in enumerate([(3, 5, 4), (70, 33, 131), (200, 300, 190), (5, 2100, 70)]):
        a, b = structured_operands(kind, *shape, seed=case, permuted=permuted)
        check(a, b, (kind, shape))
        check_counts(a, b, (kind, shape))
    a[2, 3], b[4, 7], b[9, 66] = np.nan, np.inf, -np.inf
    check(a, b, (kind, "specials"))
    check_counts(a, b, (kind, "specials"))
    a, b = structured_operands(kind, 90, 130, 140, permuted=permuted)
    x, y = on_device(a.T).T, on_device(b.T).T  # lines the other way round
    check(a, b, (kind, "transposed"), x=x, y=y)
    check_counts(a, b, (kind, "transposed"), x=x, y=y)
    a, b = structured_operands(kind, 90, 130, 140, dtype=np.float32, permuted=permuted)
    for x, y in ((a, b), (a.astype(np.float64), b), (a, b.astype(np.float64))):
        check(x, y, (kind, x.dtype, y.dtype))
        check_counts(x, y, (kind, x.dtype, y.dtype))


@pytest.mark.parametrize("order", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize("k", [1, 63, 64, 65, 127, 129, 1000, 1025, 2100])
def test_structured_lengths(k, order):
    """Lengths of lines around those of the words that their nonzero entries are kept in, in both memory orders."""
    for kind in ("1 % dense", "banded") if k > 1 else ("1 % dense",):
        a, b = structured_operands(kind, 131, k, 70, seed=k)
        x, y = (on_device(v) if o == "C" else on_device(v.T).T for v, o in zip((a, b), order, strict=True))
        check(a, b, (kind, k, order), modes=CERTIFIED_MODES[:3], x=x, y=y)
        check_counts(a, b, (kind, k, order), x=x, y=y)


def test_structured_stacks():
    """Matrices of which some are broadcast, whole and cut into turns and blocks."""
    kinds = list(STRUCTURED)[:3]
    pairs = [[structured_operands(kind, 130, 200, 140, seed=i) for kind in kinds] for i in range(2)]
    a, b = (np.stack([np.stack([pair[side] for pair in row]) for row in pairs]) for side in range(2))
    for x, y in ((a, b), (a[:, :1], b[:1]), (a[0, 0], b), (a[:1, :, ::-1], b[:, 1:2])):
        check(x, y, (x.shape, y.shape), modes=CERTIFIED_MODES[:3])
        check_counts(x, y, (x.shape, y.shape))
    for x, y in ((a, b), (a[0, 0], b[0, 0])):
        expected, of_cpu = chosen.matmul(x, y, accuracy="standard", report=True)
        _, whole = chosen.matmul(on_device(x), on_device(y), accuracy="standard", report=True)
        for part in (1, 2, 3):
            limit = whole.workspace // part
            c, cut = chosen.matmul(
                on_device(x), on_device(y), accuracy="standard", report=True, workspace_limit=limit
            )
            assert_same_bits(c.cpu(), expected, (x.shape, part))
            assert repaired(cut) == repaired(of_cpu)


@pytest.mark.parametrize("mode", CERTIFIED_MODES[:2], ids=str)
@pytest.mark.parametrize("kind", ["1 % dense", "banded"])
def test_pieces_of_k(kind, mode):
    """Lines that are cut have no masks in the workspace."""
    a, b = structured_operands(kind, 40, 200_000, 30)
    x, y = on_device(a), on_device(b)
    expected, of_cpu = chosen.matmul(a, b, **mode, report=True)
    _, whole = chosen.matmul(x, y, **mode, report=True)
    c, cut = chosen.matmul(x, y, **mode, report=True, workspace_limit=whole.workspace // 8)
    assert_same_bits(c.cpu(), expected, (kind, mode))
    same_repairs(cut, of_cpu)


def test_few_of_a_sparse_product_are_repaired():
    a, b = structured_operands("banded", 1000, 1000, 1000)
    _, report = chosen.matmul(on_device(a), on_device(b), accuracy="correct", report=True)
    assert repaired(report) < 1000 * 1000 // 5
    assert check_counts(a, b) > 0


@pytest.mark.parametrize(("m", "k", "n"), [(300, 200, 310), (1400, 300, 1600)])
def test_few_entries_of_many_are_repaired(m, k, n):
    """Among a few hundred tiles masks of all lines do not pay: a tile looks at its own."""
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    a[[5, 77, m - 1]], b[:, [0, 64, n - 1]] = graded(rng, 3, k, 3, 300)
    check(a, b)
    _, report = chosen.matmul(on_device(a), on_device(b), accuracy="standard", report=True)
    assert 0 < repaired(report) < m * n // 10


def test_turns_report_all_that_is_repaired():
    rng = np.random.default_rng(10)
    a, b = cancelling(rng, 60, 20, 70, 1)
    x, y = on_device(np.stack([a] * 6)), on_device(np.stack([b] * 6))
    _, whole = chosen.matmul(x, y, accuracy="correct", report=True)
    _, cut = chosen.matmul(x, y, accuracy="correct", report=True, workspace_limit=whole.workspace // 4)
    assert cut.workspace <= whole.workspace // 4
    assert whole.certified == cut.certified
    expected = chosen.matmul(x.cpu().numpy(), y.cpu().numpy(), accuracy="correct", report=True)[1].certified
    found = whole.certified
    assert found.repaired + found.repaired_exactly == expected.repaired + expected.repaired_exactly > 0


def nearly_certain(kind, seed=18):
    """Lines that certify all entries of their product, and such with a line that does not."""
    rng = np.random.default_rng(seed)
    m, k, n = 70, 1500, 133
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    # The products of a deep line with the first lines of the other operand cancel.
    deep = rng.standard_normal(k // 2) * 2.0 ** -rng.integers(0, 300, k // 2)
    deep = np.concatenate([deep, -deep])
    a[:20, k // 2 :], b[k // 2 :, :20] = a[:20, : k // 2], b[: k // 2, :20]
    few = np.where(np.arange(k) % 500 == 7, 1.5, 0.0)
    if kind in ("exact", "exact but a row", "exact but a column"):
        a, b = np.rint(a * 2.0**26), np.rint(b * 2.0**26)
    if kind == "uniform":
        a, b = rng.random((m, k)), rng.random((k, n))
    if kind in ("deep row", "exact but a row"):
        a[5] = deep
    if kind in ("deep column", "exact but a column"):
        b[:, 131] = deep
    if kind == "row of few":
        a[69] = few * 2.0**-0.5
    if kind == "half a column":
        b[::2, 64] = 0.0
    if kind in ("empty lines", "specials", "specials and a deep row"):
        a[8], b[:, 3] = 0.0, 0.0
    if kind.startswith("specials"):
        a[4, 4], a[9, 1], a[30], a[30, 2] = np.nan, np.inf, deep, np.nan
        b[6, 9], b[2, 33], b[:, 40], b[1, 40] = -np.inf, np.nan, few, np.inf
    if kind == "specials and a deep row":
        a[6] = deep
    if kind == "subnormal results":
        a, b = a * 2.0**-540, b * 2.0**-530
    if kind == "float32":
        a, b = a.astype(np.float32), b.astype(np.float32)
    return a, b


NEARLY_CERTAIN = [
    "normal", "uniform", "float32", "exact", "exact but a row", "exact but a column", "deep row", "deep column", "row of few",
    "half a column", "empty lines", "specials", "specials and a deep row", "subnormal results",
]  # fmt: skip


def same_repairs(found, expected):
    of_both = [repaired(report) for report in (found, expected)]
    # On a GPU long lines of "correct" are exact.
    assert of_both[0] == of_both[1] or (found.accuracy == "correct" and of_both[0] < of_both[1])
    return of_both[0]


@pytest.mark.parametrize("kind", NEARLY_CERTAIN)
def test_certain_products(kind):
    a, b = nearly_certain(kind)
    check(a, b, kind)
    x, y = on_device(a), on_device(b)
    for mode in CERTIFIED_MODES:
        expected, of_cpu = chosen.matmul(a, b, **mode, report=True)
        _, whole = chosen.matmul(x, y, **mode, report=True)
        count = same_repairs(whole, of_cpu)
        for part in (2, 5):
            c, found = chosen.matmul(x, y, **mode, report=True, workspace_limit=whole.workspace // part)
            assert_same_bits(c.cpu(), expected, (kind, mode, part))
            assert found.certified == whole.certified
        if mode != CERTIFIED_MODES[0] and ("deep" in kind or "but" in kind):
            assert count > 0
        if kind in ("exact", *(("normal", "uniform", "specials") if mode == CERTIFIED_MODES[0] else ())):
            assert count == 0


def test_certain_products_after_others():
    """The list of entries keeps what an earlier product left where nothing is listed; turns differ in what is certain."""
    kinds = ["deep row", "normal", "deep column", "exact", "specials and a deep row", "uniform"]
    pairs = [nearly_certain(kind, seed) for seed, kind in enumerate(kinds)]
    for mode in CERTIFIED_MODES[:2]:
        expected = [chosen.matmul(a, b, **mode) for a, b in pairs]
        for _ in range(2):
            for (a, b), wanted in zip(pairs, expected, strict=True):
                assert_same_bits(chosen.matmul(on_device(a), on_device(b), **mode).cpu(), wanted, mode)
        a, b = np.stack([a for a, _ in pairs]), np.stack([b for _, b in pairs])
        _, of_cpu = chosen.matmul(a, b, **mode, report=True)
        _, whole = chosen.matmul(on_device(a), on_device(b), **mode, report=True)
        for limit in (whole.workspace, whole.workspace // 3, whole.workspace // 6):
            c, found = chosen.matmul(on_device(a), on_device(b), **mode, report=True, workspace_limit=limit)
            assert_same_bits(c.cpu(), np.stack(expected), (mode, limit))
            assert (same_repairs(found, of_cpu) > 0) == (mode != CERTIFIED_MODES[0])


@pytest.mark.parametrize("mode", CERTIFIED_MODES, ids=lambda m: "-".join(m.values()))
def test_reports(mode):
    rng = np.random.default_rng(11)
    a, b = graded(rng, 30, 40, 35, 70)
    a[4, 4], b[:, 7] = np.nan, 0.0
    _, bound, expected = chosen.matmul(a, b, **mode, return_bound=True, report=True)
    _, _, report = chosen.matmul(on_device(a), on_device(b), **mode, return_bound=True, report=True)
    for name in (
        "accuracy", "bits", "capacities", "exponents", "largest_bound", "special_rows", "special_columns",
    ):  # fmt: skip
        assert getattr(report, name) == getattr(expected, name), name
    assert report.largest_bound == bound[np.isfinite(bound)].max()
    assert same_repairs(report, expected) > 0
    assert ("chains" if mode == CERTIFIED_MODES[0] else "repaired") in str(report)


def test_exact_sums_are_counted():
    a, b = cancelling(np.random.default_rng(12), 70, 20, 65, 0)
    _, report = chosen.matmul(on_device(a), on_device(b), accuracy="correct", report=True)
    assert report.certified.repaired_exactly > 0


def test_enclose_of_stacks():
    """Stacks with other scales in each matrix, and broadcast ones."""
    a, b = (np.stack([operands("phi32", 9, 40, 11, seed=s)[i] * 2.0**-s for s in range(5)]) for i in (0, 1))
    for x, y in ((a, b), (a[:, None], b[:2]), (a[0], b)):
        for found, expected in zip(
            ozfp4.enclose(on_device(x), on_device(y)), ozfp4.enclose(x, y), strict=True
        ):
            assert_same_bits(found.cpu(), expected)


# ---- alpha A B + beta C


def test_residuals_that_pairs_do_not_settle():
    """A sum that the pairs do not settle after cancellation goes to the exact sums, and is counted there."""
    rng = np.random.default_rng(6)
    a, x = rng.standard_normal((200, 300)), rng.standard_normal((300, 90))
    a[:, 0] *= 2.0**-40  # no line is exact
    x[0] *= 2.0**-40
    b = a @ x
    expected = ozfp4.gemm(-1, a, x, 1, b, accuracy="correct")
    found, report = ozfp4.gemm(
        -1, on_device(a), on_device(x), 1, on_device(b), accuracy="correct", report=True
    )
    assert_same_bits(found.cpu(), expected)
    assert report.certified.repaired_exactly > 0


def test_a_long_result():
    """More entries than are summed at a time, within the workspace that they are cut for."""
    rng = np.random.default_rng(5)
    a, b = (x[0] + 1j * x[1] for x in (rng.standard_normal((2, 1500, 3)), rng.standard_normal((2, 3, 1000))))
    expected = ozfp4.gemm(1 + 2j, a, b)
    assert_same_bits(ozfp4.gemm(1 + 2j, on_device(a), on_device(b)).cpu(), expected)
    limited = ozfp4.gemm(1 + 2j, on_device(a), on_device(b), workspace_limit=64 << 20)
    assert_same_bits(limited.cpu(), expected)
