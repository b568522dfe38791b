"""Products in other floating-point modes, which round in another direction or flush subnormal numbers to zero: the same bits,
and the caller's mode afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import platform
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ozfp4
from ozfp4 import stages
from ozfp4._backends.kernels import cpu_kernel, cpu_kernels
from ozfp4._trust import guard
from ozfp4.testing import assert_same_bits, correct_matmul, exact_matmul, forced_on_cpu, standard_matmul
from support import KINDS, PATHS, chosen, operands

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux") or platform.machine() != "x86_64",
    reason="knows glibc's fenv_t of x86-64",
)

MXCSR = 7  # where fenv_t has the mode, in words of 32 bits; that of the x87 unit is in the first one
X87_ROUNDING = 0xC00
MODES = {
    "to nearest": 0x1F80,
    "down": 0x3F80,
    "up": 0x5F80,
    "to zero": 0x7F80,
    "subnormals are zeros": 0x9FC0,
    "up, and subnormals are zeros": 0xDFC0,
}
#: The last one rounds in another direction and takes subnormal numbers for zeros; modes that do less are slow tests.
other_modes = pytest.mark.parametrize(
    "mode", [*(pytest.param(name, marks=pytest.mark.slow) for name in list(MODES)[1:-1]), list(MODES)[-1]]
)


@contextlib.contextmanager
def fp_mode(mode: str) -> Iterator[None]:
    """The calling thread's mode meanwhile, which is found as it was set."""
    libm = ctypes.CDLL("libm.so.6")
    before = (ctypes.c_uint32 * 8)()
    libm.fegetenv(before)
    own = (ctypes.c_uint32 * 8)(*before)
    own[MXCSR] = MODES[mode]
    own[0] |= MODES[mode] >> 3 & X87_ROUNDING  # as fesetround sets it
    expected = own[0] & X87_ROUNDING
    libm.fesetenv(own)
    try:
        yield
        libm.fegetenv(own)
        assert own[MXCSR] & 0xFFC0 == MODES[mode]
        assert own[0] & X87_ROUNDING == expected
    finally:
        libm.fesetenv(before)


def in_mode(mode: str, call: Callable[..., Any], *operands: Any, **asked: Any) -> Any:
    with fp_mode(mode):
        return call(*operands, **asked)


@pytest.fixture(params=[1, 4], ids=["1 thread", "4 threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    ozfp4.set_num_threads(request.param)
    yield request.param
    ozfp4.set_num_threads(None)


REFERENCES: dict[str, Callable[[Any, Any], npt.NDArray[Any]]] = {
    "scaled": exact_matmul,
    "standard": lambda a, b: standard_matmul(a, b)[0],
    "correct": correct_matmul,
}


@cache
def problem(
    kind: str, shape: tuple[int, int, int], dtype: type, accuracy: str
) -> tuple[npt.NDArray[Any], ...]:
    """Operands and what their product must be, once for all modes: the reference takes most of the time."""
    a, b = operands(kind, *shape, dtype=dtype)
    return a, b, REFERENCES[accuracy](a, b)


@other_modes
def test_every_kind_in_words_and_by_planes(mode: str, threads: int) -> None:
    for kind, dtype in ((kind, dtype) for kind in KINDS for dtype in (np.float64, np.float32)):
        for accuracy in REFERENCES:
            a, b, expected = problem(kind, (33, 40, 37), dtype, accuracy)
            for words in (True, False):
                with forced_on_cpu(words=words):
                    found = in_mode(mode, ozfp4.matmul, a, b, accuracy=accuracy)
                assert_same_bits(found, expected, (kind, accuracy, words))


@other_modes
@pytest.mark.parametrize("path", PATHS, ids=str)
def test_every_path(mode: str, path: Any, threads: int) -> None:
    for kind in ("normal", "subnormal", "tiny-results", "final-ties", "specials"):
        a, b, expected = problem(kind, (70, 65, 68), np.float64, "scaled")
        found = in_mode(mode, chosen.matmul, a, b, **path._asdict(), accuracy="scaled")
        assert_same_bits(found, expected, kind)


def given_to(library: str, *arrays: npt.NDArray[Any]) -> list[Any]:
    if library == "numpy":
        return list(arrays)
    torch = pytest.importorskip("torch")
    return [torch.from_numpy(x) for x in arrays]


def assert_mode_shows_nowhere(mode: str, calls: list[Callable[[], Any]]) -> None:
    for number, call in enumerate(calls):
        expected, found = call(), in_mode(mode, call)
        for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (found, expected)), strict=True):
            assert_same_bits(np.asarray(one), np.asarray(other), number)


