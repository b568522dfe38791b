"""Products from partial ones, on several ranks: the bits of ``ozfp4.matmul`` of the whole operands."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cases import draw, equal, part  # noqa: E402
from piece_cases import KINDS, Case, operands  # noqa: E402
from ranks import group  # noqa: E402

from ozfp4.distributed._layout import chunk_sizes  # noqa: E402
from support.chosen import matmul  # noqa: E402


def cut(x, axis, here):
    """This rank's part of K; now and then as a view that is transposed."""
    mine = part(x, ("rows", "columns")[axis], here.rank, here.size).to(here.device)
    return mine.t().contiguous().t() if mine.numel() % 3 == 0 else mine


def float_case(here, seed):
    import ozfp4.distributed

    random = np.random.default_rng(seed)
    m, n = (int(x) for x in random.integers(1, 20, 2))
    k = int(random.integers(1, random.choice([3, 12, 90, 300])))
    kind, accuracy = str(random.choice(KINDS)), str(random.choice(["scaled", "standard", "correct"]))
    options = {"accuracy": accuracy, "backend": str(random.choice(["auto", "int8"]))}
    if accuracy == "scaled":
        options["plan"] = ozfp4.plan(
            m, n, k, backend="int8", bits=int(random.integers(2, 100)), accuracy="scaled"
        )
    if accuracy == "correct":
        options["rounding"] = str(random.choice(["nearest", "down", "up", "zero"]))
    dtypes = [getattr(torch, str(x)) for x in random.choice(["float64", "float64", "float32"], 2)]
    whole = operands(Case(m, n, chunk_sizes(k, here.size), kind, accuracy, seed=seed))
    a, b = (x.to(dtype) for x, dtype in zip(whole, dtypes, strict=True))
    result = ("rows", "columns", "replicated")[int(random.integers(3))]
    found = ozfp4.distributed.matmul(
        cut(a, 1, here), cut(b, 0, here), layout=("columns", "rows"), result=result, method="reduce", **options,
    )  # fmt: skip
    expected = part(matmul(a.to(here.device), b.to(here.device), **options), result, here.rank, here.size)
    bits = torch.int64 if found.dtype == torch.float64 else torch.int32
    if not torch.equal(found.contiguous().view(bits), expected.contiguous().view(bits)):
        raise AssertionError(f"seed {seed}: {kind} {options} {(m, k, n)} {result}\n{found}\n{expected}")


def float_cases(here, first, count, limits=None):
    from ozfp4.distributed import _cost as cost
    from ozfp4.distributed import _reduce as reduce

    with pytest.MonkeyPatch.context() as patch:
        if limits is not None:
            most, aligned, repair, is_hidden = limits
            patch.setattr(reduce, "MOST_BYTES", dict.fromkeys(("cpu", "cuda"), most))
            patch.setattr(reduce, "ALIGNED", aligned)
            patch.setattr(reduce, "REPAIR_BYTES", repair)
            patch.setattr(cost, "hides_residues", lambda *_: is_hidden)
        for seed in range(first, first + count):
            float_case(here, seed)
    return count


def integer_cases(here, first, count):
    import ozfp4.distributed

    names = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        m, k, n = (int(x) for x in random.integers(1, 12, 3))
        dtype, result = str(random.choice(names)), str(random.choice(["rows", "columns", "replicated"]))
        a, b = (
            torch.from_numpy(random.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8))
            .view(getattr(torch, dtype))
            .squeeze(-1)
            if dtype != "bool"
            else torch.from_numpy(random.random(shape) < 0.2)
            for shape in ((m, k), (k, n))
        )
        found = ozfp4.distributed.matmul(
            cut(a, 1, here), cut(b, 0, here), layout=("columns", "rows"), result=result, method="reduce"
        )
        expected = part(matmul(a.to(here.device), b.to(here.device)), result, here.rank, here.size)
        assert torch.equal(found.cpu(), expected.cpu()), (seed, dtype, (m, k, n), result)
    return count


