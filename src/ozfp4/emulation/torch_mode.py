"""What torch calls for every operation of a scope: products go where the scope's choice says, all else goes on as it is.

torch calls it below its gradients, so that they are what they are without, and are made of products that come here too: a
backward pass that is started in the scope has it in all its threads.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..request.library import require_torch
from . import convolutions
from .choice import decide
from .options import Options
from .problem import Problem
from .summary import Decision, Line, Record
from .torch_operators import OPERATORS, Operator

torch: Any = require_torch()
_composite = torch._C.DispatchKey.CompositeImplicitAutograd
_inner = (
    threading.local()
)  # `busy`: an inner scope of this thread has seen the operation; those around it pass it on


class EmulationMode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """A scope's. `passes_products`: what ozfp4 was called for by name does not have to be seen (request/library.py)."""

    passes_products = True

    def __init__(self, options: Options, record: Record) -> None:
        super().__init__()
        self._options, self._record = options, record
        self._decided: dict[Any, Line] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        operator = OPERATORS.get(func)
        if operator is None:
            return self._other(func, types, args, kwargs or {})
        if _inner.__dict__.get("busy"):
            return func(*args, **(kwargs or {}))
        if types and (foreign := _foreign(types)):
            # What a wrapper is made of comes here again; torch's own have no entries to multiply.
            return func(*args, **(kwargs or {})) if all(map(_is_fake, foreign)) else NotImplemented
        a, b = args[operator.places[0]], args[operator.places[1]]
        # Neither strides nor entries decide.
        key = (func, a.shape, b.shape, a.dtype, a.device)
        line = self._decided.get(key)
        if line is not None and not line.decision.take:
            self._record.count(line)
            with _passed():
                return func(*args, **(kwargs or {}))
        return self._product(func, operator, key, args, kwargs or {})

    def _product(self, func: Any, operator: Operator, key: Any, args: Any, named: dict[str, Any]) -> Any:
        first, second, third = operator.places
        a, b, c = args[first], args[second], None if third is None else args[third]
        with _passed():
            if not operator.fits(a, b, c, named) or a.device.type not in ("cpu", "cuda"):
                return func(*args, **named)
            line = self._decided.get(key) or self._new_line(operator.name, operator.problem(a, b), key)
            if not line.decision.take:
                self._record.count(line)
                return func(*args, **named)
            return self._timed(
                line, lambda keywords: operator.compute(a, b, c, named, keywords), self._options
            )

    def _new_line(self, name: str, problem: Problem, key: Any) -> Line:
        decision = decide(problem, self._options)
        line = self._record.line(name, problem, decision)
        if decision.is_final:
            self._decided[key] = line
        return line

    def _timed(self, line: Line, compute: Callable[[dict[str, Any]], Any], options: Options) -> Any:
        began = time.perf_counter()
        with torch.no_grad():  # torch sees to gradients above
            found = compute(options.keywords_of(line.problem.dtype))
        self._record.count(line, time.perf_counter() - began)
        return found

    def _other(self, func: Any, types: Any, args: Any, named: dict[str, Any]) -> Any:
        """No product by itself. In inference_mode torch leaves to us to take apart what is made of others."""
        if self._options.convolutions and func in convolutions.OPERATORS and not _inner.__dict__.get("busy"):
            return self._convolution(func, types, args, named)
        if torch.is_inference_mode_enabled() and func.namespace == "aten" and _is_composite(func):
            with self:
                return func.decompose(*args, **named)
        return func(*args, **named)

    def _convolution(self, func: Any, types: Any, args: Any, named: dict[str, Any]) -> Any:
        if types and (foreign := _foreign(types)):
            return func(*args, **named) if all(map(_is_fake, foreign)) else NotImplemented
        problem = convolutions.problem(func, args)
        with _passed():
            if problem is None:
                return func(*args, **named)
            decision: Decision = decide(problem, self._options)
            line = self._record.line(func._opname, problem, decision)
            if not decision.take:
                self._record.count(line)
                return func(*args, **named)
            return self._timed(
                line, lambda keywords: convolutions.OPERATORS[func](keywords, *args), self._options
            )


@contextmanager
def _passed() -> Iterator[None]:
    """Scopes around this one take nothing of what is done meanwhile in this thread."""
    before = _inner.__dict__.get("busy", False)
    _inner.busy = True
    try:
        yield
    finally:
        _inner.busy = before


def _foreign(types: Any) -> list[Any]:
    """Those of the kinds of tensors that say themselves what their operations are."""
    plain = torch.Tensor.__torch_dispatch__
    return [kind for kind in types if kind.__torch_dispatch__ is not plain]


def _is_fake(kind: Any) -> bool:
    """Whether a kind is one that torch traces with."""
    return str(kind.__module__).startswith("torch._subclasses")


_composites: dict[Any, bool] = {}


def _is_composite(func: Any) -> bool:
    found = _composites.get(func)
    if found is None:
        found = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), _composite)
        _composites[func] = found
    return found
