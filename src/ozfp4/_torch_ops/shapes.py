"""What torch may know of a product without computing it: shape, dtype and device, for tensors without entries (fake, meta).

Extents may be symbols: they are compared, and never read as numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._options import Options
from .._request import library
from .._request.integers import result_dtype
from .._request.library import require_torch
from .._request.operands import check_addend_shape, check_matrices, matmul_shape
from .._request.out import check_form

torch: Any = require_torch()


def _matmul(a: Any, b: Any, **settings: Any) -> Any:
    _check(settings, a=a, b=b)
    dtype = _dtype_of(settings, torch.promote_types(a.dtype, b.dtype), a, b)
    return a.new_empty(matmul_shape(tuple(a.shape), tuple(b.shape)).result, dtype=dtype)


def _gemm(a: Any, b: Any, alpha: Any, beta: Any = 0, c: Any = None, **settings: Any) -> Any:
    _check(settings, a=a, b=b)
    shape, dtype = matmul_shape(tuple(a.shape), tuple(b.shape)).result, torch.promote_types(a.dtype, b.dtype)
    if c is not None:
        _check({}, a=a, c=c)
        check_addend_shape(c, shape)
        dtype = torch.promote_types(dtype, c.dtype)
    return a.new_empty(shape, dtype=dtype)


def _gram(a: Any, *, left: bool = False, **settings: Any) -> Any:
    _check(settings, a=a)
    check_matrices(tuple(a.shape))
    lines = a.shape[-2] if left else a.shape[-1]
    return a.new_empty((*a.shape[:-2], lines, lines), dtype=_dtype_of(settings, a.dtype, a))


def _dtype_of(settings: dict[str, Any], own: Any, *operands: Any) -> Any:
    """The result's dtype: the requested one, or its own."""
    asked = settings.get("dtype")
    return own if asked is None else getattr(torch, result_dtype(asked, *(x.dtype for x in operands)))


def _check(settings: dict[str, Any], **tensors: Any) -> None:
    """TypeError or ValueError for what no product takes, before anything is computed."""
    Options.of(settings)
    for name, x in tensors.items():
        library.check_kind(name, x)
        library.check_device(name, x, tensors["a"])


FAKES: dict[str, Callable[..., Any]] = {"matmul": _matmul, "gemm": _gemm, "gram": _gram}


def written(name: str) -> Callable[..., None]:
    """Of the variant that writes to `out`, which has all of that already."""

    def fake(*args: Any, out: Any, **settings: Any) -> None:
        like = FAKES[name](*args, **settings)
        library.check_device("out", out, like)
        check_form(out, tuple(like.shape), like.dtype)

    return fake
