"""What to pass instead of an operand that the product does not take."""

from __future__ import annotations

from inspect import getattr_static
from typing import Any

import numpy as np

# Of enum DLDeviceType of dlpack.h: memory that NumPy reads, a CPU's, also where CUDA pinned it.
HOST_DEVICES = (1, 3)

# Numbers of fewer bits: every value of theirs is a float32.
_NARROW = ("float16", "bfloat16", "float8_", "float6_", "float4_")


def of_dtype(name: str, dtype: np.dtype[Any]) -> str:
    """In parentheses, what to make of an array of this dtype; empty where there is nothing to say.

    >>> of_dtype("a", np.dtype(np.float16))
    ' (a.astype(np.float32) holds its values)'
    """
    kind, width = dtype.kind, dtype.itemsize
    if dtype.name.startswith(_NARROW):
        return f" ({name}.astype(np.float32) holds its values)"
    if kind in "iub":
        does = "rounds it to 53 bits" if width > 4 else "holds its values"
        return f" ({name}.astype(np.float64), or {name}.to(torch.float64) of a tensor, {does})"
    if kind in "fc":
        return f" ({name}.astype(np.{'float64' if kind == 'f' else 'complex128'}) rounds it to 53 bits)"
    if kind in "OUST":
        return f" ({name}.astype(np.float64) converts what can be a number)"
    if kind in "mM":
        span = name if kind == "m" else f"({name} - {name}.min())"
        return f" ({span} / np.timedelta64(1, 's') is a number of seconds)"
    return f" (pass a field: {name}[{dtype.names[0]!r}])" if dtype.names else ""


def of_torch_dtype(name: str, dtype: object, takes_floats: bool = True) -> str:
    """As `of_dtype`, for a dtype of torch; nothing is said of integers where floating-point numbers are not taken either.

    >>> of_torch_dtype("b", "torch.bfloat16")
    ' (b.float() holds its values)'
    """
    short = str(dtype).removeprefix("torch.")
    if name == "out":  # a copy of it would be written to
        return ""
    if short.startswith(_NARROW):
        return f" ({name}.float() holds its values)"
    if short == "complex32":
        return f" ({name}.to(torch.complex64) holds its values)"
    if short.startswith(("int", "uint", "bool")) and takes_floats:
        does = "rounds it to 53 bits" if short.endswith("64") else "holds its values"
        return f" ({name}.to(torch.float64) {does})"
    return f" ({name}.dequantize() gives its values)" if short.startswith(("qint", "quint")) else ""


def is_prepared(x: object) -> bool:
    return getattr(type(x), "is_prepared", False) is True


def check_unprepared(**given: object) -> None:
    """TypeError for the first of these that is a prepared operand."""
    for name, x in given.items():
        if is_prepared(x):
            check_array(name, x)


def check_array(name: str, x: Any) -> None:
    """TypeError for what np.asarray would take entries from (masked and sparse arrays, prepared operands, which it wraps), or the
    meaning (arrays with units)."""
    if is_prepared(x):
        raise TypeError(f"{name}: a prepared operand is not taken here; pass the matrix itself")
    if isinstance(x, np.ma.MaskedArray):
        instead = (
            "out.data" if name == "out" else f"{name}.filled(0) to leave masked entries out of every sum"
        )
        raise TypeError(f"{name}: masked arrays are not supported, their mask would be lost; pass {instead}")
    if not isinstance(x, np.ndarray) and hasattr(x, "toarray"):
        raise TypeError(
            f"{name}: {type(x).__name__} is sparse, and only dense arrays are supported; pass {name}.toarray()"
        )
    if _has_own_products(x):
        raise TypeError(
            f"{name}: {type(x).__name__} has products of its own, and what they add to numbers, such as units, would be lost; "
            f"np.asarray({name}) has its numbers alone"
        )


def _has_own_products(x: Any) -> bool:
    """Whether NumPy leaves products of such arrays to their type, as those with units. Arrays with DLPack are their numbers."""
    kind = type(x)
    if isinstance(x, np.ndarray):
        return any(
            getattr(kind, name) is not getattr(np.ndarray, name)
            for name in ("__array_ufunc__", "__array_function__")
        )
    return hasattr(kind, "__array_function__") and not hasattr(kind, "__dlpack__")


def check_here(name: str, x: Any) -> None:
    """RuntimeError for an array in another memory than the CPU's, which np.asarray would copy. Range: no tensor of torch."""
    kind, place = type(x), None
    if not hasattr(kind, "__array__") or isinstance(x, (np.ndarray, np.generic)):
        return
    if hasattr(x, "__cuda_array_interface__"):
        place = "a CUDA device"
    elif hasattr(kind, "__dlpack_device__"):
        number = int(x.__dlpack_device__()[0])
        place = None if number in HOST_DEVICES else f"a device of DLPack kind {number}"
    # Of the type or the instance; not what __getattr__ finds, as a table does a column of this name.
    elif getattr_static(x, "device", None) is not None and "cpu" not in str(x.device).lower():
        place = f"device {x.device}"
    if place is not None:
        raise RuntimeError(
            f"{name}: {kind.__name__} lies on {place}, and would be copied to the CPU; copy it there, or pass an array of a "
            "library with __dlpack__ and from_dlpack"
        )


def of_tensor(name: str, tensor: Any) -> str:
    """What is said of tensors that are no array of entries in memory: nested, sparse, subclasses that compute by themselves."""
    dense = "a dense tensor" if name == "out" else f"{name}.to_dense()"
    if tensor.is_nested:
        padded = "a dense tensor" if name == "out" else f"torch.nested.to_padded_tensor({name}, 0.0)"
        return f"{name}: nested tensors are not supported; pass {padded}"
    if str(tensor.layout) != "torch.strided":
        return (
            f"{name}: layout {tensor.layout} is not supported; only dense (strided) tensors are: pass {dense}"
        )
    kind = type(tensor).__name__
    if str(type(tensor).__module__).startswith("torch.distributed.tensor"):
        return f"{name}: a DTensor is for ozfp4.matmul and gemm alone; pass {name}.full_tensor(), or {name}.to_local()"
    return (
        f"{name}: {kind} does not hold its entries as a torch.Tensor does; pass the tensor that it stands for"
    )
