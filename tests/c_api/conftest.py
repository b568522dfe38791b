"""libozfp4, installed to a new folder."""

from __future__ import annotations

import ctypes
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import library as lib
import numpy as np
import pytest
from cuda_calls import Cuda, Host

from device_names import CUDA
from support import chosen
from support.devices import why_missing

BUILD = lib.ROOT / "build" / "library"


def _run(*command: str | Path) -> None:
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of the installation: OZFP4_PREFIX, or a new folder with the build OZFP4_LIBRARY_BUILD or one made here."""
    if given := os.environ.get("OZFP4_PREFIX"):
        return Path(given)
    cmake = shutil.which("cmake", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if cmake is None:
        pytest.skip("no cmake here, and OZFP4_PREFIX names no installed library")
    build = Path(os.environ.get("OZFP4_LIBRARY_BUILD", BUILD))
    folder = tmp_path_factory.mktemp("prefix")
    BUILD.parent.mkdir(exist_ok=True)
    with (BUILD.parent / "library.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of several workers builds
        if build == BUILD:
            settings = ("-DOZFP4_PYTHON=OFF", "-DOZFP4_LIBRARY=ON", "-DOZFP4_CUDA=OFF")
            _run(cmake, "-S", lib.ROOT, "-B", build, *settings)
            _run(cmake, "--build", build, "--parallel", "3", "--target", "ozfp4")
        _run(cmake, "--install", build, "--prefix", folder, "--component", "library")
    return folder


@pytest.fixture(scope="session")
def library(prefix: Path) -> ctypes.CDLL:
    found = next(prefix.glob("lib*/libozfp4.so"), None) or next(prefix.glob("lib/*/libozfp4.so"))
    return lib.load(found)


@pytest.fixture(params=["host", CUDA])
def calls(request: pytest.FixtureRequest, library: ctypes.CDLL) -> Host:
    """Functions of the library for the host, and for a GPU where there are such: what a test multiplies by."""
    if request.param == "host":
        return Host(library)
    if not library.ozfp4_has_cuda():
        pytest.skip("this build has no CUDA")
    if reason := why_missing("cuda"):
        pytest.skip(reason)
    return Cuda(library)


def taken(x: lib.Array, asked: int) -> lib.Array:
    """op(X)"""
    if asked == lib.NONE:
        return x
    return x.swapaxes(-1, -2) if asked == lib.TRANS else x.swapaxes(-1, -2).conj()


@pytest.fixture
def gemm(calls: Host) -> Callable[..., lib.Array]:
    """alpha op(a) op(b) + beta c by the library, gaps between lines; `c` is not modified."""

    def call(
        alpha: complex,
        a: lib.Array,
        b: lib.Array,
        beta: complex = 0.0,
        c: lib.Array | None = None,
        *,
        order: str = "row",
        trans: tuple[int, int] = (lib.NONE, lib.NONE),
        gap: int = 0,
        asked: lib.Options | None = None,
        bound: lib.Array | None = None,
        status: int = lib.OK,
    ) -> lib.Array:
        m, k = taken(a, trans[0]).shape
        n = taken(b, trans[1]).shape[1]
        held_a, lda = lib.lies(a, order, gap)
        held_b, ldb = lib.lies(b, order, gap)
        before = np.full((m, n), np.nan, a.dtype) if c is None else c
        held_c, ldc = lib.lies(before, order, gap)
        kept = held_c.copy()
        first, last = (lib.factor(x, a.dtype) for x in (alpha, beta))
        found = calls(
            f"{lib.LETTERS[a.dtype.name]}gemm", lib.ORDERS[order], *trans, m, n, k, first, held_a, lda, held_b, ldb, last,
            held_c, ldc, asked=asked, bound=bound,
        )  # fmt: skip
        assert found == status, lib.error(calls.library)
        if gap:  # nothing is written between the lines
            assert held_c[:, -gap:].tobytes() == kept[:, -gap:].tobytes()
        if status != lib.OK:
            assert held_c.tobytes() == kept.tobytes()
        return lib.seen(held_c, order, gap)

    return call


@pytest.fixture
def expect() -> Callable[..., lib.Array]:
    """The same by Python."""

    def call(
        alpha: complex, a: lib.Array, b: lib.Array, beta: complex = 0.0, c: lib.Array | None = None, *,
        trans: tuple[int, int] = (lib.NONE, lib.NONE), **further: Any,
    ) -> Any:  # fmt: skip
        names = {lib.NONE: "N", lib.TRANS: "T", lib.CONJ: "C"}
        further |= {"trans_a": names[trans[0]], "trans_b": names[trans[1]]}
        return chosen.gemm(alpha, a, b, beta, c if beta != 0 else None, **further)

    return call
