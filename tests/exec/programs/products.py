"""Programs that multiply, each a function: `python products.py NAME ARGUMENTS`."""

from __future__ import annotations

import ctypes
import os
import threading
from ctypes import byref, c_char, c_double, c_int32, c_int64
from itertools import product
from typing import Any

import numpy as np
import scipy.linalg.blas
from calls import (
    COLUMN_MAJOR,
    FORTRAN,
    OPS,
    ROW_MAJOR,
    TYPES,
    address,
    call,
    gemm,
    laid,
    numbers,
    process,
    rng,
    run,
    same,
)

import ozfp4

# ---- The table of routines, against ozfp4.gemm ----

INTERFACES = [
    ("scipy_{}_", FORTRAN, c_int32),
    ("scipy_{}_64_", FORTRAN, c_int64),
    ("scipy_cblas_{}64_", ROW_MAJOR, c_int64),
    ("scipy_cblas_{}64_", COLUMN_MAJOR, c_int64),
]
FACTORS = [(1, 0), (-0.75, 1), (2.5, 0.3125)]
KINDS = ["gemm", "syrk", "herk"]


def flags_of(kind: str, letter: str) -> list[str]:
    if kind == "gemm":
        return list(map("".join, product("NTC", repeat=2)))
    turns = "NC" if kind == "herk" else "NT" if letter in "cz" else "NTC"
    return list(map("".join, product("LU", turns)))


def right(
    kind: str, flags: str, alpha: Any, x: Any, y: Any, beta: Any, c: np.ndarray, accuracy: str
) -> np.ndarray:
    """The oracle: C is read in the triangle alone, and as real where BLAS takes it so."""
    inside = {"L": np.tril, "U": np.triu}.get(flags[0] if kind != "gemm" else "", lambda z: z)(
        np.ones(c.shape)
    )
    before = np.where(inside, c, 0).astype(c.dtype)
    if kind == "herk":
        np.fill_diagonal(before, before.diagonal().real)
    found = ozfp4.gemm(alpha, x.copy(), y.copy(), beta, before if beta else None, accuracy=accuracy)
    if kind == "herk":
        np.fill_diagonal(found, found.diagonal().real)
    return np.where(inside, found, c)


def check(
    letter: str, kind: str, interface: Any, flags: str, alpha: Any, beta: Any, extents: Any, accuracy: str
) -> None:
    pattern, order, integer = interface
    dtype = TYPES[letter]
    m, n, k = extents
    n = n if kind == "gemm" else m
    x = numbers((m, k), dtype)
    y = numbers((k, n), dtype) if kind == "gemm" else x.conj().T if kind == "herk" else x.T
    stored = [OPS[flags[0]](x), OPS[flags[1]](y)] if kind == "gemm" else [OPS[flags[1]](x)]
    c = numbers((m, n), dtype) if beta else np.full((m, n), np.nan, dtype)
    if kind != "gemm":
        c[(np.triu if flags[0] == "L" else np.tril)(np.ones((n, n)), 1 if flags[0] == "L" else -1) > 0] = (
            np.inf
        )
    expected = right(kind, flags, alpha, x, y, beta, c, accuracy)
    operands, (wide, leading) = [laid(each, order, 3) for each in stored], laid(c, order, 5)
    behind = (wide[:, n:] if order == ROW_MAJOR else wide[m:]).copy()
    given = flags.lower() if order == FORTRAN and k % 2 else flags
    factors = np.dtype(dtype).type(0).real.dtype if kind == "herk" else None
    call(pattern.format(letter + kind), order, given, (m, n, k) if kind == "gemm" else (n, k), alpha, operands, beta,
         (wide, leading), integer, factors)  # fmt: skip
    same(np.ascontiguousarray(wide[:m, :n]), expected)
    same(np.ascontiguousarray(behind), (wide[:, n:] if order == ROW_MAJOR else wide[m:]).copy())


def routines(accuracy: str) -> None:
    """Prints how many calls there are."""
    calls = 0
    for letter, kind, interface in product(TYPES, KINDS, INTERFACES):
        if kind == "herk" and letter in "sd":
            continue
        for flags in flags_of(kind, letter):
            for alpha, beta in FACTORS + [(1j, 0.5 - 1j)] * (letter in "cz" and kind != "herk"):
                check(letter, kind, interface, flags, alpha, beta, rng.integers(1, 24, 3), accuracy)
                calls += 1
            if kind != "gemm" and letter in "dz" and interface[1] != FORTRAN:  # in several blocks
                check(letter, kind, interface, flags, -1.5, 0.25, (600, 600, 20), accuracy)
                calls += 1
    print(calls)


