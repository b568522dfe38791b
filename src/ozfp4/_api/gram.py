"""``ozfp4.gram``: the product of a matrix with its own transpose, of which about half is multiplied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .. import _core
from .._dispatch import on_cuda
from .._dispatch.plain import products
from .._dispatch.product import empty_result, multiply_gram, multiply_integer_gram, results, to_caller
from .._options import AllOptions, Options, TypedOptions, check_taken, check_unasked, plan_options, takes
from .._report import Report, merged_report
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import entry_bits, result_dtype, unify_to
from .._request.library import is_complex, is_watched, mark_written
from .._request.operands import MatmulRequest, check_counted, check_matrices, matmul_request
from .._request.prepared import Prepared
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T
from .integers import integer_request
from .matmul import product
from .prepare import _prepare

if TYPE_CHECKING:
    from typing_extensions import Unpack


Made = TypeVar("Made")


# fmt: off
@overload
def gram(a: T, *, left: bool = ..., out: T | None = ..., report: No = ..., **options: Unpack[TypedOptions]) -> T: ...
@overload
def gram(a: T, *, left: bool = ..., out: T | None = ..., report: Yes, **options: Unpack[TypedOptions]) -> tuple[T, Report]: ...
@overload
def gram(
    a: Arrays, *, left: bool = ..., out: Array | None = ..., report: No = ..., **options: Unpack[TypedOptions]
) -> Array: ...
@overload
def gram(
    a: Arrays, *, left: bool = ..., out: Array | None = ..., report: Yes, **options: Unpack[TypedOptions]
) -> tuple[Array, Report]: ...
@overload
def gram(a: Any, *, left: bool = ..., out: Any = ..., **options: Unpack[AllOptions]) -> Any: ...
# fmt: on
@takes(AllOptions)
def gram(a: Any, *, left: bool = False, out: Any = None, **options: Any) -> Any:
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
    out
        As in :func:`ozfp4.matmul`.
    **options
        As in :func:`ozfp4.matmul`, without `device`. The workspace limit is that of a block's product; without
        one a GPU keeps the planes of all of `a`, which it then encodes once, where its memory has room for them.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
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
    check_taken(gram, options)
    if is_watched(a, out):
        from .._torch_ops import calls  # imports torch

        return calls.gram(a, left, out, options)
    return _gram(a, left, out, options)


@any_library
def _gram(a: Any, left: bool, out: Any, options: dict[str, Any]) -> Any:
    """The product itself, of what nobody watches."""
    asked = Options.of(options)
    operands = library.take_operands(a, a, out, library.TAKEN)
    array = operands.a
    check_matrices(tuple(array.shape))
    if is_complex(array.dtype) and asked.rounding in ("down", "up"):
        raise ValueError(
            f"rounding: {asked.rounding!r} gives no Hermitian result, as conjugation turns it round for imaginary parts; "
            "allowed for complex a are 'nearest', 'zero'"
        )
    if not operands.on_device:
        c, bound, about = _on_cpu(operands, left, asked, options)
        mark_written(out)
        return results(asked, c if out is None else out, bound, about)
    # Before a conjugate is copied.
    check_counted(asked, array.shape[-1 if left else -2], is_complex(array.dtype))
    x, y = (array, _adjoint(array)) if left else (_adjoint(array), array)
    dtype = None if asked.dtype is None else result_dtype(asked.dtype, array.dtype)
    request = matmul_request(operands._replace(a=x, b=y), asked, dtype)
    is_apart = out is None or asked.raises  # an overflow leaves `out` as it was
    c = empty_result(request, request.shape.result, request.dtype) if is_apart else request.out
    bounds = _empty_bounds(request) if asked.return_bound else None
    blocks = _blocks(request.shape.m)
    kept = None
    if len(blocks) > 1 and _is_kept(request):
        kept = _if_there_is_room(partial(_prepared, x, y, options))
    reports = []
    # The largest product first: where it is refused, nothing has been written.
    for first, last in reversed(blocks):
        place = c[..., :last, first:last]
        made = None
        if kept is not None:
            made = _if_there_is_room(partial(_of_planes, *kept, first, last, place, options))
        if made is None:
            kept = None  # before the product, which may need this memory
            made = product(x[..., :last, :], y[..., first:last], place, options)
        if asked.report:
            reports.append(made[-1])
        _mirror(c[..., :first, first:last], c[..., first:last, :first])
        if is_complex(c.dtype) and asked.accuracy == "standard":
            _settle(c[..., first:last, first:last])
        if bounds is not None:
            bounds[..., :last, first:last] = made[1]
            bounds[..., first:last, :first] = _transposed(bounds[..., :first, first:last])
            block = bounds[..., first:last, first:last]
            block[...] = _choose(_below(block), _transposed(block), block)
    if out is None:
        c = to_caller(request, c)
    else:
        if is_apart:
            request.out[...] = c
        mark_written(out)
        c = out
    about = _combined(reports) if asked.report else None
    return results(asked, c, None if bounds is None else to_caller(request, bounds), about)


def _on_cpu(
    operands: library.Operands, left: bool, asked: Options, options: dict[str, Any]
) -> tuple[Any, Any, Report | None]:
    """The result of an array in both places, its bounds and the report; None for what was not asked for."""
    operands, integer, dtype = unify_to(operands, asked.dtype)
    x, y = operands.a, operands.b.swapaxes(-1, -2)  # as it lies, whatever is conjugated
    operands = operands._replace(a=x, b=y) if left else operands._replace(a=y, b=x)
    if integer is not None:
        check_unasked(options)
        bits = entry_bits(x.dtype)
        c, about = multiply_integer_gram(integer_request(operands, asked, integer, bits), bits)
        return c, None, about
    if asked.raises:
        raise ValueError(f"overflow: 'raise' is for products of integers, and a is of {x.dtype}")
    return multiply_gram(matmul_request(operands, asked, dtype), left)


def _of_operator(a: Any, left: bool = False, out: Any = None, **options: Any) -> Any:
    return _gram(a, left, out, options)


products["gram"] = _of_operator


def _empty_bounds(request: MatmulRequest) -> Any:
    """Room for the bounds of all entries."""
    name = "complex128" if request.is_complex else "float64"
    return empty_result(request, request.shape.result, getattr(request.torch, name))


def _transposed(x: Any) -> Any:
    return x.mT


def _adjoint(x: Any) -> Any:
    """The transpose, conjugated where it is complex: a view."""
    return _transposed(x.conj() if is_complex(x.dtype) else x)


def _mirror(above: Any, below: Any) -> None:
    """Fill the block below the diagonal with the adjoint of the one above. An imaginary part of +0 stays one, as in a product."""
    if not is_complex(above.dtype):
        below[...] = _transposed(above)
        return
    below.real[...] = _transposed(above.real)
    below.imag[...] = 0.0 - _transposed(above.imag)


def _settle(block: Any) -> None:
    """Fill what is below the diagonal of a block on it with the adjoint of what is above, and the diagonal's imaginary part with
    +0: chains of fused multiply-adds leave other roundings there, and infinity where they overflow. Where a line holds NaN or
    infinity, and only there, it is NaN, and stays."""
    real, imag = block.real, block.imag
    below, is_nan = _below(block), library.require_torch().isnan
    diagonal = imag.diagonal(dim1=-2, dim2=-1)
    real[...] = _choose(below, _transposed(real), real)
    imag[...] = _choose(below, 0.0 - _transposed(imag), imag)
    diagonal[...] = _choose(is_nan(diagonal), diagonal, 0.0)


def _below(block: Any) -> Any:
    """Which entries of a square block are below its diagonal."""
    torch = library.require_torch()
    return torch.ones(block.shape[-2:], dtype=torch.bool, device=block.device).tril(-1)


def _choose(where: Any, x: Any, y: Any) -> Any:
    return library.require_torch().where(where, x, y)


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


def _prepared(x: Any, y: Any, options: dict[str, Any]) -> tuple[Prepared, Prepared]:
    """Both operands from one: rows of x are columns of y, and lines of either side are encoded alike."""
    left = _prepare(x, "left", None, "complex", Options.of(plan_options(options)))
    return left, replace(left, side="right", shape=tuple(y.shape), _entries=y)


def _of_planes(
    left: Prepared, right: Prepared, first: int, last: int, place: Any, options: dict[str, Any]
) -> Any:
    """A block from the planes of all lines."""
    return product(left._lines(0, last), right._lines(first, last), place, options)


def _if_there_is_room(make: Callable[[], Made]) -> Made | None:
    """The result of `make`; None where the device has no memory for it, and then nothing holds what it had taken."""
    try:
        return make()
    except library.require_torch().cuda.OutOfMemoryError:
        return None


# Columns of a block at least: narrower products take longer than their share.
_LEAST_COLUMNS = 1024
# Blocks from here on: of smaller results the launches of a block take longer than what it saves.
_LEAST_EXTENT = 6144


def _blocks(extent: int) -> list[tuple[int, int]]:
    """First and last column of each block, whose rows are all down to its diagonal.

    >>> _blocks(600), _blocks(0)
    ([(0, 600)], [(0, 0)])
    """
    return _core.gram_blocks(extent, max(extent, 1) if extent < _LEAST_EXTENT else _LEAST_COLUMNS)


def _combined(reports: Sequence[Report]) -> Report:
    """What was done for all blocks; the first of them has all rows, and so every line of the operand."""
    first, overflows = reports[0], sum(about.overflows or 0 for about in reports)
    return replace(
        merged_report(reports, first.kind),
        special_rows=first.special_rows,
        special_columns=first.special_rows,
        overflows=None if first.overflows is None else overflows,
    )
