"""Programs that call cuBLAS, each a function: `python cublas.py NAME ARGUMENTS`. FAKES is the folder of the stand-ins, `OURS`
that of a libozfp4 with CUDA. Products are of small integers, exact by every library."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from ctypes import byref, c_int32, c_int64
from typing import Any

import numpy as np
from calls import TYPES, address, process, rng, run


def local(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(os.path.join(os.environ["FAKES"], name), ctypes.RTLD_LOCAL)


cublas = local("libcublas.so.13")
cuda = local("libcuda.so.1") if os.path.exists(os.path.join(os.environ["FAKES"], "libcuda.so.1")) else None
ours = local(os.environ["OURS"])
cublas.fake_made.restype = ours.fake_served.restype = ctypes.c_long
P = ctypes.c_void_p
handle = P()
assert cublas.cublasCreate_v2(byref(handle)) == 0
kept = []
CODES = {"S": 0, "D": 1, "C": 4, "Z": 5}
OPS = [lambda x: x, lambda x: x.T, lambda x: x.conj().T]


def integers(shape: Any, letter: str) -> np.ndarray:
    x = rng.integers(-9, 10, shape)
    x = x + 1j * rng.integers(-9, 10, shape) if letter in "CZ" else x
    return np.asfortranarray(x.astype(TYPES[letter.lower()]))


def mm(x: np.ndarray, y: np.ndarray) -> np.ndarray:  # without BLAS
    return np.einsum("ij,jk->ik", x, y)


def scalar(x: Any, letter: str = "D") -> P:
    kept.append(np.array([x], TYPES[letter.lower()]))
    return address(kept[-1])


def on_device(x: Any, letter: str) -> P:  # an address that the stand-in of cuBLAS alone can read
    return P(scalar(x, letter).value | 1 << 62)


def stream_of(number: int) -> P:
    """A handle with a new stream."""
    other = P()
    assert cublas.cublasCreate_v2(byref(other)) == 0
    assert cublas.cublasSetStream_v2(other, P(number)) == 0
    return other


def gemm(
    letter: str = "D", ta: int = 0, tb: int = 0, m: int = 7, n: int = 5, k: int = 6, alpha: Any = 2, beta: Any = -3,
    integer: Any = c_int32, suffix: str = "_v2", lda: int = 0, factor: Any = scalar,
) -> int:  # fmt: skip
    a, b = integers((m, k) if ta == 0 else (k, m), letter), integers((k, n) if tb == 0 else (n, k), letter)
    c = integers((m, n), letter)
    right = alpha * mm(OPS[ta](a), OPS[tb](b)) + beta * c
    i = integer
    status = process[f"cublas{letter}gemm{suffix}"](
        handle, ta, tb, i(m), i(n), i(k), factor(alpha, letter), address(a), i(lda or len(a)), address(b), i(len(b)),
        factor(beta, letter), address(c), i(m))  # fmt: skip
    if not lda:
        assert status == 0
        np.testing.assert_array_equal(c, right)
    return status


def product(n: int, number: int = 0, own: P = handle, times: int = 1) -> None:
    """The stand-ins leave C as it is (FAKE_IDLE): `number` is the first entry of B, 0 where no entry is repaired. ctypes calls
    from one address."""
    a, c = np.zeros((n, n)), np.zeros((n, n))
    a[0, 0] = number
    at, one = address(a), scalar(1)
    for _ in range(times):
        assert process.cublasDgemm_v2(own, 0, 0, n, n, n, one, at, n, at, n, one, address(c), n) == 0


def made(by_cublas: int, by_ours: int) -> None:
    assert (cublas.fake_made(), ours.fake_served()) == (by_cublas, by_ours)


def times(count: str, **asked: Any) -> None:
    for _ in range(int(count)):
        gemm(**asked)


def gemms() -> None:
    for letter in CODES:
        for ta in range(3):
            for tb in range(3):
                gemm(letter, ta, tb)
                gemm(letter, ta, tb, beta=0, integer=c_int64, suffix="_v2_64")
    made(0, 72)


def wrong() -> None:
    try:
        gemm(m=1, n=1)
    except AssertionError:
        return
    raise SystemExit("it is right")


def batch(letter: str, a: Any, b: Any, c: Any, beta: Any = 1) -> int:
    """Matrices side by side in memory."""
    (m, k, count), n, stride = a.shape, b.shape[1], ctypes.c_longlong
    return process[f"cublas{letter}gemmStridedBatched"](
        handle, 0, 0, m, n, k, scalar(2, letter), address(a), m, stride(m * k), address(b), k, stride(k * n),
        scalar(beta, letter), address(c), m, stride(m * n), count)  # fmt: skip


def forms() -> None:
    """Batches, and types as arguments."""
    count, m, n, k = 4, 5, 6, 3
    a, b, c = (integers((*shape, count), "D") for shape in ((m, k), (k, n), (m, n)))
    j, stride = c_int64, ctypes.c_longlong

    def right() -> np.ndarray:
        return np.stack([2 * mm(a[..., x], b[..., x]) + c[..., x] for x in range(count)], axis=2)

    wanted = right()
    assert batch("D", a, b, c) == 0
    np.testing.assert_array_equal(c, wanted)
    wanted = right()
    assert process.cublasGemmStridedBatchedEx_64(
        handle, 0, 0, j(m), j(n), j(k), scalar(2), address(a), 1, j(m), stride(m * k), address(b), 1, j(k), stride(k * n),
        scalar(1), address(c), 1, j(m), stride(m * n), j(count), 70, -1) == 0  # fmt: skip
    np.testing.assert_array_equal(c, wanted)
    for compute, letter in ((70, "D"), (71, "D"), (68, "S"), (77, "S"), (79, "D")):
        x, y, z = (integers(shape, letter) for shape in ((m, k), (n, k), (m, n)))
        code = CODES[letter]
        assert process.cublasGemmEx(
            handle, 0, 1, m, n, k, scalar(2, letter), address(x), code, m, address(y), code, n, scalar(0, letter), address(z),
            code, m, compute, -1) == 0  # fmt: skip
        np.testing.assert_array_equal(z, 2 * mm(x, y.T))


def other_types() -> None:
    x, one = np.zeros(64), scalar(1)
    for type_, compute in (
        (2, 68),
        (14, 68),
        (3, 72),
        (1, 79),
    ):  # FP16, BF16, INT8; FP64 that cuBLAS emulates
        assert process.cublasGemmEx(
            handle, 0, 0, 2, 3, 4, one, address(x), type_, 2, address(x), type_, 4, one, address(x), type_, 2, compute, -1
        ) in (0, 15)  # fmt: skip


def left() -> None:
    gemm("S"), gemm(alpha=0), gemm(k=1)
    assert gemm(lda=2) == 7
    made(4, 0)


def factors_on_device() -> None:
    cublas.cublasSetPointerMode_v2(handle, 1)
    for letter in CODES:
        gemm(letter, factor=on_device)
    n, a = 600, np.zeros((600, 600))
    one = on_device(1, "D")
    assert (
        process.cublasDgemm_v2(handle, 0, 0, n, n, n, one, address(a), n, address(a), n, one, address(a), n)
        == 0
    )
    assert cuda.fake_waits() == 0
    made(5, 0)


def complex_factors() -> None:
    gemm("Z", alpha=2 - 1j), gemm("Z", beta=1j), gemm("Z", alpha=3j), gemm("Z", alpha=1 + 1j, beta=2j)
    gemm("C", beta=0.5 - 1j)


def captured() -> None:
    product(600)
    before = cuda.fake_allocated()
    cuda.fake_capture(1)
    product(600, times=2)
    cuda.fake_capture(0)
    assert (cuda.fake_allocated(), cublas.fake_made(), ours.fake_broken()) == (before, 2, 0)
    product(600)


def captured_elsewhere(waits: str, repaired: str) -> None:
    cublas.cublasSetStream_v2(handle, P(16))
    cuda.fake_capture_elsewhere(1, int(waits))
    if repaired:
        product(600, 1, times=2)
    else:
        gemm(beta=0), gemm("Z", beta=1)
    assert cuda.fake_is_broken() == 0
    cuda.fake_capture_elsewhere(0, 0)
    if repaired:
        product(600)


def workspaces() -> None:
    """Given back with their products. The stand-in takes 16 times C more where it is multiplied by i, 64 where a factor has both
    parts."""
    m, n, k = 40, 50, 30

    def took(letter: str, alpha: Any = 2, beta: Any = -3) -> int:
        before = cuda.fake_allocated()
        gemm(letter, m=m, n=n, k=k, alpha=alpha, beta=beta)
        assert (cuda.fake_allocated(), cuda.fake_released()) == (before + 1, before + 1)
        return cuda.fake_last() - (256 + m * k + k * n + m * n)

    more = [took("Z", beta=0), took("D"), took("Z", beta=1j), took("Z", alpha=1 + 1j)]
    assert more == [0, 0, 16 * m * n, 64 * m * n]


def unaligned_batch() -> None:
    """The first matrix is aligned, others are not."""
    m, n, k, count = 3, 4, 5, 6
    sa, sb, sc = m * k + 1, k * n, m * n
    memory = np.zeros(count * (sa + sb + sc) + 64, np.float32)
    start = -memory.ctypes.data % 256 // 4
    memory[start:] = rng.integers(-9, 10, len(memory) - start)
    a, b, c = memory[start:], memory[start + count * sa :], memory[start + count * (sa + sb) :]

    def of(x: np.ndarray, i: int, stride: int, rows: int, columns: int) -> np.ndarray:
        return x[i * stride : i * stride + rows * columns].reshape(columns, rows).T

    right = [mm(of(a, i, sa, m, k), of(b, i, sb, k, n)) for i in range(count)]
    stride = ctypes.c_longlong
    assert process.cublasSgemmStridedBatched(
        handle, 0, 0, m, n, k, scalar(1, "S"), address(a), m, stride(sa), address(b), k, stride(sb), scalar(0, "S"), address(c),
        m, stride(sc), count) == 0  # fmt: skip
    assert all((of(c, i, sc, m, n) == right[i]).all() for i in range(count))
    assert (cuda.fake_allocated(), cuda.fake_released()) == (1, 1)
    made(0, 1)


def refused_batch() -> None:
    """As nothing is written, cuBLAS makes both."""
    a, b, c = (integers((4, 4, 2), "D") for _ in "abc")
    b[0, 0, :] = 5, 77
    wanted = np.stack([2 * mm(a[..., i], b[..., i]) + c[..., i] for i in range(2)], axis=2)
    assert batch("D", a, b, c) == 0
    np.testing.assert_array_equal(c, wanted)


def thresholds(*extents: str) -> None:
    for n in extents:
        product(int(n))


def repaired(*products: str) -> None:
    """Each is an extent, a number and how often."""
    for each in products:
        n, number, count = map(int, each.split(","))
        product(n, number, times=count)


def few_repairs() -> None:
    product(600)
    waits = cuda.fake_waits()
    product(600, 1), product(600, times=2)  # the device has reported the first by the second
    assert cuda.fake_waits() == waits


def contexts() -> None:
    for i in range(2, 5):
        product(600, times=2), cuda.fake_context(i)


def all_threads(functions: list[Callable[[], None]]) -> list[threading.Thread]:
    found = [threading.Thread(target=each) for each in functions]
    for each in found:
        each.start()
    return found


def threads() -> None:
    for each in all_threads([lambda: times("30")] * 6):
        each.join()


def first_product_is_waited_for() -> None:
    """By its own thread alone."""
    other = stream_of(16)
    cuda.fake_hold(P(16))
    (waits,) = all_threads([lambda: product(800, own=other)])
    signal.alarm(60)  # ends the process, whatever it waits for
    while not cuda.fake_waiting() or ours.fake_served() < 1:
        time.sleep(0.001)
    product(600)  # another thread enqueues what it likes
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    cuda.fake_hold(None)
    waits.join()


def full_stream() -> None:
    """A launch waits there, for what another GPU's product comes before; a fork does not wait for it."""
    # Made beforehand: in a child of a fork, NumPy's generator may be locked by a thread that is not there.
    a, one, zero = integers((7, 7), "D"), scalar(1), scalar(0)

    def multiply(own: P) -> None:
        c = np.full((7, 7), 1e30, order="F")
        assert (
            process.cublasDgemm_v2(own, 0, 0, 7, 7, 7, one, address(a), 7, address(a), 7, zero, address(c), 7)
            == 0
        )
        np.testing.assert_array_equal(c, mm(a, a))

    others = [stream_of(16), stream_of(16)]  # two threads on one stream
    multiply(handle)
    ours.fake_fill(P(16))
    waiting = all_threads([lambda own=other: multiply(own) for other in others])
    signal.alarm(20)  # ends the process, whatever it waits for
    while not ours.fake_waiting_launches():
        time.sleep(0.001)
    multiply(handle)
    if (child := os.fork()) == 0:
        signal.alarm(10)  # a child has none of its parent's
        multiply(handle)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert 1 <= ours.fake_waiting_launches() <= 2
    ours.fake_fill(None)
    for each in waiting:
        each.join()


if __name__ == "__main__":
    run(globals())
