"""Products that a GPU makes in one launch, without planes in its memory: what their tests share."""

from __future__ import annotations

from first_gpu import DEVICE, noisy, on_device, torch

import ozfp4
from ozfp4.backends.cuda import launch
from ozfp4.dispatch import repeated
from ozfp4.testing import assert_same_bits, forced
from ozfp4.trust import guard
from support import chosen

KINDS = (
    "normal",
    "uniform",
    "phi8",
    "phi32",
    "row-exponents",
    "spikes",
    "zero-lines",
    "whole-range",
    "specials",
    "scaling-ties",
)


def note_ways(monkeypatch, way: str) -> list[bool]:
    """Of every product that is prepared from now on, whether it is made this way, as it describes itself."""
    guard.serves_words(DEVICE.index)
    ozfp4.matmul(
        *[torch.ones(1, 1, dtype=torch.float64, device=DEVICE)] * 2, backend="int8"
    )  # no self-test's product is noted
    made = []
    prepare = launch.prepare

    def noted(*arguments, **further):
        prepared = prepare(*arguments, **further)
        made.append(prepared.problem.describe()[way])
        return prepared

    monkeypatch.setattr(launch, "prepare", noted)
    monkeypatch.setattr(repeated, "made", {})
    return made


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
