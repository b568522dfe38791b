"""``ozfp4.gram``: the product of a matrix with its own transpose; about half of it is multiplied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from .._dispatch.plain import products
from .._dispatch.product import multiply, multiply_integers, results
from .._options import AllOptions, Options, TypedOptions, check_taken, check_unasked, takes
from .._report import Report
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import unify_to
from .._request.library import is_complex, is_watched, mark_written
from .._request.operands import check_matrices, check_wraps, matmul_request
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T
from .integers import bits_of, integer_request
from .matmul import by_operator

if TYPE_CHECKING:
    from typing_extensions import Unpack


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
    """``a.T @ a`` (`left`: ``a @ a.T``), exactly symmetric.

    The entries have the bits of :func:`ozfp4.matmul`. Blocks on and above the diagonal are
    multiplied, and copied to those below. Large products take less time than by matmul.

    Parameters
    ----------
    a : array_like or torch.Tensor
        As in :func:`ozfp4.matmul`, 2-D or a stack of matrices.
    left : bool
        Put the transpose (adjoint) on the right, and sum over the columns of `a` instead of its
        rows.
    out, **options
        As in :func:`ozfp4.matmul`, without `device`. `workspace_limit` is for the product of one
        block. Without a limit a GPU keeps all planes of `a` if the default has room for them,
        else those of some rows at a time.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
        The report adds up the work of all blocks that were multiplied, and counts the integers
        that wrapped in them.

    Raises
    ------
    TypeError, ValueError, OverflowError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for `a` of fewer than two dimensions, and for
        rounding "up" or "down" with a complex `a`.

    Notes
    -----
    **Complex** `a`: the product is ``a.conj().T @ a`` (``a @ a.conj().T``), exactly Hermitian. The
    sign of a zero imaginary part may differ from that of matmul.

    Examples
    --------
    >>> import numpy as np
    >>> gram(np.array([[3.0, 1.0], [4.0, 2.0]]))
    array([[25., 11.],
           [11.,  5.]])
    """
    check_taken(gram, options)
    if is_watched(a, out):
        return by_operator("gram", a, left, out, options)
    return _gram(a, left, out, options)


@any_library
def _gram(a: Any, left: bool, out: Any, options: dict[str, Any]) -> Any:
    """The product itself, for operands that torch does not observe."""
    asked = Options.of(options)
    given = library.take_operands(a, a, out, library.TAKEN)
    check_matrices(tuple(given.a.shape))
    if is_complex(given.a.dtype) and asked.rounding in ("down", "up"):
        raise ValueError(
            f"rounding: {asked.rounding!r} gives no Hermitian result, as conjugation reverses it for imaginary parts; "
            "allowed for complex a are 'nearest', 'zero'"
        )
    operands, integer, dtype = unify_to(given, asked.dtype)
    x, y = operands.a, operands.a.swapaxes(-1, -2)  # the core conjugates the transpose
    operands = operands._replace(a=x, b=y) if left else operands._replace(a=y, b=x)
    bound = None
    if integer is not None:
        check_unasked(options)
        bits = bits_of(operands)
        c, about = multiply_integers(integer_request(operands, asked, integer, bits), bits, is_gram=True)
    else:
        check_wraps(asked, [given.a], [x], dtype)
        c, bound, about = multiply(matmul_request(operands, asked, dtype), gram=bool(left))
    mark_written(out)
    return results(asked, c if out is None else out, bound, about)


products["gram"] = lambda a, left=False, out=None, **options: _gram(a, left, out, options)
