"""``ozfp4.matmul_mod``: exact products of integers modulo a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from ..plans.plan import Plan
from ..report import Report
from ..request import library
from ..request.arguments import check_arguments
from ..request.dlpack import any_library
from ..request.integers import check_modulus
from ..request.reduced import reduce_operands
from ..request.types import TensorT
from ..request.written import mark_written
from .integers import integer_product


@overload
def matmul_mod(
    a: TensorT,
    b: TensorT,
    m: int,
    *,
    scheme: str = ...,
    backend: str = ...,
    plan: Plan | None = ...,
    out: TensorT | None = ...,
    report: Literal[False] = ...,
    workspace_limit: int | None = ...,
    progress: Callable[[float], object] | None = ...,
) -> TensorT: ...
@overload
def matmul_mod(
    a: TensorT,
    b: TensorT,
    m: int,
    *,
    scheme: str = ...,
    backend: str = ...,
    plan: Plan | None = ...,
    out: TensorT | None = ...,
    report: Literal[True],
    workspace_limit: int | None = ...,
    progress: Callable[[float], object] | None = ...,
) -> tuple[TensorT, Report]: ...
@overload
def matmul_mod(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    m: int,
    *,
    scheme: str = ...,
    backend: str = ...,
    plan: Plan | None = ...,
    out: npt.NDArray[Any] | None = ...,
    report: Literal[False] = ...,
    workspace_limit: int | None = ...,
    progress: Callable[[float], object] | None = ...,
) -> npt.NDArray[np.int64]: ...
@overload
def matmul_mod(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    m: int,
    *,
    scheme: str = ...,
    backend: str = ...,
    plan: Plan | None = ...,
    out: npt.NDArray[Any] | None = ...,
    report: Literal[True],
    workspace_limit: int | None = ...,
    progress: Callable[[float], object] | None = ...,
) -> tuple[npt.NDArray[np.int64], Report]: ...
@any_library
def matmul_mod(
    a: Any,
    b: Any,
    m: int,
    *,
    scheme: str = "II",
    backend: str = "auto",
    plan: Plan | None = None,
    out: Any = None,
    report: bool = False,
    workspace_limit: int | None = None,
    progress: Callable[[float], object] | None = None,
) -> Any:
    """Matrix product of integers modulo `m`, exact: every entry is that of the integers' real product, in [0, m).

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        Integers or bool, of any size and sign, not necessarily of one dtype; shapes as in :func:`ozfp4.matmul`.
    m : int
        1 <= m < 2**63; it need not be prime.
    scheme, backend, report, workspace_limit, progress
        As in :func:`ozfp4.matmul`.
    plan : Plan, optional
        As there; its bits are at least two more than those of m // 2, or one more than those of the entries' dtypes.
    out : array or tensor, optional
        As there, of dtype int64.

    Returns
    -------
    c, or (c, Report)
        int64. NumPy in, NumPy out; torch in, torch out.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[2**62, -1], [3, 2**63 - 1]])
    >>> matmul_mod(a, a, 10**9 + 7)
    array([[829977020, 563242002],
           [310274008, 737564068]])

    Raises
    ------
    TypeError
        Floating-point operands, `m` that is no integer; else as :func:`ozfp4.matmul`.
    ValueError
        `m` outside 1..2**63 - 1; else as :func:`ozfp4.matmul`.
    RuntimeError, MemoryError
        As :func:`ozfp4.matmul`.
    """
    m = check_modulus(m)
    asked = check_arguments(scheme, backend, None, "least", plan, workspace_limit, progress)
    operands = library.take_operands(a, b, out, library.INTEGERS)
    operands, bits = reduce_operands(operands, m)
    c, about, _ = integer_product(
        operands, asked, np.dtype(np.int64), bits, raises=False, report=report, modulus=m
    )
    mark_written(out)
    c = c if out is None else out
    return (c, about) if report else c
