"""What a verdict depends on: each thing that makes a kernel another one, listed here and not taken from the key itself."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import ozfp4
from ozfp4.backends import cpu, kernels
from ozfp4.backends.cuda import extension
from ozfp4.request import library
from ozfp4.trust import guard, identity

CPU = (
    "device",
    "instruction sets",
    "system",
    "build",
    "kernel",
    "element",
    "cases",
)
GPU = ("device", "driver", "build", "kernel", "element", "cases")
FP64 = kernels.cpu_kernel("fp64")
CUDA = kernels.DeviceKernel("cuda:0", "a kernel", "e2m1")


def write_later(file: Path) -> None:
    """A rebuild: other contents of the same size, a time of change later."""
    status = file.stat()
    file.write_bytes(bytes(255 - x for x in file.read_bytes()))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


class World:
    """A processor, a GPU and libraries that a test may change, in place of this machine's."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.patch = patch
        self.files = {}
        for name in ("_core.so", "_cuda.so", "libcuda.so.1"):
            self.files[name] = folder / name
            self.files[name].write_bytes(b"machine code")
        maps = folder / "maps"
        maps.write_text(f"7f00-7f01 r-xp 0 0 1 {self.files['libcuda.so.1']}\n", encoding="utf-8")
        patch.setattr(identity, "Path", lambda name: maps if name == "/proc/self/maps" else Path(name))
        patch.setattr(identity, "_core", SimpleNamespace(__file__=str(self.files["_core.so"])))
        patch.setattr(extension, "extension", lambda: SimpleNamespace(__file__=str(self.files["_cuda.so"])))
        self.gpu = SimpleNamespace(name="GPU", major=10, minor=0, uuid="u")
        self.driver = 13000
        cuda = SimpleNamespace(get_device_properties=lambda index: self.gpu)
        torch = SimpleNamespace(cuda=cuda, _C=SimpleNamespace(_cuda_getDriverVersion=lambda: self.driver))
        patch.setattr(library, "require_torch", lambda: torch)

    def rebuild(self, name: str) -> None:
        write_later(self.files[name])

    @staticmethod
    def identity(pair: kernels.DeviceKernel) -> dict[str, str]:
        """As a new process finds it."""
        identity.cpu_identity.cache_clear()
        identity.gpu_identity.cache_clear()
        return identity.identity(pair)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    yield World(tmp_path, monkeypatch)
    identity.cpu_identity.cache_clear()
    identity.gpu_identity.cache_clear()


def flags(w: World) -> None:
    w.patch.setattr(cpu, "cpuinfo", lambda *names: "sse2 avx2")


CPU_CHANGES: dict[str, tuple[str, Callable[[World], object]]] = {
    "a rebuilt core": ("build", lambda w: w.rebuild("_core.so")),
    "another version": ("build", lambda w: w.patch.setattr(identity, "__version__", "99")),
    "another processor": ("device", lambda w: w.patch.setattr(cpu, "model", lambda: "another")),
    "hidden instruction sets": ("instruction sets", flags),
    "another kernel of the system": ("system", lambda w: w.patch.setattr(platform, "release", lambda: "99")),
}  # fmt: skip

GPU_CHANGES: dict[str, tuple[str, Callable[[World], object]]] = {
    "a rebuilt extension": ("build", lambda w: w.rebuild("_cuda.so")),
    "another version": ("build", lambda w: w.patch.setattr(identity, "__version__", "99")),
    "another driver": ("driver", lambda w: setattr(w, "driver", 13010)),
    "a rebuilt driver": ("driver", lambda w: w.rebuild("libcuda.so.1")),
    "another GPU of the name": ("device", lambda w: setattr(w.gpu, "uuid", "v")),
    "another capability": ("device", lambda w: setattr(w.gpu, "minor", 3)),
    "another name": ("device", lambda w: setattr(w.gpu, "name", "GPU 2")),
}


@pytest.mark.parametrize(
    ("pair", "changes", "change"),
    [(FP64, CPU_CHANGES, c) for c in CPU_CHANGES] + [(CUDA, GPU_CHANGES, c) for c in GPU_CHANGES],
    ids=[f"cpu-{c}" for c in CPU_CHANGES] + [f"gpu-{c}" for c in GPU_CHANGES],
)
def test_another_kernel_has_another_key(
    world: World, pair: kernels.DeviceKernel, changes: dict[str, tuple[str, Callable]], change: str
) -> None:
    before = world.identity(pair)
    assert world.identity(pair) == before
    part, make = changes[change]
    make(world)
    after = world.identity(pair)
    assert {name for name in before if before[name] != after[name]} == {part}


@pytest.mark.parametrize(("pair", "parts"), [(FP64, CPU), (CUDA, GPU)], ids=["cpu", "gpu"])
def test_the_parts_of_a_key(world: World, pair: kernels.DeviceKernel, parts: tuple[str, ...]) -> None:
    assert sorted(world.identity(pair)) == sorted(parts)


@pytest.mark.parametrize("change", CPU_CHANGES)
def test_a_verdict_is_believed_until_something_changes(cache: Path, world: World, change: str) -> None:
    a = np.ones((2, 2))
    tested: list[kernels.DeviceKernel] = []
    examine = guard.examine

    def counting(pair: kernels.DeviceKernel, *, short: bool) -> guard.Verdict:
        tested.append(pair)
        return examine(pair, short=short)

    world.patch.setattr(guard, "examine", counting)
    for expected in (1, 1, 2, 2):
        if expected == 2 and len(tested) == 1:
            CPU_CHANGES[change][1](world)
        identity.cpu_identity.cache_clear()
        guard.forget()
        ozfp4.matmul(a, a, backend="fp64")
        assert tested == [FP64] * expected
