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

from .library import is_tensor, torch_module
from .prepared import Prepared
from .remedies import HOST_DEVICES

F = TypeVar("F", bound=Callable[..., Any])

# What arrays are passed as; no other argument is looked at.
_OPERANDS = ("a", "b", "c", "x", "subscripts", "operands", "lu_and_piv", "out")

# Of these, what a pair is passed as: a tuple, or a list of two.
_PAIRS = ("lu_and_piv", "out")

# Of enum DLDeviceType of dlpack.h: where torch views, and the names of some others.
_CUDA = 2
_DEVICES = {4: "OpenCL", 7: "Vulkan", 8: "Metal", 10: "ROCm", 13: "CUDA managed", 14: "oneAPI"}

# Types that were looked at and are of no other library: a product of theirs costs no more than this look-up.
plain: set[type] = {np.ndarray, type(None), str, bool, int, float, complex, list}


def are_given(*values: object) -> bool:
    """Whether one of these is an array of another library, or was prepared from one."""
    for value in values:
        kind = type(value)
        if kind is list and len(value) == 2 and are_given(*value):  # type: ignore[arg-type,misc]
            return True
        if kind in plain:
            continue
        if isinstance(value, Prepared):
            if value._library is not None:
                return True
        elif kind is tuple:
            if are_given(*value):  # type: ignore[misc]
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


def any_library(product: F, keeps: bool = False) -> F:
    """A function that takes arrays as `_OPERANDS`, for arrays of any library; `keeps`: it holds them after it has returned,
    as copies of its own where its argument `copies` says so."""

    @wraps(product)
    def of_any_library(*given: Any, **named: Any) -> Any:
        if not are_given(*given, *named.values()):
            return product(*given, **named)
        if keeps:  # torch counts no modification that their library makes
            named["copies"] = True
        return of_another(product, *given, **named)

    return cast(F, of_any_library)


_signature: Callable[[Callable[..., Any]], Signature] = lru_cache(maxsize=64)(signature)


