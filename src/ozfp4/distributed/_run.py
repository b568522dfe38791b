"""One product over a group that all ranks agree upon, from the parts of this rank to its part of the result."""

from __future__ import annotations

from math import prod
from typing import Any

from .._request.library import require_torch
from . import _agree as agree
from . import _inner as inner
from ._collectives import Group
from ._local import Products
from ._request import Call, bound_dtype


def run(group: Group, call: Call, a: Any, b: Any, out: Any = None) -> tuple[Any, Any]:
    """This rank's part of the result, in `out` if it is given, and bounds of its errors or None.

    Raises
    ------
    Exception
        As ``ozfp4.matmul`` does, on the rank whose product it is; RuntimeError on others that need its entries.
    OverflowError
        Where that is asked for, on each rank.
    """
    torch = require_torch()
    shape = call.problem.result.local(group.rank)
    raises = call.options.get("overflow") == "raise"

    def results() -> tuple[Any, Any]:
        c = torch.empty(shape, dtype=call.dtype, device=a.device) if out is None or raises else out
        if not call.return_bound:
            return c, None
        return c, torch.empty(shape, dtype=bound_dtype(call.dtype.is_complex), device=a.device)

    largest = prod(call.problem.result.local(0)) * call.problem.item  # some ranks may have an `out`
    c, bound = agree.together(group, largest * (1 + call.return_bound), results)
    products = Products(call.options, call.return_bound)
    failure = None
    try:
        inner.multiply(group, call.problem, call.method, a, b, products, c, bound)
    except Exception as error:
        if not raises:
            raise
        failure = error
    if raises:  # nobody's `out` is written where an entry of anybody's does not fit
        agree.confirm(group, failure)
    if out is not None and c is not out:
        out.copy_(c)
    return c if out is None else out, bound
