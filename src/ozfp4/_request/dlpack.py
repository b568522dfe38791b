"""Arrays of other libraries: CuPy's, JAX's, all that have ``__dlpack__``.

A product views them as NumPy arrays or, on a CUDA device, as torch tensors, and what it makes goes back to their library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from inspect import Signature, signature
from typing import Any, TypeVar, cast

import numpy as np

from .library import HOST_DEVICES, is_tensor, torch_module
from .prepared import Prepared

F = TypeVar("F", bound=Callable[..., Any])

# The arguments that may be arrays; no other one is looked at.
_OPERANDS = ("a", "b", "c", "x", "subscripts", "operands", "lu_and_piv", "out")

# The ones among them that may be pairs: a tuple, or a list of two.
_PAIRS = ("lu_and_piv", "out")

_CUDA = 2  # of enum DLDeviceType of dlpack.h: where torch views

# Types that were looked at and are of no other library: a product of theirs costs no more than this look-up.
plain: set[type] = {np.ndarray, type(None), str, bool, int, float, complex, list}


def are_given(*values: object) -> bool:
    """Whether one of these is an array of another library, or was prepared from one."""
    for value in values:
        kind = type(value)
        if kind is tuple or (kind is list and len(value) == 2):  # type: ignore[arg-type]
            if are_given(*value):  # type: ignore[misc]
                return True
        elif kind in plain:
            continue
        elif isinstance(value, Prepared):
            if value._library is not None:
                return True
        elif _is_of_another(value):
            return True
        else:
            plain.add(kind)
    return False


def _is_of_another(x: object) -> bool:
    if isinstance(x, (np.ndarray, np.generic)) or is_tensor(x):
        return False
    return hasattr(type(x), "__dlpack__") or _is_proxy(x)


def any_library(product: F) -> F:
    """A function that takes arrays as `_OPERANDS`, for arrays of any library."""

    @wraps(product)
    def of_any_library(*given: Any, **named: Any) -> Any:
        if not are_given(*given, *named.values()):
            return product(*given, **named)
        return of_another(product, *given, **named)

    return cast(F, of_any_library)


_signature: Callable[[Callable[..., Any]], Signature] = lru_cache(maxsize=64)(signature)


def of_another(product: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """The product of views of operands of another library. TypeError for arrays of two libraries, for arrays of one that
    takes no results back, for tracers, and an immutable `out`. RuntimeError for two devices, or one without a kernel."""
    bound = _signature(product).bind(*given, **named)
    arguments = bound.arguments
    # It keeps views, and torch counts no write by their library.
    if "copies" in _signature(product).parameters:
        arguments["copies"] = True
    for name in _PAIRS:
        if isinstance(pair := arguments.get(name), list):
            arguments[name] = tuple(pair)
    operands = dict(_operands(arguments))
    owners = {name: _owner(name, x) for name, x in operands.items()}
    first, library = next(iter(owners.items()))
    if len({own.name for own in owners.values()}) > 1:
        kinds = ", ".join(f"{name} is of {own.name}" for name, own in owners.items())
        raise TypeError(f"arrays of two libraries cannot be mixed: {kinds}")
    if library.module is None:
        return product(*bound.args, **bound.kwargs)
    outs = {name: x for name, x in operands.items() if name.startswith("out")}
    for name, own in owners.items():
        if name in outs and library.name == "jax":
            raise TypeError(f"{name}: arrays of jax are immutable; leave out= out and take what is returned")
        if own.device != library.device:
            raise RuntimeError(
                f"{name}: device {own.device} differs from {library.device}, where {first} lies"
            )
    views = {id(x): library.view(name, x) for name, x in operands.items()}
    for name in set(_OPERANDS).intersection(arguments):
        arguments[name] = _mapped(arguments[name], lambda x: views.get(id(x), x))
    result = product(*bound.args, **bound.kwargs)
    written = {id(views[id(x)]): x for x in outs.values()}
    library.release(views.values())
    return _mapped(result, lambda x: written[id(x)] if id(x) in written else library.take_back(x))


def _operands(arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The operands that were passed, by the names that errors have; several arrays each by itself."""
    has_labels = not isinstance(arguments.get("subscripts", ""), str)  # in lists: NumPy's other form
    for name in _OPERANDS:
        value = arguments.get(name)
        if isinstance(value, tuple):
            for i, x in enumerate(value):
                if not (x is None or (has_labels and isinstance(x, (list, tuple)))):
                    yield f"{name}[{i}]", x
        elif not (value is None or isinstance(value, str)):
            yield name, value


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """The function of a value, or of each of a tuple."""
    if not isinstance(value, tuple):
        return function(value)
    each = [_mapped(x, function) for x in value]
    return type(value)(*each) if hasattr(value, "_fields") else tuple(each)


