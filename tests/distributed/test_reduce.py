"""Products from partial ones, on several ranks: the bits of ``ozfp4.matmul`` of the whole operands."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from cases import draw, equal, part  # noqa: E402
from ranks import group  # noqa: E402

from support.chosen import matmul  # noqa: E402

KINDS = ("normal", "spread", "wild", "sparse", "small", "integers", "pieces", "special", "crossed", "zeros")


def entries(random, shape, kind, axis):
    """float64 entries; K is along `axis`."""
    x = random.standard_normal(shape)
    if kind == "spread":
        x *= 2.0 ** random.integers(-30, 31, shape)
    elif kind == "wild":
        x *= 2.0 ** random.integers(-400, 401, shape)
    elif kind == "sparse":
        x[random.random(shape) < 0.8] = 0
    elif kind == "small":
        x *= 2.0**-1060 if axis else 2.0**-30
    elif kind == "integers":
        x = random.integers(-9, 10, shape).astype(float)
    elif kind == "pieces" and shape[axis]:
        steps = 2.0 ** np.repeat(random.integers(-90, 90, shape[axis] // 3 + 1), 3)[: shape[axis]]
        x *= np.expand_dims(steps, 1 - axis)
    elif kind == "special":
        for value in (np.inf, -np.inf, np.nan):
            x[random.random(shape) < 0.01] = value
        x[random.random(shape) < 0.2] = 0
    elif kind == "crossed" and shape[axis]:  # large entries across from small ones
        steps = 2.0 ** (np.linspace(-40, 40, shape[axis]) * (1 if axis else -1)).round()
        x *= np.expand_dims(steps, 1 - axis)
    elif kind == "zeros":
        x[...] = 0
    return x


def sizes_of(random, k, ranks):
    """Any cut of K, empty pieces among them."""
    cuts = np.sort(random.integers(0, k + 1, ranks - 1))
    return tuple(int(x) for x in np.diff([0, *cuts, k]))


def float_case(here, seed):
    import ozfp4
    from ozfp4.distributed import _reduce as reduce
    from ozfp4.distributed._collectives import take_group
    from ozfp4.distributed._layout import Placed, Problem
    from ozfp4.distributed._local import Products

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
    a, b = (
        torch.from_numpy(entries(random, shape, kind, axis)).to(dtype).to(here.device)
        for shape, axis, dtype in zip(((m, k), (k, n)), (1, 0), dtypes, strict=True)
    )
    sizes = sizes_of(random, k, here.size)
    axis = [-2, -1, None][int(random.integers(3))]
    result = Placed((m, n)).cut(axis, here.size)
    problem = Problem(
        here.size, Placed((m, k), -1, sizes), Placed((k, n), -2, sizes), result,
        a.element_size(), b.element_size(), 8, here.device.partition(":")[0],
    )  # fmt: skip
    assert reduce.why_not(problem, a.dtype, b.dtype, options, False) == ""
    dtype = torch.promote_types(a.dtype, b.dtype)
    out = torch.full(result.local(here.rank), 3.0, dtype=dtype, device=here.device)
    own_a, own_b = problem.a.part(a, here.rank), problem.b.part(b, here.rank)
    if seed % 3 == 0:
        own_a = own_a.t().contiguous().t()
    reduce.multiply(take_group(None), problem, own_a, own_b, Products(options, False), out)
    expected = result.part(matmul(a, b, **options), here.rank)
    bits = torch.int64 if dtype == torch.float64 else torch.int32
    if not torch.equal(out.contiguous().view(bits), expected.contiguous().view(bits)):
        raise AssertionError(f"seed {seed}: {kind} {options} {(m, k, n)} {sizes} {axis}\n{out}\n{expected}")


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
    from ozfp4.distributed import _reduce as reduce
    from ozfp4.distributed._collectives import take_group
    from ozfp4.distributed._layout import Placed, Problem
    from ozfp4.distributed._local import Products

    names = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]
    for seed in range(first, first + count):
        random = np.random.default_rng(seed)
        m, k, n = (int(x) for x in random.integers(1, 12, 3))
        dtype = str(random.choice(names))
        a, b = (
            torch.from_numpy(random.integers(0, 256, (*shape, np.dtype(dtype).itemsize), np.uint8))
            .view(getattr(torch, dtype))
            .squeeze(-1)
            if dtype != "bool"
            else torch.from_numpy(random.random(shape) < 0.2)
            for shape in ((m, k), (k, n))
        )
        a, b = a.to(here.device), b.to(here.device)
        sizes = sizes_of(random, k, here.size)
        axis = [-2, -1, None][int(random.integers(3))]
        result = Placed((m, n)).cut(axis, here.size)
        problem = Problem(
            here.size, Placed((m, k), -1, sizes), Placed((k, n), -2, sizes), result, 8, 8, 8, "cpu"
        )
        assert reduce.why_not(problem, a.dtype, b.dtype, {}, False) == ""
        out = torch.zeros(result.local(here.rank), dtype=a.dtype, device=here.device)
        parts = problem.a.part(a, here.rank), problem.b.part(b, here.rank)
        reduce.multiply(take_group(None), problem, *parts, Products({}, False), out)
        expected = result.part(matmul(a, b), here.rank)
        assert torch.equal(out.cpu(), expected.cpu()), (seed, dtype, sizes, axis)
    return count


def public_cases(here, first, count):
    """``ozfp4.distributed.matmul`` with any shapes, dtypes and keywords; how many of them this way serves."""
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
            with pytest.raises(NotImplementedError, match="does not serve"):
                ozfp4.distributed.matmul(*parts, **layout, method="reduce", **options)
            found = ozfp4.distributed.matmul(*parts, **layout, **options)
        else:
            found = ozfp4.distributed.matmul(*parts, **layout, method="reduce", **options)
            served += 1
        whole = part(expected, result or "rows", here.rank, here.size)
        assert equal(found, whole), (seed, a.dtype, b.dtype, a.shape, b.shape, result, options)
    return served


def test_all_that_is_asked_for(ranks):
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
        with pytest.raises(NotImplementedError, match="'reduce' does not serve") as caught:
            distributed.matmul(a, b, layout=("columns", "rows"), method="reduce", **options)
        said.append(str(caught.value))
    with pytest.raises(NotImplementedError, match="cut along"):
        distributed.matmul(a, b.expand(3, 5), layout=("rows", "replicated"), method="reduce")
    return said


def test_what_is_not_served_is_refused_alike(ranks):
    said = ranks.run(refusals)
    assert said == [said[0]] * ranks.size


def disagree(here):
    """The plans of two ranks differ, and one has no plan at all."""
    from unittest import mock

    from ozfp4 import distributed
    from ozfp4._dispatch import on_cpu

    a, b = torch.randn(4, 3, dtype=torch.float64), torch.randn(3, 5, dtype=torch.float64)

    def other(asked, k, single):
        return real(asked._replace(backend="int8"), k, single)

    def broken(asked, k, single):
        raise RuntimeError("its kernel failed")

    real, said = on_cpu.decide_piece, []
    for replaced in (other, broken):
        own = replaced if here.rank == 1 else real
        with mock.patch.object(on_cpu, "decide_piece", own), pytest.raises(RuntimeError) as caught:
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


def test_floats(ranks):
    count = 150 if ranks.size <= 4 else 60
    assert ranks.run(float_cases, 1000 * ranks.size, count) == [count] * ranks.size


@pytest.mark.parametrize("is_hidden", [True, False])
def test_floats_in_blocks(ranks, is_hidden):
    """Blocks of a few columns, which travel under products or between them, and whole lines a few at a time."""
    count = 40 if ranks.size <= 4 else 15
    limits = (64, 2, 100, is_hidden)
    assert ranks.run(float_cases, 1000 * ranks.size, count, limits) == [count] * ranks.size


def test_integers(ranks):
    assert ranks.run(integer_cases, 0, 60) == [60] * ranks.size
