"""What the logger is told of a product. Entered only where it listens."""

from __future__ import annotations

import time
from typing import Any

from .._backends.kernels import device_name
from .._request.library import is_tensor, name_of, require_torch
from .._request.operands import MatmulRequest
from .._support.environment import LOGGER
from .decision import Decision


def begin(request: MatmulRequest) -> float:
    """The time at which the product begins; a GPU has then done all that was asked of it before."""
    _wait(request)
    return time.perf_counter()


def tell(request: MatmulRequest, decision: Decision | str, began: float) -> None:
    """One line of a product that was made, or on a GPU enqueued: it is waited for. One of machine words has a reason in place of
    a decision."""
    waited = _wait(request)
    seconds = time.perf_counter() - began
    LOGGER.debug("%s", line(request, decision, seconds if waited else None))


def line(request: MatmulRequest, decision: Decision | str, seconds: float | None) -> str:
    """What was multiplied, by which plan, where, how long it took (None: not known), and why so."""
    shape = request.shape
    stack = f"{' × '.join(map(str, shape.stack))} times " if shape.stack else ""
    result = name_of(request.dtype)
    promised = "exact" if result.startswith(("int", "uint", "bool")) else request.asked.accuracy
    of = "product" if request.update is None else "update"
    where = str(request.a.device) if is_tensor(request.a) else device_name("cpu")
    took = "captured" if seconds is None else f"{1e3 * seconds:.3f} ms"
    if isinstance(decision, str):
        by, because = "machine words", decision
    else:
        plan = decision.plan
        by = f"scheme {plan.scheme} {plan.backend}, up to {plan.products} products of {plan.bits} bits"
        because = decision.reason if decision.fallback is None else f"{decision.reason}; {decision.fallback}"
    return f"{of} {stack}{shape.m} × {shape.n} × {shape.k} {result} {promised}: {by}, {where}: {took} ({because})"


def _wait(request: MatmulRequest) -> bool:
    """Wait for the device of the operands; False where a graph is captured, which allows no waiting."""
    if not is_tensor(request.a):
        return True
    cuda: Any = require_torch().cuda
    if cuda.is_current_stream_capturing():
        return False
    cuda.synchronize(request.a.device)
    return True
