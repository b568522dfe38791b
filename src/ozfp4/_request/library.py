"""The library of the operands, NumPy or torch, and who watches them. torch is used where the caller has imported it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial
from inspect import getattr_static
from logging import DEBUG
from typing import Any, NamedTuple

import numpy as np

from .. import _core
from .._options import PROGRESS
from .._support import torch_private
from .._support.environment import LOGGER
from .._support.fp_mode import in_default_mode
from .prepared import Prepared
from .types import Array, Arrays

FLOATS = (np.float64, np.float32)
INTEGERS = (
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.bool_,
)  # fmt: skip
NUMBERS = (*FLOATS, np.complex128, np.complex64)
TAKEN = (*NUMBERS, *INTEGERS)  # what matmul takes
INT8 = (np.int8,)  # what int8_matmul takes

# Numbers of enum DLDeviceType of dlpack.h: memory that NumPy reads, a CPU's, also where CUDA pinned it.
HOST_DEVICES = (1, 3)

# torch if the caller has imported it, else None; we never import it ourselves. Code that torch.compile traces looks into
# sys.modules itself, as not every version traces a bound method of a dictionary.
torch_module: Callable[[], Any] = partial(sys.modules.get, "torch")


@lru_cache(maxsize=1)
def require_torch() -> Any:
    """torch; RuntimeError where the caller has not imported it."""
    torch = sys.modules.get("torch")
    if torch is None:
        raise RuntimeError("torch is not imported; GPU products take torch CUDA tensors")
    return torch


class Operands(NamedTuple):
    """Arrays of one library, of dtypes that the product takes. Tensors on the CPU are here as NumPy arrays of their memory,
    those on a device are tensors (`on_device`); `torch` is the module where the caller passed tensors, else None."""

    a: Any
    b: Any
    out: Any
    torch: Any
    on_device: bool

    @property
    def has_integers(self) -> bool:
        return is_integer(self.a.dtype) or is_integer(self.b.dtype)


@lru_cache(maxsize=256)  # NumPy takes microseconds to write a name
def name_of(dtype: Any) -> str:
    """The name of a dtype of NumPy or torch, as NumPy has it."""
    return str(dtype).removeprefix("torch.")


@lru_cache(maxsize=16)
def _names(allowed: tuple[type, ...]) -> frozenset[str]:
    return frozenset(np.dtype(t).name for t in allowed)


@lru_cache(maxsize=256)
def is_integer(dtype: Any) -> bool:
    """Whether a dtype of NumPy or torch is one of integers; bool is."""
    return name_of(dtype).startswith(("int", "uint", "bool"))


@lru_cache(maxsize=256)
def is_complex(dtype: Any) -> bool:
    """Whether a dtype of NumPy or torch is one of complex numbers."""
    return name_of(dtype).startswith("complex")


def is_tensor(x: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def dtensor_class() -> Any:
    """The class of the tensors of ``torch.distributed.tensor``, None where the program has not imported it; we never do for the
    question."""
    module = sys.modules.get("torch.distributed.tensor")
    return getattr(module, "DTensor", None)  # also None while another thread imports it


def is_dtensor(x: object) -> bool:
    kind = dtensor_class()
    return kind is not None and isinstance(x, kind)


# ---- Operands -------------------------------------------------------------------------------------------------------


def take_operands(a: Any, b: Any, out: Any, allowed: tuple[type, ...]) -> Operands:
    """The operands as the product takes them. TypeError for NumPy mixed with torch, dtypes that are not `allowed`, masked
    arrays, tensors that are not dense. RuntimeError for tensors that require grad, have a tangent, or are on different
    devices."""
    are_arrays = type(a) is np.ndarray and type(b) is np.ndarray and out is None
    has_tensors = not are_arrays and is_from_torch(a=a, b=b, out=out)
    if not has_tensors or (a.is_cpu and b.is_cpu):
        torch = torch_module() if has_tensors else None
        return Operands(
            take_array("a", a, allowed), take_array("b", b, allowed), checked_out(out), torch, False
        )
    x, y = (take_tensor(name, x, allowed) for name, x in (("a", a), ("b", b)))
    check_device("b", b, a)
    if out is not None:
        check_device("out", out, a)
        check_tensor("out", out)
        check_not_lazy(out)
    return Operands(x, y, out, torch_module(), True)


def take_operand(name: str, x: Any, allowed: tuple[type, ...]) -> Operands:
    """One operand that no other is there for yet, in both places. Raises as :func:`take_operands`."""
    has_tensor = is_tensor(x)
    on_device = has_tensor and not x.is_cpu
    taken = take_tensor(name, x, allowed) if on_device else take_array(name, x, allowed)
    return Operands(taken, taken, None, torch_module() if has_tensor else None, on_device)


def is_from_torch(**operands: object) -> bool:
    """True for torch, False for NumPy; TypeError when they are mixed. An `out` or a `c` may be None."""
    given = {name: is_tensor(x) for name, x in operands.items() if x is not None or name not in ("c", "out")}
    if len(set(given.values())) > 1:
        for name, x in operands.items():
            if isinstance(x, Prepared):
                _check_array(name, x)
        kinds = ", ".join(
            f"{name} is a {'torch tensor' if t else 'NumPy array'}" for name, t in given.items()
        )
        raise TypeError(f"NumPy arrays and torch tensors cannot be mixed: {kinds}")
    return any(given.values())


def take_array(name: str, x: object, allowed: tuple[type, ...]) -> Array:
    """An array, or a tensor on the CPU, as an array in native byte order; TypeError unless its dtype is among `allowed`."""
    array = as_array(name, x)
    native = array.dtype if array.dtype.isnative else array.dtype.newbyteorder("=")
    _check_dtype(name, native, allowed)
    return array if array.dtype.isnative else array.astype(native)


def take_tensor(name: str, x: Any, allowed: tuple[type, ...]) -> Any:
    """A tensor on a device, as entries in memory but for their conjugation."""
    check_tensor(name, x, allowed)
    return x.resolve_neg()


def as_array(name: str, x: object) -> Array:
    """A NumPy array of `x` without a copy where possible."""
    if type(x) is np.ndarray:
        return x
    if is_tensor(x):
        return array_of_tensor(name, x)
    _check_entries(name, x)
    return np.asarray(x)


def _check_entries(name: str, x: object) -> None:
    """Errors of :func:`as_array`, for a list or a tuple those of what it holds."""
    if is_tensor(x):
        check_tensor(name, x)
        return
    _check_array(name, x)
    if not isinstance(x, (list, tuple)):
        _check_here(name, x)
    elif not all(issubclass(kind, (int, float, complex, np.generic)) for kind in set(map(type, x))):
        for i, each in enumerate(x):
            _check_entries(f"{name}[{i}]", each)


def _check_dtype(name: str, dtype: Any, allowed: tuple[type, ...]) -> None:
    if name_of(dtype) not in _names(allowed):
        names = [np.dtype(t).name for t in allowed]
        if set(INTEGERS) <= set(allowed):
            names = [own for own in names if not is_integer(own)] + ["integers", "bool"]
        *others, last = names
        text = f"are {', '.join(others)} and {last}" if others else f"is {last}"
        raise TypeError(f"{name}: dtype {dtype} is not supported; allowed {text}")


@in_default_mode
def converted(x: Any, dtype: str) -> Any:
    """An array or a tensor in the dtype of this name, each entry rounded once."""
    return x.to(getattr(require_torch(), dtype)) if is_tensor(x) else x.astype(dtype)


# ---- What is refused ------------------------------------------------------------------------------------------------


def _check_array(name: str, x: Any) -> None:
    """TypeError for what np.asarray would take the entries from, but not their meaning."""
    kind, reason = type(x).__name__, ""
    if isinstance(x, Prepared):
        reason = "a prepared operand is not taken here; pass the matrix itself"
    elif isinstance(x, np.ma.MaskedArray):
        instead = "out.data" if name == "out" else f"{name}.filled(0)"
        reason = f"masked arrays are not supported, their mask would be lost; pass {instead}"
    elif not isinstance(x, np.ndarray) and hasattr(x, "toarray"):
        reason = f"{kind} is sparse, and only dense arrays are supported; pass {name}.toarray()"
    elif _has_own_products(x):
        does = "has products of its own, and what they add to numbers, such as units, would be lost"
        reason = f"{kind} {does}; np.asarray({name}) has its numbers alone"
    if reason:
        raise TypeError(f"{name}: {reason}")


def _has_own_products(x: Any) -> bool:
    """Whether NumPy leaves products of such arrays to their type, as those with units. Arrays with DLPack are their numbers."""
    kind = type(x)
    if isinstance(x, np.ndarray):
        names = ("__array_ufunc__", "__array_function__")
        return any(getattr(kind, name) is not getattr(np.ndarray, name) for name in names)
    return hasattr(kind, "__array_function__") and not hasattr(kind, "__dlpack__")


def _check_here(name: str, x: Any) -> None:
    """RuntimeError for an array in another memory than the CPU's, which np.asarray would copy.

    Precondition: no tensor of torch.
    """
    kind, place = type(x), None
    if not hasattr(kind, "__array__") or isinstance(x, (np.ndarray, np.generic)):
        return
    if hasattr(x, "__cuda_array_interface__"):
        place = "a CUDA device"
    elif hasattr(kind, "__dlpack_device__"):
        number = int(x.__dlpack_device__()[0])
        place = None if number in HOST_DEVICES else f"a device of DLPack kind {number}"
    # An attribute of the type or the instance; not what __getattr__ finds, as a table does a column of this name.
    elif getattr_static(x, "device", None) is not None and "cpu" not in str(x.device).lower():
        place = f"device {x.device}"
    if place is not None:
        raise RuntimeError(
            f"{name}: {kind.__name__} lies on {place}, and would be copied to the CPU; copy it there, or pass an array of a "
            "library with __dlpack__ and from_dlpack"
        )


def refusal_of(name: str, tensor: Any) -> str:
    """The error of a tensor that is no array of entries in memory: nested, sparse, a subclass that computes by itself."""
    if tensor.is_nested or str(tensor.layout) != "torch.strided":
        layout = "nested" if tensor.is_nested else tensor.layout
        return f"{name}: layout {layout} is not supported; pass a dense (strided) tensor, such as {name}.to_dense()"
    if type(tensor).__name__ == "DTensor":
        return f"{name}: a DTensor is for ozfp4.matmul and gemm alone; pass {name}.full_tensor(), or {name}.to_local()"
    return f"{name}: {type(tensor).__name__} does not hold its entries as a torch.Tensor does; pass what it stands for"


# ---- Tensors --------------------------------------------------------------------------------------------------------


def check_storage(name: str, tensor: Any) -> None:
    """RuntimeError unless a tensor's storage has all of its entries: programs free storages, and shorten them, of tensors that
    they keep. A tensor that torch.func maps or derives has the storage of the one below it."""
    while torch_private.is_wrapped(tensor):
        tensor = torch_private.unwrapped(tensor)
    _check_stored(name, tensor)


def _check_stored(name: str, tensor: Any) -> None:
    """RuntimeError unless the storage that torch shows of a tensor has all of its entries."""
    entries = tensor.numel()
    if entries == 0:
        return
    try:
        held = tensor.untyped_storage().nbytes()
    except NotImplementedError as error:
        raise RuntimeError(
            f"{name}: torch shows no memory of this tensor, as of those that torch.func maps or derives: {error}"
        ) from None
    if not tensor.is_contiguous():
        entries = 1 + sum(
            (extent - 1) * step for extent, step in zip(tensor.shape, tensor.stride(), strict=True)
        )
    needed = (tensor.storage_offset() + entries) * tensor.element_size()
    if needed > held:
        raise RuntimeError(
            f"{name}: its entries reach over {needed} bytes of its storage, which has {held}: it was freed or resized, as "
            "untyped_storage().resize_() does"
        )
    if tensor.data_ptr() == 0 and not tensor.is_meta:
        raise RuntimeError(
            f"{name}: torch holds no memory for its entries, as of a ZeroTensor; clone() gives it some"
        )


def check_tensor(name: str, tensor: Any, allowed: tuple[type, ...] = TAKEN) -> None:
    """RuntimeError for a tensor that requires grad, has a tangent, is recorded or has a storage that is too small, TypeError for
    one not dense or of another dtype."""
    _check_unwatched(name, tensor)
    check_kind(name, tensor, allowed)
    check_storage(name, tensor)


def _check_unwatched(name: str, tensor: Any) -> None:
    torch = torch_module()
    if torch_private.is_recorded():
        raise RuntimeError(
            f"{name}: torch.jit.trace would record the result as a constant; it records ozfp4.matmul, gemm, gram, einsum and "
            "tensordot, without plan, report, return_bound or prepared operands"
        )
    requires_grad = torch.is_grad_enabled() and _requires_grad(tensor)
    if requires_grad or has_tangent(tensor):
        has, remedy = (
            ("requires grad", " or call it under torch.no_grad()") if requires_grad else ("has a tangent", "")
        )
        raise RuntimeError(
            f"{name}: the tensor {has}, and this product has no derivative (those of ozfp4.matmul, gemm, gram, einsum and "
            f"tensordot have); pass {name}.detach(){remedy}"
        )
    kind = type(tensor)
    if kind is not torch.Tensor and kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__:
        raise TypeError(refusal_of(name, tensor))


def check_kind(name: str, tensor: Any, allowed: tuple[type, ...] = TAKEN) -> None:
    """TypeError for a tensor that is not dense or of a dtype that is not `allowed`."""
    if tensor.is_nested or tensor.layout is not require_torch().strided:
        raise TypeError(refusal_of(name, tensor))
    _check_dtype(name, tensor.dtype, allowed)


def check_device(name: str, x: Any, a: Any, first: str = "a") -> None:
    """RuntimeError unless a tensor lies where A does, or the operand that is called `first`."""
    if x.device != a.device:
        raise RuntimeError(f"{name}: device {x.device} differs from {a.device}, where {first} lies")


def check_not_lazy(out: Any) -> None:
    """ValueError for a tensor that is a lazily conjugated or negated view: writing to a resolved copy would lose the result."""
    kind = "conj" if out.is_conj() else "neg" if out.is_neg() else ""
    if kind:
        done = {"conj": "conjugated", "neg": "negated"}[kind]
        raise ValueError(f"out: a lazily {done} tensor cannot be written to; pass out.resolve_{kind}()")


def checked_out(out: Any) -> Array | None:
    """`out` as an array; TypeError or ValueError where it cannot be one."""
    if out is None:
        return None
    if is_tensor(out):
        check_not_lazy(out)
    elif not isinstance(out, np.ndarray):
        raise TypeError(f"out: {type(out).__name__} is neither a NumPy array nor a torch tensor")
    return as_array("out", out)


def array_of_tensor(name: str, tensor: Any) -> Array:
    """A NumPy view of a CPU tensor; torch may resize the tensor's storage later. A lazily negated or conjugated tensor is
    resolved first."""
    _check_unwatched(name, tensor)
    check_kind(name, tensor)
    if not tensor.is_cpu:
        raise RuntimeError(f"{name}: device {tensor.device} has no kernel in this build; it holds: cpu")
    _check_stored(name, tensor)
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.detach().resolve_conj().resolve_neg()
    return _array_of(tensor)


@lru_cache(maxsize=32)  # NumPy takes half a microsecond
def _typestr(dtype: Any) -> str:
    """A dtype of torch as NumPy's array interface has it."""
    return str(np.dtype(name_of(dtype)).str)


