"""torch's products by name, exchanged while a scope of mode="fastest" is entered anywhere: `@` of tensors, ``torch.matmul``,
``nn.functional.linear``, methods such as ``addmm_``. Only what runs in such a scope's context is looked at; nothing else of torch
is touched, so that no other operation takes longer.

What stands at a name equals the function in comparisons and tables, and lets the function itself be called where torch compiles,
exports or traces."""

from __future__ import annotations

import functools
import pkgutil
import time
from functools import lru_cache
from typing import Any

from ... import _core
from ..._request.library import is_integer, require_torch
from ..._support import torch_private
from ..._support.refusals import is_over_limit
from .. import chains
from ..choice import decide_call, no_room
from ..entered import Entered, current, innermost, keep, nowhere
from ..exchange import Exchange, Site
from ..summary import Decision, Line
from .products import FUNCTIONS, NOTHING, PLAIN, Call

torch: Any = require_torch()
# The compiler knows the answer, and traces nothing behind it.
is_compiling: Any = torch.compiler.is_compiling
_OF_FUNCTIONS = ("__objclass__", "__self__", "__code__", "__defaults__", "__kwdefaults__", "__globals__")
UNCOUNTED: Any = object()  # what is no product


class Emulated(_core.Left):
    """What stands for a function of torch, or a method of its tensors. Calls that the innermost scope is known to leave go on to
    torch there, all others of a scope to `_otherwise`."""

    def __init__(self, path: str, original: Any, public: Emulated | None = None) -> None:
        functools.update_wrapper(self, original, (*functools.WRAPPER_ASSIGNMENTS, *_OF_FUNCTIONS))
        self._path, self._original, self._public = path, original, public or self
        self._name = path.rpartition(".")[2].strip("_") if public else path.rpartition(".")[2]
        self._function = FUNCTIONS[self._name]
        operands, place, form = self._function.operands, self._function.place, self._function.form
        super().__init__(original, current, tuple(PLAIN), operands, form, self._name, place)

    def _otherwise(self, args: Any, named: Any, key: Any) -> Any:
        """With operands in their places; of the innermost entry if there is a key, else of one around it."""
        scope = innermost()
        left = None if scope is None else scope.left_by_name
        if scope is None or left is None or is_compiling():
            return self._original(*args, **named)
        if key is None:
            key = self._key(args, named)
            calls = UNCOUNTED if key is None else left.get(key)
            if calls is not None:
                if calls is not UNCOUNTED:
                    calls.add()
                return self._original(*args, **named)
        return self._looked_at(scope, left, key, args, named)

    def _looked_at(self, scope: Entered, left: dict[Any, Any], key: Any, args: Any, named: Any) -> Any:
        with nowhere():
            call = self._call(args, named)
            if call is NOTHING:
                keep(left, key, UNCOUNTED)
                call = None
            line = None if call is None else self._line(scope, left, key, call)
        if call is None or line is None or _is_traced(call):
            return self._original(*args, **named)
        if not line.decision.take:
            scope.record.count(line)
            return self._original(*args, **named)
        if torch.overrides.has_torch_function(call.read):  # a mode: it sees the function, and calls it again
            return torch.overrides.handle_torch_function(self._public, call.read, *args, **named)
        began = time.perf_counter()
        try:
            with nowhere():
                result = chains.made(call.problem, scope.options, call.compute)
        except (MemoryError, torch.cuda.OutOfMemoryError) as error:
            if not _may_be_torchs(call, error):
                raise
            result = no_room(error)
        if isinstance(result, Decision):
            scope.record.count(scope.record.line(self._name, call.problem, result))
            return self._original(*args, **named)
        scope.record.count(line, time.perf_counter() - began)
        return result

    def _call(self, args: Any, named: Any) -> Call | None:
        """What is multiplied; None where torch has to see to it itself, as to arguments that it does not have."""
        try:
            call = self._function.product(*args, **named)
        except TypeError:
            return None
        # torch says itself what is wrong with these.
        if call is not None and call.out is not None and _may_be_refused(call):
            return None
        return call

    def _line(self, scope: Entered, left: dict[Any, Any], key: Any, call: Call) -> Line:
        with_gradients = _is_watched(call.read)
        known = scope.decided.get((key, with_gradients))
        if known is not None:
            return known
        decision = decide_call(call, scope.options)
        is_left = not decision.take
        if with_gradients and decision.take:
            decision = decide_call(call, scope.options, with_gradients=True)
        line = scope.record.line(self._name, call.problem, decision)
        keep(scope.decided, (key, with_gradients), line)
        if is_left:
            keep(left, key, line.calls)
        return line

    @property  # type: ignore[misc] # nobody writes to it
    def __class__(self) -> Any:
        """The function's, by which torch's compiler knows it."""
        return type(self._original)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._original

    def __hash__(self) -> int:
        return hash(self._original)

    def __reduce__(self) -> Any:
        return pkgutil.resolve_name, (self._path,)

    def __repr__(self) -> str:
        return repr(self._original)


def _may_be_refused(call: Call) -> bool:
    """Whether torch has something against what is written to."""
    is_kept = call.out.is_inference() and not torch.is_inference_mode_enabled()
    return is_kept or _is_watched((*call.read, call.out))


def _is_watched(tensors: Any) -> bool:
    """Whether gradients or tangents of a product may be wanted."""
    return (
        (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
        or torch_private.tangent_level() >= 0
        or torch_private.interpreter() is not None
    )


def _may_be_torchs(call: Call, error: Exception) -> bool:
    """Whether torch has such a product, and none of the result is written, as it may be where memory ends in between."""
    has_native = call.problem.on_cpu or not is_integer(call.problem.dtype)
    return has_native and (call.out is None or is_over_limit(error))


def _is_traced(call: Call) -> bool:
    """Whether torch writes down what is called, or multiplies in another precision than the operands'."""
    first = call.read[0]
    return torch_private.is_recorded() or (
        first.dtype == torch.float32 and torch.is_autocast_enabled(first.device.type)
    )


_PLACES = [
    (module, path, name)
    for module, path in (
        (torch, "torch"),
        (torch.linalg, "torch.linalg"),
        (torch.functional, "torch.functional"),
        (torch.nn.functional, "torch.nn.functional"),
        (torch.Tensor, "torch.Tensor"),
    )
    for name in FUNCTIONS
    if hasattr(module, name)
]


def _sites() -> list[Site]:
    """torch's functions wherever it has them, and its tensors' methods."""
    found = [
        Site(module, name, _emulated(path, name, getattr(module, name))) for module, path, name in _PLACES
    ]
    return [*found, Site(torch.Tensor, "__matmul__", _operator(torch.Tensor.matmul, torch.Tensor.__matmul__))]


@lru_cache(maxsize=256)  # for all scopes, as long as torch has the same there
def _emulated(path: str, name: str, original: Any) -> Emulated:
    emulated = Emulated(f"{path}.{name}", original)
    operator = torch_private.scripted_operator(original)
    if operator is not None:  # so that what torch.jit scripts meanwhile has torch's operator
        torch_private.script_as(emulated, operator)
    return emulated


@lru_cache(maxsize=16)
def _operator(method: Any, original: Any) -> Emulated:
    """What stands for `@`."""
    return Emulated("torch.Tensor.__matmul__", original, _emulated("torch.Tensor", "matmul", method))


EXCHANGE = Exchange(_sites)