@other_modes
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_what_is_converted_beside_the_core(mode: str, dtype: type, library: str) -> None:
    """Subnormal parts that change places and signs, what is rounded to complex64, integers that become floating-point numbers,
    operands of several dtypes."""
    rng = np.random.default_rng(4)
    single = dtype is np.complex64
    tiny, large = (2.0**-135, 2.0**80) if single else (2.0**-1060, 2.0**900)

    def draw(*shape: int) -> npt.NDArray[Any]:
        return (rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape)).astype(dtype)

    a, b, c = draw(5, 6) * dtype(large), draw(6, 4), draw(5, 4)
    b, c = (np.ldexp(x.view(x.real.dtype), int(np.log2(tiny))).view(dtype) for x in (b, c))
    one, real = np.ones((5, 6), np.float32), c.real.copy()
    integers, numbers = rng.integers(2**60, 2**61, (5, 6)), rng.standard_normal((6, 3))
    assert np.count_nonzero(b)
    a, b, c, one, real, integers, numbers = given_to(library, a, b, c, one, real, integers, numbers)
    calls: list[Callable[[], Any]] = [
        lambda: ozfp4.matmul(a, b, accuracy="correct"),
        lambda: ozfp4.matmul(a, b, return_bound=True),
        lambda: ozfp4.enclose(a, b),
        lambda: ozfp4.gemm(1j, one, b, -1j, c),
        lambda: ozfp4.gemm(1 + 1j, one, b, 0.5 - 1j, c, accuracy="correct"),
        lambda: ozfp4.gemm(1, a, b, 1, real),
        lambda: ozfp4.matmul(a, ozfp4.prepare(b, "right")),
        lambda: ozfp4.einsum("ij,jk->ik", one, b),
        lambda: ozfp4.matmul(integers, numbers),
    ]
    assert_mode_shows_nowhere(mode, calls)


@other_modes
def test_what_else_there_is(mode: str, threads: int) -> None:
    """Bounds, enclosures, updates, prepared operands, complex numbers and integers."""
    a, b = operands("tiny-results", 40, 45, 41)
    c = np.random.default_rng(1).standard_normal((40, 41))
    z = a[:, :41] + 1j * b[:40]
    x = np.random.default_rng(2).integers(-(2**62), 2**62, (41, 41))
    calls: list[Callable[[], Any]] = [
        lambda: ozfp4.matmul(a, b, return_bound=True),
        lambda: ozfp4.enclose(a, b),
        lambda: ozfp4.gemm(1.5, a, b, -0.25, c),
        lambda: ozfp4.gemm(1.5, a, b, 2.0**-1000, c, accuracy="correct"),
        lambda: ozfp4.matmul(ozfp4.prepare(a, "left"), ozfp4.prepare(b, "right")),
        lambda: ozfp4.matmul(z, z.T),
        lambda: ozfp4.gram(a),
        lambda: ozfp4.matmul(x, x),
        lambda: ozfp4.matmul(x, x, backend="int8"),
        lambda: ozfp4.matmul_mod(x, x, 2**61 - 1),
    ]
    assert_mode_shows_nowhere(mode, calls)


def test_threads_keep_no_mode_of_who_started_them() -> None:
    """A product in an odd mode starts the pool's threads; other products use them."""
    a, b = operands("subnormal", 300, 64, 310)
    expected = ozfp4.matmul(a, b, accuracy="correct")

    def first() -> None:
        in_mode("up, and subnormals are zeros", ozfp4.matmul, a, b, accuracy="correct")

    ozfp4.set_num_threads(23)  # more than any other test has: some are new
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(first).result()
        for _ in range(10):
            assert_same_bits(ozfp4.matmul(a, b, accuracy="correct"), expected)
    finally:
        ozfp4.set_num_threads(None)


@other_modes
def test_a_kernel_is_first_used_in_it(mode: str) -> None:
    """The self-test computes what it expects on the way."""
    kernels = [cpu_kernel(alphabet) for alphabet in ("int8", "fp64")]
    for kernel in (*kernels, *(own for own in cpu_kernels() if own.element in ("integers", "words"))):
        verdict = in_mode(mode, guard.test, kernel, short=True)
        assert verdict.passed, verdict.reason


@other_modes
def test_stages(mode: str) -> None:
    for kind in ("subnormal", "tiny-results", "scaling-ties"):
        a, b, expected = problem(kind, (20, 30, 25), np.float64, "scaled")
        for path in PATHS:
            plan = ozfp4.plan(20, 25, 30, **path._asdict(), accuracy="scaled")
            x, y = (in_mode(mode, stages.scale, each, side) for each, side in ((a, "a"), (b, "b")))
            assert_same_bits(x.integers, stages.scale(a, "a").integers, (kind, path))
            planes = [
                in_mode(mode, stages.encode, each.integers, plan, side) for each, side in ((x, "a"), (y, "b"))
            ]
            output = in_mode(mode, stages.multiply, *planes, plan)
            c = in_mode(mode, stages.reconstruct, output, plan, x.exponents, y.exponents)
            assert_same_bits(c, expected, (kind, path))