# ---- NumPy and SciPy ----


def numpy() -> None:
    a, b = numbers((70, 50), float, 400), numbers((50, 60), float, 400)
    a[3, 4], b[7, 8] = np.nan, np.inf
    z, stack, big = numbers((20, 30), complex), numbers((5, 8, 9), float), numbers((600, 10), float)

    def matmul(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return ozfp4.matmul(x, np.ascontiguousarray(y))

    with np.errstate(all="raise", invalid="ignore"):
        same(a @ b, matmul(a, b))
        same(z @ z.T.conj().copy(), matmul(z, z.T.conj()))
        same(scipy.linalg.blas.dgemm(0.5, a, b), ozfp4.gemm(0.5, a, b))
        same(stack @ stack.transpose(0, 2, 1).copy(), matmul(stack, stack.transpose(0, 2, 1)))
        same(a @ a.T, matmul(a, a.T))
        same(a.T @ a, matmul(a.T.copy(), a))
        same(z @ z.T, matmul(z, z.T))
        same(big @ big.T, matmul(big, big.T))
        assert (a[:0] @ b).shape == (0, 60)
        assert not np.any(a[:, :0] @ b[:0])
        assert not np.isfinite((1e200 * z) @ (1e200 * z.T).copy()).any()  # no flag is raised
        assert np.isinf(((1e200 * big) @ (1e200 * big).T).diagonal()).all()
    lower = scipy.linalg.blas.zherk(2.0, z, lower=1)
    same(np.tril(lower), np.tril(ozfp4.gemm(2, z, z.T.conj().copy())))


def cancelling() -> None:
    """Factors with both parts, where nearly all cancels."""
    for dtype in (np.complex64, np.complex128):
        zgemm = scipy.linalg.blas.get_blas_funcs("gemm", dtype=dtype)
        for _ in range(5):
            a, b = numbers((6, 9), dtype), numbers((9, 5), dtype)
            alpha, beta = 1 - 2j, 1 + 0.5j
            zgemm(alpha, a, b, beta, (-alpha / beta * ozfp4.matmul(a, b)).astype(dtype))


def own() -> None:
    """ozfp4's products are none of the program's."""
    x = numbers((300, 300), float)
    for backend in ("fp64", "int8", "fp4"):
        ozfp4.matmul(x, x, backend=backend)
    print("end")


def named() -> None:
    a, z = numbers((9, 9), float), numbers((9, 9), complex)
    a @ a, z @ z, scipy.linalg.blas.dgemm(1, a, a)


def left() -> None:
    a, b, c = (np.asfortranarray(numbers(shape, float)) for shape in ((8, 6), (6, 5), (8, 5)))

    def multiply(alpha: float = 1.0, beta: float = 0.0, k: int = 6, lda: int = 8, flags: str = "NN") -> None:
        call("scipy_dgemm_", FORTRAN, flags, (8, 5, k), alpha, [(a, lda), (b, 6)], beta, (c, 8))

    def update(alpha: float = 1.0, beta: float = 0.0, k: int = 6, lda: int = 8, flags: str = "LN") -> None:
        call("scipy_dsyrk_", FORTRAN, flags, (5, k), alpha, [(a, lda)], beta, (c, 8))

    for function, wrong in ((multiply, "XN"), (update, "XN"), (update, "LX")):
        (
            function(np.inf),
            function(beta=np.nan),
            function(0.0, 1.0),
            function(k=0),
            function(lda=3),
            function(flags=wrong),
        )
    z = a.astype(complex, order="F")
    for name, flags, factors in (("scipy_zherk_", "UT", "d"), ("scipy_zsyrk_", "UC", "D")):
        call(name, FORTRAN, flags, (5, 6), 1, [(z, 8)], 0, (np.zeros((8, 8), complex), 8), factors=factors)
    a.astype("f") @ b.astype("f")
    libm = ctypes.CDLL("libm.so.6")
    up = {"x86_64": 0x800, "aarch64": 0x400000}[os.uname().machine]
    assert libm.fesetround(up) == 0
    multiply()
    libm.fesetround(0)
    np.ascontiguousarray(a[:2, :2]) @ np.ascontiguousarray(b[:2, :2])
    multiply(), update()


def conjugated() -> None:
    """OpenBLAS alone has an R."""
    a = np.asfortranarray(numbers((5, 5), complex))
    c = np.zeros_like(a)
    gemm("scipy_zgemm_", "RN", 1, a, a, 0, c)
    np.testing.assert_allclose(c, np.einsum("ij,jk", a.conj(), a))


def by_handle() -> None:
    """As libblastrampoline takes what `lbt_forward` names."""
    ours = ctypes.CDLL("libozfp4_blas.so")
    a, b = np.asfortranarray(numbers((7, 5), float)), np.asfortranarray(numbers((5, 6), float))
    c = np.zeros((7, 6), order="F")
    gemm("dgemm_64_", "NN", 1, a, b, 0, c, integer=c_int64, library=ours)
    same(np.ascontiguousarray(c), ozfp4.gemm(1, a, b))


# ---- Payloads of NaNs ----

INFINITY = {4: 0x7F800000, 8: 0x7FF0000000000000}
QUIET = {4: 0x7FC00000, 8: 0x7FF8000000000000}


def bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).view(f"u{x.real.dtype.itemsize}").reshape(*x.shape, -1)


