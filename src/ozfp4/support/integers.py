"""Python integers of the words in which the core hands out wide ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def of_words(words: npt.NDArray[np.uint32]) -> npt.NDArray[Any]:
    """Integers of little-endian 32-bit words in two's complement along the last axis, as an array of Python integers.

    >>> of_words(np.array([[5, 0], [2**32 - 5, 2**32 - 1]], np.uint32)).tolist()
    [5, -5]
    """
    total = np.zeros(words.shape[:-1], dtype=object)
    width = words.shape[-1]
    for i in range(width):
        total += words[..., i].astype(object) << (32 * i)
    return np.where(words[..., -1] >> 31, total - (1 << (32 * width)), total)
