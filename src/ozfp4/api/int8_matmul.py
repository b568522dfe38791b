"""``ozfp4.int8_matmul``: the integer GEMM of INT8 matrix units, bit for bit, from FP4 products."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..backends import cpu
from ..backends.cuda import launch
from ..plans.plan import Plan, make_int8_plan
from ..request.library import (
    as_array,
    check_dtype,
    check_same_library,
    check_tensor,
    like_input,
    pair,
    torch_module,
)
from ..request.operands import matmul_shape
from ..trust import guard
from .matmul import check_workspace, workspace_errors


def int8_matmul(a: Any, b: Any, *, products: int = 6, workspace_limit: int | None = None) -> Any:
    """int8 × int8 → int32 matrix product, exact, over FP4 limbs.

    Parameters
    ----------
    a, b : array_like or torch.Tensor of int8
        Shapes as for ``numpy.matmul``.
    products : {6, 9}
        6: limbs with the weights 1, 29, 37 whose pairwise sums are limbs as well (Karatsuba); 9: three
        base-13 limbs (paper, section III).
    workspace_limit : int, optional
        Bytes that may be used beside inputs and output, 2**30 by default; see :func:`ozfp4.matmul`.

    Raises
    ------
    TypeError
        For dtypes other than int8.
    ValueError
        For shapes that do not fit, `products` other than 6 and 9, and an inner dimension above 131,071, from
        which on 128 · 128 · K could exceed INT32.
    RuntimeError
        If the kernels that could serve failed their self-test (:func:`ozfp4.selftest`).
    """
    if not isinstance(products, (int, np.integer)) or products not in (6, 9):
        raise ValueError(f"products: {products!r} is unknown; allowed are 6 and 9")
    from_torch = check_same_library(a=a, b=b)
    if from_torch and (a.device.type != "cpu" or b.device.type != "cpu"):
        return _device_int8_matmul(a, b, int(products), workspace_limit)
    product = pair(
        check_dtype("a", as_array("a", a), (np.int8,)), check_dtype("b", as_array("b", b), (np.int8,))
    )
    plan = _plan_for(int(products), product.shape.k)
    limit = check_workspace(workspace_limit)
    result = np.empty(product.shape.result, np.int32)
    cpu.ensure_blas()
    if (refusal := guard.cpu_refusal(plan.alphabet)) is not None:
        raise RuntimeError(refusal)
    with workspace_errors():
        _core.int8_matmul(plan._core, product.a, product.b, product.matrix_view(result), limit)
    return like_input(result, from_torch)


def _plan_for(products: int, k: int) -> Plan:
    plan = make_int8_plan(products)
    if k > plan.k_max:
        raise ValueError(f"inner dimension {k} exceeds {plan.k_max}: 128 * 128 * K must stay below 2**31")
    return plan


def _device_int8_matmul(a: Any, b: Any, products: int, workspace_limit: int | None) -> Any:
    """int8_matmul for tensors on a GPU."""
    check_tensor("a", a)
    check_tensor("b", b)
    launch.check_devices(a, b)
    torch = torch_module()
    assert torch is not None
    for name, x in (("a", a), ("b", b)):
        if x.dtype != torch.int8:
            raise TypeError(f"{name}: dtype {x.dtype} is not supported; allowed is torch.int8")
    shape = matmul_shape(tuple(a.shape), tuple(b.shape))
    plan = _plan_for(products, shape.k)
    limit = None if workspace_limit is None else check_workspace(workspace_limit)
    # The kernel stores pairs of entries, and a matrix of a stack begins where 16 bytes do: what is more is cut off at the end.
    multiple = 4 if shape.stack else 2
    c = torch.empty(
        (*shape.stack, shape.m, shape.n + -shape.n % multiple), dtype=torch.int32, device=a.device
    )
    with workspace_errors():
        launch.fill(plan, a, b, c, shape, limit)
    return c[..., : shape.n].contiguous().reshape(shape.result)
