"""What multiplies a piece of K of a product whose other pieces are elsewhere (``ozfp4.distributed``)."""

from __future__ import annotations

from typing import Any

from .._backends import partial
from .._backends.cuda import partial as cuda_partial
from .._options import Options
from .._request.library import check_storage, require_torch
from . import on_cpu, on_cuda


def make(a: Any, b: Any, k: int, asked: Options, dtype: Any) -> Any:
    """The piece a (m x K_r) and b (K_r x n), float64 or float32 tensors of one device, of products of `k` terms with results of
    `dtype`: a :class:`ozfp4._backends.partial.Partial`, or its like on a GPU."""
    for name, x in (("a", a), ("b", b)):
        check_storage(name, x)
    single = dtype == require_torch().float32
    if a.device.type == "cuda":
        on_cuda.check_extents(a.shape[0], b.shape[1], k)
        on_cuda.ready(a.device)
        if (refusal := cuda_partial.facts_refusal(a.device.index)) is not None:
            raise RuntimeError(refusal)
        made = on_cuda.decide_piece(asked, k, single, a.device)
        assert made.kernel is not None
        return cuda_partial.Partial(a, b, k, made.plan, asked, dtype, made.kernel)
    plan = on_cpu.decide_piece(asked, k, single)
    return partial.Partial(a, b, k, plan, asked, dtype)