def mark(x: np.ndarray, row: int, column: int, payload: int, part: int = -1) -> None:
    """A signalling NaN, as R's NA is."""
    bits(x)[row, column, part] = INFINITY[x.real.dtype.itemsize] + payload


def payloads() -> None:
    for (letter, dtype), (m, k, n), flags, beta in product(
        TYPES.items(), ((7, 6, 5), (70, 60, 50)), map("".join, product("NTC", repeat=2)), (0, 0.5)
    ):
        a, b, before = numbers((m, k), dtype), numbers((k, n), dtype), numbers((m, n), dtype)
        mark(a, 2, 3, 1954), mark(a, 2, 5, 101)
        mark(b, 1, 4, 200), mark(b, 3, 0, 300, 0), mark(b, 5, 1, 301)
        mark(before, 0, 2, 400), mark(before, 2, 2, 401)
        b[2, 3] = np.inf
        x, y, c = (np.asfortranarray(z) for z in (OPS[flags[0]](a), OPS[flags[1]](b), before))
        gemm(f"scipy_{letter}gemm_", flags, 2, x, y, beta, c)
        size = c.real.dtype.itemsize
        found = bits(c) & ~np.array(1 << 8 * size - 1, f"u{size}")
        expected = np.zeros((m, n), int)  # payloads, of what has any
        expected[:, 4], expected[:, 0], expected[:, 1] = 200, 300, 301
        expected[2] = [1954, 1954, 1954, 1954, 200] + [1954] * (n - 5)
        if beta:
            expected[0, 2] = 400
        for i, j in zip(*expected.nonzero(), strict=True):
            words = set(found[i, j].tolist())
            assert QUIET[size] + expected[i, j] in words, (letter, flags, beta, i, j, found[i, j])
            assert len(words) == 1 or (i, j) == (0, 2)
        assert np.isnan(c[expected != 0]).all()
        assert not np.isnan(c[expected == 0].real)[1:].all()


def triangle_of_nans() -> None:
    a = np.asfortranarray(numbers((300, 40), float))
    a.view(np.uint64)[299, 7], a.view(np.uint64)[280, 5] = 0x7FF00000000007A2, 0x7FF00000000007A3
    c = np.zeros((300, 300), order="F")
    call("scipy_dsyrk_", FORTRAN, "LN", (300, 40), 1, [(a, 300)], 0, (c, 300))
    first, second = 0x7FF80000000007A2, 0x7FF80000000007A3
    found = c.view(np.uint64)
    assert (found[299, :280] == first).all()
    assert (found[280:299, 280] == second).all()
    assert (found[299, 280:] == [second] + [first] * 19).all()
    assert (c[np.triu_indices(300, 1)] == 0).all()


# ---- The default mode ----


