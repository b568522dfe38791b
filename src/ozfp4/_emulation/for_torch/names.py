"""torch's products by name, exchanged while a scope of mode="fastest" is entered anywhere: `@` of tensors, ``torch.matmul``,
``nn.functional.linear``, methods such as ``addmm_``. Only what runs in such a scope's context is looked at; nothing else of torch
is touched, so that no other operation takes longer.

The replacement at a name equals the function in comparisons and tables, and lets the function itself be called where torch
compiles, exports or traces."""

from __future__ import annotations

import functools
import pkgutil
from functools import lru_cache
from typing import Any

from ... import _core
from ..._request.library import require_torch
from ..._support import torch_private
from ..calls import multiplied
from ..entered import current, innermost
from ..exchange import Exchange, Site
from .products import FUNCTIONS, PLAIN

torch: Any = require_torch()
# The answer is a constant for the compiler, which traces nothing behind it.
is_compiling: Any = torch.compiler.is_compiling
_OF_FUNCTIONS = ("__objclass__", "__self__", "__code__", "__defaults__", "__kwdefaults__", "__globals__")


class Emulated(_core.Left):
    """The replacement of a function of torch, or of a method of its tensors. Calls that the innermost scope is known to
    leave go on to torch there, all others of a scope to `_otherwise`."""

    def __init__(self, path: str, original: Any, public: Emulated | None = None) -> None:
        functools.update_wrapper(self, original, (*functools.WRAPPER_ASSIGNMENTS, *_OF_FUNCTIONS))
        self._path, self._original, self._public = path, original, public or self
        self._name = path.rpartition(".")[2].strip("_") if public else path.rpartition(".")[2]
        self._function = FUNCTIONS[self._name]
        operands, place, form = self._function.operands, self._function.place, self._function.form
        super().__init__(original, current, tuple(PLAIN), operands, form, self._name, place)

    def _otherwise(self, args: Any, named: Any, key: Any) -> Any:
        """With operands in their places. The innermost entry may be closed, and one around it have the key."""
        scope = innermost()
        if scope is None or scope.left_by_name is None or is_compiling():
            return self._original(*args, **named)
        if torch.overrides.has_torch_function(args):  # a mode sees the function, and calls it again
            return torch.overrides.handle_torch_function(self._public, args, *args, **named)
        return multiplied(scope, self._name, key, self._function.product, self._original, args, named)

    @property  # type: ignore[misc] # it is never written
    def __class__(self) -> Any:
        """The function's, by which torch's compiler identifies it."""
        return type(self._original)

    def __eq__(self, other: object) -> bool:
        return other is self or other is self._original

    def __hash__(self) -> int:
        return hash(self._original)

    def __reduce__(self) -> Any:
        return pkgutil.resolve_name, (self._path,)

    def __repr__(self) -> str:
        return repr(self._original)


def _sites() -> list[Site]:
    """torch's functions wherever it has them, and its tensors' methods."""
    kind, path = torch.Tensor, "torch.Tensor"
    places = {
        "torch": torch,
        "torch.linalg": torch.linalg,
        "torch.functional": torch.functional,
        "torch.nn.functional": torch.nn.functional,
        path: kind,
    }
    operator = _emulated(path, "__matmul__", kind.__matmul__, _emulated(path, "matmul", kind.matmul))
    found = [
        (module, name, _emulated(where, name, getattr(module, name)))
        for where, module in places.items()
        for name in FUNCTIONS
        if hasattr(module, name)
    ]
    return [*found, (kind, "__matmul__", operator)]


@lru_cache(maxsize=256)  # for all scopes, as long as torch has the same there
def _emulated(path: str, name: str, original: Any, public: Any = None) -> Emulated:
    """`public`: what modes of torch see in its place."""
    emulated = Emulated(f"{path}.{name}", original, public)
    operator = torch_private.scripted_operator(original)
    if operator is not None:  # so that what torch.jit scripts meanwhile has torch's operator
        torch_private.script_as(emulated, operator)
    return emulated


EXCHANGE = Exchange(_sites)