@dataclass(frozen=True)
class Library:
    """A library of arrays: its name, the module with the `from_dlpack` that takes results back (None: NumPy and torch), and
    the place of its operands by dlpack.h and by name."""

    name: str
    module: Any = None
    place: tuple[int, int] = (1, 0)
    device: Any = None

    def view(self, name: str, x: Any) -> Any:
        """The same entries as an array, or on a CUDA device as a tensor; a prepared operand as one of these."""
        if isinstance(x, Prepared):
            return replace(x, _library=None)
        torch = torch_module()
        if self.place[0] in HOST_DEVICES:
            import_from = np.from_dlpack
        elif self.place[0] == _CUDA and torch is not None:
            import_from = torch.from_dlpack
        else:
            raise RuntimeError(
                f"{name}: the array of {self.name} lies on device {self.place} of DLPack; products run on the CPU, and on CUDA "
                "devices where torch is imported"
            )
        try:
            return import_from(x)
        except Exception as error:  # each library has its own
            raise TypeError(
                f"{name}: the array of {self.name}, of dtype {_dtype(x)}, cannot be viewed by DLPack: {error}"
            ) from None

    def release(self, views: Any) -> None:
        """Let this library's current stream wait for what was enqueued on torch's: it may free what was read, and read what was
        written."""
        for view in views:
            if is_tensor(view) and view.is_cuda:
                self.module.from_dlpack(view)
                return

    def take_back(self, x: Any) -> Any:
        """An array or a tensor as one of this library, on the device of its operands; a prepared operand with its library;
        all else as it is."""
        if isinstance(x, Prepared):
            return replace(x, _library=self)
        if is_tensor(x):
            x = x.contiguous()
        elif isinstance(x, (np.ndarray, np.generic)):
            x = np.asarray(x)
            # A view of an operand: other libraries take compact arrays, and NumPy before 2.1 exports no read-only one.
            if not x.flags.c_contiguous or not x.flags.writeable:
                x = np.array(x, order="C")
        else:
            return x
        made = self.module.from_dlpack(x)
        if _dtype(made) != _dtype(x):
            remedy = "; jax.config.update('jax_enable_x64', True) lets it" if self.name == "jax" else ""
            raise TypeError(f"the result is {_dtype(x)}, and {self.name} makes {_dtype(made)} of it{remedy}")
        return made if getattr(made, "device", self.device) == self.device else made.to_device(self.device)


def _owner(name: str, x: Any) -> Library:
    """The library of an operand; TypeError for a placeholder without entries, and for a library that takes no results back."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(x, jax.core.Tracer):
        raise TypeError(
            f"{name}: a tracer of jax has no entries; call this outside of jit, grad and vmap, or by jax.pure_callback"
        )
    if _is_proxy(x):
        raise TypeError(
            f"{name}: a Proxy of torch.fx has no entries; import ozfp4.torch_ops and call torch.ops.ozfp4.matmul, gemm or "
            "gram, or torch.fx.wrap a function that calls this"
        )
    if isinstance(x, Prepared):
        if isinstance(x._library, Library):
            return x._library
        x = x._entries
    if not _is_of_another(x):
        return Library("torch" if is_tensor(x) else "NumPy")
    module = _module_of(x)
    if module is None:
        raise TypeError(
            f"{name}: {type(x).__name__} is of a library without from_dlpack, which takes no result; "
            f"pass np.from_dlpack({name}) or torch.from_dlpack({name})"
        )
    try:
        kind, index = x.__dlpack_device__()
    except Exception as error:  # each library has its own
        raise RuntimeError(f"{name}: {type(x).__name__} has no readable DLPack device: {error}") from None
    place = int(kind), int(index)
    return Library(module.__name__.partition(".")[0], module, place, getattr(x, "device", place))


def _module_of(x: Any) -> Any:
    """The module with `from_dlpack` of an array's library: its namespace, or the innermost that its type lies in; else None."""
    own = getattr(x, "__array_namespace__", None)
    candidates = [] if own is None else [own()]
    parts = type(x).__module__.split(".")
    candidates += [sys.modules.get(".".join(parts[:count])) for count in range(len(parts), 0, -1)]
    return next((each for each in candidates if hasattr(each, "from_dlpack")), None)


def _dtype(x: Any) -> str:
    """The name of an array's dtype, as all libraries have it."""
    return str(getattr(x, "dtype", "unknown")).rpartition(".")[2]


def _is_proxy(x: object) -> bool:
    fx = sys.modules.get("torch.fx")
    return fx is not None and isinstance(x, fx.Proxy)
