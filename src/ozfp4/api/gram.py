"""``ozfp4.gram``: the product of a matrix with its own transpose, of which about half is multiplied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from ..plans.plan import Plan
from ..report import Certified, Report
from ..request import library
from ..request.arguments import check_arguments
from ..request.operands import MatmulRequest, matmul_request
from ..request.types import TensorT
from .matmul import matmul


@overload
def gram(
    a: TensorT,
    *,
    left: bool = ...,
    scheme: str = ...,
    backend: str = ...,
    bits: int | None = ...,
    family: str = ...,
    plan: Plan | None = ...,
    out: TensorT | None = ...,
    report: Literal[False] = ...,
    workspace_limit: int | None = ...,
    accuracy: str | None = ...,
    rounding: str = ...,
) -> TensorT: ...
@overload
def gram(
    a: TensorT,
    *,
    left: bool = ...,
    scheme: str = ...,
    backend: str = ...,
    bits: int | None = ...,
    family: str = ...,
    plan: Plan | None = ...,
    out: TensorT | None = ...,
    report: Literal[True],
    workspace_limit: int | None = ...,
    accuracy: str | None = ...,
    rounding: str = ...,
) -> tuple[TensorT, Report]: ...
@overload
def gram(
    a: npt.ArrayLike,
    *,
    left: bool = ...,
    scheme: str = ...,
    backend: str = ...,
    bits: int | None = ...,
    family: str = ...,
    plan: Plan | None = ...,
    out: npt.NDArray[Any] | None = ...,
    report: Literal[False] = ...,
    workspace_limit: int | None = ...,
    accuracy: str | None = ...,
    rounding: str = ...,
) -> npt.NDArray[Any]: ...
@overload
def gram(
    a: npt.ArrayLike,
    *,
    left: bool = ...,
    scheme: str = ...,
    backend: str = ...,
    bits: int | None = ...,
    family: str = ...,
    plan: Plan | None = ...,
    out: npt.NDArray[Any] | None = ...,
    report: Literal[True],
    workspace_limit: int | None = ...,
    accuracy: str | None = ...,
    rounding: str = ...,
) -> tuple[npt.NDArray[Any], Report]: ...
def gram(
    a: Any,
    *,
    left: bool = False,
    scheme: str = "II",
    backend: str = "auto",
    bits: int | None = None,
    family: str = "least",
    plan: Plan | None = None,
    out: Any = None,
    report: bool = False,
    workspace_limit: int | None = None,
    accuracy: str | None = None,
    rounding: str = "nearest",
) -> Any:
    """``a.T @ a`` (`left`: ``a @ a.T``), the bits of :func:`ozfp4.matmul`, exactly symmetric, at about half the products' time.

    Blocks on and above the diagonal are multiplied; those below it are copied.

    Parameters
    ----------
    a : array_like or torch.Tensor
        float64 or float32, 2-D or a stack of matrices, any strides.
    left : bool
        The transpose on the right: sums over the columns of `a` instead of its rows.
    scheme, backend, bits, family, plan, out, report, workspace_limit, accuracy, rounding
        As in :func:`ozfp4.matmul`. The limit is that of a block's product.

    Returns
    -------
    c or (c, Report)
        The report adds up what was done for the blocks that were multiplied.

    Examples
    --------
    >>> import numpy as np
    >>> gram(np.array([[3.0, 1.0], [4.0, 2.0]]))
    array([[25., 11.],
           [11.,  5.]])

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for `a` of fewer than two dimensions.
    """
    asked: dict[str, Any] = {
        "scheme": scheme, "backend": backend, "bits": bits, "family": family, "plan": plan,
        "workspace_limit": workspace_limit, "accuracy": accuracy, "rounding": rounding,
    }  # fmt: skip
    arguments = check_arguments(**asked)
    asked["report"] = report
    operands = library.take_operands(a, a, out, library.FLOATS)
    array = operands.a
    if array.ndim < 2:
        raise ValueError(
            f"a: a matrix or a stack of matrices is needed, its shape is {tuple(array.shape)}; "
            "ozfp4.matmul multiplies vectors"
        )
    x, y = (array, _transposed(array)) if left else (_transposed(array), array)
    c = _result(matmul_request(operands._replace(a=x, b=y), arguments), operands)
    reports = []
    # The largest product first: where it is refused, nothing has been written.
    for first, last in reversed(_blocks(c.shape[-1], operands.on_device)):
        made = matmul(x[..., :last, :], y[..., first:last], out=c[..., :last, first:last], **asked)
        if report:
            reports.append(made[1])
        c[..., first:last, :first] = _transposed(c[..., :first, first:last])
    result = c if out is None else out
    if out is None and operands.torch is not None and not operands.on_device:
        result = operands.torch.from_numpy(c)
    return (result, _combined(reports)) if report else result


def _transposed(x: Any) -> Any:
    return x.mT if library.is_tensor(x) else x.swapaxes(-1, -2)


def _result(request: MatmulRequest, operands: library.Operands) -> Any:
    """Where the result goes: an array, or a tensor on a device."""
    if request.out is not None:
        return request.out
    if operands.on_device:
        return operands.torch.empty(request.shape.result, dtype=request.dtype, device=request.a.device)
    return np.empty(request.shape.result, request.dtype)


# Columns of a block at least: narrower products take a GPU, or a BLAS, longer than their share.
_LEAST_COLUMNS = {True: 1024, False: 256}
_MOST_BLOCKS = 16  # 17/32 of all entries are multiplied; with twice as many it would be 33/64
_MULTIPLE = 64  # whole tiles, and lines that begin where planes are aligned


def _blocks(extent: int, on_device: bool) -> list[tuple[int, int]]:
    """First and last column of each block, whose rows are all down to its diagonal.

    >>> _blocks(600, False), _blocks(600, True), _blocks(0, True)
    ([(0, 320), (320, 600)], [(0, 600)], [(0, 0)])
    """
    count = min(max(extent // _LEAST_COLUMNS[on_device], 1), _MOST_BLOCKS)
    width = max(-(-extent // (count * _MULTIPLE)), 1) * _MULTIPLE
    return [(first, min(first + width, extent)) for first in range(0, max(extent, 1), width)]


def _combined(reports: Sequence[Report]) -> Report:
    """What was done for all blocks; the first of them has all rows, and so every line of the operand."""
    first = reports[0]
    certified = [report.certified for report in reports if report.certified is not None]
    return replace(
        first,
        moduli_used=max(report.moduli_used for report in reports),
        products=max(report.products for report in reports),
        special_columns=first.special_rows,
        workspace=max(report.workspace for report in reports),
        seconds={stage: sum(report.seconds[stage] for report in reports) for stage in first.seconds},
        certified=_sum(certified) if certified else None,
    )


def _sum(parts: Sequence[Certified]) -> Certified:
    def total(counts: Sequence[int | None]) -> int | None:
        return None if None in counts else sum(count or 0 for count in counts)

    return Certified(
        total([part.exact for part in parts]),
        total([part.depth for part in parts]),
        total([part.result for part in parts]),
        sum(part.repaired for part in parts),
        sum(part.repaired_exactly for part in parts),
        sum(part.total for part in parts),
    )
