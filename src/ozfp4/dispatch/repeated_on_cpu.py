"""Products of NumPy matrices on the CPU like one that was made before, of which nothing is asked again: a short product
takes less time than all the questions.

All that a product asks of its operands, beside their data, is in its likeness: extents and dtypes, with the byte order.
How they lie the core takes from each of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _core
from ..backends import cpu
from ..request.operands import MatmulRequest
from ..trust import guard
from . import this_machine
from .decision import Decision

made: dict[tuple[Any, ...], _core.RepeatedMatmul] = {}  # by likeness
_MOST_MADE = 512
_repeated = _core.repeated
_TAKEN = (np.dtype(np.float64), np.dtype(np.float32))


def product(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], settings: tuple[Any, ...]) -> tuple[Any, Any]:
    """What two products share that differ in their data alone, and the product if one like it has been made; None
    otherwise, or where the decision is due again. The core has beside each setting its type: 2.0 == 2, and True == 1."""
    # The generations because a kernel may be disabled by now, or others be measured as faster. Not the number of threads, which
    # would be asked of the system: where the environment or affinity changes it, what was chosen stays as it was.
    return _repeated(made, a, b, settings, guard.generation, this_machine.generation, cpu.forced_way)


def enter(like: tuple[Any, ...], request: MatmulRequest, decision: Decision) -> None:
    """Let products like this one be repeated, if it was one of matrices as they were passed. What is alike was asked for
    before the decision; what that has changed is found under no later likeness."""
    shape = request.shape
    is_plain = request.a.ndim == 2 and request.b.ndim == 2 and (request.a.shape, request.b.shape) == like[:2]
    if not is_plain or like[2] not in _TAKEN or like[3] not in _TAKEN or 0 in (shape.m, shape.n, shape.k):
        return
    if len(made) >= _MOST_MADE:
        made.clear()
    asked = request.asked
    made[like] = _core.RepeatedMatmul(
        decision.plan._core, request.a, request.b, request.dtype, asked.workspace_limit or cpu.DEFAULT_WORKSPACE,
        asked.accuracy, asked.rounding, cpu.way_of(decision.way),
    )  # fmt: skip