class _Memory:
    """The memory of a tensor as NumPy takes it. Unlike Tensor.numpy() it lets torch resize the storage."""

    __slots__ = ("__array_interface__", "tensor")

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        strides = None
        if not tensor.is_contiguous():
            strides = tuple(step * tensor.element_size() for step in tensor.stride())
        self.__array_interface__ = {
            "version": 3,
            "typestr": _typestr(tensor.dtype),
            "data": (tensor.data_ptr(), False),
            "shape": tensor.shape,
            "strides": strides,
        }


def _array_of(tensor: Any) -> Array:
    """An array of the memory of a tensor that is dense, on the CPU and not lazy; a new one if there are no entries."""
    return np.asarray(_Memory(tensor)) if tensor.numel() else np.empty(tensor.shape, _typestr(tensor.dtype))


def new_array(torch: Any, shape: tuple[int, ...], dtype: Any) -> Array:
    """An array for a result, of memory of torch's where the caller's arrays are its tensors (else None)."""
    if torch is None:
        return np.empty(shape, dtype)
    # Whatever torch's default device is.
    return _array_of(torch.empty(shape, dtype=getattr(torch, name_of(np.dtype(dtype))), device="cpu"))


def tensor_of_array(array: Arrays) -> Any:
    """The tensor that owns the memory of an array, by :func:`new_array` or :func:`array_of_tensor`; a copy of any other
    array, as torch never resizes the storage that from_numpy makes."""
    torch, array = require_torch(), np.asarray(array)
    made = array.base
    return made.tensor if type(made) is _Memory else torch.from_numpy(array).clone()


