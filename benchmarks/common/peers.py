"""Other libraries' FP64 emulation, each product in a separate process: they are switched on by environment variables.

cuBLAS emulates torch's float64 products by itself when switched on; GEMMul8 replaces them when its library is preloaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_EAGER = {"CUBLAS_EMULATE_DOUBLE_PRECISION": "1", "CUBLAS_EMULATION_STRATEGY": "eager"}
CUBLAS_FIXED = {**_EAGER, "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT": "55"}
CUBLAS_DYNAMIC = _EAGER


def gemmul8_environment(library: str) -> dict[str, str]:
    """GEMMul8 at 15 moduli in its accurate mode, the setting closest to full FP64."""
    return {"LD_PRELOAD": library, "GEMMUL8_NUM_MOD_D": "15", "GEMMUL8_FASTMODE_D": "0"}


class PeerError(RuntimeError):
    """The peer's process failed; the message is its last line."""


@dataclass(frozen=True)
class Peer:
    """torch's float64 products on the GPU with these environment variables."""

    environment: dict[str, str]

    def ask(self, *words: str) -> str:
        """Returns what the process prints for these arguments of :func:`_answer`; PeerError if it failed."""
        places = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        done = subprocess.run(
            [sys.executable, "-m", "common.peers", *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places), **self.environment},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines()
            raise PeerError(lines[-1] if lines else f"its process ended with status {done.returncode}")
        return done.stdout

    def multiply(self, a: Array, b: Array) -> Array:
        """a b of two float64 matrices."""
        with tempfile.TemporaryDirectory() as folder:
            operands, product = Path(folder, "operands.npz"), Path(folder, "product.npy")
            np.savez(operands, a=a, b=b)
            self.ask("product", str(operands), str(product))
            c: Array = np.load(product)
        return c

    def milliseconds(self, n: int, budget: float) -> float:
        """The time of an n × n × n product, measured for `budget` seconds."""
        return float(self.ask("time", str(n), str(budget)))


def _answer(what: str, *words: str) -> None:
    import torch

    from .gpu import native_ms

    if what == "time":
        print(native_ms(int(words[0]), float(words[1])))
        return
    with np.load(words[0]) as operands:
        a, b = (torch.from_numpy(operands[name]).cuda() for name in "ab")
    np.save(words[1], (a @ b).cpu().numpy())


if __name__ == "__main__":
    _answer(*sys.argv[1:])
