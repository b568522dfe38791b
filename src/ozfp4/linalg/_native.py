"""Arrays of NumPy or of torch, and how their libraries factorise panels of a few columns.

Everything takes stacks, (count, rows, columns), of one matrix at least. A matrix of a stack gets the bits that it gets alone.
NumPy eliminates up to SMALL rows and columns along the stack; beyond that LAPACK takes one matrix after the other. SciPy is
imported when it is first needed, as importing it takes a quarter of a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._request.library import array_of_tensor, name_of, require_torch

Host = npt.NDArray[Any]
Rows = npt.NDArray[np.intp]  # of a stack: which of its matrices, in order

# Rows and columns up to which a step of NumPy for a whole stack takes less time than LAPACK's calls for each of its matrices.
SMALL = 8


def library_of(x: Any) -> Any:
    """numpy or torch: the functions that both have by one name."""
    return np if isinstance(x, np.ndarray) else require_torch()


def dtype_of(x: Any) -> np.dtype[Any]:
    """As NumPy has it."""
    return x.dtype if isinstance(x, np.ndarray) else np.dtype(name_of(x.dtype))


def roundoff(x: Any) -> float:
    """The unit roundoff u of its dtype: 2^-53 for float64."""
    return float(np.finfo(dtype_of(x)).eps) / 2


def copy(x: Any, dtype: np.dtype[Any] | None = None) -> Any:
    """A new array in C order."""
    if isinstance(x, np.ndarray):
        return np.array(x, dtype=dtype, order="C")
    torch = require_torch()
    target = x.dtype if dtype is None else getattr(torch, dtype.name)
    return x.detach().to(dtype=target, copy=True, memory_format=torch.contiguous_format)


def eye(rows: int, columns: int, like: Any) -> Any:
    """Ones on the diagonal, zeros elsewhere, for each matrix of the stack `like`: a view, to be read alone."""
    library = library_of(like)
    where = {} if library is np else {"device": like.device}
    unit = library.eye(rows, columns, dtype=like.dtype, **where)
    return library.broadcast_to(unit, (len(like), rows, columns))


def zeros(rows: int, columns: int, like: Any) -> Any:
    """A matrix of zeros for each of the stack `like`, likewise."""
    return 0 * eye(rows, columns, like)


def join(arrays: Sequence[Any], axis: int) -> Any:
    """Arrays side by side."""
    return library_of(arrays[0]).concatenate(tuple(arrays), axis) if len(arrays) > 1 else arrays[0]


def triangle(x: Any, lower: bool, offset: int = 0) -> Any:
    """A copy with zeros beyond the diagonal `offset`."""
    library = library_of(x)
    return library.tril(x, offset) if lower else library.triu(x, offset)


def adjoint(x: Any) -> Any:
    """The conjugate transposes."""
    return x.conj().swapaxes(-1, -2)


def is_finite(x: Any) -> Host:
    """Whether no entry is a NaN or an infinity, of each matrix."""
    entries = library_of(x).isfinite(x).reshape(len(x), x.shape[1] * x.shape[2])
    return np.asarray(to_host(entries.all(1)))


def to_host(x: Any) -> Host:
    """The values as a NumPy array."""
    return x if isinstance(x, np.ndarray) else array_of_tensor("x", x.detach().cpu())


def from_host(x: Host, like: Any) -> Any:
    """Values of the host where `like` lies, with the dtype they have."""
    return x if isinstance(like, np.ndarray) else require_torch().tensor(x, device=like.device)


def numbers(x: Host, like: Any) -> Any:
    """The same, as numbers of the dtype of `like`."""
    return from_host(x.astype(dtype_of(like), copy=False), like)


def pick(x: Any, rows: Rows) -> Any:
    """The matrices `rows` of a stack: itself, if these are all."""
    return x if len(rows) == len(x) else x[from_host(rows, x)]


def put(x: Any, rows: Rows, values: Any) -> None:
    """Write them back."""
    x[from_host(rows, x)] = values


def column_sizes(x: Any) -> Host:
    """The largest magnitude of each column, on the host, (count, columns)."""
    if x.shape[1] == 0:
        return np.zeros((len(x), x.shape[2]))
    return to_host(library_of(x).amax(abs(x), 1)).astype(np.float64)


def diagonal(x: Any) -> Host:
    """On the host, (count, min(rows, columns))."""
    return to_host(x.diagonal(0, 1, 2))


def times(x: Any, y: Any) -> Any:
    """x y, entry by entry. Complex products are made from their parts: NumPy's own may be rounded otherwise at another place."""
    if not isinstance(x, np.ndarray) or x.dtype.kind != "c":
        return x * y
    product = np.empty(np.broadcast_shapes(x.shape, y.shape), x.dtype)
    product.real = x.real * y.real - x.imag * y.imag
    product.imag = x.real * y.imag + x.imag * y.real
    return product