def mark_written(*outs: Any) -> None:
    """Count what was passed as `out` as modified: autograd and prepared operands ask for the version.

    Precondition: tensors, arrays or None.
    """
    for out in outs:
        if is_tensor(out):  # those of inference mode have no version, by torch's design
            require_torch().autograd.graph.increment_version(out)


# ---- Short ways -----------------------------------------------------------------------------------------------------


def short_way(a: Any) -> Callable[..., Any] | None:
    """The core's function of products with nothing to check of operands like `a`, ``_core.multiply_plain`` or that of tensors,
    which answers NotImplemented for others. None if the products are observed; on the CPU if torch offers no C structures
    (before 2.10), on a GPU before its first product."""
    if PROGRESS.get() is not None or LOGGER.isEnabledFor(DEBUG):
        return None
    if type(a) is np.ndarray:
        return _core.multiply_plain
    if getattr(a, "is_cuda", False) is True:
        return getattr(sys.modules.get("ozfp4._cuda"), "multiply_plain", None)
    return None if sys.modules.get("torch") is None else _plain_tensors()


@lru_cache(maxsize=1)
def _plain_tensors() -> Callable[..., Any] | None:
    torch = require_torch()
    api = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    types = (torch.float64, torch.float32, torch.complex128, torch.complex64)
    makers = tuple(partial(torch.empty_strided, dtype=t, device=torch.device("cpu")) for t in types)
    try:
        return _core.plain_tensors(api, unwatched(), makers, torch.autograd.graph.increment_version)
    except ValueError:
        return None


