"""``ozfp4.int8_matmul``: the integer GEMM of INT8 matrix units, bit for bit, from FP4 products."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

from ..backends import cpu
from ..backends.cuda import launch
from ..backends.cuda.variant import Variant
from ..dispatch import on_cpu, on_cuda
from ..plans.plan import Plan, make_int8_plan
from ..request import library
from ..request.arguments import Arguments, check_workspace
from ..request.operands import MatmulRequest, matmul_request
from ..request.types import TensorT


@overload
def int8_matmul(
    a: TensorT, b: TensorT, *, products: int = ..., workspace_limit: int | None = ...
) -> TensorT: ...
@overload
def int8_matmul(
    a: npt.ArrayLike, b: npt.ArrayLike, *, products: int = ..., workspace_limit: int | None = ...
) -> npt.NDArray[np.int32]: ...
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

    Examples
    --------
    >>> import numpy as np
    >>> int8_matmul(np.full((1, 3), -128, np.int8), np.full((3, 1), 127, np.int8))
    array([[-48768]], dtype=int32)

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
    limit = None if workspace_limit is None else check_workspace(workspace_limit)
    operands = library.take_operands(a, b, None, library.INT8)
    request = matmul_request(operands, Arguments(workspace_limit=limit), np.int32)
    plan = make_int8_plan(int(products))
    if request.shape.k > plan.k_max:
        raise ValueError(
            f"inner dimension {request.shape.k} exceeds {plan.k_max}: 128 * 128 * K must stay below 2**31"
        )
    if not operands.on_device:
        on_cpu.check_trusted(plan)
        return cpu.int8_matmul(request, plan)
    on_cuda.check_device(request.a.device)
    return launch.int8_matmul(request, plan, _variant(request, plan))


def _variant(request: MatmulRequest, plan: Plan) -> Variant | None:
    """What multiplies; None where there is nothing to multiply."""
    shape = request.shape
    if 0 in (shape.m, shape.n, shape.k, *shape.stack):
        return None
    return on_cuda.serving_variant(plan, request.a.device.index)
