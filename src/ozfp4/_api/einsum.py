"""``ozfp4.einsum``: sums of products in Einstein's notation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._options import RoundedOptions, check_taken, takes
from .._request.dlpack import any_library
from .._request.library import is_tensor
from .._request.subscripts import Subscripts, from_lists, order, parse
from .contraction import sum_of_products

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(RoundedOptions)
@any_library
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: Any = None,
    optimize: Any = True,
    dtype: Any = None,
    **options: Unpack[RoundedOptions],
) -> Any:
    """Sum of products over the axes that the result has not, as ``numpy.einsum`` and ``torch.einsum``, by :func:`ozfp4.matmul`.

    Two operands at a time, each such step rounds once, as :func:`ozfp4.matmul` with the same arguments does:

    - A step that sums over axes of both operands is a product of (stacks of) matrices: the axes that both have and that stay
      are the stack's, the other axes of the first are the rows, those of the second the columns.
    - Axes of one operand alone that do not stay are summed before: a product with ones.
    - A step that sums nothing (outer and entrywise products) is one multiplication an entry, rounded to nearest as IEEE 754
      says; by matmul with accuracy="scaled", another rounding, and of complex numbers.
    - Diagonals and transposes are views. One operand without a sum gives a view of it, as in NumPy and torch.

    Sums and products of integers wrap, those of bool are "or" and "and"; arguments that speak of bits and rounding are refused.

    Gradients and tangents of tensors are those of the steps, which are products by :func:`ozfp4.matmul` then, outer and entrywise
    ones too.

    With up to two operands, each summing over common axes alone, the result is a product of the promised accuracy. The result
    of more depends on the order of the steps, by a rounding a step.

    Parameters
    ----------
    subscripts : str
        Such as "ij,jk->ik": a letter an axis, "..." for axes that broadcast, without "->" the letters that come once in the order
        of the alphabet. Axes of extent 1 go with any extent. Also NumPy's other form, ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.
        Axes of an ellipsis that the result has not are summed.
    *operands : array_like or torch.Tensor
        As in :func:`ozfp4.matmul`, of any number of axes, brought to the dtype that all of them promote to. Tensors may come in
        one list.
    out : array or tensor, optional
        Where to write the result: its exact shape and dtype, no memory shared with the operands.
    optimize : bool, {"greedy", "optimal"}, or path
        The order of more than two operands, as in ``numpy.einsum``: True is "greedy", False from left to right; a path of
        ``numpy.einsum_path`` fixes it whatever NumPy is installed.
    dtype : dtype, optional
        The result's, as in :func:`ozfp4.matmul`: the operands are brought to it first.
    **options
        `scheme`, `backend`, `workspace_limit`, `accuracy` and `rounding`: as in :func:`ozfp4.matmul`, for
        every step.

    Returns
    -------
    array or tensor
        Of the shape that ``numpy.einsum`` or ``torch.einsum`` gives, and the dtype that all operands promote to (torch sums short
        integers of one operand alone in int64).

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([[1.0, 2.0**-60], [3.0, 1.0]]), np.array([[2.0**60, -1.0], [-(2.0**120), 1.0]])
    >>> einsum("ij,ji->i", a, b, accuracy="correct")
    array([ 0., -2.])
    >>> einsum(a, [0, 1], [1, 0])
    array([[1.00000000e+00, 3.00000000e+00],
           [8.67361738e-19, 1.00000000e+00]])

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for subscripts that do not fit the operands, and an `optimize` that is no
        order of them.
    """
    check_taken(einsum, options)
    if isinstance(subscripts, str):
        text, given = subscripts, list(operands)
        if len(given) == 1 and isinstance(given[0], (list, tuple)) and any(map(is_tensor, given[0])):
            given = list(given[0])  # torch's form; a list of anything else is one array, as in NumPy
    else:
        text, given = from_lists([subscripts, *operands])
    if not given:
        raise ValueError("operands: at least one is needed")

    def read(*shapes: tuple[int, ...], has_tensors: bool) -> tuple[Subscripts, list[tuple[int, ...]]]:
        found = parse(text, shapes)
        return found, order(found, optimize)

    named = {f"operands[{i}]": x for i, x in enumerate(given)}
    result, _ = sum_of_products(named, out, dtype, options, read)
    return result[()] if out is None and isinstance(result, np.ndarray) else result