def public_cases(here, first, count):
    """``ozfp4.distributed.matmul`` with any shapes, dtypes and keywords; the number of those that go this way."""
    import ozfp4.distributed

    served = 0
    for seed in range(first, first + count):
        a, b, _, result, options = draw(seed, stacks=0)
        expected = matmul(a.to(here.device), b.to(here.device), **options)
        parts = [
            part(x, layout, here.rank, here.size).to(here.device)
            for x, layout in ((a, "columns"), (b, "rows"))
        ]
        layout = {"layout": ("columns", "rows"), "result": result}
        if seed % 4 == 0 and a.is_complex():
            parts[0] = parts[0].conj().resolve_conj().conj()
        if options.get("scheme") == "I":
            with pytest.raises(NotImplementedError, match="cannot compute this product"):
                ozfp4.distributed.matmul(*parts, **layout, method="reduce", **options)
            found = ozfp4.distributed.matmul(*parts, **layout, **options)
        else:
            found = ozfp4.distributed.matmul(*parts, **layout, method="reduce", **options)
            served += 1
        whole = part(expected, result or "rows", here.rank, here.size)
        assert equal(found, whole), (seed, a.dtype, b.dtype, a.shape, b.shape, result, options)
    return served


def test_reduced_products_of_any_operands(ranks):
    count = 120 if ranks.size <= 4 else 50
    served = ranks.run(public_cases, 0, count)
    assert served == [served[0]] * ranks.size
    assert served[0] >= 0.75 * count


def refusals(here):
    from ozfp4 import distributed

    a, b = torch.randn(4, 3, dtype=torch.float64), torch.randn(3, 5, dtype=torch.float64)
    a, b = a.to(here.device), b.to(here.device)
    said = []
    for options in ({"scheme": "I"}, {"return_bound": True}):
        with pytest.raises(NotImplementedError, match="'reduce' cannot compute this product") as caught:
            distributed.matmul(a, b, layout=("columns", "rows"), method="reduce", **options)
        said.append(str(caught.value))
    with pytest.raises(NotImplementedError, match="cut along"):
        distributed.matmul(a, b.expand(3, 5), layout=("rows", "replicated"), method="reduce")
    return said


def test_unsupported_options_are_refused_by_all(ranks):
    said = ranks.run(refusals)
    assert said == [said[0]] * ranks.size


def disagree(here):
    """The plans of two ranks differ, and one has no plan at all."""
    from unittest import mock

    from ozfp4 import _core, distributed

    a, b = torch.randn(4, 3, dtype=torch.float64), torch.randn(3, 5, dtype=torch.float64)

    def other(asked, *given):
        return real(asked._replace(backend="int8"), *given)

    def broken(asked, *given):
        raise RuntimeError("its kernel failed")

    real, said = _core.choose, []
    for replaced in (other, broken):
        own = replaced if here.rank == 1 else real
        with mock.patch.object(_core, "choose", own), pytest.raises(RuntimeError) as caught:
            distributed.matmul(a, b, layout=("columns", "rows"), method="reduce")
        said.append(str(caught.value))
    found = distributed.matmul(a, b, layout=("columns", "rows"), method="reduce")
    assert found.shape[1] == 5
    return said


def test_ranks_that_would_differ_raise_on_all():
    said = group(3).run(disagree)
    assert [each[0] for each in said] == [said[0][0]] * 3
    assert "different plans" in said[0][0]
    assert said[1][1] == "its kernel failed"
    assert "rank 1 refused: RuntimeError: its kernel failed" in said[0][1]


def test_reduced_products_of_floats(ranks):
    count = 150 if ranks.size <= 4 else 60
    assert ranks.run(float_cases, 1000 * ranks.size, count) == [count] * ranks.size


@pytest.mark.parametrize("is_hidden", [True, False])
def test_reduced_products_in_blocks(ranks, is_hidden):
    """Blocks of a few columns, which travel under products or between them, and whole lines a few at a time."""
    count = 40 if ranks.size <= 4 else 15
    limits = (64, 2, 100, is_hidden)
    assert ranks.run(float_cases, 1000 * ranks.size, count, limits) == [count] * ranks.size


def test_reduced_products_of_integers(ranks):
    assert ranks.run(integer_cases, 0, 60) == [60] * ranks.size