def repairs() -> None:
    even = np.ones((96, 96))
    uneven = np.ldexp(
        numbers((96, 96), float), rng.integers(-300, 300, (96, 96))
    )  # no entry has a certificate

    def multiply(x: np.ndarray, n: int = 96) -> None:
        call("scipy_dgemm_", FORTRAN, "NN", (n, n, n), 1, [(x, 96)] * 2, 0, (np.empty((n, n)), n))

    for x, n in [(even, 96)] * 3 + [(even, 95)] + [(uneven, 96)] * 3 + [(even, 96)]:
        multiply(x, n)


# ---- Threads, forks, long runs ----


def threads() -> None:
    """Products of several threads, triangles too, each with separate memory."""
    a, b, x = numbers((40, 30), float), numbers((30, 20), float), numbers((500, 30), float)
    right, square = ozfp4.matmul(a, b), ozfp4.matmul(x, x.T.copy())
    failed = []

    def work() -> None:
        for turn in range(200):
            if not np.array_equal(a @ b, right) or (turn < 10 and not np.array_equal(x @ x.T, square)):
                failed.append(1)

    all_ = [threading.Thread(target=work) for _ in range(8)]
    for each in all_:
        each.start()
    for each in all_:
        each.join()
    assert not failed


def forks() -> None:
    a, b = numbers((40, 30), float), numbers((30, 20), float)
    right, ends = a @ b, False

    def work() -> None:
        while not ends:
            a @ b

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        child = os.fork()
        if child == 0:
            same(a @ b, right)
            process.exit(0)  # with what runs at the end of a process
        assert os.waitpid(child, 0)[1] == 0
    ends = True
    thread.join()


def errno() -> None:
    ours = ctypes.CDLL(None, use_errno=True)
    x, y = np.ones((3, 3), order="F"), np.zeros((3, 3), order="F")
    for _ in range(3):
        ctypes.set_errno(7)
        gemm("scipy_dgemm_", "NN", 1, x, x, 0, y, library=ours)
        assert ctypes.get_errno() == 7, ctypes.get_errno()


def long(count: str) -> None:
    """Nothing is kept of a million calls."""

    def resident() -> int:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    x, y, z = (numbers((4, 4), float).T for _ in range(3))
    one, zero, four, flag = c_double(1), c_double(0), c_int32(4), c_char(b"N")
    t, n = byref(flag), byref(four)
    arguments = (t, t, n, n, n, byref(one), address(x), n, address(y), n, byref(zero), address(z), n)
    function = process.scipy_dgemm_
    for _ in range(int(count)):
        function(*arguments)
    before = resident()
    for _ in range(int(count)):
        function(*arguments)
    grown = resident() - before
    assert grown < 4 << 20, grown


def shapes() -> None:
    x = numbers((120, 120), float)
    for m, k in product(range(2, 120), repeat=2):
        x[:m, :k] @ x[:k, :3]


def refused() -> None:
    """By BLAS, each with another extent."""
    x = np.zeros((1, 1), order="F")
    for m in range(-9000, 0):
        call("scipy_dgemm_", FORTRAN, "NN", (m, 1, 1), 1, [(x, 1)] * 2, 0, (x, 1))


def failing() -> None:
    """Whichever piece of memory there is not (scarce.c): children that have nothing left of an earlier product make one of
    integers, which is the same whoever makes it. Prints how many pieces a product takes."""
    times_left = ctypes.c_long.in_dll(process, "times_left")
    n, k = 1500, 60
    a, c = (rng.integers(-9, 10, shape) for shape in ((n, k), (n, n)))
    right = np.where(np.tril(np.ones((n, n), bool)), 2 * (a @ a.T) - 3 * c, c).astype(float)
    a, found = (x.astype(float, order="F") for x in (a, c))
    for times in range(100):
        child = os.fork()
        if child == 0:
            times_left.value = times
            call("scipy_dsyrk_", FORTRAN, "LN", (n, k), 2, [(a, n)], -3, (found, n))
            is_enough = times_left.value >= 0
            os._exit(1 if not np.array_equal(found, right) else 2 if is_enough else 0)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 2), (times, status)
        if status == 2:
            break
    print(times)


def linked(folder: str, *numbers_of: str) -> None:
    """Each library reaches the routine that it was linked to; the last argument is what all of them give, or nothing."""
    *given, result = numbers_of
    for number in given:
        library = ctypes.CDLL(f"{folder}/libcaller_{number}.so", ctypes.RTLD_LOCAL)
        library.call.restype = c_double
        assert library.call() == library.call() == float(result or number)


if __name__ == "__main__":
    run(globals())
