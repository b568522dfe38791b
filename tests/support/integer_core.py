"""A core of a device, with tensors on torch's CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from .integers import exact, wrapped


class IntegerCore:
    """Products of integers as _cuda has them, by Python's integers."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def multiply_integers(
        self,
        a: Any,
        b: Any,
        out: Any,
        asked: Any,
        *,
        bits: int,
        is_reported: bool,
        alpha: int = 1,
        beta: int = 0,
        addend: Any = None,
        modulus: int = 0,
        overflows: Any = None,
    ) -> dict[str, Any]:
        self.calls.append({"a": a, "b": b, "bits": bits, "modulus": modulus, "counts": overflows is not None})
        name = str(out.dtype).removeprefix("torch.")
        product = np.asarray(exact(*(x.numpy().astype(object) + 0 for x in (a, b))), object)
        assert tuple(out.shape) == product.shape
        if overflows is not None:
            info = np.iinfo(name)
            overflows[0] = int(np.sum((product < info.min) | (product > info.max)))
        found = product % modulus if modulus else alpha * product
        if beta:
            found = found + beta * (addend.numpy().astype(object) + 0)
        found = np.asarray(found, object)
        out.numpy()[...] = found.astype(bool) if name == "bool" else wrapped(found, name)
        return {"plan": None, "reason": "why", "fallback": None}
