"""Integers as the words in which the core takes and hands out wide ones: little-endian, 32 bits, two's complement."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def check_integers(name: str, integers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Integers that :func:`to_words` takes; TypeError where these are not."""
    kind, size = integers.dtype.kind, integers.dtype.itemsize
    if kind == "u" and size < 8:
        return integers.astype(np.int64)
    if kind == "O":
        for x in integers.flat:
            if isinstance(x, bool) or not isinstance(x, (int, np.integer)):
                raise TypeError(f"{name}: {type(x).__name__} among the entries, which are not all integers")
        return integers
    if kind != "i":
        raise TypeError(f"{name}: dtype {integers.dtype} is not a signed integer type")
    return integers


def words_of(bits: int) -> int:
    """How many words hold integers of at most `bits` bits, two at least, as NumPy's integers have."""
    return max(2, -(-(bits + 2) // 32))


def to_words(integers: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """The words of an array of integers, signed ones of NumPy or Python's, along a new last axis.

    >>> to_words(np.array([5, -5])).tolist()
    [[5, 0], [4294967291, 4294967295]]
    >>> to_words(np.array([-(2**70)], dtype=object)).tolist()
    [[0, 0, 4294967232]]
    """
    if integers.dtype.kind == "i":
        whole = np.ascontiguousarray(integers, dtype="<i8").reshape(integers.shape)
        return whole[..., np.newaxis].view(np.uint32)
    width = 1 + max((int(x).bit_length() // 32 for x in integers.flat), default=0)
    words = np.empty((*integers.shape, width), np.uint32)
    for i in range(width):
        words[..., i] = (integers >> (32 * i)) & 0xFFFFFFFF
    return words


def of_words(words: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
    """The integers of words along the last axis, as an array of Python integers.

    >>> of_words(np.array([[5, 0], [2**32 - 5, 2**32 - 1]], np.uint32)).tolist()
    [5, -5]
    """
    total = np.zeros(words.shape[:-1], dtype=object)
    width = words.shape[-1]
    for i in range(width):
        total += words[..., i].astype(object) << (32 * i)
    return np.where(words[..., -1] >> 31, total - (1 << (32 * width)), total)
