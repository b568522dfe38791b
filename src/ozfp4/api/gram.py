"""``ozfp4.gram``: the product of a matrix with its own transpose, of which about half is multiplied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar, overload

import numpy as np
import numpy.typing as npt

from .. import _core
from ..dispatch import on_cuda
from ..dispatch.complex_product import empty_result, to_caller
from ..dispatch.plain import products
from ..plans.plan import Plan
from ..report import Report, merged_report
from ..request import library
from ..request.arguments import check_arguments
from ..request.complex import is_complex
from ..request.dlpack import any_library
from ..request.operands import MatmulRequest, check_counted, check_matrices, matmul_request
from ..request.prepared import Prepared
from ..request.types import TensorT
from ..request.written import mark_written
from .matmul import _matmul, is_watched
from .prepare import prepare

T = TypeVar("T")


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
    """``a.T @ a`` (`left`: ``a @ a.T``), the bits of :func:`ozfp4.matmul`, exactly symmetric.

    Blocks on and above the diagonal are multiplied; those below it are copied. So large ones take less than a product's time.
    For a complex `a` it is ``a.conj().T @ a`` (``a @ a.conj().T``), exactly Hermitian; the sign of a zero imaginary part may be
    another than the product's.

    Parameters
    ----------
    a : array_like or torch.Tensor
        float64, float32, complex128, complex64, integers or bool, 2-D or a stack of matrices, any strides.
    left : bool
        The transpose (adjoint) on the right: sums over the columns of `a` instead of its rows.
    scheme, backend, bits, family, plan, out, report, workspace_limit, accuracy, rounding
        As in :func:`ozfp4.matmul`. The limit is that of a block's product; without one a GPU keeps the planes of all of `a`,
        which it then encodes once, where its memory has room for them.

    Returns
    -------
    c or (c, Report)
        The report adds up what was done for the blocks that were multiplied, entries of integers that wrapped among it.

    Examples
    --------
    >>> import numpy as np
    >>> gram(np.array([[3.0, 1.0], [4.0, 2.0]]))
    array([[25., 11.],
           [11.,  5.]])

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for `a` of fewer than two dimensions, and for a complex one that would be rounded
        up or down.
    """
    if is_watched(a, out):
        from ..torch_ops import calls  # imports torch

        return calls.gram(
            a, out, plan, report, left=left, scheme=scheme, backend=backend, bits=bits, family=family,
            workspace_limit=workspace_limit, accuracy=accuracy, rounding=rounding,
        )  # fmt: skip
    return _gram(
        a, left, scheme, backend, bits, family, plan, out, report, workspace_limit, accuracy, rounding
    )


@any_library
def _gram(
    a: Any,
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
    """The product itself, of what nobody watches."""
    asked: dict[str, Any] = {
        "scheme": scheme, "backend": backend, "bits": bits, "family": family, "plan": plan,
        "workspace_limit": workspace_limit, "accuracy": accuracy, "rounding": rounding,
    }  # fmt: skip
    arguments = check_arguments(**asked)
    asked["report"] = report
    operands = library.take_operands(a, a, out, library.TAKEN)
    array = operands.a
    check_matrices(tuple(array.shape))
    if is_complex(array) and rounding in ("down", "up"):
        raise ValueError(
            f"rounding: {rounding!r} gives no Hermitian result, as conjugation turns it round for imaginary parts; "
            "allowed for complex a are 'nearest', 'zero'"
        )
    check_counted(
        arguments, array.shape[-1 if left else -2], is_complex(array)
    )  # before a conjugate is copied
    x, y = (array, _adjoint(array)) if left else (_adjoint(array), array)
    request = matmul_request(operands._replace(a=x, b=y), arguments)
    c = empty_result(request, request.shape.result, request.dtype) if out is None else request.out
    blocks = _blocks(request.shape.m, operands.on_device)
    kept = None
    if len(blocks) > 1 and operands.on_device and _is_kept(request):
        kept = _if_there_is_room(partial(_prepared, x, y, asked))
    reports = []
    # The largest product first: where it is refused, nothing has been written.
    for first, last in reversed(blocks):
        places: dict[str, Any] = {"out": c[..., :last, first:last], **asked}
        made = None
        if kept is not None:
            made = _if_there_is_room(partial(_of_planes, *kept, first, last, places))
        if made is None:
            kept = None  # before the product, which may need this memory
            made = _matmul(x[..., :last, :], y[..., first:last], **places)
        if report:
            reports.append(made[1])
        _mirror(c[..., :first, first:last], c[..., first:last, :first])
        if is_complex(c) and arguments.accuracy == "standard":
            _settle(c[..., first:last, first:last])
    result = to_caller(request, c) if out is None else out
    mark_written(out)
    return (result, _combined(reports)) if report else result


products["gram"] = _gram


def _transposed(x: Any) -> Any:
    return x.mT if library.is_tensor(x) else x.swapaxes(-1, -2)


def _adjoint(x: Any) -> Any:
    """The transpose, conjugated where it is complex: a view, but for complex arrays of NumPy."""
    return _transposed(x.conj() if is_complex(x) else x)


def _mirror(above: Any, below: Any) -> None:
    """Fill the block below the diagonal with the adjoint of the one above. An imaginary part of +0 stays one, as in a product."""
    if not is_complex(above):
        below[...] = _transposed(above)
        return
    below.real[...] = _transposed(above.real)
    below.imag[...] = 0.0 - _transposed(above.imag)


def _settle(block: Any) -> None:
    """Fill what is below the diagonal of a block on it with the adjoint of what is above, and the diagonal's imaginary part with
    +0: chains of fused multiply-adds leave other roundings there, and infinity where they overflow. Where a line holds NaN or
    infinity, and only there, it is NaN, and stays."""
    real, imag = block.real, block.imag
    if library.is_tensor(block):
        torch = library.require_torch()
        below = torch.ones(real.shape[-2:], dtype=torch.bool, device=real.device).tril(-1)
        diagonal = imag.diagonal(dim1=-2, dim2=-1)
        choose, is_nan = torch.where, torch.isnan
    else:
        below = np.tri(real.shape[-1], k=-1, dtype=bool)
        diagonal = np.einsum("...ii->...i", imag)
        choose, is_nan = np.where, np.isnan
    real[...] = choose(below, _transposed(real), real)
    imag[...] = choose(below, 0.0 - _transposed(imag), imag)
    diagonal[...] = choose(is_nan(diagonal), diagonal, 0.0)


def _is_kept(request: MatmulRequest) -> bool:
    """Whether a GPU keeps the planes of all lines, for all blocks, within the limits of the workspace."""
    if (
        request.is_complex
        or library.is_integer(request.dtype)
        or request.asked.workspace_limit is not None
        or 0
        in (
            *request.shape.stack,
            request.shape.m,
            request.shape.k,
        )
    ):
        return False
    return int(request.a.numel()) * on_cuda.decide(request).plan.planes_a <= _MOST_KEPT_BYTES


_MOST_KEPT_BYTES = 2**35


def _prepared(x: Any, y: Any, asked: dict[str, Any]) -> tuple[Prepared, Prepared]:
    """Both operands from one: rows of x are columns of y, and lines of either side are encoded alike."""
    names = ("scheme", "backend", "bits", "family", "plan", "accuracy")
    left = prepare(x, "left", **{name: asked[name] for name in names})
    return left, replace(left, side="right", shape=tuple(y.shape), _entries=y)


def _of_planes(left: Prepared, right: Prepared, first: int, last: int, places: dict[str, Any]) -> Any:
    """A block from the planes of all lines."""
    return _matmul(left._lines(0, last), right._lines(first, last), **places)


def _if_there_is_room(make: Callable[[], T]) -> T | None:
    """The result of `make`; None where the device has no memory for it, and then nothing holds what it had taken."""
    try:
        return make()
    except library.require_torch().cuda.OutOfMemoryError:
        return None


# Columns of a block at least: narrower products take longer than their share.
_LEAST_COLUMNS = {True: 1024, False: _core.GRAM_COLUMNS}
# Blocks on a GPU from here on: of smaller results the launches of a block take longer than what it saves.
_LEAST_EXTENT = {True: 6144, False: 0}


def _blocks(extent: int, on_device: bool) -> list[tuple[int, int]]:
    """First and last column of each block, whose rows are all down to its diagonal.

    >>> _blocks(600, False), _blocks(600, True), _blocks(0, True)
    ([(0, 320), (320, 600)], [(0, 600)], [(0, 0)])
    """
    is_whole = extent < _LEAST_EXTENT[on_device]
    return _core.gram_blocks(extent, max(extent, 1) if is_whole else _LEAST_COLUMNS[on_device])


def _combined(reports: Sequence[Report]) -> Report:
    """What was done for all blocks; the first of them has all rows, and so every line of the operand."""
    first, overflows = reports[0], sum(about.overflows or 0 for about in reports)
    return replace(
        merged_report(reports, first.kind),
        special_rows=first.special_rows,
        special_columns=first.special_rows,
        overflows=None if first.overflows is None else overflows,
    )
