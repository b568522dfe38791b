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

from ..._request.library import dtensor_class, require_torch
from ..._support import torch_private
from ..._support.refusals import is_over_limit
from .. import chains
from ..choice import decide, no_room
from ..entered import Entered, keep
from ..problem import Problem
from ..summary import Decision, Line
from .flags import kept_flags
from .operators import OPERATORS, Operator

torch: Any = require_torch()
_OPERATOR: Any = torch_private.operator_class()


class _Inner(threading.local):
    """`busy`: an inner scope of this thread has seen the operation, and those around it pass it on."""

    busy = False


_inner = _Inner()

OF_DTENSORS = Decision(False, "DTensor: torch adds up rounded products; ozfp4.matmul takes them")


class EmulationMode(torch_private.mode_class()):  # type: ignore[misc]
    """A scope's, for one entry. `passes_products`: what ozfp4 is called for by name does not have to be seen as an operator
    (request/library.py).

    torch's stack of modes is the thread's, so that other contexts of it, as asyncio's tasks, have the mode there too: it passes
    what they do."""

    passes_products = True
    supports_higher_order_operators = True

    def __init__(self, entered: Entered) -> None:
        super().__init__()
        self._entered, self._options, self._record = entered, entered.options, entered.record
        self._decided: dict[Any, Line] = {}
        modes = torch_private.modes()
        self._is_nested = any(isinstance(mode, EmulationMode) for mode in modes)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: torch does not put a function of its own before ours, which would import its compiler, a second, and take a
        microsecond of each operation. Where the compiler is there already, DynamoEmulationMode has it."""
        return False

    def __enter__(self) -> Any:
        for mode in torch_private.modes():
            if isinstance(mode, EmulationMode) and not mode._entered.is_open:  # left in another thread
                _put(_taken_above(mode, itself=True))
        with kept_flags(entering=True):
            return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        """Wherever the mode lies by now; it is not there in another thread than that of its entry, where it passes all."""
        with kept_flags(entering=False):
            above = []
            if self in torch_private.modes():
                above = _taken_above(self)
            else:
                torch_private.push_mode(self)
            super().__exit__(*exception)
            _put(above)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not self._entered.is_here():
            return func(*args, **(kwargs or {}))
        operator = OPERATORS.get(func)
        if operator is None:
            return self._other(func, types, args, kwargs or {})
        if operator.is_nested(args):
            return func(*args, **(kwargs or {}))
        if not (types or self._is_nested or _inner.busy):  # the shortest way for what is left
            line = self._decided.get(operator.key(args))
            if line is not None and not line.decision.take:
                line.calls.add()
                return func(*args, **kwargs) if kwargs else func(*args)
        return self._product(func, types, operator, args, kwargs or {})

    def _product(self, func: Any, types: Any, operator: Operator, args: Any, named: dict[str, Any]) -> Any:
        if _inner.busy:
            return func(*args, **named)
        if types and (foreign := _foreign(types)):
            if _has_dtensors(foreign):
                return self._left_to_dtensor(
                    operator.name, operator.problem(*operator.operands(args)[:2]), func, args, named
                )
            return _of_foreign(foreign, func, args, named)
        a, b, c = operator.operands(args)
        with _passed():
            if not operator.fits(a, b, c, named) or a.device.type not in ("cpu", "cuda"):
                return func(*args, **named)
            key = operator.key(args)
            line = self._decided.get(key) or self._line(operator.name, operator.problem(a, b), key)
            if not line.decision.take:
                self._record.count(line)
                return func(*args, **named)
            return self._timed(
                line,
                lambda keywords: operator.compute(a, b, c, named, keywords),
                lambda: func(*args, **named),
            )

    def _line(self, name: str, problem: Problem, key: Any = None) -> Line:
        decision = decide(problem, self._options)
        line = self._record.line(name, problem, decision)
        if key is not None:
            keep(self._decided, key, line)
        return line

    def _timed(self, line: Line, compute: Callable[[dict[str, Any]], Any], native: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        try:
            with torch.no_grad():  # torch sees to gradients above
                found = chains.made(line.problem, self._options, compute)
        except MemoryError as error:
            if self._options.mode == "always" or not is_over_limit(error):
                raise
            found = no_room(error)
        if isinstance(found, Decision):
            self._record.count(self._record.line(line.operation, line.problem, found))
            return native()
        self._record.count(line, time.perf_counter() - began)
        return found

    def _other(self, func: Any, types: Any, args: Any, named: dict[str, Any]) -> Any:
        """No product by itself. What is made of others, torch leaves to us to take apart where it keeps no gradients: for tensors
        of inference_mode, and in what wrappers and other modes do."""
        if not isinstance(func, _OPERATOR):  # one that calls functions, as torch.cond
            return func(*args, **named)
        if types and (foreign := _foreign(types)):
            return _of_foreign(foreign, func, args, named)
        if func.namespace == "aten" and _is_composite(func) and not _has_nested(args):
            with self:
                return func.decompose(*args, **named)
        return func(*args, **named)

    def _left_to_dtensor(
        self, name: str, problem: Problem, func: Any, args: Any, named: dict[str, Any]
    ) -> Any:
        """torch may cut the inner dimension, and adds up products of the pieces that each device has rounded: made by ozfp4 these
        would be no product of the whole. `problem` is of all devices."""
        self._record.count(self._record.line(name, problem, OF_DTENSORS))
        return _of_dtensors(func, args, named)


class DynamoEmulationMode(EmulationMode):
    """The same for a program that may compile: the compiler keeps off what runs below."""

    __torch_dispatch__ = EmulationMode.__torch_dispatch__

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return True


def make_mode(entered: Entered) -> EmulationMode:
    """For one entry of a scope."""
    kind = DynamoEmulationMode if torch_private.has_compiler() else EmulationMode
    return kind(entered)


def _taken_above(mode: EmulationMode, *, itself: bool = False) -> list[Any]:
    """What lay above it on torch's stack, from the top; `itself` is taken off too. Range: it is on the stack."""
    modes = torch_private.modes()
    above = [torch_private.pop_mode() for _ in range(modes[::-1].index(mode))]
    if itself:
        torch_private.pop_mode()
    return above


