"""alpha A B + beta C where a factor has a real and an imaginary part: A B is rounded, and then alpha (A B) + beta C, which is a
product of inner dimension 2 with an entry of A B and one of C in every row. "correct" keeps A B as sums of two numbers, and so in
two columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..backends.cpu import DEFAULT_WORKSPACE
from ..dispatch.complex_product import empty_result, to_caller
from ..report import Report
from ..request import library
from ..request.complex import parts
from ..request.factors import has_both_parts
from ..request.operands import MatmulRequest
from ..request.update import Update
from ..support.fp_mode import in_default_mode
from .enclose import enclose
from .matmul import _matmul

Product = Callable[[MatmulRequest], tuple[Any, Any, Report | None]]

# Entries whose sums are made at a time: each takes less than these bytes, 64 for every plane and what is kept of a row.
_ENTRY_BYTES = 2**12
_FEWEST = 2**6
_LEAST = 5e-324


def check_directions(rounding: str, **factors: complex) -> None:
    """ValueError for a direction, which a result that is rounded twice does not have."""
    for name, factor in factors.items():
        if has_both_parts(factor) and rounding != "nearest":
            raise ValueError(
                f"rounding: {rounding!r} is not for {name} = {factor}, which has a real and an imaginary part: A B is rounded "
                "before the sum; allowed is 'nearest'"
            )


@in_default_mode
def combine(
    alpha: complex, beta: complex, request: MatmulRequest, product: Product
) -> tuple[Any, Any, Report | None]:
    """The result in the caller's library, also in `out` if there is one; the bounds of its errors that were asked for, or None;
    a report of A B where it is wanted.

    `request` is that of A B + C, or of A B where `beta` is 0; `product` multiplies A B, and adds to it.
    """
    found, carried, about = empty_result(request, request.shape.result, request.dtype), None, None
    on_device = library.is_tensor(found)
    terms = [] if request.update is None else [(beta, _flat(request.update.c))]
    if alpha != 0 or request.asked.report:
        alone = replace(request, update=None, out=found, torch=request.torch if on_device else None)
        _, carried, about = product(alone)
    if alpha != 0 and request.shape.k != 0 and request.asked.accuracy == "correct":
        rest, carried = _rest(alone, product)
        terms = [(alpha, _flat(rest)), *terms]
    if alpha != 0:
        terms = [(alpha, _flat(found)), *terms]
    limit = request.asked.workspace_limit or DEFAULT_WORKSPACE
    bounds = None
    if request.asked.return_bound:
        bounds = empty_result(
            request, request.shape.result, request.torch.complex128 if on_device else np.complex128
        )
        of_product = _flat(carried) if alpha != 0 else None
        _sum_with_bounds(terms, _flat(found), _flat(bounds), of_product, alpha, limit)
    else:
        _sum(terms, _flat(found), limit)
    if request.out is not None:
        request.out[...] = found
    return to_caller(request, found), None if bounds is None else to_caller(request, bounds), about


def _rest(request: MatmulRequest, product: Product) -> tuple[Any, Any]:
    """A B less its rounded values, the request's `out`: rounded once itself, and 0 where they are not finite; bounds of what the
    sum of both loses of A B, or None."""
    rest = empty_result(request, request.shape.result, request.dtype)
    _, bounds, _ = product(replace(request, out=rest, update=Update(1.0, -1.0, request.out)))
    held = parts(rest)
    with np.errstate(invalid="ignore"):
        _put(held, held - held != 0, 0.0)  # NaN and infinity alone leave something
    return rest, bounds


def _sum(terms: Sequence[tuple[complex, Any]], found: Any, limit: int) -> None:
    """Put the sum of factors times entries into `found`, which may be one of the terms, rounded once for each part."""
    factors = _filled([factor for factor, _ in terms], found)
    for piece in _pieces(found.shape[0], limit):
        _put_sums(found[piece], _side_by_side([x[piece] for _, x in terms], found), factors)


def _sum_with_bounds(
    terms: Sequence[tuple[complex, Any]], found: Any, bounds: Any, carried: Any, alpha: complex, limit: int
) -> None:
    """The same, with bounds of the errors, rounded up: half a unit in the last place of the result, and alpha times those of the
    product, `carried`."""
    _sum(terms, found, limit)
    same, across = abs(alpha.real), abs(alpha.imag)
    weights = [1.0, 0.0, 0.0, 1.0] + ([] if carried is None else [same, across, across, same])
    matrix = _filled(weights, parts(bounds)).reshape(-1, 2)
    for piece in _pieces(found.shape[0], limit):
        errors = [_half_units(parts(found[piece])), *([] if carried is None else [parts(carried[piece])])]
        summed = _matmul(_joined(errors), matrix, accuracy="correct", rounding="up")
        _put(summed, summed != summed, np.inf)
        parts(bounds)[piece] = summed


def _half_units(x: Any) -> Any:
    """Half a unit in the last place of each number, float64, and at least the smallest number; infinity of what is not finite."""
    if library.is_tensor(x):
        torch = library.require_torch()
        above, size = torch.nextafter(x.abs(), torch.full_like(x, np.inf)), x.abs()
        halves = ((above.to(torch.float64) - size.to(torch.float64)) / 2).clamp_min(_LEAST)
    else:
        size = np.abs(x)
        with np.errstate(over="ignore", invalid="ignore"):
            halves = np.nextafter(size, np.inf).astype(np.float64) - size.astype(np.float64)
            halves = np.maximum(halves / 2, _LEAST)
    _put(halves, halves != halves, np.inf)
    return halves


def _pieces(count: int, limit: int) -> Iterator[slice]:
    """Slices of so many entries that their sums take no more than `limit` bytes, if a few do."""
    step = max(limit // _ENTRY_BYTES, _FEWEST)
    return (slice(first, first + step) for first in range(0, count, step))


def _flat(x: Any) -> Any:
    return x.reshape(-1) if library.is_tensor(x) else np.asarray(x).reshape(-1)


def _filled(values: Sequence[complex], like: Any) -> Any:
    """Numbers in a row where `like` lies, float64, or complex128 where that is complex. A GPU waits for no copy of them."""
    if not library.is_tensor(like):
        return np.array(values, np.promote_types(like.dtype, np.float64))
    torch = library.require_torch()
    result = torch.empty(
        len(values), dtype=torch.promote_types(like.dtype, torch.float64), device=like.device
    )
    for place, value in zip(result, values, strict=True):
        place.fill_(value)  # by a kernel: an assignment of a complex number copies a tensor from the CPU
    return result


def _side_by_side(columns: Sequence[Any], like: Any) -> Any:
    """Columns as a matrix of the dtype of `like`, in new memory."""
    if not library.is_tensor(like):
        return np.stack(columns, -1, dtype=like.dtype, casting="safe")
    return library.require_torch().stack([x.to(like.dtype) for x in columns], -1)


def _joined(matrices: Sequence[Any]) -> Any:
    """Matrices side by side."""
    if not library.is_tensor(matrices[0]):
        return np.concatenate(matrices, -1)
    return library.require_torch().cat(matrices, -1)


def _put(x: Any, where: Any, value: float) -> None:
    """Replace entries; nothing is counted, for which a GPU would have to be waited for."""
    if library.is_tensor(x):
        x.masked_fill_(where, value)
    else:
        x[where] = value


def _put_sums(place: Any, rows: Any, factors: Any) -> None:
    """Put the real products of `rows` and `factors`, rounded once, into `place`.

    Of complex64 the sums are rounded to odd before: of the two FP64 numbers around one that none is, that with the odd last bit,
    which lies on the same side of every float32 number and of the middle between two.
    """
    if library.name_of(place.dtype) != "complex64":
        place[...] = _matmul(rows, factors, accuracy="correct")
        return
    lower, upper = enclose(rows, factors)
    odd = _odd(parts(lower))
    with np.errstate(over="ignore"):
        if library.is_tensor(place):
            parts(place)[...] = library.require_torch().where(odd, parts(lower), parts(upper))
        else:
            parts(place)[...] = np.where(odd, parts(lower), parts(upper))


def _odd(x: Any) -> Any:
    """Which float64 numbers have 1 as their last bit."""
    words = x.view(library.require_torch().int64) if library.is_tensor(x) else x.view(np.int64)
    return words % 2 == 1
