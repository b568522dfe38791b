"""Complex arrays and tensors: whether they are such, and their parts."""

from __future__ import annotations

from typing import Any

from .library import is_tensor
from .operands import MatmulShape


def is_complex(x: Any) -> bool:
    """Whether an array or a tensor holds complex numbers."""
    return bool(x.dtype.is_complex if is_tensor(x) else x.dtype.kind == "c")


def matrices(shape: MatmulShape, result: Any) -> Any:
    """A result of the caller's shape with both matrix axes, as a view."""
    result = result[..., None] if shape.b_vector else result
    return result[..., None, :] if shape.a_vector else result


def with_matrix_axes(a: Any, b: Any) -> tuple[Any, Any]:
    """Views with both matrix axes and equally many axes of stacks."""
    rows = a[None, :] if a.ndim == 1 else a
    columns = b[:, None] if b.ndim == 1 else b
    axes = max(rows.ndim, columns.ndim)
    return rows[(None,) * (axes - rows.ndim)], columns[(None,) * (axes - columns.ndim)]
