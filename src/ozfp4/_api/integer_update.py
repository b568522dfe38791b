"""alpha A B + beta C of integers, exact: modulo 2^w of the result's w bits, or checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._dispatch.product import empty_result, to_caller
from .._options import Options
from .._report import Report
from .._request import library
from .._request.integers import entry_bits, words_of
from .._request.library import Operands
from .._request.operands import (
    MatmulShape,
    Update,
    check_addend_given,
    check_addend_shape,
    check_integer_factor,
    matmul_shape,
    matrices,
    with_matrix_axes,
)
from .._request.out import check_out, is_same_place
from .integers import integer_product


def integer_update(
    alpha: Any,
    operands: Operands,
    beta: Any,
    c: Any,
    dtype: Any,
    asked: Options,
) -> tuple[Any, Report | None]:
    """The result in the caller's library, also in `out` if there is one, and a report of the product where it is asked for.

    `operands` are transposed as they are multiplied, `c` is as taken beside them or None, `dtype` what all promote to. Range:
    integers or bool.

    Raises
    ------
    TypeError, ValueError
        Factors that are no integers, or of bool none of 0 and 1; a C that is missing or does not broadcast to the result; `out`
        that overlaps something else than all of C; with overflow="raise" a product alpha B that 64 bits do not hold.
    OverflowError
        Where that is asked for, and an entry does not fit the dtype; `out` is as it was.
    """
    alpha, beta = check_integer_factor("alpha", alpha), check_integer_factor("beta", beta)
    if library.name_of(dtype) == "bool":
        _check_truth(alpha=alpha, beta=beta)
        asked = asked._replace(overflow="wrap")
    shape = matmul_shape(tuple(operands.a.shape), tuple(operands.b.shape))
    check_addend_given(c, beta)
    if c is not None:
        check_addend_shape(c, shape.result)
    out = operands.out
    if out is not None:
        check_out(out, shape.result, dtype, a=operands.a, b=operands.b)
        if beta != 0 and not is_same_place(out, c):
            check_out(out, shape.result, dtype, c=c)
    if alpha == 0:
        operands = _without_terms(operands)
    is_one_product = asked.raises and (beta != 0 or alpha not in (0, 1))
    if not is_one_product:
        terms = Update(alpha, beta, None if beta == 0 else _whole(c, shape.result))
        return integer_product(operands, asked, dtype, _bits(operands), update=terms)
    place = empty_result(operands, shape.result, dtype) if out is None else out
    given = _as_one_product(alpha, operands._replace(out=place), beta, c, shape, dtype)
    about = integer_product(given, asked, dtype, _bits(given))[1]
    return to_caller(operands, place), about


def _without_terms(operands: Operands) -> Operands:
    """The operands with an inner dimension of 0."""
    b = operands.b
    return operands._replace(a=operands.a[..., :0], b=b[:0] if b.ndim == 1 else b[..., :0, :])


def _bits(operands: Operands) -> int:
    """The bits of an entry that a plan for the operands needs."""
    return max(entry_bits(operands.a.dtype), entry_bits(operands.b.dtype))


def _check_truth(**factors: int) -> None:
    for name, factor in factors.items():
        if factor not in (0, 1):
            raise ValueError(
                f"{name}: {factor} is neither 0 nor 1, and all operands are bool; convert one of them to an integer dtype"
            )


def _wrapped(factor: int, dtype: np.dtype[Any]) -> Any:
    """A factor modulo 2^w, as a number of the dtype. Range: any integer."""
    width = dtype.itemsize
    return np.array(factor % 2 ** (8 * width), f"u{width}").view(dtype)[()]


def _as_one_product(
    alpha: int, operands: Operands, beta: int, c: Any, shape: MatmulShape, dtype: Any
) -> Operands:
    """[A C] and [alpha B; beta I], whose product is alpha A B + beta C: its sums are checked as those of any product.

    ValueError where 64 bits do not hold the right one.
    """
    a, b = with_matrix_axes(operands.a, operands.b)
    least, most = _extremes(b)
    ends = [0, alpha * least, alpha * most, *([beta] if shape.n > 0 else [])]
    is_signed = min(ends) >= -(2**63) and max(ends) < 2**63
    if not is_signed and (min(ends) < 0 or max(ends) >= 2**64):
        raise ValueError(
            f"overflow: 'raise' needs alpha b and beta in 64 bits, and they reach from {min(ends)} to {max(ends)}; "
            "overflow='wrap' takes any factors"
        )
    left, right = [_words(a)], [_words(b) * int(_wrapped(alpha, np.dtype(np.int64)))]
    if beta != 0:
        right.append(_scaled_identity(beta, right[0], shape.n))
        left.append(_words(matrices(shape, _whole(c, shape.result))))
    left = [_whole(x, (*shape.stack, shape.m, x.shape[-1])) for x in left]
    right = [_whole(x, (*b.shape[:-2], *x.shape[-2:])) for x in right]
    return operands._replace(
        a=_joined(left, -1, library.name_of(dtype) != "uint64"),
        b=_joined(right, -2, is_signed),
        out=matrices(shape, operands.out),
    )


def _words(x: Any) -> Any:
    """As integers of 64 bits, int64; those of uint64 by their bits."""
    return words_of(x) if library.is_tensor(x) else x.astype(np.int64)


def _whole(x: Any, extents: tuple[int, ...]) -> Any:
    return x.expand(extents) if library.is_tensor(x) else np.broadcast_to(x, extents)


def _scaled_identity(beta: int, like: Any, n: int) -> Any:
    factor = int(_wrapped(beta, np.dtype(np.int64)))
    if library.is_tensor(like):
        return library.require_torch().eye(n, dtype=like.dtype, device=like.device) * factor
    return np.eye(n, dtype=np.int64) * np.int64(factor)


def _joined(words: list[Any], axis: int, is_signed: bool) -> Any:
    if not library.is_tensor(words[0]):
        return np.concatenate(words, axis).view(np.int64 if is_signed else np.uint64)
    torch = library.require_torch()
    return torch.cat(words, axis).view(torch.int64 if is_signed else torch.uint64)


def _extremes(x: Any) -> tuple[int, int]:
    """Least and largest entry, (0, 0) without any; waits for a GPU."""
    if 0 in x.shape:
        return 0, 0
    if not library.is_tensor(x):
        return int(x.min()), int(x.max())
    above = 2**63 if library.name_of(x.dtype) == "uint64" else 0
    words = words_of(x) ^ -above  # in the order of unsigned numbers, from -2^63 on
    return int(words.min()) + above, int(words.max()) + above
