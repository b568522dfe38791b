"""From what users pass to what the core takes: NumPy arrays with at least two axes, checked; and back."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def torch_module() -> Any | None:
    """torch if the caller has imported it; we never import it ourselves."""
    return sys.modules.get("torch")


def is_tensor(x: object) -> bool:
    torch = torch_module()
    return torch is not None and isinstance(x, torch.Tensor)


def check_same_library(**operands: object) -> bool:
    """True for torch, False for NumPy; TypeError when they are mixed."""
    given = {name: is_tensor(x) for name, x in operands.items() if x is not None}
    if len(set(given.values())) > 1:
        kinds = ", ".join(f"{name} is a {'torch tensor' if t else 'NumPy array'}" for name, t in given.items())
        raise TypeError(f"NumPy arrays and torch tensors cannot be mixed: {kinds}")
    return next(iter(given.values()))


def array_of_tensor(name: str, tensor: Any) -> Array:
    """A NumPy view of a CPU tensor; lazily conjugated or negated tensors are resolved first."""
    torch = torch_module()
    assert torch is not None
    if tensor.requires_grad and torch.is_grad_enabled():
        raise RuntimeError(
            f"{name}: the tensor requires grad, and matmul has no derivative yet; "
            f"pass {name}.detach() or call it under torch.no_grad()"
        )
    if tensor.layout != torch.strided:
        raise TypeError(f"{name}: layout {tensor.layout} is not supported; only dense (strided) tensors are")
    if tensor.device.type != "cpu":
        raise RuntimeError(f"{name}: device {tensor.device} has no kernel in this build; it holds: cpu")
    if tensor.dtype not in (torch.float64, torch.float32, torch.int8):
        raise TypeError(f"{name}: dtype {tensor.dtype} is not supported")
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
    """Two stacks of matrices ready for the core, and the shapes of the result.

    `a`, `b` have equal numbers of axes and broadcast stack axes (stride 0). `matrix_shape` is the result with both
    matrix axes, `result_shape` the one that the caller sees (axes of 1-D operands removed).
    """

    a: Array
    b: Array
    matrix_shape: tuple[int, ...]
    result_shape: tuple[int, ...]
    a_vector: bool
    b_vector: bool

    @property
    def extents(self) -> tuple[int, int, int]:
        """(m, n, k)."""
        return self.matrix_shape[-2], self.matrix_shape[-1], self.a.shape[-1]

    def matrix_view(self, result: Array) -> Array:
        """`result` (of result_shape) with both matrix axes, as a view."""
        if self.b_vector:
            result = result[..., np.newaxis]
        if self.a_vector:
            result = result[..., np.newaxis, :]
        return result


def pair(a: Array, b: Array) -> Product:
    """NumPy's matmul semantics for the shapes; ValueError where they do not fit."""
    for name, x in (("a", a), ("b", b)):
        if x.ndim == 0:
            raise ValueError(f"{name}: a 0-d array is not a matrix; at least 1 dimension is needed")
    a_vector, b_vector = a.ndim == 1, b.ndim == 1
    a2 = a[np.newaxis, :] if a_vector else a
    b2 = b[:, np.newaxis] if b_vector else b
    if a2.shape[-1] != b2.shape[-2]:
        raise ValueError(
            f"inner dimensions differ: a has shape {a.shape}, b has shape {b.shape}: {a2.shape[-1]} != {b2.shape[-2]}"
        )
    try:
        stack = np.broadcast_shapes(a2.shape[:-2], b2.shape[:-2])
    except ValueError:
        raise ValueError(f"stacks do not broadcast: a has shape {a.shape}, b has shape {b.shape}") from None
    matrix_shape = (*stack, a2.shape[-2], b2.shape[-1])
    result_shape = (*stack, *(() if a_vector else (a2.shape[-2],)), *(() if b_vector else (b2.shape[-1],)))
    return Product(
        np.broadcast_to(a2, (*stack, *a2.shape[-2:])),
        np.broadcast_to(b2, (*stack, *b2.shape[-2:])),
        matrix_shape,
        result_shape,
        a_vector,
        b_vector,
    )


def _overlaps(x: Array, y: Array) -> bool:
    try:
        return np.shares_memory(x, y, max_work=100_000)
    except np.exceptions.TooHardError:
        return True


def _overlaps_itself(x: Array) -> bool:
    """Whether two entries of `x` may lie in one place: no axis may step over less than the axes below it span."""
    span = x.itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1):
        if stride < span:
            return True
        span = stride * (extent - 1) + span
    return False


def check_out(out: object, shape: tuple[int, ...], dtype: np.dtype[Any], **inputs: Array) -> Array:
    """`out` as an array that the core may write, or TypeError / ValueError naming what is wrong with it."""
    if not is_tensor(out) and not isinstance(out, np.ndarray):
        raise TypeError(f"out: {type(out).__name__} is neither a NumPy array nor a torch tensor")
    array = as_array("out", out)
    if array.shape != shape:
        raise ValueError(f"out: shape {array.shape} is not the result's shape {shape}")
    if array.dtype != dtype:
        raise TypeError(f"out: dtype {array.dtype} is not the result's dtype {dtype}")
    if not array.flags.writeable:
        raise ValueError("out: the array is read-only")
    if array.size and _overlaps_itself(array):
        raise ValueError("out: entries of the array share memory with each other")
    for name, x in inputs.items():
        if _overlaps(array, x):
            raise ValueError(f"out: the array shares memory with {name}")
    return array


def like_input(result: Array, torch_result: bool) -> Any:
    """The new result in the caller's library; a NumPy scalar for a product of two vectors, as np.matmul gives."""
    if torch_result:
        torch = torch_module()
        assert torch is not None
        return torch.from_numpy(result)
    return result[()] if result.ndim == 0 else result
