"""The devices of torch that tests run on: the CPU, and a GPU where there is one with kernels; entries and outcomes there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ozfp4._backends.cuda import extension

torch: Any = pytest.importorskip("torch")
WITH_CUDA = torch.cuda.is_available() and not extension.why_unavailable(torch.device("cuda", 0))
DEVICES = ["cpu", *(["cuda"] if WITH_CUDA else [])]
on_devices = pytest.mark.parametrize("device", DEVICES)


def entries(*shape: int, dtype: Any = torch.float64, device: str = "cpu") -> Any:
    """Numbers of several binades: the last bits of sums depend on how they are made."""
    g = torch.Generator().manual_seed(31 * len(shape) + sum(shape))
    return (torch.randn(shape, dtype=dtype, generator=g) * 3).exp().to(device)


def outcome(call: Callable[[], Any]) -> Any:
    """The result, or the type and the message of the error."""
    try:
        return call()
    except Exception as error:
        return type(error), str(error)
