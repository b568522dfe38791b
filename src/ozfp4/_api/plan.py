"""``ozfp4.plan`` and ``ozfp4.plan_for``: the plan that answers a request, without a product."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _core
from .._backends.cuda import extension
from .._dispatch import on_cuda
from .._dispatch.decision import capacity, decide_on_cpu
from .._options import Options, RequestOptions, check_integer, check_taken, check_unasked, takes
from .._plans.plan import Plan, make_plan
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import unify_to
from .._request.operands import matmul_request
from .integers import bits_of, integer_request

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(RequestOptions)
def plan(m: int, n: int, k: int, *, device: Any = None, **options: Unpack[RequestOptions]) -> Plan:
    """The plan for an m × k by k × n product on a device.

    Parameters
    ----------
    m, n, k : int
        Extents of the product. Exactness depends on `k` alone.
    accuracy : {"standard", "correct", "scaled"}
        The promise for a float64 result, by default "standard". The plan has 57 bits, the most
        that a row or a column takes, and 76 for "correct".
    scheme, backend
        As in :func:`ozfp4.matmul`. A GPU has no "fp64".
    bits : int, optional
        For ``accuracy="scaled"``: capacity of the scaled integers, 2..200, by default 53. For
        float32 operands pass 24, or use :func:`ozfp4.plan_for`.
    family : {"least", "paper", "paper-karatsuba"}
        Fewest products; or with ``accuracy="scaled"`` the paper's 19 moduli with 75 or 68
        products (fp4, scheme II).
    device : str or torch.device, optional
        "cpu" (the default), "cuda" (the current GPU), "cuda:1"; a GPU needs torch imported.

    Returns
    -------
    Plan

    Raises
    ------
    TypeError
        Extents, bits and devices of other types.
    ValueError
        Unknown names, bits out of range, negative extents, or a `k` for which no such plan is
        exact; the message has the bound and the limit.
    RuntimeError
        A GPU that does not exist or has no kernels in this build, or a backend that it lacks.

    Examples
    --------
    >>> plan(1000, 1000, 1000, backend="fp4").bits, plan(1000, 1000, 1000, backend="fp4").products
    (57, 62)
    >>> plan(1000, 1000, 1000, backend="fp4", family="paper", accuracy="scaled").moduli[:4]
    (169, 115, 113, 112)
    """
    check_taken(plan, options)
    asked = Options.of(options)
    scheme, backend, family, bits = asked.scheme, asked.backend, asked.family, capacity(asked, single=False)
    *_, inner = (
        check_integer(name, x, 0, 2**63 - 1, "0..2**63 - 1") for name, x in (("m", m), ("n", n), ("k", k))
    )
    inner = max(inner, 1)
    index = on_cuda.index_of("cpu" if device is None else device)
    if backend == "auto":
        backend, _ = cheapest(asked, inner, index)
    if index is not None:
        on_cuda.check_backend(asked, f"cuda:{index}")
    return make_plan(scheme, backend, family, bits, inner)


@takes(RequestOptions)
@any_library
def plan_for(a: Any, b: Any, **options: Unpack[RequestOptions]) -> Plan:
    """The plan that :func:`ozfp4.matmul` has for `a` and `b`.

    It depends on shapes, dtypes and device; nothing is multiplied and no entry is read. A small or
    thin product may run without planes: a report shows what ran.

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        As in :func:`ozfp4.matmul`; gradients change nothing.
    scheme, backend, bits, family, accuracy
        As in :func:`ozfp4.plan`.

    Returns
    -------
    Plan
        For integers on a CPU the plan for products that machine words cannot compute.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As :func:`ozfp4.matmul`.

    Notes
    -----
    Like a product it runs the self-test of a kernel at its first use, and takes the next backend
    if the kernel failed.

    Examples
    --------
    >>> import numpy as np
    >>> plan_for(np.ones((2, 3), np.float32), np.ones((3, 4), np.float32), backend="int8").bits
    28
    """
    a, b = (x.detach() if library.is_tensor(x) else x for x in (a, b))
    check_taken(plan_for, options)
    asked = Options.of(options)
    operands, integer, _ = unify_to(library.take_operands(a, b, None, library.TAKEN), None)
    if integer is None:
        request = matmul_request(operands, asked)
    else:
        check_unasked(options)
        request = integer_request(operands, asked, integer, bits_of(operands))
    return on_cuda.decide(request).plan if operands.on_device else decide_on_cpu(request)


def cheapest(asked: Options, k: int, index: int | None) -> tuple[str, str]:
    """The choice of "auto" for real operands on a CUDA device, or on the CPU (None), and why; no kernel is tested."""
    if index is None:
        return _core.cheapest(asked, 53, k)
    found: tuple[str, str] = extension.require_cuda().cheapest(asked, 53, k, index)
    return found
