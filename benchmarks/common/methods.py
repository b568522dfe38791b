"""What can multiply on this machine, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ozfp4.api.info import gpu_backends as listed
from ozfp4.measure.machine import have_cuda, have_torch
from support import PATHS
from support.chosen import matmul

from . import peers

Array = npt.NDArray[Any]


# What a product that cannot be made raises: no kernel, no memory, no plan for so long a K.
REFUSALS = (RuntimeError, MemoryError, ValueError)


def reason(error: BaseException) -> str:
    """The first line of an error, or its type where it says nothing: why a row is missing."""
    return (str(error) or type(error).__name__).splitlines()[0]


@dataclass(frozen=True)
class Method:
    """One way to multiply.

    Attributes
    ----------
    name, label : str
        On the command line and in tables.
    kind : {"ozfp4", "auto", "mode", "native", "peer"}
        "ozfp4": a scheme, backend and family, for integers of 53 bits; "auto": what is taken where none is asked for; "mode": an
        accuracy.
    device : {"cpu", "cuda"}
    multiply : callable
        float64 matrices in NumPy arrays in and out, wherever the product is computed.
    options : dict
        Keyword arguments of ``ozfp4.matmul``; environment variables of a peer.
    """

    name: str
    label: str
    kind: str
    device: str
    multiply: Callable[[Array, Array], Array] = field(compare=False)
    options: dict[str, Any] = field(default_factory=dict, compare=False)


def _numpy(a: Array, b: Array) -> Array:
    c: Array = np.matmul(a, b)
    return c


def _torch(device: str) -> Callable[[Array, Array], Array]:
    def multiply(a: Array, b: Array) -> Array:
        torch = import_module("torch")
        x, y = (torch.from_numpy(np.ascontiguousarray(z)).to(device) for z in (a, b))
        c: Array = (x @ y).cpu().numpy()
        return c

    return multiply


def _ozfp4(device: str, options: dict[str, Any]) -> Callable[[Array, Array], Array]:
    def multiply(a: Array, b: Array) -> Array:
        if device == "cpu":
            c: Array = matmul(a, b, **options)
            return c
        torch = import_module("torch")
        x, y = (torch.from_numpy(np.ascontiguousarray(z)).to(device) for z in (a, b))
        product: Array = matmul(x, y, **options).cpu().numpy()
        return product

    return multiply


def gpu_backends() -> set[str]:
    """Alphabets that this build has kernels for on the GPU at hand."""
    return {backend.name for backend in listed() if backend.available}


def _prefix(device: str) -> str:
    return "cuda-" if device == "cuda" else ""


def own_methods(device: str, accuracy: str = "scaled") -> list[Method]:
    """Every scheme, backend and family that the device has a kernel for; of an accuracy with bits of its own, which the paper's
    moduli do not hold, those of family "least"."""
    found = []
    for path in PATHS:
        if path.family != "least" and (path.scheme == "I" or accuracy != "scaled"):
            continue  # digits are the same as in family "least"
        if device == "cuda" and path.backend not in gpu_backends():
            continue
        options = {**path._asdict(), "accuracy": accuracy}
        prefix = _prefix(device)
        family = "" if path.family == "least" and path.backend != "fp4" else f" {path.family}"
        label = f"ozfp4 {path.scheme} {path.backend}{family}" + (" (GPU)" if device == "cuda" else "")
        label += "" if accuracy == "scaled" else f", {accuracy}"
        found.append(
            Method(f"{prefix}{path}", label, "ozfp4", device, _ozfp4(device, options), dict(options))
        )
    return found


def auto_method(device: str, accuracy: str = "scaled") -> Method:
    """What a product takes of which no more is asked: a backend's planes, machine words or limbs."""
    label = 'ozfp4, backend="auto"' + (" (GPU)" if device == "cuda" else "")
    label += "" if accuracy == "scaled" else f", {accuracy}"
    options = {"accuracy": accuracy}
    return Method(f"{_prefix(device)}auto", label, "auto", device, _ozfp4(device, options), options)


def accuracy_modes(device: str) -> list[Method]:
    """What promises more than the product of integers of 53 bits, each on the backend that "auto" takes."""
    where = " (GPU)" if device == "cuda" else ""
    return [
        Method(
            f"{_prefix(device)}{accuracy}",
            f'ozfp4, accuracy="{accuracy}"{where}',
            "mode",
            device,
            _ozfp4(device, {"accuracy": accuracy}),
            {"accuracy": accuracy},
        )
        for accuracy in ("standard", "correct")
    ]


def peer_methods(gemmul8: str | None) -> list[Method]:
    """cuBLAS's own emulation, and GEMMul8 if its preload library is named; each product starts a child or reuses it."""
    environments = {
        "cublas-55": ("cuBLAS emulation, 55 bits", peers.CUBLAS_FIXED),
        "cublas-dynamic": ("cuBLAS emulation, dynamic", peers.CUBLAS_DYNAMIC),
    }
    if gemmul8 is not None:
        environments["gemmul8"] = ("GEMMul8 INT8, 15 moduli", peers.gemmul8_environment(gemmul8))
    return [
        Method(name, label, "peer", "cuda", peers.Peer(environment).multiply, environment)
        for name, (label, environment) in environments.items()
    ]


def at_hand(
    gemmul8: str | None = None, accuracy: str = "scaled", modes: bool = False, auto: bool = False
) -> dict[str, Method]:
    """Everything that can multiply here, by name; ozfp4's ways first.

    Parameters
    ----------
    gemmul8 : str, optional
        GEMMul8's preload library; it is used on a GPU only.
    accuracy : {"scaled", "standard", "correct"}
        Of ozfp4's ways.
    modes : bool
        Whether the accuracy modes belong to it, one way each.
    auto : bool
        Whether the way that is taken where none is asked for does.
    """
    found = own_methods("cpu", accuracy)
    found += [auto_method("cpu", accuracy)] if auto else []
    found += accuracy_modes("cpu") if modes else []
    found.append(Method("numpy", "NumPy", "native", "cpu", _numpy))
    if have_torch():
        found.append(Method("torch", "torch", "native", "cpu", _torch("cpu")))
    if have_cuda():
        found += own_methods("cuda", accuracy)
        found += [auto_method("cuda", accuracy)] if auto else []
        found += accuracy_modes("cuda") if modes else []
        found.append(Method("torch-cuda", "torch (GPU), native FP64", "native", "cuda", _torch("cuda")))
        found += peer_methods(gemmul8)
    return {method.name: method for method in found}


def select(names: Iterable[str] | None, methods: dict[str, Method]) -> list[Method]:
    """The named methods in the order of the table, all without names.

    Raises
    ------
    ValueError
        For a name that is not there; the message lists those that are.
    """
    if names is None:
        return list(methods.values())
    wanted = list(names)
    for name in wanted:
        if name not in methods:
            raise ValueError(f"{name!r} is not at hand; at hand are {', '.join(methods)}")
    return [method for name, method in methods.items() if name in wanted]
