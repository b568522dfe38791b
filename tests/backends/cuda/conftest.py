"""A fake extension, which multiplies what it is given by addresses and strides alone: tensors lie on torch's CPU."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.backends.cuda import device_plan, extension
from ozfp4.backends.cuda.views import prepare

INTEGERS = tuple(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64))
TYPES = {name: np.dtype(name) for name in ("float64", "float32", *INTEGERS)}


def matrix(address: int, dtype: Any, extents: tuple[int, int], strides: tuple[int, int]) -> np.ndarray:
    lowest = sum(min(0, s * (n - 1)) for s, n in zip(strides, extents, strict=True))
    size = sum(abs(s) * (n - 1) for s, n in zip(strides, extents, strict=True)) + np.dtype(dtype).itemsize
    memory = np.frombuffer((ctypes.c_uint8 * size).from_address(address + lowest), np.uint8)
    return np.ndarray(extents, dtype, memory, -lowest, strides)


class Problem:
    """A stack in turns of two matrices. Its workspace holds what the real one's does for a Report: the count of moduli,
    shifts and flags; here the count is the turn's number plus 3, and a turn's first row and column are special."""

    turn_matrices = 2

    def __init__(
        self, plan: Any, a: Any, b: Any, result: Any, extents: list[int], strides_a: list[int],
        strides_b: list[int], strides_c: list[int], device: int, workspace_limit: int, device_steps: int,
        addend: Any = None, strides_addend: tuple[int, ...] = (),
    ) -> None:  # fmt: skip
        assert len(extents) == len(strides_a) == len(strides_b) == len(strides_c)
        self.a, self.b, self.result = a, b, result
        self.extents, self.strides = extents, (strides_a, strides_b, strides_c)
        self.addend, self.strides_addend = addend, strides_addend
        assert addend is None or len(strides_addend) == len(extents)
        self.limit = workspace_limit
        self.accuracy = "correct" if plan is not None and plan.accuracy == "correct" else "standard"
        self.bytes = 4096

    @property
    def matrices(self) -> list[tuple[int, ...]]:
        return list(product(*map(range, self.extents)))

    @property
    def turns(self) -> int:
        return -(-len(self.matrices) // self.turn_matrices)

    def new_lines(self, turn: int) -> tuple[int, int]:
        return self.a[2], (self.b[2] if turn == 0 else 0)

    def describe(self) -> dict[str, Any]:
        return {
            "units_used": 0, "shift_a": 256, "shift_b": 1024, "special_a": 2048, "special_b": 3072,
            "kernel": "fake", "tile": "1x1", "splits": 1, "bytes": self.bytes,
        }  # fmt: skip

    def launch(
        self, a: int, b: int, c: int, workspace: int, clear_counters: int, stream: int,
        after_scale: int = 0, after_encode: int = 0, after_multiply: int = 0, first_turn: int = 0,
        last_turn: int = 2**63 - 1, alpha: float = 1.0, beta: float = 0.0, addend: int = 0,
    ) -> None:  # fmt: skip
        assert (beta != 0) == (addend != 0) == (self.addend is not None)
        last = min(last_turn, self.turns)
        for index in self.matrices[first_turn * self.turn_matrices : last * self.turn_matrices]:
            x, y, z = (
                start + sum(i * s for i, s in zip(index, strides, strict=True))
                for start, strides in zip((a, b, c), self.strides, strict=True)
            )
            _, type_a, outer_a, inner, *strides_a = self.a
            _, type_b, outer_b, _, *strides_b = self.b
            rows = matrix(x, TYPES[type_a], (outer_a, inner), tuple(strides_a))
            columns = matrix(y, TYPES[type_b], (outer_b, inner), tuple(strides_b))
            _, type_c, m, n, *strides_c = self.result
            own = None
            if self.addend is not None:
                _, type_d, m, n, *strides_d = self.addend
                start = addend + sum(i * s for i, s in zip(index, self.strides_addend, strict=True))
                own = matrix(start, TYPES[type_d], (m, n), tuple(strides_d))
            is_integer = rows.dtype.kind == "i"
            result = (
                np.matmul(rows, columns.T)
                if is_integer
                else ozfp4.gemm(alpha, rows, columns.T, beta, own, accuracy=self.accuracy)
            )
            matrix(z, TYPES[type_c], (m, n), tuple(strides_c))[...] = result
        left = matrix(workspace, np.uint8, (1, self.bytes), (0, 1))[0]
        left[0:4].view(np.int32)[0] = last + 2
        left[256:2048].view(np.int32)[:] = 50 + last
        left[2048:] = 0
        left[[2048, 3072]] = 1

    def relaunch(
        self, a: int, b: int, c: int, workspace: int, counters: int, stream: int, alpha: float, beta: float, addend: int
    ) -> None:  # fmt: skip
        self.launch(a, b, c, workspace, counters, stream, alpha=alpha, beta=beta, addend=addend)


def expand(
    data: int, kind: str, matrices: int, k: int, n: int, matrix_stride: int, k_stride: int, n_stride: int,
    is_conjugated: bool, to: int, stream: int, device: int,
) -> None:  # fmt: skip
    """Complex columns as pairs of real ones, (re, -im) and (im, re) along K."""
    dtype = np.dtype(np.complex128 if kind == "float64" else np.complex64)
    real = np.dtype(kind)
    for i in range(matrices):
        strides = (dtype.itemsize * k_stride, dtype.itemsize * n_stride)
        b = matrix(data + i * dtype.itemsize * matrix_stride, dtype, (k, n), strides)
        b = b.conj() if is_conjugated else b
        place = matrix(
            to + i * 4 * k * n * real.itemsize, real, (2 * n, 2 * k), (2 * k * real.itemsize, real.itemsize)
        )
        for odd, row, values in ((0, 0, b.real), (0, 1, -b.imag), (1, 0, b.imag), (1, 1, b.real)):
            place[odd::2, row::2] = values.T


class Made:
    """A plan on the device whose schedule travels with the launch."""

    cuda_plan: Any = None
    steps: Any = None

    def __init__(self, *key: Any) -> None:
        self.cuda_plan = key[-1]  # the promise

    @staticmethod
    def steps_address() -> int:
        return 0


@pytest.fixture
def fake_cuda(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    torch = pytest.importorskip("torch")

    def take(*arguments: Any) -> Any:
        return arguments

    class Own(Made):
        """Its `steps` may be set by a test."""

    fake = SimpleNamespace(
        ElementType=SimpleNamespace(**{name: name for name in TYPES}),
        Operand=take, Result=take, Problem=Problem, pointer_alignment=16, counter_bytes=64,
        most_direct_inner=0,
        most_thin_lines=0,
        most_tile_inner=0,
        stream_id=lambda stream, device: -1, expand=expand,
    )  # fmt: skip
    monkeypatch.setattr(extension, "require_cuda", lambda: fake)
    monkeypatch.setattr(device_plan, "DevicePlan", Own)
    # A torch built for CUDA has it, and would ask a device for the stream.
    monkeypatch.delattr(torch._C, "_cuda_getCurrentRawStream", raising=False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda index: SimpleNamespace(cuda_stream=7))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    prepare.cache_clear()
    yield Own
    prepare.cache_clear()
