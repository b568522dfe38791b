"""A A^T by the C interface on a GPU: ozfp4_cuda_dgram beside ozfp4_cuda_dgemm of the same operand.

    python benchmarks/c_gram.py LIBRARY [--sizes N ...]

LIBRARY is libozfp4.so of a build with CUDA. Milliseconds, medians over CUDA events, of normal(0, 1) entries, n = k = N. Both
results are compared bit for bit.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
from collections.abc import Callable
from ctypes import byref, c_double, c_int, c_int64, c_void_p

import torch

from ozfp4.measure.clocks import milliseconds
from ozfp4.measure.machine import commit, driver

REPEATS = 9
ROW_MAJOR, NO_TRANS, TRANS, FLOAT64 = 101, 111, 112, 1  # of ozfp4.h


class Library:
    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)
        self._library.ozfp4_last_error.restype = ctypes.c_char_p

    def __call__(self, name: str, *arguments: object) -> None:
        """Calls a function; RuntimeError with what it says where it refuses."""
        if getattr(self._library, name)(*arguments) != 0:
            raise RuntimeError(f"{name}: {self._library.ozfp4_last_error().decode()}")

    def space(self, name: str, *arguments: object) -> torch.Tensor:
        """The workspace that the function names."""
        size = c_int64()
        self(name, *arguments, None, byref(size))
        return torch.empty(size.value, dtype=torch.uint8, device="cuda")


def calls(library: Library, n: int, a: torch.Tensor, c: torch.Tensor) -> dict[str, Callable[[], None]]:
    n_, data, to = c_int64(n), c_void_p(a.data_ptr()), c_void_p(c.data_ptr())
    stream = c_void_p(torch.cuda.current_stream().cuda_stream)
    order, plain, turned = c_int(ROW_MAJOR), c_int(NO_TRANS), c_int(TRANS)
    whole = library.space("ozfp4_cuda_workspace_size", c_int(FLOAT64), order, plain, turned, n_, n_, n_)
    half = library.space("ozfp4_cuda_workspace_size_gram", c_int(FLOAT64), order, plain, n_, n_)

    def placed(space: torch.Tensor) -> tuple[object, ...]:
        return to, n_, c_void_p(space.data_ptr()), c_int64(space.numel()), stream, None

    def gemm() -> None:
        shape = order, plain, turned, n_, n_, n_
        library("ozfp4_cuda_dgemm", *shape, c_double(1), data, n_, data, n_, c_double(0), *placed(whole))

    def gram() -> None:
        library("ozfp4_cuda_dgram", order, plain, n_, n_, data, n_, *placed(half))

    return {"gemm": gemm, "gram": gram}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("library")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4096, 8192, 16384])
    asked = parser.parse_args()
    library = Library(asked.library)
    print(f"{torch.cuda.get_device_name()}, {driver()}, commit {commit()}")
    for n in asked.sizes:
        a = torch.randn(n, n, dtype=torch.float64, device="cuda")
        results, times = {}, {}
        c = torch.empty_like(a)
        for name, call in calls(library, n, a, c).items():
            c.fill_(float("nan"))
            call()
            results[name] = c.clone()
            times[name] = statistics.median(milliseconds(call) for _ in range(REPEATS))
        if not torch.equal(*results.values()):
            raise RuntimeError(f"N = {n}: the bits differ")
        gemm, gram = times.values()
        print(f"N = {n}: gemm {gemm:.3f} ms, gram {gram:.3f} ms, {gram / gemm:.2f} of it", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