# ---- Who watches ----------------------------------------------------------------------------------------------------


def is_traced() -> bool:
    """Whether torch.compile traces this, and so whatever is done before it is asked who watches."""
    torch = sys.modules.get("torch")  # not by torch_module: torch.compile traces this
    return torch is not None and bool(torch.compiler.is_dynamo_compiling())


def is_watched(*operands: Any) -> bool:
    """Whether torch has to see this product as an operator: for gradients or tangents, if it traces, maps or observes
    tensors, or if they are on several devices."""
    torch = sys.modules.get("torch")  # not by torch_module: torch.compile traces this
    if torch is None or type(operands[0]) is np.ndarray:  # tensors together with it are refused
        return False
    if not is_traced() and unwatched().are(operands):
        return False
    tensor, has_tensors = torch.Tensor, False
    for x in operands:
        if x is not None and isinstance(x, tensor):
            has_tensors = True
            if x.requires_grad and torch.is_grad_enabled():
                return True
            if type(x) is not tensor and (torch_private.is_fake(x) or is_dtensor(x)):
                return True
    return has_tensors and bool(
        torch.compiler.is_dynamo_compiling()
        or torch_private.is_recorded()
        or has_watching_mode()
        or torch_private.interpreter() is not None
        or (
            torch_private.tangent_level() >= 0
            and any(isinstance(x, torch.Tensor) and has_tangent(x) for x in operands)
        )
    )


