"""From what is asked to the plan that answers it: ``ozfp4.plan``, ``ozfp4.plan_for``, and the choice that matmul makes."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np

from ..backends.cuda import launch
from ..backends.cuda.extension import why_unavailable
from ..cost import model as cost
from ..plans.plan import Plan, check_bits, check_names, check_plan, make_plan
from ..request.library import FLOATS, as_array, check_dtype, check_same_library, check_tensor, torch_module
from ..request.operands import MatmulShape, matmul_shape
from ..trust import guard


def plan(
    m: int,
    n: int,
    k: int,
    *,
    scheme: str = "II",
    backend: str = "auto",
    bits: int = 53,
    family: str = "least",
    device: Any = None,
) -> Plan:
    """The plan for an m × k by k × n product on a device.

    Parameters
    ----------
    m, n, k : int
        Extents of the product. Exactness depends on `k` alone.
    scheme : {"II", "I"}
        Residues and CRT, or positional digits.
    backend : {"auto", "fp4", "int8", "fp64"}
        The alphabet; "auto" takes the one that is fastest on the device by :mod:`ozfp4.cost`. A GPU has no "fp64".
    bits : int
        Capacity of the scaled integers, 2..53; float32 operands need 24 (:func:`ozfp4.plan_for` knows them).
    family : {"least", "paper", "paper-karatsuba"}
        Fewest products, or the paper's 19 moduli with 75 or 68 products (fp4, scheme II).
    device : str or torch.device, optional
        "cpu" (the default), "cuda" (the current GPU), "cuda:1"; a GPU needs torch imported.

    Raises
    ------
    TypeError
        For extents or bits that are not integers, or a device that is neither a string nor a torch.device.
    ValueError
        For unknown names, bits out of range, negative extents, or a `k` that no such plan serves exactly
        (the message names the bound and the limit).
    RuntimeError
        For a GPU that is not there or that this build has no kernels for, and for a backend that a GPU does not have.
    """
    check_names(scheme, backend, family)
    bits = check_bits(bits)
    for name, extent in (("m", m), ("n", n), ("k", k)):
        if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)):
            raise TypeError(f"{name}: {extent!r} is not an integer")
        if extent < 0:
            raise ValueError(f"{name}: {extent} is negative")
        if extent >= 2**63:
            raise ValueError(f"{name}: {extent} does not fit 63 bits")
    index = _cuda_index(device)
    inner = max(int(k), 1)
    if backend == "auto" and index is None:
        backend = cost.cpu_choice(scheme, family, bits, inner).backend
    elif backend == "auto":
        backend = cost.gpu_choice(scheme, family, bits, inner, index).backend
    if index is not None:
        _check_gpu_backend(backend, f"cuda:{index}")
    return make_plan(scheme, backend, family, bits, inner)


def plan_for(
    a: Any,
    b: Any,
    *,
    scheme: str = "II",
    backend: str = "auto",
    bits: int | None = None,
    family: str = "least",
) -> Plan:
    """The plan that :func:`ozfp4.matmul` would take for `a` and `b`, by their shapes, dtypes and device; nothing is multiplied.

    Like a product it runs the self-test of a kernel on its first use, and takes the next backend where one failed.

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        The operands: float64 or float32, 1-D, 2-D, or stacks with broadcasting. Their entries are not looked at.
    scheme, backend, bits, family
        As in :func:`ozfp4.matmul`: bits are 53 by default, or 24 when both operands are float32.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        What matmul raises for these operands.
    """
    check_names(scheme, backend, family)
    if check_same_library(a=a, b=b) and (a.device.type != "cpu" or b.device.type != "cpu"):
        check_device_operands(a, b)
        _, _, chosen, _, _ = device_decision(a, b, scheme, backend, bits, family, None)
        return chosen
    x, y = (check_dtype(name, as_array(name, z), FLOATS) for name, z in (("a", a), ("b", b)))
    single = x.dtype == y.dtype == np.float32
    request = (matmul_shape(x.shape, y.shape).k, single, scheme, backend, bits, family, None)
    return serving_plan(choose_plan(*request), *request)[0]


def _cuda_index(device: object) -> int | None:
    """The number of a CUDA device that this build has kernels for; None for the CPU."""
    torch = torch_module()
    text = "cpu" if device is None else device
    if torch is not None and isinstance(device, torch.device):
        text = str(device)
    if not isinstance(text, str):
        raise TypeError(f"device: {device!r} is neither a string nor a torch.device")
    found = re.fullmatch(r"cpu|(cuda)(?::(\d{1,9}))?", text)
    if found is None:
        raise ValueError(f"device: {text!r} is unknown; allowed are 'cpu', 'cuda', 'cuda:0' and so on")
    if found[1] is None:
        return None
    if torch is None:
        raise RuntimeError(f"device: {text!r}: torch is not imported; GPU products take torch CUDA tensors")
    if not torch.cuda.is_available():
        raise RuntimeError(f"device: {text!r}: torch sees no CUDA device")
    index = int(torch.cuda.current_device() if found[2] is None else found[2])
    if index >= torch.cuda.device_count():
        raise RuntimeError(
            f"device: {text!r} is not there; torch sees cuda:0 to cuda:{torch.cuda.device_count() - 1}"
        )
    reason = why_unavailable(torch.device("cuda", index))
    if reason is not None:
        raise RuntimeError(f"device: {text!r}: {reason}")
    return index


def _check_gpu_backend(backend: str, device: object) -> None:
    if backend not in launch.BACKENDS:
        raise RuntimeError(f"backend: {backend!r} has no GPU kernel; available on {device}: 'int8', 'fp4'")


# ---- On the CPU ----------------------------------------------------------------------------------------------------


def capacity(bits: int | None, single: bool) -> int:
    """Bits of the scaled integers; `single`: the result is float32."""
    return (24 if single else 53) if bits is None else bits


def choose_plan(
    k: int, single: bool, scheme: str, backend: str, bits: int | None, family: str, plan: Plan | None
) -> Plan:
    """The plan that the arguments of matmul ask for; `single`: the result is float32."""
    k = max(k, 1)
    if bits is not None:
        bits = check_bits(bits)
    if plan is None:
        size = capacity(bits, single)
        alphabet = cost.cpu_choice(scheme, family, size, k).backend if backend == "auto" else backend
        return make_plan(scheme, alphabet, family, size, k)
    check_plan(plan)
    if plan.scheme == "INT8":
        raise ValueError("plan: an INT8 plan multiplies int8 matrices; use ozfp4.int8_matmul")
    given = {
        "scheme": (scheme, "II", plan.scheme),
        "backend": (backend, "auto", plan.backend),
        "bits": (bits, None, plan.bits),
        "family": (family, "least", plan.family),
    }
    for name, (value, default, planned) in given.items():
        if value not in (default, planned):
            raise ValueError(f"{name}: {value!r} contradicts the given plan, whose {name} is {planned!r}")
    if k > plan.k_max:
        raise ValueError(
            f"plan: its limit is K <= {plan.k_max}, the inner dimension is {k}, {k - plan.k_max} too long"
        )
    return plan


def serving_plan(
    chosen: Plan,
    k: int,
    single: bool,
    scheme: str,
    backend: str,
    bits: int | None,
    family: str,
    plan: Plan | None,
) -> tuple[Plan, str | None]:
    """The chosen plan, or another one and why where its kernel on the CPU is disabled; RuntimeError where none may serve."""
    refusal = guard.cpu_refusal(chosen.backend)
    if refusal is None:
        return chosen, None
    if plan is None and backend == "auto" and family == "least":
        for other in cost.CPU_BACKENDS:
            if other != chosen.backend and guard.cpu_refusal(other) is None:
                return choose_plan(k, single, scheme, other, bits, family, None), refusal
    raise RuntimeError(refusal)


# ---- For tensors on a GPU -------------------------------------------------------------------------------------------


def check_device_operands(a: Any, b: Any) -> None:
    """TypeError or RuntimeError unless matmul takes the two tensors, one of which at least is not on the CPU."""
    check_tensor("a", a)
    check_tensor("b", b)
    launch.check_devices(a, b)
    torch = torch_module()
    assert torch is not None
    for name, x in (("a", a), ("b", b)):
        if x.dtype not in (torch.float64, torch.float32):
            raise TypeError(
                f"{name}: dtype {x.dtype} is not supported; allowed is torch.float64 or torch.float32"
            )


def device_decision(
    a: Any, b: Any, scheme: str, backend: str, bits: int | None, family: str, plan: Plan | None
) -> tuple[MatmulShape, Any, Plan, cost.Choice | None, str | None]:
    """Extents, result dtype and plan of a product of tensors on a GPU, what "auto" compared, and why it is not the very first."""
    if bits is not None:
        bits = check_bits(bits)  # an int: True would find what was made for 1
    choice, fallback = None, None
    if plan is None and backend == "auto":
        torch = torch_module()
        assert torch is not None
        single = a.dtype == b.dtype == torch.float32
        k = max(a.shape[-1], 1) if a.dim() > 0 else 1
        choice = cost.gpu_choice(scheme, family, capacity(bits, single), k, a.device.index)
        backend, fallback = launch.serving_backend(choice, scheme, a.device.index)
    shape, dtype, chosen = _device_request(
        a.shape, b.shape, a.dtype, b.dtype, scheme, backend, bits, family, plan
    )
    _check_gpu_backend(chosen.backend, a.device)
    return shape, dtype, chosen, choice, fallback


@lru_cache(maxsize=256)
def _device_request(
    a: tuple[int, ...],
    b: tuple[int, ...],
    dtype_a: Any,
    dtype_b: Any,
    scheme: str,
    backend: str,
    bits: int | None,
    family: str,
    plan: Plan | None,
) -> tuple[MatmulShape, Any, Plan]:
    """Extents, result dtype and plan of a product, from the operands' shapes and dtypes and the arguments of matmul."""
    torch = torch_module()
    assert torch is not None
    shape = matmul_shape(tuple(a), tuple(b))
    dtype = torch.promote_types(dtype_a, dtype_b)
    return shape, dtype, choose_plan(shape.k, dtype == torch.float32, scheme, backend, bits, family, plan)
