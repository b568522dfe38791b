"""torch's products by name, exchanged while a scope of mode="fastest" is entered anywhere: `@` of tensors, ``torch.matmul``,
``nn.functional.linear``, methods such as ``addmm_``. Only what runs in such a scope's context is looked at; nothing else of torch is
touched, so that no other operation takes longer.

What stands at a name equals the function in comparisons and tables, and lets the function itself be called where torch compiles,
exports or traces."""

from __future__ import annotations

import functools
import pkgutil
import time
from typing import Any

from ...request.library import is_integer, require_torch
from ...support.refusals import is_over_limit
from ..choice import decide_call, no_room
from ..entered import Entered, current, entered_here, nowhere
from ..exchange import Exchange, Site
from ..summary import Line
from .products import FUNCTIONS, NOTHING, PLAIN, Call

torch: Any = require_torch()
is_compiling: Any = torch.compiler.is_compiling  # which the compiler knows the answer of: nothing behind it is traced
forward_ad: Any = torch.autograd.forward_ad


class Emulated:
    """What stands for a function of torch, or a method of its tensors."""

    def __init__(self, path: str, original: Any) -> None:
        functools.update_wrapper(self, original)
        self._path, self._original = path, original
        self._name = path.rpartition(".")[2]
        self._function = FUNCTIONS[self._name]
        self._place, self._form = self._function.place, self._function.form

    def __call__(self, *args: Any, **named: Any) -> Any:
        if is_compiling():
            return self._original(*args, **named)
        scope = current.get()
        if scope is not None and not scope.is_open:
            scope = next(entered_here(), None)
        if scope is None or not scope.by_name:
            return self._original(*args, **named)
        try:
            key = self._key(args, named)
        except (IndexError, AttributeError, RuntimeError, TypeError):  # also nested tensors have no shape
            if len(args) < len(self._function.operands) and named:
                return self._by_keyword(args, named)
            return self._original(*args, **named)
        line = scope.left.get(key)
        if line is None:
            return self._looked_at(scope, key, args, named)
        if line is not NOTHING:
            with scope.record.lock:
                line.calls += 1
        return self._original(*args, **named)

    def _key(self, args: Any, named: Any) -> Any:
        """What all that is decided of a product depends on, but for gradients: neither strides nor entries."""
        a, b = args[self._place], args[self._place + 1]
        if type(a) not in PLAIN or type(b) not in PLAIN:
            raise TypeError
        if self._form is None:
            return self._name, a.shape, b.shape, a.dtype, a.device
        return self._name, a.shape, b.shape, a.dtype, a.device, self._form(args, named)

    def _by_keyword(self, args: Any, named: Any) -> Any:
        """The same with operands in their places; torch's own where they are others."""
        others = dict(named)
        try:
            places = [others.pop(name) for name in self._function.operands[len(args) :]]
        except KeyError:
            return self._original(*args, **named)
        return self(*args, *places, **others)

    def _looked_at(self, scope: Entered, key: Any, args: Any, named: Any) -> Any:
        with nowhere():
            call = self._call(args, named)
            if call is NOTHING:
                scope.left[key] = call
            line = None if call is None or call is NOTHING else self._line(scope, key, call)
        if line is None or _is_traced(call):
            return self._original(*args, **named)
        if not line.decision.take:
            scope.record.count(line)
            return self._original(*args, **named)
        if torch._C._is_torch_function_mode_enabled():  # it sees the function, and calls it here again
            return torch.overrides.handle_torch_function(self, call.read, *args, **named)
        return self._taken(scope, line, call, lambda: self._original(*args, **named))

    def _call(self, args: Any, named: Any) -> Call | None:
        """What is multiplied; None where torch has to see to it itself, as to arguments that it does not have."""
        try:
            call = self._function.product(*args, **named)
        except TypeError:
            return None
        # torch says itself what is wrong with these.
        is_wrong = call not in (None, NOTHING) and call.out is not None and _is_watched((*call.read, call.out))
        return None if is_wrong else call

    def _line(self, scope: Entered, key: Any, call: Call) -> Line:
        with_gradients = _is_watched(call.read)
        known = scope.decided.get((key, with_gradients))
        if known is not None:
            return known
        decision = decide_call(call, scope.options)
        is_left = not decision.take
        if with_gradients and decision.take:
            decision = decide_call(call, scope.options, with_gradients=True)
        line = scope.record.line(self._name, call.problem, decision)
        if decision.is_final:
            scope.decided[key, with_gradients] = line
            if is_left:
                scope.left[key] = line
        return line

    def _taken(self, scope: Entered, line: Line, call: Call, native: Any) -> Any:
        began = time.perf_counter()
        try:
            with nowhere():
                result = call.compute(scope.options.keywords_of(call.problem.dtype))
        except (MemoryError, torch.OutOfMemoryError) as error:
            has_native = call.problem.on_cpu or not is_integer(call.problem.dtype)
            if not has_native or (call.out is not None and not is_over_limit(error)):  # it may be half written
                raise
            line = scope.record.line(self._name, call.problem, no_room(error))
            scope.record.count(line)
            return native()
        scope.record.count(line, time.perf_counter() - began)
        return result

    def __get__(self, tensor: Any, kind: Any = None) -> Any:
        return self if tensor is None else functools.partial(self, tensor)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._original, name)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._original

    def __hash__(self) -> int:
        return hash(self._original)

    def __reduce__(self) -> Any:
        return pkgutil.resolve_name, (self._path,)

    def __repr__(self) -> str:
        return repr(self._original)


def _is_watched(tensors: Any) -> bool:
    """Whether gradients or tangents of a product may be wanted."""
    return (
        (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
        or forward_ad._current_level >= 0
        or torch._C._functorch.peek_interpreter_stack() is not None
    )


def _is_traced(call: Call) -> bool:
    """Whether torch writes down what is called, or multiplies in another precision than the operands'."""
    first = call.read[0]
    return torch._C._get_tracing_state() is not None or (
        first.dtype == torch.float32 and torch.is_autocast_enabled(first.device.type)
    )


def _sites() -> list[Site]:
    """torch's functions wherever it has them, each under one object; its tensors' methods."""
    found = []
    for path, module in (
        ("torch", torch),
        ("torch.linalg", torch.linalg),
        ("torch.functional", torch.functional),
        ("torch.nn.functional", torch.nn.functional),
        ("torch.Tensor", torch.Tensor),
    ):
        found += [
            Site(module, name, Emulated(f"{path}.{name}", original))
            for name in FUNCTIONS
            if (original := getattr(module, name, None)) is not None
        ]
    product = next(site.now for site in found if site.namespace is torch.Tensor and site.name == "matmul")
    original = torch.Tensor.__matmul__

    def __matmul__(self: Any, other: Any) -> Any:
        if isinstance(other, torch.Tensor):
            return product(self, other)
        return original(self, other)  # what `@` of other types does

    return [*found, Site(torch.Tensor, "__matmul__", functools.wraps(original)(__matmul__))]


EXCHANGE = Exchange(_sites)
