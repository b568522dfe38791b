"""Figures that choices rest on, measured in seconds.

Rates of one plane product in every number format. On a GPU also the ratio of the time of each way to the time by its model,
near the points where the choice changes from one to another.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from .. import _core
from .._api.matmul import matmul
from .._backends.kernels import GPU_BACKENDS
from .._dispatch import on_cuda
from .._options import Options
from .._plans.plan import ALPHABETS, Plan, make_plan
from .._request.library import require_torch
from ..testing import forced
from . import clocks

WAYS = ("direct", "thin", "tiles", "stages")  # to make a product on a GPU, as _cuda.way_of lists them
Figures = dict[str, float]
Tell = Callable[[float], None]  # takes the fraction done

# m, k, n of products, and what makes them so.
MEASURED_WAYS: dict[str, tuple[dict[str, Any], tuple[tuple[int, int, int], ...]]] = {
    "direct": ({"direct": True}, ((64, 64, 64), (96, 96, 96), (128, 128, 128), (192, 192, 192))),
    "thin": ({"thin": True}, ((2048, 2048, 1), (4096, 4096, 1), (8192, 8192, 1), (8192, 8192, 8))),
    "tiles": ({"tiles": True}, ((512, 32, 512), (1024, 64, 1024), (2048, 128, 2048))),
    "stages": ({"direct": False}, ((192, 192, 192), (1024, 128, 1024), (2048, 128, 2048), (4096, 4096, 8))),
}


def measure(index: int | None, tell: Tell = lambda done: None) -> Figures:
    """The figures of a CUDA device, which must be torch's current one, or of the CPU (None), by the names that are kept.
    They are operations a second by backend, and factors by way."""
    device, n = ("cpu", 1024) if index is None else ("cuda", 4096)
    names = ALPHABETS if index is None else (*GPU_BACKENDS, *WAYS)
    figures: Figures = {}
    for done, name in enumerate(names):
        tell(done / len(names))
        found = (
            factor_of(name) if name in WAYS else clocks.multiply_rate(device, short_plan("II", name, n), n)
        )
        if found is not None:
            figures[name] = found
    tell(1.0)
    return figures


def kept(figures: Figures) -> dict[str, int]:
    """As they are kept: rates, and factors, which are those of this version's models, in millionths."""
    factors = {f"{name}{_core.models_suffix}": round(1e6 * x) for name, x in figures.items() if name in WAYS}
    return {name: round(x) for name, x in figures.items() if name not in WAYS} | factors


def short_plan(scheme: str, backend: str, n: int) -> Plan:
    """A plan of the same alphabet with half as many products as 53 bits take: what one costs, in a stage that is like the whole.
    It differs from those that the rate is used to predict, as the paper's kernel benchmark does."""
    whole = make_plan(scheme, backend, "least", 53, n).products
    for bits in range(4, 53):
        plan = make_plan(scheme, backend, "least", bits, n)
        if plan.products >= max(3, whole // 2):
            return plan
    raise AssertionError("53 bits take more than half of their products in every alphabet")


def factor_of(way: str) -> float | None:
    """The ratio of a way's time to the time by its model: the median over products that are made so; None without one."""
    forcing, shapes = MEASURED_WAYS[way]
    ratios = []
    for shape in shapes:
        operands = random_operands(*shape)
        product = partial(matmul, *operands, accuracy="scaled")
        with forced(**forcing):
            made = way_of(*operands)
            microseconds = made["microseconds"][WAYS.index(way)]
            if made["way"] == way and math.isfinite(microseconds):
                ratios.append(1e6 * clocks.graph_seconds(product) / microseconds)
    return statistics.median(ratios) if ratios else None


def way_of(a: Any, b: Any, c: Any, **options: Any) -> dict[str, Any]:
    """How the core makes the product of two tensors into a third, and what its models say."""
    asked = Options.of({"accuracy": "scaled", **options})
    made: dict[str, Any] = on_cuda.ready(a.device).way_of(a, b, c, asked)
    return made


def random_operands(m: int, k: int, n: int) -> tuple[Any, Any, Any]:
    """Two operands, and a place for their product."""
    torch = require_torch()
    generator = torch.Generator("cuda").manual_seed(1)
    options = {"dtype": torch.float64, "device": "cuda"}
    a, b = (torch.randn(*shape, generator=generator, **options) for shape in ((m, k), (k, n)))
    return a, b, torch.empty(m, n, **options)
