"""Complex tensors on a GPU, against the CPU path, bit for bit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from first_gpu import DEVICE, MODES, noisy, torch

import ozfp4
from ozfp4.testing import assert_same_bits, correct_matmul, exact_matmul, standard_matmul
from support import chosen, complex_matmul

PATHS = [("II", "int8", "least"), ("II", "fp4", "least"), ("I", "int8", "least"), ("I", "fp4", "least")]
PAIRS = [
    ("complex128", "complex128"),
    ("complex64", "complex64"),
    ("complex64", "complex128"),
    ("complex128", "float64"),
    ("float64", "complex128"),
    ("complex64", "float32"),
    ("float32", "complex64"),
    ("float64", "complex64"),
]


def entries(shape, dtype, seed, spread=0):
    rng = np.random.default_rng([seed, spread, *shape])
    x = np.ldexp(rng.standard_normal((2, *shape)), rng.integers(-spread, spread + 1, (2, *shape)))
    return (x[0] + 1j * x[1] if dtype.startswith("complex") else x[0]).astype(dtype)


def resolved(x):
    return x.cpu().resolve_conj().resolve_neg().contiguous().numpy()


def check(x, y, context="", modes=MODES, **options):
    """Of tensors on the device."""
    a, b = resolved(x), resolved(y)
    for mode in modes:
        expected, bounds = chosen.matmul(a, b, **mode, return_bound=True)
        here = (context, *mode.values())
        c, bound = chosen.matmul(x, y, **mode, return_bound=True, **options)
        assert_same_bits(c.cpu(), np.asarray(expected), here)
        assert_same_bits(bound.cpu(), np.asarray(bounds), (*here, "bound"))
        for out in (noisy(c.shape, c.dtype), noisy((*c.shape, 3), c.dtype)[..., 1]):
            assert chosen.matmul(x, y, **mode, out=out, **options) is out
            assert_same_bits(out.cpu(), np.asarray(expected), (*here, "out"))
        for _ in range(2):
            assert_same_bits(
                chosen.matmul(x, y, **mode, **options).cpu(), np.asarray(expected), (*here, "again")
            )
    for end, by_cpu in zip(ozfp4.enclose(x, y), ozfp4.enclose(a, b), strict=True):
        assert_same_bits(end.cpu(), np.asarray(by_cpu), (context, "enclose"))


def pair(m, k, n, dtypes, spread=0, seed=0):
    return [
        torch.from_numpy(entries(shape, dtype, seed + side, spread)).to(DEVICE)
        for side, (shape, dtype) in enumerate((((m, k), dtypes[0]), ((k, n), dtypes[1])))
    ]


@pytest.mark.parametrize("dtypes", PAIRS, ids="-".join)
@pytest.mark.parametrize("spread", [0, 12, 60])
def test_dtypes(dtypes, spread):
    for m, k, n in ((1, 1, 1), (5, 37, 9), (70, 130, 33)):
        check(*pair(m, k, n, dtypes, spread), (m, k, n))


@pytest.mark.parametrize("path", PATHS, ids="-".join)
def test_paths(path):
    scheme, backend, family = path
    for dtypes in PAIRS[:5]:
        check(*pair(40, 70, 50, dtypes, 20), path, scheme=scheme, backend=backend, family=family)


def test_the_references():
    """Not by way of the CPU path."""
    for dtypes in PAIRS:
        x, y = pair(7, 40, 6, dtypes, 30)
        a, b = resolved(x), resolved(y)
        for accuracy, real in (
            ("scaled", exact_matmul),
            ("standard", lambda p, q: standard_matmul(p, q)[0]),
            ("correct", correct_matmul),
        ):
            assert_same_bits(
                chosen.matmul(x, y, accuracy=accuracy).cpu(), complex_matmul(a, b, real), (dtypes, accuracy)
            )


@pytest.mark.parametrize("dtypes", [PAIRS[0], PAIRS[1], PAIRS[3], PAIRS[4]], ids="-".join)
def test_lazy_and_strided(dtypes):
    x, y = pair(33, 66, 66, dtypes, 5)
    z = pair(66, 33, 1, dtypes)[0]
    views = {
        "conj": (x.conj(), y.conj()),
        "conj a": (x.conj(), y),
        "conj b": (x, y.conj()),
        "transposed": (z.mT, y.mT),
        "adjoint": (z.mH, y.mH),
        "negated": (torch._neg_view(x), torch._neg_view(y).conj()),
        "every second": (x[:, ::2], y[::2, ::3]),
        "one": (x[:1, :1], y[:1, :1]),
        "off by one": (x[:, 1:], y[1:, 3:]),
    }
    for name, (a, b) in views.items():
        check(a, b, name, modes=MODES[1:3])


@pytest.mark.parametrize("dtypes", [PAIRS[0], PAIRS[3], PAIRS[4]], ids="-".join)
def test_stacks_and_vectors(dtypes):
    for shape_a, shape_b in [
        ((40,), (40,)), ((40,), (40, 5)), ((3, 40), (40,)), ((6, 3, 40), (40, 5)), ((3, 40), (6, 40, 5)),
        ((6, 1, 3, 40), (5, 40, 2)), ((6, 3, 40), (40,)), ((40,), (6, 40, 5)),
        ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((3, 4), (4, 0)), ((0,), (0,)), ((0, 3, 4), (4, 5)), ((2, 3, 0), (2, 0, 5)),
    ]:  # fmt: skip
        a, b = (
            torch.from_numpy(entries(s, d, 3, 9)).to(DEVICE)
            for s, d in zip((shape_a, shape_b), dtypes, strict=True)
        )
        check(a, b, (shape_a, shape_b), modes=[MODES[1], MODES[3]])
    a, b = pair(20, 30, 25, dtypes)
    check(a.expand(4, 20, 30), b.expand(4, 30, 25), "expanded", modes=MODES[:2])


def test_special_entries():
    rng = np.random.default_rng(1)
    for dtypes in PAIRS:
        x, y = pair(50, 60, 70, dtypes, 3)
        for z in (x, y):
            for value in (float("nan"), float("inf"), -float("inf"), -0.0):
                i, j = rng.integers(0, z.shape[0], 6), rng.integers(0, z.shape[1], 6)
                part = torch.view_as_real(z)[..., int(rng.integers(2))] if z.is_complex() else z
                part[torch.from_numpy(i).to(DEVICE), torch.from_numpy(j).to(DEVICE)] = value
        check(x, y, dtypes)


@pytest.mark.parametrize("dtypes", [PAIRS[0], PAIRS[3], PAIRS[4]], ids="-".join)
def test_reports_and_workspace(dtypes):
    x, y = pair(130, 200, 140, dtypes, 40)
    x[3, 4], y[5, 6] = float("nan"), float("inf")
    expected, of_cpu = chosen.matmul(resolved(x), resolved(y), report=True)
    c, whole = chosen.matmul(x, y, report=True)
    assert_same_bits(c.cpu(), expected)
    names = ("kind", "special_rows", "special_columns", "exponents", "capacities")
    for name in names:
        assert getattr(whole, name) == getattr(of_cpu, name), name
    assert whole.certified.total == 2 * 130 * 140
    least = 8 * 2**20
    for limit in (whole.workspace, 2 * least, least):
        out = noisy((130, 140), c.dtype)
        _, report = chosen.matmul(x, y, out=out, report=True, workspace_limit=limit)
        assert_same_bits(out.cpu(), expected, limit)
        assert report.workspace <= limit
        for name in names:
            assert getattr(report, name) == getattr(of_cpu, name), (limit, name)
    out = noisy((130, 140), c.dtype)
    with pytest.raises(MemoryError, match=r"^workspace_limit = 1000 bytes"):
        chosen.matmul(x, y, out=out, workspace_limit=1000)
    assert bool(out.isnan().all())


def test_a_launch_that_waits_for_room_leaves_the_interpreter_free():
    program = Path(__file__).parent / "programs" / "full_stream.py"
    subprocess.run([sys.executable, str(program)], check=True, timeout=120)
