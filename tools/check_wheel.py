"""Check an installed ozfp4 by itself: what it is, what it holds, and that every backend multiplies exactly.

    python tools/check_wheel.py [--version VERSION] [--torch yes|no] [--cuda yes|no]

Run by the interpreter of the environment that a wheel was installed in, with nothing but what the wheel asks for: no test
library, no source tree, and no GPU.

--version   the version that it must have.
--torch     whether torch must be there; with it, tensors on the CPU have the bits of arrays.
--cuda      whether the CUDA kernels must be in it: once, and they must load where no GPU is.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import ozfp4
from ozfp4._backends.cuda import extension


def check_package(version: str | None) -> None:
    folder = Path(ozfp4.__file__).resolve()
    assert folder.is_relative_to(Path(sys.prefix).resolve()), f"{folder} is not in {sys.prefix}"
    assert version in (None, ozfp4.__version__), f"ozfp4 {ozfp4.__version__} is there, not {version}"
    assert find_spec("ozfp4._testing") is None, "ozfp4._testing is for the tests alone"
    assert "torch" not in sys.modules, "import ozfp4 has imported torch"


def check_cuda(expected: bool) -> None:
    held = find_spec("ozfp4._cuda") is not None
    assert held == expected, f"ozfp4._cuda is {'' if held else 'not '}there"
    if held:
        cuda = extension.extension()
        assert cuda is not None, extension.extension_error()
        print("kernels for", *(f"{major}.{minor}" for major, minor in cuda.compute_capabilities))
        check_kernels(Path(cuda.__file__))
    else:
        assert "OZFP4_CUDA=ON" in extension.extension_error()


def check_kernels(extension: Path) -> None:
    """They are in one file, which `ozfp4 exec` opens in programs without Python: its C interface is there."""
    (library,) = extension.parent.glob("libozfp4_cuda.so")
    section = b"\0.nv_fatbin\0"
    assert section in library.read_bytes(), f"{library} holds no kernels"
    assert section not in extension.read_bytes(), f"{extension} holds kernels of its own"
    program = (
        "import ctypes, sys; library = ctypes.CDLL(sys.argv[1]); assert library.ozfp4_has_cuda() == 1; "
        "library.ozfp4_cuda_dgemm; library.ozfp4_cuda_zgemm; library.ozfp4_cuda_workspace_size_gemm"
    )
    done = subprocess.run([sys.executable, "-c", program, library], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert os.access(extension.with_name("ozfp4_selftest"), os.X_OK), (
        "the program that tests kernels is not there"
    )
    sizes = [path.stat().st_size for path in (library, extension)]
    print(f"libozfp4_cuda.so has {sizes[0]} bytes, {extension.name} {sizes[1]}")


def check_exec() -> None:
    """`ozfp4 exec` catches the products of NumPy."""
    program = "import numpy as np; x = np.ones((30, 30)); assert (x @ (x + 1) == 60).all()"
    command = [
        sys.executable,
        "-m",
        "ozfp4",
        "exec",
        "--always",
        "--verify",
        "1",
        "--",
        sys.executable,
        "-c",
        program,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "caught 1 products" in done.stderr, done.stderr
    print("ozfp4 exec catches products of NumPy")


def check_products(with_torch: bool) -> None:
    random = np.random.default_rng(1)
    a = random.integers(-(2**53), 2**53, (5, 7))
    b = random.integers(-(2**53), 2**53, (7, 3))
    exact = (a.astype(object) @ b.astype(object)).astype(float)  # Python's integers, each rounded once
    for backend in ("fp64", "int8", "fp4"):
        for accuracy in ("scaled", "standard", "correct"):
            left, right = a.astype(float), b.astype(float)
            product = ozfp4.matmul(left, right, backend=backend, accuracy=accuracy)
            assert (product == exact).all(), f"a product by {backend} is wrong, with accuracy={accuracy!r}"
            if with_torch:
                import torch

                tensor = ozfp4.matmul(
                    torch.from_numpy(left), torch.from_numpy(right), backend=backend, accuracy=accuracy
                )
                assert isinstance(tensor, torch.Tensor)
                assert (tensor.numpy() == exact).all(), f"a product of tensors by {backend} is wrong"
    whole = a.astype(object) @ b.astype(object)
    for dtype in (np.int32, np.int64):  # in machine words, which wrap
        product, right = ozfp4.matmul(a.astype(dtype), b.astype(dtype)), (whole % 2**64).astype(np.uint64)
        assert (product == right.astype(dtype)).all(), f"a product of {dtype.__name__} is wrong"
    assert "torch" in sys.modules or not with_torch


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version")
    parser.add_argument("--torch", choices=("yes", "no"))
    parser.add_argument("--cuda", choices=("yes", "no"))
    arguments = parser.parse_args()
    has_torch = find_spec("torch") is not None
    assert arguments.torch in (None, "yes" if has_torch else "no"), (
        f"torch is {'' if has_torch else 'not '}there"
    )
    check_package(arguments.version)
    if arguments.cuda:
        check_cuda(arguments.cuda == "yes")
    check_products(has_torch)
    if sys.platform == "linux":
        check_exec()
    print(ozfp4.info())
    return 0


if __name__ == "__main__":
    sys.exit(main())
