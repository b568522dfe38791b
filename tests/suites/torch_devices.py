"""The devices of torch that tests run on: the CPU, and a GPU where there is one with kernels."""

from __future__ import annotations

from typing import Any

import pytest

from ozfp4._backends.cuda import extension

torch: Any = pytest.importorskip("torch")
WITH_CUDA = torch.cuda.is_available() and not extension.why_unavailable(torch.device("cuda", 0))
DEVICES = ["cpu", *(["cuda"] if WITH_CUDA else [])]
