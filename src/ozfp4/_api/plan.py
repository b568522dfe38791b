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
    scheme, backend
        As in :func:`ozfp4.matmul`. A GPU has no "fp64".
    bits : int, optional
        For ``accuracy="scaled"``: capacity of the scaled integers, 2..200, by default 53; float32 operands need 24
        (:func:`ozfp4.plan_for` knows them).
    family : {"least", "paper", "paper-karatsuba"}
        Fewest products, or of ``accuracy="scaled"`` the paper's 19 moduli with 75 or 68 products (fp4, scheme II).
    device : str or torch.device, optional
        "cpu" (the default), "cuda" (the current GPU), "cuda:1"; a GPU needs torch imported.
    accuracy : {"standard", "correct", "scaled"}
        The promise for a float64 result, by default "standard": the plan has 57 bits, the most that a row or a column takes, and
        76 for "correct".

    Examples
    --------
    >>> plan(1000, 1000, 1000, backend="fp4").bits, plan(1000, 1000, 1000, backend="fp4").products
    (57, 62)
    >>> plan(1000, 1000, 1000, backend="fp4", family="paper", accuracy="scaled").moduli[:4]
    (169, 115, 113, 112)

    Raises
    ------
    TypeError, ValueError, RuntimeError
        For extents, bits and devices of other types; for unknown names, bits out of range, negative extents, or a `k` that no
        such plan serves exactly (the message names the bound and the limit); for a GPU that is not there or that this build has
        no kernels for, and for a backend that a GPU does not have.
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
    """The plan that :func:`ozfp4.matmul` would take for `a` and `b`, by their shapes, dtypes and device; nothing is multiplied,
    and no entry looked at.

    Like a product it runs the self-test of a kernel on its first use, and takes the next backend where one failed. For integers
    on a CPU it is the plan for those that machine words do not serve. Operands and errors are as in :func:`ozfp4.matmul`, but
    that a tensor requires grad changes nothing; `scheme`, `backend`, `bits`, `family` and `accuracy` as in :func:`ozfp4.plan`.

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