def of_another(product: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """The product of views of operands of another library. TypeError for arrays of two libraries, of one that takes nothing back,
    tracers of JAX, an `out` that is immutable; RuntimeError for two devices, or one where no product runs."""
    bound = _signature(product).bind(*given, **named)
    arguments = bound.arguments
    for name in _PAIRS:
        if isinstance(pair := arguments.get(name), list):
            arguments[name] = tuple(pair)
    operands = dict(_operands(arguments))
    library = _library_of(operands)
    if library is None:
        return product(*bound.args, **bound.kwargs)
    outs = {name: x for name, x in operands.items() if name.startswith("out") and x is not None}
    for name in outs:
        if library.name == "jax":
            raise TypeError(f"{name}: arrays of jax are immutable; leave out= out and take what is returned")
    views = {id(x): library.view(name, x) for name, x in operands.items() if x is not None}
    for name in set(_OPERANDS).intersection(arguments):
        arguments[name] = _mapped(arguments[name], lambda x: views.get(id(x), x))
    result = product(*bound.args, **bound.kwargs)
    written = {id(views[id(x)]): x for x in outs.values()}
    library.release(views.values())
    return _mapped(result, lambda x: written[id(x)] if id(x) in written else library.take_back(x))


def _operands(arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """What was passed for operands, by the names that errors have; of several each by itself."""
    has_labels = not isinstance(
        arguments.get("subscripts", ""), str
    )  # in lists: NumPy's other form of einsum
    for name in _OPERANDS:
        value = arguments.get(name)
        if isinstance(value, tuple):
            for i, x in enumerate(value):
                if not (has_labels and isinstance(x, (list, tuple))):
                    yield f"{name}[{i}]", x
        elif not isinstance(value, str):
            yield name, value


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """The function of a value, or of each of a tuple."""
    if not isinstance(value, tuple):
        return function(value)
    each = [_mapped(x, function) for x in value]
    return type(value)(*each) if hasattr(value, "_fields") else tuple(each)


@dataclass(frozen=True)
class Library:
    """A library of arrays: its name, the module whose `from_dlpack` takes results back, and an array of its own, on whose device
    all others lie; None where all are prepared."""

    name: str
    module: Any
    like: Any

    def view(self, name: str, x: Any) -> Any:
        """The same entries as an array, or on a CUDA device as a tensor; a prepared operand as one of these."""
        if isinstance(x, Prepared):
            return replace(x, _library=None)
        kind, index = _place(name, x)
        if kind == _CUDA:
            import_from = self._torch(name, index).from_dlpack
        elif kind in HOST_DEVICES:
            import_from = np.from_dlpack
        else:
            raise RuntimeError(
                f"{name}: the array of {self.name} lies on device {index} of {_DEVICES.get(kind, f'DLPack kind {kind}')}; "
                "products run on the CPU and on CUDA devices"
            )
        try:
            return import_from(x)
        except Exception as error:  # each library has its own
            raise TypeError(
                f"{name}: the array of {self.name}, of dtype {_dtype(x)}, cannot be viewed by DLPack: {error}"
            ) from None

    def _torch(self, name: str, index: int) -> Any:
        """torch, whose tensors view arrays on a CUDA device."""
        torch = torch_module()
        lies = f"{name}: the array of {self.name} lies on CUDA device {index}"
        if torch is None:
            raise RuntimeError(f"{lies}, where products take torch's tensors; import torch")
        if not torch.cuda.is_available():
            raise RuntimeError(f"{lies}, and torch sees no CUDA device")
        return torch

    def release(self, views: Any) -> None:
        """Let this library's current stream wait for what was enqueued on torch's: it may free what was read, and read what was
        written."""
        for view in views:
            if is_tensor(view) and view.is_cuda:
                self.module.from_dlpack(view)
                return

    def take_back(self, x: Any) -> Any:
        """An array or a tensor as one of this library, on the device of its operands; a prepared operand that knows it; all else
        as it is."""
        if isinstance(x, Prepared):
            return replace(x, _library=self.name)
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
        device = getattr(self.like, "device", None)
        return made if device is None or made.device == device else made.to_device(device)


def _library_of(operands: dict[str, Any]) -> Library | None:
    """The library of all operands; None where none is of another than NumPy and torch."""
    given = {name: x for name, x in operands.items() if x is not None}
    names = {name: _library_name(name, x) for name, x in given.items()}
    if len(set(names.values())) > 1:
        kinds = ", ".join(f"{name} is of {library}" for name, library in names.items())
        raise TypeError(f"arrays of two libraries cannot be mixed: {kinds}")
    arrays = {name: x for name, x in given.items() if not isinstance(x, Prepared)}
    first = next((name for name, x in arrays.items() if _is_of_another(x)), None)
    if first is None:
        prepared = next((x._library for x in given.values() if isinstance(x, Prepared)), None)
        return None if prepared is None else Library(prepared, _modules[prepared], None)
    like = arrays[first]
    module = _module_of(like)
    if module is None:
        raise TypeError(
            f"{first}: {type(like).__name__} is of a library without from_dlpack, which takes no result; "
            f"pass np.from_dlpack({first}) or torch.from_dlpack({first})"
        )
    there, where = _place(first, like), getattr(like, "device", None)
    for name, x in arrays.items():
        here, device = _place(name, x), getattr(x, "device", None)
        if (here, device) != (there, where):
            own, other = (
                f"{place} of DLPack" if shown is None else shown
                for place, shown in ((here, device), (there, where))
            )
            raise RuntimeError(f"{name}: device {own} differs from {other}, where {first} lies")
    return Library(names[first], module, like)


def _dtype(x: Any) -> str:
    """The name of an array's dtype, as all libraries have it."""
    return str(getattr(x, "dtype", "unknown")).rpartition(".")[2]


# By names of libraries, those that were met.
_modules: dict[str, Any] = {}


def _library_name(argument: str, x: Any) -> str:
    """The library of an operand, as errors call it; TypeError for what stands for an array and has no entries."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(x, jax.core.Tracer):
        raise TypeError(
            f"{argument}: a tracer of jax has no entries; call this outside of jit, grad and vmap, or by jax.pure_callback"
        )
    if _is_proxy(x):
        raise TypeError(
            f"{argument}: a Proxy of torch.fx has no entries; import ozfp4.torch_ops and call torch.ops.ozfp4.matmul, gemm or "
            "gram, or torch.fx.wrap a function that calls this"
        )
    if isinstance(x, Prepared) and x._library is not None:
        return x._library
    if isinstance(x, Prepared) or not _is_of_another(x):
        return "torch" if is_tensor(x._entries if isinstance(x, Prepared) else x) else "NumPy"
    module = _module_of(x)
    if module is None:
        return type(x).__module__.partition(".")[0]
    name = str(module.__name__).partition(".")[0]
    _modules[name] = module
    return name


def _module_of(x: Any) -> Any:
    """The module with `from_dlpack` of an array's library: its namespace, or the innermost that its type lies in; else None."""
    own = getattr(x, "__array_namespace__", None)
    candidates = [] if own is None else [own()]
    parts = type(x).__module__.split(".")
    candidates += [sys.modules.get(".".join(parts[:count])) for count in range(len(parts), 0, -1)]
    return next((each for each in candidates if hasattr(each, "from_dlpack")), None)


def _place(name: str, x: Any) -> tuple[int, int]:
    """The kind of device, by dlpack.h, and its number."""
    try:
        kind, index = x.__dlpack_device__()
    except Exception as error:  # each library has its own
        raise RuntimeError(
            f"{name}: {type(x).__name__} does not say by DLPack where it lies: {error}"
        ) from None
    return int(kind), int(index)


def _is_proxy(x: object) -> bool:
    fx = sys.modules.get("torch.fx")
    return fx is not None and isinstance(x, fx.Proxy)