def _put(above: list[Any]) -> None:
    for mode in reversed(above):
        torch_private.push_mode(mode)


@contextmanager
def _passed() -> Iterator[None]:
    """Scopes around this one take nothing of what is done meanwhile in this thread. Range: not within itself."""
    _inner.busy = True
    try:
        yield
    finally:
        _inner.busy = False


def _foreign(types: Any) -> list[Any]:
    """Those of the kinds of tensors that say themselves what their operations are."""
    plain = torch.Tensor.__torch_dispatch__
    return [kind for kind in types if kind.__torch_dispatch__ is not plain]


def _of_foreign(foreign: list[Any], func: Any, args: Any, named: dict[str, Any]) -> Any:
    """What a wrapper is made of comes here again, but of DTensors; the kinds that torch traces with have no entries to
    multiply."""
    if _has_dtensors(foreign):
        return _of_dtensors(func, args, named)
    if all(map(torch_private.is_for_tracing, foreign)):
        return func(*args, **named)
    return NotImplemented


def _has_dtensors(kinds: list[Any]) -> bool:
    kind = dtensor_class()
    return kind is not None and any(issubclass(each, kind) for each in kinds)


def _of_dtensors(func: Any, args: Any, named: dict[str, Any]) -> Any:
    """As without a scope, with all that is done for it on this device."""
    if _inner.busy:
        return func(*args, **named)
    with _passed():
        return func(*args, **named)


def _has_nested(args: Any) -> bool:
    """Whether torch has its own way of what others are taken apart for."""
    return any(
        _has_nested(x) if isinstance(x, (list, tuple)) else isinstance(x, torch.Tensor) and x.is_nested
        for x in args
    )


_composites: dict[Any, bool] = {}


def _is_composite(func: Any) -> bool:
    found = _composites.get(func)
    if found is None:
        found = torch_private.is_composite(func)
        _composites[func] = found
    return found
