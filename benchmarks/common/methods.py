"""The methods that multiply on this machine, by name."""

from __future__ import annotations

import argparse
import operator
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ozfp4._api.machine import gpu_backends as listed
from ozfp4._cli import InputError
from ozfp4._measure.machine import have_cuda, have_torch
from support import PATHS
from support.chosen import matmul

from . import peers

Array = npt.NDArray[Any]


# Errors of products that cannot be made: no kernel, no memory, no plan for so long a K.
REFUSALS = (RuntimeError, MemoryError, ValueError)


def reason(error: BaseException) -> str:
    """The first line of an error, or its type where it has no text: why a row is missing."""
    return (str(error) or type(error).__name__).splitlines()[0]


@dataclass(frozen=True)
class Method:
    """One way to multiply."""

    name: str  # on the command line
    label: str  # in tables
    # "ozfp4": a scheme, backend and family, for integers of 53 bits; "auto": what is taken where none is asked for; "mode": an
    # accuracy; "native"; "peer".
    kind: str
    device: str  # "cpu" or "cuda"
    # Float64 matrices in NumPy arrays in and out, wherever the product is computed.
    multiply: Callable[[Array, Array], Array] = field(compare=False)
    options: dict[str, Any] = field(default_factory=dict, compare=False)  # of ozfp4.matmul
    peer: peers.Peer | None = field(default=None, compare=False)


def _by(multiply: Callable[[Any, Any], Any], device: str) -> Callable[[Array, Array], Array]:
    """A product of arrays by one of tensors on the device."""

    def on_tensors(a: Array, b: Array) -> Array:
        torch = import_module("torch")
        c: Array = (
            multiply(*(torch.from_numpy(np.ascontiguousarray(x)).to(device) for x in (a, b))).cpu().numpy()
        )
        return c

    return on_tensors


def _ozfp4(device: str, options: dict[str, Any]) -> Callable[[Array, Array], Array]:
    multiply = partial(matmul, **options)
    return multiply if device == "cpu" else _by(multiply, device)


def gpu_backends() -> set[str]:
    """Alphabets that this build has kernels for on this GPU."""
    return {backend.name for backend in listed() if backend.available}


def _own(name: str, what: str, kind: str, device: str, options: dict[str, Any]) -> Method:
    """A way of ozfp4; `what`: its label without the device and an accuracy that is not "scaled"."""
    on_gpu, accuracy = device == "cuda", options["accuracy"]
    label = f"ozfp4{what}" + (" (GPU)" if on_gpu else "")
    label += "" if accuracy == "scaled" or kind == "mode" else f", {accuracy}"
    return Method(("cuda-" if on_gpu else "") + name, label, kind, device, _ozfp4(device, options), options)


def own_methods(device: str, accuracy: str = "scaled") -> list[Method]:
    """Every scheme, backend and family that the device has a kernel for. Accuracies other than "scaled" need more bits than the
    paper's moduli hold: family "least" alone."""
    found = []
    for path in PATHS:
        if path.family != "least" and (path.scheme == "I" or accuracy != "scaled"):
            continue  # digits are the same as in family "least"
        if device == "cuda" and path.backend not in gpu_backends():
            continue
        family = "" if path.family == "least" and path.backend != "fp4" else f" {path.family}"
        options = {**path._asdict(), "accuracy": accuracy}
        found.append(_own(str(path), f" {path.scheme} {path.backend}{family}", "ozfp4", device, options))
    return found


def auto_method(device: str, accuracy: str = "scaled") -> Method:
    """The method of a product without further options: a backend's planes, machine words or limbs."""
    return _own("auto", ', backend="auto"', "auto", device, {"accuracy": accuracy})


def accuracy_modes(device: str) -> list[Method]:
    """The accuracies above "scaled" with 53 bits, each on the backend that "auto" takes."""
    names = ("standard", "correct")
    return [_own(name, f', accuracy="{name}"', "mode", device, {"accuracy": name}) for name in names]


def peer_methods(gemmul8: str | None) -> list[Method]:
    """cuBLAS's own emulation, and GEMMul8 if its preload library is named; each product starts a process."""
    environments = {
        "cublas-55": ("cuBLAS emulation, 55 bits", peers.CUBLAS_FIXED),
        "cublas-dynamic": ("cuBLAS emulation, dynamic", peers.CUBLAS_DYNAMIC),
    }
    if gemmul8 is not None:
        environments["gemmul8"] = ("GEMMul8 INT8, 15 moduli", peers.gemmul8_environment(gemmul8))
    found = []
    for name, (label, environment) in environments.items():
        peer = peers.Peer(environment)
        found.append(Method(name, label, "peer", "cuda", peer.multiply, peer=peer))
    return found


def at_hand(
    gemmul8: str | None = None, accuracy: str = "scaled", modes: bool = False, auto: bool = False
) -> dict[str, Method]:
    """Everything that can multiply here, by name; ozfp4's ways, of this accuracy, first.

    `gemmul8`: its preload library, used on a GPU only. With `modes` one way of each accuracy mode, with `auto` the one that is
    taken where none is asked for.
    """
    if gemmul8 is not None and not Path(gemmul8).is_file():
        raise InputError(f"--gemmul8: no such file: {gemmul8}")
    found: list[Method] = []
    for device in ("cpu", "cuda") if have_cuda() else ("cpu",):
        found += own_methods(device, accuracy)
        found += [auto_method(device, accuracy)] if auto else []
        found += accuracy_modes(device) if modes else []
        if device == "cpu":
            found.append(Method("numpy", "NumPy", "native", device, np.matmul))
            found += (
                [Method("torch", "torch", "native", device, _by(operator.matmul, device))]
                if have_torch()
                else []
            )
        else:
            name = "torch (GPU), native FP64"
            found += [
                Method("torch-cuda", name, "native", device, _by(operator.matmul, device)),
                *peer_methods(gemmul8),
            ]
    return {method.name: method for method in found}


def add_methods_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="which to run; default all (an unknown name lists them)"
    )


def add_gemmul8_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--gemmul8", metavar="LIBRARY", help="GEMMul8's preload library, for a GPU")


def select(names: Collection[str] | None, methods: dict[str, Method]) -> list[Method]:
    """The methods that ``--methods`` names, in the order of the table; all without names.

    InputError for a name that is not there; the message lists those that are.
    """
    for name in names or ():
        if name not in methods:
            raise InputError(f"--methods: {name!r} is not at hand; at hand are {', '.join(methods)}")
    return [method for name, method in methods.items() if names is None or name in names]