@other_modes
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_steps_of_contractions_that_sum_nothing(mode: str, library: str) -> None:
    """Products and conversions of entries that are subnormal, or have to be rounded."""
    rng = np.random.default_rng(5)
    tiny, few = rng.standard_normal((40, 50)) * 2.0**-530, rng.standard_normal(50) * 2.0**-530
    single = (rng.standard_normal(50) * 2.0**-135).astype(np.float32)
    integers = rng.integers(2**60, 2**61, 50)
    tiny, few, single, integers = given_to(library, tiny, few, single, integers)
    assert np.count_nonzero(ozfp4.einsum("i,i->i", few, few)) == 50
    assert_mode_shows_nowhere(
        mode,
        [
            lambda: ozfp4.einsum("i,i->i", few, few),
            lambda: ozfp4.einsum("ij,j->ij", tiny, few),
            lambda: ozfp4.einsum("ij,j,j->ij", tiny, few, few),
            lambda: ozfp4.einsum("i,ij->ij", single, few[:, None]),
            lambda: ozfp4.einsum("i,i->i", single, integers),
            lambda: ozfp4.einsum("i->", single),
            lambda: ozfp4.tensordot(tiny, few, 0),
            lambda: ozfp4.tensordot(single, few, 1),
        ],
    )


def test_threads_of_torch_that_have_another_mode() -> None:
    """They are started by whoever first has enough entries for them, and keep the mode of that moment."""
    torch = pytest.importorskip("torch")
    if torch.get_num_threads() == 1:
        pytest.skip("torch has one thread")
    x = torch.full((1 << 20,), 2.0**-530, dtype=torch.float64)
    single = torch.full((1 << 20,), 2.0**-135, dtype=torch.float32)
    rows = torch.full((1024, 1024), 2.0**-530, dtype=torch.float64)

    def all_of_it() -> list[Any]:
        in_mode("subnormals are zeros", lambda: x + x)
        lost = int((x * x == 0).sum())
        found = [
            ozfp4.einsum("i,i->i", x, x),
            ozfp4.einsum("i,i->i", single, torch.ones(1 << 20, dtype=torch.float64)),
            ozfp4.tensordot(rows[0], rows[0], 0),
        ]
        return [lost, *found]

    with ThreadPoolExecutor(1) as pool:  # each thread has its own threads of torch
        lost, entries, converted, outer = pool.submit(all_of_it).result()
    if lost == 0:
        pytest.skip("torch's threads have no mode of who started them")
    assert (entries == 2.0**-1060).all()
    assert (converted == 2.0**-135).all()
    assert (outer == 2.0**-1060).all()


@other_modes
@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_linear_algebra(mode: str, library: str, dtype: type) -> None:
    """Panels, pairs of numbers, and steps other than products; solutions among subnormal numbers."""
    linalg = ozfp4.linalg
    rng = np.random.default_rng(6)

    def draw(*shape: int) -> npt.NDArray[Any]:
        x = rng.standard_normal(shape)
        return (x + 1j * rng.standard_normal(shape) if dtype is np.complex128 else x).astype(dtype)

    a, b, tall = draw(30, 30), draw(30, 2), draw(40, 30)
    near = (1 / (np.add.outer(np.arange(12.0), np.arange(12)) + 1)).astype(dtype)
    positive = a @ a.conj().T
    least = float(np.finfo(dtype).smallest_subnormal)
    small = np.array([[3, 1], [2, 5]]).astype(dtype) * dtype(least)
    whole = np.array([[7], [9]]).astype(dtype) * dtype(least)
    unit = np.array([[3, 1], [2, 5]]).astype(dtype)
    a, b, tall, right, near, positive, small, whole, unit = given_to(
        library, a, b, tall, tall @ b, near, positive, small, whole, unit
    )
    pair = a[:2, :2]  # bits of larger panels of LAPACK's may depend on where they lie
    assert np.count_nonzero(linalg.solve(unit, whole, refine=True)) == 2
    assert_mode_shows_nowhere(
        mode,
        [
            lambda: linalg.solve(a, b, refine=True),
            lambda: linalg.solve(pair, b[:2]),
            lambda: linalg.solve(near, b[:12], refine=True),
            lambda: linalg.solve(positive, b, refine=True, assume_a="pos"),
            lambda: linalg.solve(small, whole, refine=True),
            lambda: linalg.solve(unit, whole, refine=True),
            lambda: linalg.inv(a, refine=True),
            lambda: linalg.det(pair),
            lambda: linalg.det(small[:1, :1]),
            lambda: linalg.slogdet(small),
            lambda: linalg.cholesky(positive[:2, :2]),
            lambda: linalg.qr(near[:6, :6]),
            lambda: linalg.lstsq(tall, right, refine=True),
            lambda: linalg.lu_solve(linalg.lu_factor(pair), b[:2]),
            lambda: linalg.solve_triangular(unit, whole, lower=True),
        ],
    )
