"""Other libraries' FP64 emulation, each in a process of its own: they are switched on by environment variables.

cuBLAS emulates torch's float64 products by itself when told to; GEMMul8 replaces them when its library is preloaded.
The child reads one JSON request a line and answers each with one line: ``{"product": [in.npz, out.npy]}`` multiplies the
matrices a and b on the GPU, ``{"time": [n, seconds]}`` measures an n × n × n product.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
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


class _Child:
    """The peer's process and the file that takes what it complains about."""

    def __init__(self, environment: dict[str, str]) -> None:
        places = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the process
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "common.peers"],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(places), **environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
            )
        except OSError:
            self._errors.close()
            raise

    def ask(self, request: dict[str, Any]) -> str:
        """The line that answers a request; PeerError if there is none."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(request) + "\n")
            stdin.flush()
            line = stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(self._last_words())
        return line

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().strip().splitlines()
        return lines[-1] if lines else "its process ended without a word"

    def end(self) -> None:
        """Let it finish; a process that does not is killed."""
        try:
            self._process.communicate(timeout=60)  # closes its input, on which it ends, and waits
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        finally:
            self._errors.close()


class Peer:
    """A child process with some environment; started on first use, ended by ``close``, at the end of a with block, or with
    the peer itself: methods hold peers that nobody closes."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._child: _Child | None = None
        self._end: Callable[[], object] = lambda: None

    def ask(self, **request: Any) -> Any:
        """Send one request and wait for its answer; PeerError if the child failed."""
        if self._child is None:
            self._child = _Child(self._environment)
            self._end = weakref.finalize(self, self._child.end)
        answer = json.loads(self._child.ask(request))
        if "error" in answer:
            raise PeerError(answer["error"])
        return answer["result"]

    def multiply(self, a: Array, b: Array) -> Array:
        """a b of two float64 matrices, multiplied by the child."""
        with tempfile.TemporaryDirectory() as folder:
            operands, product = Path(folder, "operands.npz"), Path(folder, "product.npy")
            np.savez(operands, a=a, b=b)
            self.ask(product=[str(operands), str(product)])
            c: Array = np.load(product)
        return c

    def close(self) -> None:
        self._end()
        self._child = None

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _answer(request: dict[str, Any]) -> Any:
    import torch

    if "product" in request:
        source, target = request["product"]
        with np.load(source) as operands:
            a, b = (torch.from_numpy(operands[name]).cuda() for name in "ab")
        np.save(target, (a @ b).cpu().numpy())
        return None
    from .gpu import native_row

    n, budget = request["time"]
    return native_row(n, budget)


def _serve() -> None:
    for line in sys.stdin:
        try:
            answer = {"result": _answer(json.loads(line))}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
