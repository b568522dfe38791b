"""Products of integers on a GPU."""

from __future__ import annotations

from typing import Any

from ...request.operands import MatmulRequest


def matmul(request: MatmulRequest, decision: Any, modulus: int, counts: bool) -> Any:
    raise RuntimeError(f"a: device {request.a.device} has no kernel for integers in this build; it holds: cpu")