def has_watching_mode() -> bool:
    """Whether a dispatch mode of torch wants to see products as operators; those of ``ozfp4.emulate`` do not."""
    return any(not getattr(mode, "passes_products", False) for mode in torch_private.modes())


@lru_cache(maxsize=1)
def unwatched() -> _core.Unwatched:
    """Whether torch has nothing to do with operands, None or tensors; False if that needs a closer look."""
    torch = require_torch()
    return _core.Unwatched(
        (torch.Tensor, torch.nn.Parameter),
        records_gradients=torch.is_grad_enabled,
        has_watching_mode=has_watching_mode,
        **torch_private.watching_functions(),
    )


def has_own_tangent(x: Any) -> bool:
    """Whether a tensor has a tangent of forward mode, at the one level of torch.func that torch is at. Levels of forward mode are
    the process's, so that only the tensor knows: another thread may have entered one."""
    if torch_private.tangent_level() < 0 or torch_private.is_below_tangents():  # where torch has no answer
        return False
    return require_torch().autograd.forward_ad.unpack_dual(x).tangent is not None


def has_tangent(x: Any) -> bool:
    """The same at any level. Precondition: outside of what torch's dispatcher calls."""
    if torch_private.tangent_level() < 0:
        return False
    level = torch_private.interpreter()
    if level is None:
        return has_own_tangent(x)
    if torch_private.is_jvp(level) and has_own_tangent(x):
        return True
    with torch_private.at_outer_level():  # each level has its own alone
        return has_tangent(torch_private.unwrapped(x) if torch_private.is_wrapped_at(x, level) else x)


def _requires_grad(x: Any) -> bool:
    """Whether a tensor does, or a tensor that it wraps at the outer levels of torch.func, each of which may follow it."""
    while not x.requires_grad and torch_private.is_wrapped(x):
        x = torch_private.unwrapped(x)
    return bool(x.requires_grad)
