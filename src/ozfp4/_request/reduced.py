"""Operands of a product modulo m, brought nearer to zero where their dtype holds longer integers than m asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from .integers import entry_bits, words_of
from .library import Operands, name_of


def reduce_operands(operands: Operands, m: int) -> tuple[Operands, int]:
    """Operands that are congruent to the given ones modulo m, and the bits of a plan for them. Range: 1 <= m < 2^63.

    An operand is replaced where that makes its integers shorter: its entries are then at most m // 2 in magnitude.
    """
    most = (m // 2).bit_length() + 1
    reduce = _reduced_tensor if operands.on_device else _reduced_array
    short = [x if entry_bits(x.dtype) <= most else reduce(x, m) for x in (operands.a, operands.b)]
    bits = max(min(entry_bits(x.dtype), most) for x in (operands.a, operands.b))
    return operands._replace(a=short[0], b=short[1]), max(bits, 2)


def _reduced_array(x: Any, m: int) -> Any:
    rest = x % np.uint64(m) if x.dtype == np.uint64 else x.astype(np.int64) % m
    rest = rest.astype(np.int64, copy=False)
    return np.where(rest > m // 2, rest - m, rest)


def _reduced_tensor(x: Any, m: int) -> Any:
    signed, is_wide = words_of(x), name_of(x.dtype) == "uint64"
    rest = signed % m
    if is_wide:  # bit 63 was taken for a sign, and stands for 2^64 more
        rest = rest - (signed < 0) * (m - 2**64 % m)
        rest = rest + (rest < 0) * m
    return rest - (rest > m // 2) * m
