"""The mode that torch calls for every operation of a scope: products follow the scope's choice, all else goes on as it is.

torch calls it below its gradients, so that they are the same as without it, and consist of products that come here too. A
backward pass that is started in the scope has it in all its threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any

from ..._request.library import dtensor_class, require_torch
from ..._support import torch_private
from ..._support.child_lock import ChildLock
from ..calls import REFUSED, Call, multiplied
from ..entered import Entered, nowhere
from ..summary import Decision
from .operators import OPERATORS, Operator

torch: Any = require_torch()
_OPERATOR: Any = torch_private.operator_class()
_PLAIN: Any = torch.Tensor.__torch_dispatch__

# torch may cut the inner dimension, and adds up products of the pieces that each device has rounded: made by ozfp4 these would be
# no product of the whole.
OF_DTENSORS = Decision(False, "DTensor: torch adds up rounded products; ozfp4.matmul takes them")


class EmulationMode(torch_private.mode_class()):  # type: ignore[misc]
    """A scope's, for one entry. torch's stack of modes is the thread's, so that other contexts of it, as asyncio's tasks, have
    the mode there too: it passes what they do."""

    passes_products = True  # ozfp4's own do not have to be seen as operators (_request/library.py)
    supports_higher_order_operators = True

    def __init__(self, entered: Entered) -> None:
        super().__init__()
        self._entered = entered

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: torch does not put another function before this one. That would import its compiler, a second, and take a
        microsecond of each operation. Where the compiler is there already, DynamoEmulationMode has it."""
        return False

    def __enter__(self) -> Any:
        for mode in torch_private.modes():
            if isinstance(mode, EmulationMode) and not mode._entered.is_open:  # left in another thread
                with _uppermost(mode):
                    torch_private.pop_mode()
        with _kept_flags(entering=True):
            return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        """Wherever the mode lies by now; it is not there in another thread than that of its entry, where it passes all."""
        if self not in torch_private.modes():
            torch_private.push_mode(self)
        with _kept_flags(entering=False), _uppermost(self):
            super().__exit__(*exception)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if torch_private.has_compiler():  # since the scope was entered
            self.__class__ = DynamoEmulationMode
            return self.__torch_dispatch__(func, types, args, kwargs)
        return self._dispatched(func, types, args, kwargs or {})

    def _dispatched(self, func: Any, types: Any, args: Any, named: dict[str, Any]) -> Any:
        operator = OPERATORS.get(func)
        if not self._entered.is_here() or (operator is not None and _has_nested(args)):
            return func(*args, **named)
        # Kinds of tensors that define their operations themselves.
        foreign = [kind for kind in types if kind.__torch_dispatch__ is not _PLAIN] if types else types
        if foreign and isinstance(func, _OPERATOR):
            return self._of_foreign(foreign, operator, func, args, named)
        if operator is not None:
            return self._product(operator, func, args, named)
        if _is_composite(func) and not _has_nested(args):
            with self:
                return func.decompose(*args, **named)
        return func(*args, **named)

    def _product(self, operator: Operator, func: Any, args: Any, named: dict[str, Any]) -> Any:
        def native() -> Any:
            with nowhere():  # for scopes around this one: their modes come next
                return func(*args, **named)

        def find() -> Call:
            call = operator.call(args, named)

            def compute(**keywords: Any) -> Any:
                with torch.no_grad():  # torch sees to gradients above
                    return call.compute(**keywords)

            return call._replace(compute=compute)

        return multiplied(self._entered, operator.name, operator.key(args), find, native)

    def _of_foreign(
        self, foreign: list[Any], operator: Operator | None, func: Any, args: Any, named: dict[str, Any]
    ) -> Any:
        """The tensors in a wrapper come here again. DTensors are an exception: they are as without a scope with all that is
        done for them on this device. The kinds that torch traces with have no entries to multiply."""
        kind = dtensor_class()
        if kind is not None and any(issubclass(each, kind) for each in foreign):
            with nowhere():
                if operator is not None:
                    with suppress(*REFUSED):
                        problem = operator.call(args, named).problem
                        self._entered.record.line(operator.name, problem, OF_DTENSORS).calls.add()
                return func(*args, **named)
        return func(*args, **named) if all(map(torch_private.is_for_tracing, foreign)) else NotImplemented


class DynamoEmulationMode(EmulationMode):
    """The same for a program that may compile: the compiler keeps off what runs below."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._dispatched(func, types, args, kwargs or {})

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return True


def make_mode(entered: Entered) -> EmulationMode:
    """For one entry of a scope."""
    return (DynamoEmulationMode if torch_private.has_compiler() else EmulationMode)(entered)


@contextmanager
def _uppermost(mode: EmulationMode) -> Iterator[None]:
    """Modes above one on torch's stack are put there again afterwards."""
    above = [torch_private.pop_mode() for _ in range(torch_private.modes()[::-1].index(mode))]
    yield
    for each in reversed(above):
        torch_private.push_mode(each)


_lock = ChildLock()  # a collection of garbage may end a generator that is in a scope, also in here
_open = 0
_flags_before: dict[str, bool] = {}


@contextmanager
def _kept_flags(*, entering: bool) -> Iterator[None]:
    """Around torch's entering or leaving of a mode: the process's flags of modes, by which torch.compile sees one, are set until
    the last scope is left. torch restores what a mode found on entering, which is wrong where threads leave in another order."""
    global _open
    with _lock:
        if entering and _open == 0:
            _flags_before.update(torch_private.mode_flags())
        yield
        _open += 1 if entering else -1
        torch_private.set_mode_flags({name: before or _open > 0 for name, before in _flags_before.items()})


def _has_nested(args: Any) -> bool:
    """Whether there are stacks of matrices of several shapes, which have no shape to ask for, and ways of torch's own."""
    return any(
        _has_nested(x) if isinstance(x, (list, tuple)) else isinstance(x, torch.Tensor) and x.is_nested
        for x in args
    )


@lru_cache(maxsize=4096)
def _is_composite(func: Any) -> bool:
    """Whether it consists of others, and torch leaves it to be taken apart here where it keeps no gradients: for tensors of
    inference_mode, and in wrappers and other modes. Not one that calls functions, as torch.cond."""
    return isinstance(func, _OPERATOR) and func.namespace == "aten" and torch_private.is_composite(func)