def cholesky(blocks: Any) -> tuple[Any, Host]:
    """The lower factors of Hermitian blocks, zeros above, from their lower triangles; for each block the order of the first
    leading minor that is not positive, or 0.
    """
    if not isinstance(blocks, np.ndarray):
        factors, infos = require_torch().linalg.cholesky_ex(blocks)
        return factors, to_host(infos)
    if blocks.shape[1] <= SMALL:
        return _small_cholesky(blocks)
    potrf = _routine("potrf", blocks)
    factors, minors = np.empty_like(blocks), np.empty(len(blocks), np.int32)
    for i, block in enumerate(blocks):
        factors[i], minors[i] = potrf(block, lower=1, clean=1)
    return factors, minors


def lu(panels: Any) -> tuple[Any, Host]:
    """L below the diagonal and U on and above it, in one matrix; the rows, from 0, that each row was exchanged with."""
    if not isinstance(panels, np.ndarray):
        packed, pivots, _ = require_torch().linalg.lu_factor_ex(panels)
        return packed, to_host(pivots) - 1
    if max(panels.shape[1:]) <= SMALL:
        return _small_lu(panels)
    getrf = _routine("getrf", panels)
    packed, pivots = np.empty_like(panels), np.empty((len(panels), min(panels.shape[1:])), np.int32)
    for i, panel in enumerate(panels):
        packed[i], pivots[i], _ = getrf(panel)
    return packed, pivots


def qr(panels: Any) -> tuple[Any, Any]:
    """R on and above the diagonal; below it the vectors v of the reflections I - tau v v^H, without their first entry 1; and
    their tau.
    """
    if not isinstance(panels, np.ndarray):
        return tuple(require_torch().geqrf(panels))
    packed, tau = np.linalg.qr(panels, mode="raw")
    return numbers(packed.swapaxes(1, 2), panels), numbers(tau, panels)  # NumPy's are of double precision


def triangular(t: Any, b: Any, *, lower: bool, unit: bool = False) -> Any:
    """X with T X = B. One triangle of T is read, and not its diagonal if that is `unit`. B may have no columns."""
    if not isinstance(t, np.ndarray):
        return require_torch().linalg.solve_triangular(t, b, upper=not lower, unitriangular=unit)
    if t.shape[1] <= SMALL:
        return _small_triangular(t, b, lower, unit)
    x = np.array(b, order="C")
    if x.shape[2]:
        trtrs = _routine("trtrs", t)
        turned = t[0].flags.c_contiguous  # LAPACK reads it as its transpose, without a copy
        for i, each in enumerate(t.swapaxes(1, 2) if turned else t):
            x[i], _ = trtrs(each, x[i], lower=lower != turned, trans=int(turned), unitdiag=unit)
    return x


def _routine(name: str, x: Host) -> Any:
    """LAPACK's for the dtype of x."""
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs(name, (x[0],))


def _stack_last(x: Host) -> Host:
    """A copy (rows, columns, count): the loops of NumPy's steps run along the stack."""
    return np.array(x.transpose(1, 2, 0), order="C")


def _stack_first(x: Host) -> Host:
    return np.ascontiguousarray(x.transpose(2, 0, 1))


def _small_cholesky(blocks: Host) -> tuple[Host, Host]:
    a = _stack_last(blocks)
    minors = np.zeros(len(blocks), np.int32)
    for k in range(len(a)):
        pivot = a[k, k].real
        minors[(minors == 0) & ~(pivot > 0)] = k + 1
        a[k, k] = np.sqrt(pivot)
        a[k, k + 1 :] = 0
        column = a[k + 1 :, k]
        column /= a[k, k]
        a[k + 1 :, k + 1 :] -= times(column[:, None], column.conj())
    return _stack_first(a), minors


def _small_lu(panels: Host) -> tuple[Host, Host]:
    a, every = _stack_last(panels), np.arange(len(panels))
    steps = min(a.shape[:2])
    pivots = np.empty((len(panels), steps), np.int32)
    for k in range(steps):
        column = a[k:, k]
        size = np.abs(column) if a.dtype.kind != "c" else np.abs(column.real) + np.abs(column.imag)
        found = size.argmax(0) + k
        pivots[:, k] = found
        row = a[found, :, every].T
        a[found, :, every] = a[k].T
        a[k] = row
        below = a[k + 1 :, k]
        below /= np.where(a[k, k] == 0, 1, a[k, k])
        a[k + 1 :, k + 1 :] -= times(below[:, None], a[k, k + 1 :])
    return _stack_first(a), pivots


def _small_triangular(t: Host, b: Host, lower: bool, unit: bool) -> Host:
    t, x = _stack_last(t), _stack_last(b)
    n = len(t)
    for k in range(n) if lower else reversed(range(n)):
        rest = slice(k + 1, n) if lower else slice(0, k)
        if not unit:
            x[k] /= t[k, k]
        x[rest] -= times(t[rest, k, None], x[k])
    return _stack_first(x)
