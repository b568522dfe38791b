"""From what users pass to what the core takes: NumPy arrays with at least two axes, checked; and back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .operands import MatmulShape, matmul_shape

Array = npt.NDArray[Any]
FLOATS = (np.float64, np.float32)  # what matmul takes


def torch_module() -> Any | None:
    """torch if the caller has imported it; we never import it ourselves."""
    return sys.modules.get("torch")


def is_tensor(x: object) -> bool:
    torch = torch_module()
    return torch is not None and isinstance(x, torch.Tensor)


def check_same_library(a: object, b: object, out: object = None) -> bool:
    """True for torch, False for NumPy; TypeError when they are mixed."""
    given = {"a": is_tensor(a), "b": is_tensor(b)}
    if out is not None:
        given["out"] = is_tensor(out)
    if len(set(given.values())) > 1:
        kinds = ", ".join(
            f"{name} is a {'torch tensor' if t else 'NumPy array'}" for name, t in given.items()
        )
        raise TypeError(f"NumPy arrays and torch tensors cannot be mixed: {kinds}")
    return given["a"]


def check_tensor(name: str, tensor: Any) -> None:
    """RuntimeError for a tensor that requires grad, TypeError for one that is not dense."""
    torch = torch_module()
    assert torch is not None
    if tensor.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(
            f"{name}: the tensor requires grad, and matmul has no derivative yet; "
            f"pass {name}.detach() or call it under torch.no_grad()"
        )
    if tensor.layout != torch.strided:
        raise TypeError(f"{name}: layout {tensor.layout} is not supported; only dense (strided) tensors are")
    if tensor.dtype not in (torch.float64, torch.float32, torch.int8):
        raise TypeError(
            f"{name}: dtype {tensor.dtype} is not supported; allowed are torch.float64 and torch.float32 "
            f"(torch.int8 for int8_matmul)"
        )


def array_of_tensor(name: str, tensor: Any) -> Array:
    """A NumPy view of a CPU tensor; a lazily negated tensor is resolved first."""
    check_tensor(name, tensor)
    if tensor.device.type != "cpu":
        raise RuntimeError(f"{name}: device {tensor.device} has no kernel in this build; it holds: cpu")
    view: Array = tensor.detach().resolve_neg().numpy()
    return view


def as_array(name: str, x: object) -> Array:
    """A NumPy array of `x` without a copy where possible."""
    if is_tensor(x):
        return array_of_tensor(name, x)
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{name}: masked arrays are not supported, their mask would be lost")
    return np.asarray(x)


def check_dtype(name: str, array: Array, allowed: tuple[type, ...]) -> Array:
    """`array` in native byte order; TypeError unless its dtype is among `allowed`."""
    if array.dtype.newbyteorder("=") not in [np.dtype(t) for t in allowed]:
        names = " or ".join(np.dtype(t).name for t in allowed)
        raise TypeError(f"{name}: dtype {array.dtype} is not supported; allowed is {names}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


@dataclass(frozen=True)
class Product:
    """Two stacks of matrices ready for the core: equal numbers of axes, stride 0 along broadcast ones."""

    a: Array
    b: Array
    shape: MatmulShape

    def matrix_view(self, result: Array) -> Array:
        """`result` (of the shape that the caller sees) with both matrix axes, as a view."""
        if self.shape.b_vector:
            result = result[..., np.newaxis]
        if self.shape.a_vector:
            result = result[..., np.newaxis, :]
        return result


def pair(a: Array, b: Array) -> Product:
    """NumPy's matmul semantics for two arrays; ValueError where their shapes do not fit."""
    shape = matmul_shape(a.shape, b.shape)
    rows = a[np.newaxis, :] if shape.a_vector else a
    columns = b[:, np.newaxis] if shape.b_vector else b
    return Product(
        np.broadcast_to(rows, (*shape.stack, *rows.shape[-2:])),
        np.broadcast_to(columns, (*shape.stack, *columns.shape[-2:])),
        shape,
    )


def _overlaps(x: Array, y: Array) -> bool:
    effort: Any = 100_000  # the stubs of NumPy 2.4 allow 0 and -1 alone
    try:
        return np.shares_memory(x, y, max_work=effort)
    except getattr(np, "exceptions", np).TooHardError:  # NumPy 1.24 has it at the top level
        return True


def _overlaps_itself(x: Array) -> bool:
    """Whether two entries of `x` may lie in one place: an axis steps over less than those below it span."""
    span = x.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride < span:
            return True
        span = stride * (extent - 1) + span
    return False


def _check_memory(array: Array, inputs: dict[str, Array]) -> None:
    """ValueError if entries of `array` share memory with each other or an input; looks at addresses alone."""
    if array.size and _overlaps_itself(array):
        raise ValueError("out: entries of the array share memory with each other")
    for name, x in inputs.items():
        if _overlaps(array, x):
            raise ValueError(f"out: the array shares memory with {name}")


def check_out(out: object, shape: tuple[int, ...], dtype: np.dtype[Any], **inputs: Array) -> Array:
    """`out` as an array that the core may write, or TypeError / ValueError naming what is wrong with it."""
    if not is_tensor(out) and not isinstance(out, np.ndarray):
        raise TypeError(f"out: {type(out).__name__} is neither a NumPy array nor a torch tensor")
    if is_tensor(out) and out.is_neg():  # type: ignore[attr-defined]
        raise ValueError("out: a lazily negated tensor cannot be written to; pass out.resolve_neg()")
    array = as_array("out", out)
    if array.shape != shape:
        raise ValueError(f"out: shape {array.shape} is not the result's shape {shape}")
    if array.dtype != dtype:
        raise TypeError(f"out: dtype {array.dtype} is not the result's dtype {dtype}")
    if not array.flags.writeable:
        raise ValueError("out: the array is read-only")
    _check_memory(array, inputs)
    return array


class _Addresses:
    """A device tensor's addresses as NumPy's overlap checks read them; nothing may look at the entries."""

    def __init__(self, tensor: Any) -> None:
        size = tensor.element_size()
        self.__array_interface__ = {
            "data": (tensor.data_ptr() or 1, False),
            "shape": tuple(tensor.shape),
            "strides": tuple(stride * size for stride in tensor.stride()),
            "typestr": f"|V{size}",
            "version": 3,
        }


def check_device_out(out: Any, shape: tuple[int, ...], dtype: Any, **inputs: Any) -> None:
    """The same checks for a tensor on a device."""
    check_tensor("out", out)
    if out.is_neg():
        raise ValueError("out: a lazily negated tensor cannot be written to; pass out.resolve_neg()")
    if tuple(out.shape) != shape:
        raise ValueError(f"out: shape {tuple(out.shape)} is not the result's shape {shape}")
    if out.dtype != dtype:
        raise TypeError(f"out: dtype {out.dtype} is not the result's dtype {dtype}")
    _check_memory(
        np.asarray(_Addresses(out)), {name: np.asarray(_Addresses(x)) for name, x in inputs.items()}
    )


def like_input(result: Array, torch_result: bool) -> Any:
    """The new result in the caller's library; a NumPy scalar for a product of two vectors, as np.matmul."""
    if torch_result:
        torch = torch_module()
        assert torch is not None
        return torch.from_numpy(result)
    return result[()] if result.ndim == 0 else result
