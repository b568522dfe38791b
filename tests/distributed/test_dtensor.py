"""Products of DTensors: the bits of one device for all placements of the operands, on meshes of one and two dimensions."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from cases import error_of
from meshes import PLACED, assert_is, mesh_of, placed, placement, random, stacks, words_for
from ranks import Here, Ranks, group

import ozfp4
import ozfp4.distributed
from ozfp4._request.library import is_dtensor

SHAPES = [((7, 9), (9, 5)), ((2, 3), (3, 17)), ((9, 4), (4, 1)), ((0, 5), (5, 4)), ((6, 0), (0, 3))]


# ---- In the process of a rank


def all_pairs(here: Here, extents: tuple[int, ...], shapes: Any) -> int:
    """Every pair of placements of two matrices; how many that were."""
    mesh, count = mesh_of(here, extents), 0
    of_one = list(itertools.product(PLACED, repeat=len(extents)))
    for number, (left, right) in enumerate(shapes):
        a, b = (
            random(10 * number + i, shape, torch.float64, here.device)
            for i, shape in enumerate((left, right))
        )
        c = ozfp4.matmul(a, b)
        x = {words: placed(here, a, mesh, words) for words in of_one}
        y = {words: placed(here, b, mesh, words) for words in of_one}
        for of_a, of_b in itertools.product(of_one, repeat=2):
            for _ in range(2 - number % 2):  # the second time without torch's way, if nothing is exchanged
                assert_is(ozfp4.matmul(x[of_a], y[of_b]), c, (left, right, of_a, of_b))
            count += 1
    return count


KINDS: list[tuple[str, str, dict[str, Any]]] = [
    ("float64", "float64", {"accuracy": "correct", "rounding": "up"}),
    ("float64", "float64", {"backend": "int8", "accuracy": "scaled"}),
    ("float64", "float64", {"scheme": "I", "backend": "fp4", "accuracy": "scaled"}),
    ("float64", "float64", {"backend": "int8"}),
    ("float32", "float32", {}),
    ("float32", "float64", {"accuracy": "correct"}),
    ("complex128", "complex128", {}),
    ("complex64", "float32", {}),
    ("float64", "complex128", {"accuracy": "correct", "rounding": "zero"}),
    ("int64", "int64", {}),
    ("int8", "int32", {}),
    ("bool", "bool", {}),
    ("float64", "float64", {"plan": ozfp4.plan(8, 8, 8)}),
]
FLOATS = ("float64", "float32", "complex128", "complex64")


def random_cases(here: Here, extents: tuple[int, ...], first: int, count: int) -> None:
    """By both functions: that of groups takes placements of the result, and has bounds."""
    mesh = mesh_of(here, extents)
    for seed in range(first, first + count):
        generator = torch.Generator().manual_seed(seed)
        of_a, of_b, options = KINDS[seed % len(KINDS)]
        left, right = stacks(generator)
        a = random(seed, left, getattr(torch, of_a), here.device)
        b = random(seed + 1, right, getattr(torch, of_b), here.device)
        words = [words_for(x.shape, len(extents), generator, x.dtype != torch.bool) for x in (a, b)]
        if seed // len(KINDS) % 2:  # K is cut
            dim = seed % len(extents)
            words[0][dim], words[1][dim] = f"S{a.ndim - 1}", f"S{max(b.ndim - 2, 0)}"
        x, y = (placed(here, z, mesh, each) for z, each in zip((a, b), words, strict=True))
        wants_bounds = of_a in FLOATS
        expected = ozfp4.matmul(a, b, **options, return_bound=wants_bounds)
        expected = expected if wants_bounds else (expected,)
        of_c = words_for(expected[0].shape, len(extents), generator, False)
        placements = None if seed % 3 == 0 else [placement(word) for word in of_c]
        what = (seed, left, right, words, placements, options)
        try:
            plain = ozfp4.matmul(x, y, **options)
            found = ozfp4.distributed.matmul(
                x, y, placements=placements, **options, return_bound=wants_bounds
            )
        except Exception as error:
            raise AssertionError(f"{what}: {error}") from error
        assert_is(plain, expected[0], what)
        for one, whole in zip(found if wants_bounds else (found,), expected, strict=True):
            assert_is(one, whole, what)
            assert placements is None or list(one.placements) == placements, what


def updates(here: Here, extents: tuple[int, ...], first: int, count: int) -> None:
    mesh = mesh_of(here, extents)
    for seed in range(first, first + count):
        generator = torch.Generator().manual_seed(seed)
        dtype = (torch.float64, torch.complex128, torch.int64)[seed % 3]
        alpha, beta = ((2.5, -0.75), (1.5 + 2j, 1.0), (3, -(2**40)))[seed % 3]
        a, b = (random(seed + i, shape, dtype, here.device) for i, shape in enumerate(stacks(generator)))
        result = ozfp4.matmul(a, b)
        shape = [1 if (seed + axis) % 4 == 0 else x for axis, x in enumerate(result.shape)][seed % 2 :]
        c = random(seed + 2, shape, dtype, here.device)
        given = [placed(here, x, mesh, words_for(x.shape, len(extents), generator, True)) for x in (a, b, c)]
        what = (seed, a.shape, b.shape, c.shape, [x.placements for x in given])
        assert_is(ozfp4.gemm(alpha, *given[:2], beta, given[2]), ozfp4.gemm(alpha, a, b, beta, c), what)
        if a.ndim > 1 and b.ndim > 1:
            turned = [x.mT if seed % 2 else x.mH for x in (a, b)]
            words = [words_for(x.shape, len(extents), generator, False) for x in turned]
            x, y = (placed(here, z, mesh, w) for z, w in zip(turned, words, strict=True))
            asked = "T" if seed % 2 else "C"
            found = ozfp4.gemm(alpha, x, y, trans_a=asked, trans_b=asked)
            assert_is(found, ozfp4.gemm(alpha, a, b), (what, words, asked))


def gradients(here: Here, extents: tuple[int, ...], first: int, count: int) -> None:
    mesh = mesh_of(here, extents)
    for seed in range(first, first + count):
        generator = torch.Generator().manual_seed(seed)
        dtypes = (
            (torch.float64, torch.float64),
            (torch.complex128, torch.float64),
            (torch.complex128, torch.complex128),
        )[seed % 3]
        left, right = stacks(generator)
        a, b = (
            random(seed + i, shape, dtype, here.device, special=False)
            for i, (shape, dtype) in enumerate(zip((left, right), dtypes, strict=True))
        )
        result = ozfp4.matmul(a, b)
        c = random(seed + 5, result.shape[-1:], result.dtype, here.device, special=False)
        weight = random(seed + 3, result.shape, result.dtype, here.device, special=False)
        words = [words_for(x.shape, len(extents), generator, False) for x in (a, b, c, weight)]
        if seed % 2:  # K is cut
            words[0][0], words[1][0] = f"S{a.ndim - 1}", f"S{max(b.ndim - 2, 0)}"
        for multiply, operands, lie_alike in (
            (lambda x, y: ozfp4.matmul(x, y, accuracy="correct"), [a, b], False),
            (lambda x, y, z: ozfp4.gemm(1.5, x, y, -2.0, z), [a, b, c], False),
            (lambda x, y: (ozfp4.distributed if is_dtensor(x) else ozfp4).matmul(x, y), [a, b], True),
        ):
            whole = [x.clone().requires_grad_() for x in operands]
            given = [
                placed(here, x, mesh, each).requires_grad_() for x, each in zip(operands, words, strict=False)
            ]
            what = (seed, left, right, words, len(operands))
            expected, found = multiply(*whole), multiply(*given)
            assert_is(found.detach(), expected.detach(), what)
            expected.backward(weight)
            found.backward(placed(here, weight, mesh, words[3]))
            for x, y in zip(given, whole, strict=True):
                assert y.grad is not None
                assert_is(x.grad, y.grad, what)
                # torch 2.11 replicates a gradient without entries as it accumulates it.
                assert not lie_alike or not x.numel() or x.grad.placements == x.placements, what


# Stacks of products without entries: their gradients sum over repeated axes, as for A of (7, k) by B of (2, k, 0).
NOTHING = [
    ((7, 3), (2, 3, 0)), ((2, 0, 3), (3, 5)), ((7, 0), (2, 0, 5)), ((3, 2, 4, 0), (3, 1, 0, 5)), ((0,), (2, 0, 5)),
]  # fmt: skip


def gradients_of_nothing(here: Here, extents: tuple[int, ...], words: str) -> list[Any]:
    """The views of DTensors without entries that torch had to propagate: 2.11 and before fail at some."""
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = []

    class Views(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = func(*args, **(kwargs or {}))
            if (
                func._opname in ("view", "_unsafe_view", "reshape")
                and is_dtensor(args[0])
                and not args[0].numel()
            ):
                seen.append((tuple(args[0].shape), tuple(args[1])))
            return result

    mesh = mesh_of(here, extents)
    for left, right in NOTHING:
        for dtype in (torch.float64, torch.complex128):
            whole = [random(i, x, dtype, here.device).requires_grad_() for i, x in enumerate((left, right))]
            given = [placed(here, x.detach(), mesh, [words] * len(extents)).requires_grad_() for x in whole]
            expected, found = (ozfp4.matmul(*x) for x in (whole, given))
            assert_is(found.detach(), expected.detach(), (left, right))
            weight = random(9, expected.shape, expected.dtype, here.device, special=False)
            expected.backward(weight)
            with Views():
                found.backward(placed(here, weight, mesh, ["R"] * len(extents)))
            for x, y in zip(given, whole, strict=True):
                assert y.grad is not None
                assert_is(x.grad, y.grad, (left, right, words))
    return seen


def natural_placements(here: Here) -> dict[tuple[str, str], str]:
    """Where the result of matrices lies that no exchange, or the least, is needed for."""
    mesh = mesh_of(here, (here.size,))
    a = random(1, (16, 24), torch.float64, here.device)
    b = random(2, (24, 32), torch.float64, here.device)
    found = {}
    for of_a, of_b in itertools.product(("R", "S0", "S1"), repeat=2):
        (where,) = ozfp4.matmul(placed(here, a, mesh, [of_a]), placed(here, b, mesh, [of_b])).placements
        found[of_a, of_b] = f"S{where.dim}" if where.is_shard() else "R"
    return found


def exchanges(here: Here) -> dict[str, int]:
    """Collectives of some products."""
    from torch.distributed.tensor.debug import CommDebugMode

    mesh = mesh_of(here, (here.size,))
    a = random(1, (3, 16, 24), torch.float64, here.device)
    b = random(2, (24, 32), torch.float64, here.device)
    found = {}
    for of_a, of_b in (("R", "R"), ("S1", "R"), ("R", "S1"), ("S2", "S0")):
        x, y = placed(here, a, mesh, [of_a]), placed(here, b, mesh, [of_b])
        for _ in range(2):
            with CommDebugMode() as counted:
                ozfp4.matmul(x, y)
            found[of_a + of_b] = counted.get_total_counts()
    return found


def refused(here: Here) -> list[str]:
    """The errors of wrong arguments; no rank waits for another."""
    mesh = mesh_of(here, (here.size,))
    other = mesh_of(here, (1, here.size))
    whole = random(1, (8, 8), torch.float64, here.device, special=False)
    x, y = placed(here, whole, mesh, ["S0"]), placed(here, whole, mesh, ["R"])
    z, narrow = placed(here, whole, other, ["R", "S0"]), placed(here, whole[:, :5], mesh, ["R"])
    calls = [
        lambda: ozfp4.matmul(x, whole),
        lambda: ozfp4.matmul(whole, x),
        lambda: ozfp4.matmul(x, z),
        lambda: ozfp4.matmul(narrow, x),
        lambda: ozfp4.matmul(x, y, out=x),
        lambda: ozfp4.matmul(x, y, report=True),
        lambda: ozfp4.matmul(x, y, return_bound=True),
        lambda: ozfp4.matmul(x, y, accuracy="best"),
        lambda: ozfp4.matmul(x.half(), y),
        lambda: ozfp4.gemm(1.0, x, y, 1.0, whole),
        lambda: ozfp4.gemm(1.0, x, y, 1.0, narrow),
        lambda: ozfp4.gemm(float("inf"), x, y),
        lambda: ozfp4.gram(x),
        lambda: ozfp4.enclose(x, y),
        lambda: ozfp4.einsum("ij,jk", x, y),
        lambda: ozfp4.linalg.solve(x, y),
        lambda: ozfp4.matmul(x, whole.cpu().numpy()),
    ]
    ozfp4.matmul(x, y)  # what is known of it lets nothing of this through
    found = [error_of(call) for call in calls]
    assert_is(ozfp4.matmul(x, y), ozfp4.matmul(whole, whole), "after all that")
    return found


def overflowing(here: Here) -> str:
    """One entry of the whole product does not fit; on one rank alone."""
    mesh = mesh_of(here, (here.size,))
    a = torch.ones((here.size, 4), dtype=torch.int8, device=here.device)
    a[0] = 100
    x, y = placed(here, a, mesh, ["S0"]), placed(here, torch.ones_like(a[0]), mesh, ["R"])
    assert_is(ozfp4.matmul(x, y), ozfp4.matmul(a, torch.ones_like(a[0])), "wraps")
    return error_of(lambda: ozfp4.matmul(x, y, overflow="raise"))


def unspeakable(here: Here) -> str:
    """Rank 0 raises what is no text: a lone surrogate, as a path of undecodable bytes has it."""
    from ozfp4._torch_ops import agree

    def fail() -> None:
        if here.rank == 0:
            raise OSError("no \udc80")

    return ascii(error_of(lambda: agree.together(mesh_of(here, (here.size,)), fail)))


def emulated(here: Here) -> list[tuple[str, bool, int, str]]:
    """A product with a cut inner dimension: torch's, with the sum over ranks left open, and ozfp4's."""
    mesh = mesh_of(here, (here.size,))
    a = random(1, (8, 24), torch.float64, here.device, special=False)
    b = random(2, (24, 8), torch.float64, here.device, special=False)
    x, y = placed(here, a, mesh, ["S1"]), placed(here, b, mesh, ["S0"])
    native = x @ y
    p = placed(here, a, mesh, ["S0"]).requires_grad_()
    with ozfp4.emulate(mode="always") as scope:
        with ozfp4.emulate(mode="always"):
            c = x @ y
        ours, whole = ozfp4.matmul(x, y), a @ b
        (p @ y).sum().backward()
    with ozfp4.emulate(mode="always") as second:
        again = x @ y
        with torch.inference_mode():
            torch.nn.functional.linear(x, y.mT)
            seen = x @ y
    for each in (c, again, seen):
        assert each.placements == native.placements
        assert torch.equal(each.to_local(), native.to_local())
    assert_is(ours, ozfp4.matmul(a, b), "ours")
    assert torch.equal(whole, ozfp4.matmul(a, b))
    rows = [*scope.summary.rows, *second.summary.rows]
    return [(row.operation, row.taken, row.calls, row.reason) for row in rows]


def compiled(here: Here) -> None:
    mesh = mesh_of(here, (here.size,))
    a = random(1, (8, 9), torch.float64, here.device, special=False)
    b = random(2, (9, 8), torch.float64, here.device, special=False)
    x, y = placed(here, a, mesh, ["S1"]), placed(here, b, mesh, ["S0"])
    for backend in ("eager", "aot_eager"):
        found = torch.compile(lambda p, q: ozfp4.matmul(p, q) * 2, backend=backend)(x, y)
        assert_is(found, ozfp4.matmul(a, b) * 2, backend)


# ---- In the process of the tests


def test_all_pairs_of_placements(meshed: tuple[Ranks, tuple[int, ...]]) -> None:
    ranks, mesh = meshed
    shapes = SHAPES[:: {2: 1, 3: 1, 4: 2}.get(ranks.size, 5) if len(mesh) == 1 else 5]
    assert ranks.run(all_pairs, mesh, shapes) == [len(shapes) * 16 ** len(mesh)] * ranks.size


@pytest.mark.parametrize("cases", [random_cases, updates, gradients])
def test_random_cases(meshed: tuple[Ranks, tuple[int, ...]], cases: Any) -> None:
    ranks, mesh = meshed
    count = {random_cases: 91, updates: 24, gradients: 12}[cases] // (2 if ranks.size > 4 else 1)
    ranks.run(cases, mesh, 1000 * ranks.size + 7 * len(mesh), count)


@pytest.mark.parametrize("words", ["R", "S0"])
def test_gradients_of_nothing(meshed: tuple[Ranks, tuple[int, ...]], words: str) -> None:
    ranks, mesh = meshed
    assert ranks.run(gradients_of_nothing, mesh, words) == [[]] * ranks.size


def test_placements_of_results() -> None:
    """Nothing moves that need not, and where the inner dimension is cut no rank has the whole product."""
    found, other = group(2).run(natural_placements)
    assert found == other
    assert found.pop(("S0", "S1")) in ("S0", "S1")
    assert found.pop(("S1", "S0")) in ("S0", "S1")
    assert found == {
        ("R", "R"): "R", ("R", "S0"): "S0", ("R", "S1"): "S1", ("S0", "R"): "S0", ("S0", "S0"): "S0", ("S1", "R"): "S1",
        ("S1", "S1"): "S1",
    }  # fmt: skip


def test_collectives_of_products() -> None:
    for found in group(2).run(exchanges):
        assert found == {"RR": 0, "S1R": 0, "RS1": 0, "S2S0": 2}


def test_refusals() -> None:
    expected = [
        "TypeError: b: a Tensor together with a DTensor (a); pass a DTensor, torch.distributed.tensor.distribute_tensor(b, a.",
        "TypeError: a: a Tensor together with a DTensor (b); pass a DTensor",
        "ValueError: b: lies on DeviceMesh(",
        "ValueError: inner dimensions differ: a has shape (8, 5), b has shape (8, 8): 5 != 8",
        "ValueError: out: a DTensor is not written to by products of DTensors; copy the result there",
        "ValueError: report: True is not for DTensors; multiply gathered operands, x.full_tensor()",
        "ValueError: return_bound: True is not for DTensors",
        "ValueError: accuracy: 'best' is unknown; allowed are",
        "TypeError: a: dtype torch.float16 is not supported; allowed are float64",
        "TypeError: c: a Tensor together with a DTensor (a)",
        "ValueError: c: shape (8, 5) does not broadcast to the result's shape (8, 8)",
        "ValueError: alpha: inf is not",
        "TypeError: a: gram takes no DTensor; ozfp4.matmul(a.mH, a) is the same product",
        "TypeError: a: a DTensor is for ozfp4.matmul and gemm alone; pass a.full_tensor(), or a.to_local()",
        "TypeError: operands[0]: DTensors are not supported here; ozfp4.matmul and gemm multiply them",
        "TypeError: a: a DTensor is for ozfp4.matmul and gemm alone",
        "TypeError: NumPy arrays and torch tensors cannot be mixed: a is a torch tensor, b is a NumPy array",
    ]
    for found in group(2).run(refused):
        for said, start in zip(found, expected, strict=True):
            assert said.startswith(start), said


def test_an_overflow_of_one_rank_is_one_of_all() -> None:
    first, second = group(2).run(overflowing)
    assert first.startswith("OverflowError: "), first
    assert "do not fit" in first or "does not fit" in first, first
    assert second == first.replace("OverflowError: ", "OverflowError: rank 0 refused: OverflowError: ")


def test_an_error_that_is_no_text_is_told_as_well() -> None:
    assert group(2).run(unspeakable) == [
        r"'OSError: no \udc80'",
        r"'RuntimeError: rank 0 refused: OSError: no \udc80'",
    ]


def test_emulate_leaves_them_to_torch() -> None:
    why = "DTensor: torch adds up rounded products; ozfp4.matmul takes them"
    for rows in group(2).run(emulated):
        assert ("mm", True, 1, "always") in rows
        assert [row for row in rows if row[3] == why and row[0] == "mm"], rows
        assert sum(row[2] for row in rows if row[3] == why) == 3, rows
        assert not [row for row in rows if row[1] and row[3] != "always"], rows
        assert sum(row[2] for row in rows if row[1]) == 1, rows


def test_compiled_products() -> None:
    group(2).run(compiled)


PROGRAM = Path(__file__).parent / "programs" / "dtensors_imported_later.py"


def test_dtensors_that_are_imported_later() -> None:
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
