"""Products that a GPU makes in one launch, without planes in its memory: what their tests share."""

from __future__ import annotations

from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4._backends.cuda import extension
from ozfp4.testing import assert_same_bits, forced
from support import chosen

KINDS = (
    "normal", "uniform", "phi8", "phi32", "row-exponents", "spikes", "zero-lines", "whole-range", "specials",
    "scaling-ties",
)  # fmt: skip


CUDA = extension.require_cuda()


class NotedWays:
    """For each launch since it was made, whether it makes its product in this way."""

    def __init__(self, way: str) -> None:
        self._way = way
        ozfp4.matmul(
            *[torch.ones(1, 1, dtype=torch.float64, device=DEVICE)] * 2
        )  # tests what has to be tested
        CUDA.note_ways(True)

    def __iter__(self):
        return (made == self._way for made in CUDA.noted_ways())


def ways_of(product) -> list[str]:
    """In which ways the launches of a product make it."""
    CUDA.note_ways(True)
    product()
    return CUDA.noted_ways()


def made_so(way: str, x, y, dtype, shape, **options):
    """A product that is made this way, on the CPU."""
    out = noisy(shape, dtype)
    with forced(**{way: True}):
        chosen.matmul(x, y, out=out, **options)
    return out.cpu()


def check(way: str, all_options, a, b, x=None, y=None, context="") -> None:
    """The CPU's products of NumPy operands; x and y are the same on the device where their strides matter."""
    x, y = on_device(a) if x is None else x, on_device(b) if y is None else y
    for options in all_options:
        expected = chosen.matmul(a, b, **options)
        dtype = torch.from_numpy(expected.reshape(-1)[:1]).dtype
        found = made_so(way, x, y, dtype, expected.shape, **options)
        assert_same_bits(found, expected, (context, options))
