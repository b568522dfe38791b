"""``ozfp4.einsum`` and ``ozfp4.tensordot``: sums of products over axes, as products of two matrices one after the other."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from .._options import Options, ReportedOptions, RoundedOptions, check_taken, check_unasked, takes, unusual
from .._report import Report
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import result_dtype
from .._request.library import is_complex, is_integer, is_tensor, require_torch
from .._request.out import check_out
from .._request.subscripts import Label, Labels, Subscripts, from_lists, order, parse
from .._support.fp_mode import in_default_mode
from .matmul import matmul

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(RoundedOptions)
@any_library
def einsum(
    subscripts: Any,
    /,
    *operands: Any,
    out: Any = None,
    optimize: Any = True,
    dtype: Any = None,
    **options: Unpack[RoundedOptions],
) -> Any:
    """Sum of products over axes, as ``numpy.einsum`` and ``torch.einsum``.

    Two operands are contracted at a time by :func:`ozfp4.matmul`. Each step rounds once, with the
    accuracy of a product with the same arguments.

    Parameters
    ----------
    subscripts : str
        For example "ij,jk->ik": a letter for each axis, "..." for axes that broadcast. Without
        "->" the result has the letters that occur once, in alphabetical order. Axes of extent 1
        match any extent. NumPy's other form, ``einsum(a, [0, 1], b, [1, 2], [0, 2])``, works as
        well. Axes of an ellipsis that the result does not have are summed.
    *operands : array_like or torch.Tensor
        Arrays of any number of axes, converted to their common dtype. Tensors may come in a list.
    optimize : bool, {"greedy", "optimal"}, or path
        The order of more than two operands, as in ``numpy.einsum``: True is "greedy", False from
        left to right. A path of ``numpy.einsum_path`` fixes the order for every version of NumPy.
    out, dtype, accuracy, rounding, scheme, backend, workspace_limit
        As in :func:`ozfp4.matmul`, for every step; the operands are first converted to `dtype`.

    Returns
    -------
    array or tensor
        The shape is that of ``numpy.einsum`` or ``torch.einsum``, the dtype the common dtype of
        all operands. torch sums short integers of a single operand in int64.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for subscripts that do not fit the operands, and for
        an invalid `optimize`.

    Notes
    -----
    **Steps.** The operands of a step are contracted as follows:

    - Axes that only one of them has, and the result has not, are summed first, by a product with
      ones.
    - A sum over common axes is a product of (stacks of) matrices. Common axes that stay are those
      of the stack. The other axes of the first operand are rows, those of the second columns.
    - A step without a sum (outer and entrywise products) is one multiplication for each entry,
      rounded to nearest as in IEEE 754. matmul multiplies instead with accuracy="scaled", another
      rounding, complex numbers, and gradients or tangents.
    - Diagonals and transposes are views. A single operand without a sum gives a view of it, as in
      NumPy and torch.

    **Accuracy.** One step that sums over common axes alone has the promised accuracy. With more
    operands the result depends on the order of the steps, by one rounding for each step.

    **Integers** wrap in sums and products; for bool these are "or" and "and".

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([[1.0, 2.0**-60], [3.0, 1.0]]), np.array([[2.0**60, -1.0], [-(2.0**120), 1.0]])
    >>> einsum("ij,ji->i", a, b, accuracy="correct")
    array([ 0., -2.])
    >>> einsum(a, [0, 1], [1, 0])
    array([[1.00000000e+00, 3.00000000e+00],
           [8.67361738e-19, 1.00000000e+00]])
    """
    check_taken(einsum, options)
    if isinstance(subscripts, str):
        text, given = subscripts, list(operands)
        if len(given) == 1 and isinstance(given[0], (list, tuple)) and any(map(is_tensor, given[0])):
            given = list(given[0])  # torch's form; a list of anything else is one array, as in NumPy
    else:
        text, given = from_lists([subscripts, *operands])
    if not given:
        raise ValueError("operands: at least one is needed")
    terms = _Terms({f"operands[{i}]": x for i, x in enumerate(given)}, out, dtype, options)
    found = parse(text, terms.shapes)
    result = terms.contracted(found, order(found, optimize))
    return result[()] if out is None and isinstance(result, np.ndarray) else result


@takes(ReportedOptions)
@any_library
def tensordot(
    a: Any, b: Any, axes: Any = 2, *, out: Any = None, dtype: Any = None, **options: Unpack[ReportedOptions]
) -> Any:
    """Sum of products over `axes`, as ``numpy.tensordot`` and ``torch.tensordot``.

    It is one :func:`ozfp4.matmul`. Without axes to sum over it is the outer product, one
    multiplication for each entry, as in :func:`ozfp4.einsum`.

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        Arrays of any number of axes.
    axes : int or pair
        The number of axes to sum over, the last ones of `a` and the first ones of `b`. Or a pair:
        the axes of `a`, and those of `b` in the same order, as numbers, lists or arrays. In torch
        an extent of 1 matches every other; in NumPy it matches 1 alone.
    out, dtype, **options
        As in :func:`ozfp4.matmul`, without `device`; the operands are first converted to `dtype`.

    Returns
    -------
    c, or (c, bound), (c, Report), (c, bound, Report)
        The axes of `a`, then those of `b`, that are not summed over.

    Raises
    ------
    TypeError, ValueError, RuntimeError, MemoryError
        As :func:`ozfp4.matmul`; ValueError for axes that do not exist, occur twice, or differ in
        extent.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(12.0).reshape(4, 3)
    >>> tensordot(a, b, axes=([1, 2], [1, 0]))
    array([ 440., 1232.])
    """
    check_taken(tensordot, options)
    terms = _Terms({"a": a, "b": b}, out, dtype, options)
    c = terms.contracted(subscripts_of(axes, terms.shapes, terms.xp is not np), [(0, 1)])
    beside = [x if isinstance(x, Report) else x.reshape(c.shape) for x in terms.beside]
    return (c, *beside) if beside else c


# ---- Axes of tensordot ----------------------------------------------------------------------------------------------


def subscripts_of(axes: Any, shapes: Sequence[tuple[int, ...]], broadcast: bool) -> Subscripts:
    """Labels of the axes: for a their numbers; for b the same for axes that are summed over, and numbers behind those of a
    for the others. `broadcast`: an extent of 1 matches every other.
    """
    a, b = shapes
    of_a, of_b = _axes(axes, a, b)
    for i, j in zip(of_a, of_b, strict=True):
        if a[i] != b[j] and not (broadcast and 1 in (a[i], b[j])):
            raise ValueError(f"axes: axis {i} of a is {a[i]}, axis {j} of b is {b[j]}")
    labels_a = tuple(range(len(a)))
    labels_b = tuple(of_a[of_b.index(i)] if i in of_b else len(a) + i for i in range(len(b)))
    result = (*(i for i in labels_a if i not in of_a), *(i for i in labels_b if i >= len(a)))
    extents: dict[Label, int] = dict(zip(labels_b, b, strict=True))
    extents |= {label: n for label, n in zip(labels_a, a, strict=True) if n != 1 or label not in extents}
    return Subscripts((labels_a, labels_b), result, extents)


def _axes(axes: Any, a: tuple[int, ...], b: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """As many axes of a and of b, counted from the first."""
    try:
        count = operator.index(axes)
    except TypeError:
        of_a, of_b = _pair(axes)
    else:
        if not 0 <= count <= min(len(a), len(b)):
            raise ValueError(
                f"axes: {count} is outside 0..{min(len(a), len(b))}; a has shape {a}, b has shape {b}"
            )
        of_a, of_b = list(range(len(a) - count, len(a))), list(range(count))
    for name, shape, chosen in (("a", a, of_a), ("b", b, of_b)):
        for axis in chosen:
            if not -len(shape) <= axis < len(shape):
                raise ValueError(f"axes: {axis} is no axis of {name}, whose shape is {shape}")
        chosen[:] = [axis % len(shape) for axis in chosen]
        if len(set(chosen)) < len(chosen):
            raise ValueError(f"axes: an axis of {name} comes twice in {axes!r}")
    if len(of_a) != len(of_b):
        raise ValueError(f"axes: {len(of_a)} of a do not go with {len(of_b)} of b")
    return of_a, of_b


def _pair(axes: Any) -> tuple[list[int], list[int]]:
    try:
        of_a, of_b = ([operator.index(i) for i in (x if np.iterable(x) else [x])] for x in axes)
    except (TypeError, ValueError):
        raise TypeError(f"axes: {axes!r} is neither a number nor a pair of axes or lists of axes") from None
    return of_a, of_b


# ---- Operands -------------------------------------------------------------------------------------------------------


def _taken(operands: Mapping[str, Any], out: Any, is_watched: bool) -> tuple[list[Any], Any]:
    """The operands as arrays, or as tensors on one device, and their library. `is_watched`: torch observes what happens to the
    tensors, so they are not detached.
    """
    if not library.is_from_torch(**operands, out=out):
        library.checked_out(out)
        return [library.take_array(name, x, library.TAKEN) for name, x in operands.items()], np
    first, a = next(iter(operands.items()))
    for name, x in (*operands.items(), ("out", out)):
        if x is None:
            continue
        if not is_watched:
            library.check_tensor(name, x)
        elif library.is_dtensor(x):
            raise TypeError(f"{name}: DTensors are not supported here; ozfp4.matmul and gemm multiply them")
        else:
            library.check_kind(name, x)
            if type(x) in (require_torch().Tensor, require_torch().nn.Parameter):
                library.check_storage(name, x)
        if x.device.type not in ("cpu", "cuda"):
            raise RuntimeError(
                f"{name}: device {x.device} has no kernel; tensors lie on the CPU or on a CUDA device"
            )
        library.check_device(name, x, a, first)
    if out is not None:
        library.check_not_lazy(out)
        if is_watched:
            raise RuntimeError(
                "out: it is not for tensors that require grad, or that torch traces, maps or watches; leave it out"
            )
    return [x if is_watched else x.detach() for x in operands.values()], require_torch()


@in_default_mode
def _of_one_dtype(operands: Sequence[Any], xp: Any, asked: Any, is_watched: bool) -> tuple[list[Any], Any]:
    """The operands in their common dtype, or in the wider one of `dtype`, and that dtype; real ones next to complex ones in its
    real dtype. So no sum before the last is rounded to less. TypeError if the library has no such dtype.
    """
    try:
        # NumPy's own rule for more than two, as its promotion of two is not associative: int16, uint16, float32 are float32.
        dtypes = [x.dtype for x in operands]
        dtype = np.result_type(*dtypes) if xp is np else reduce(xp.promote_types, dtypes)
    except RuntimeError as error:
        raise TypeError(f"operands: torch has no common dtype of all: {error}; convert them") from None
    if asked is not None:
        name = result_dtype(asked, dtype)
        dtype = np.dtype(name) if xp is np else getattr(xp, name)
    real: Any = np.empty(0, dtype).real.dtype if xp is np else cast("Any", dtype).to_real()
    wanted = [dtype if is_complex(x.dtype) else real for x in operands]
    return [_converted(x, each, is_watched) for x, each in zip(operands, wanted, strict=True)], dtype


def _converted(x: Any, dtype: Any, is_watched: bool) -> Any:
    """The entries in a dtype, each rounded once; the operand itself where it has it."""
    if x.dtype == dtype:
        return x
    if not is_tensor(x):
        return x.astype(dtype)
    if x.device.type != "cpu" or is_watched:
        return x.to(dtype)
    made = library.new_array(require_torch(), x.shape, library.name_of(dtype))
    made[...] = library.array_of_tensor("x", x)  # threads of torch have modes of their own
    return library.tensor_of_array(made)


# ---- Products -------------------------------------------------------------------------------------------------------


class _Term(NamedTuple):
    """An array or a tensor, and the labels of its axes."""

    entries: Any
    labels: Labels

    def ordered(self, labels: Labels) -> Any:
        """The entries with their axes in this order."""
        axes = [self.labels.index(label) for label in labels]
        x = self.entries
        return x.transpose(axes) if isinstance(x, np.ndarray) else x.permute(axes)

    def diagonal(self) -> _Term:
        """A view along the diagonals of labels that come twice."""
        x, labels = self
        while len(set(labels)) < len(labels):
            second = next(i for i, label in enumerate(labels) if label in labels[:i])
            first = labels.index(labels[second])
            writable = isinstance(x, np.ndarray) and x.flags.writeable
            x = x.diagonal(0, first, second)
            if writable:
                x.flags.writeable = True  # np.einsum's is, np.diagonal's not
            labels = (*(label for i, label in enumerate(labels) if i not in (first, second)), labels[first])
        return _Term(x, labels)


class _Terms:
    """Operands of one library and dtype, by their names in errors, and how they are multiplied: the options of the products,
    and whether a step without a sum is entrywise. Raises as :func:`ozfp4.matmul`.
    """

    def __init__(self, operands: Mapping[str, Any], out: Any, dtype: Any, options: Mapping[str, Any]) -> None:
        asked, is_watched = Options.of(options), library.is_watched(*operands.values(), out)
        terms, self.xp = _taken(operands, out, is_watched)
        terms, self._dtype = _of_one_dtype(terms, self.xp, dtype, is_watched)
        if is_integer(self._dtype):
            check_unasked(options)
        self._operands = dict(zip(operands, terms, strict=True))
        self._out, self._options = out, options
        self._is_entrywise = (
            asked.accuracy != "scaled"
            and asked.rounding == "nearest"
            and not is_watched
            and not any(is_complex(x.dtype) for x in terms)
            and {"plan", "overflow", "report", "return_bound"}.isdisjoint(unusual(options))
        )
        self.shapes = [tuple(x.shape) for x in terms]
        self.beside: list[Any] = []  # bounds and reports of the products

    def contracted(self, found: Subscripts, steps: Sequence[Sequence[int]]) -> Any:
        """The sum over every label that the result has not. A step names terms by their places among those that are left; their
        product goes to the end."""
        if self._out is not None:
            shape = tuple(found.extents[label] for label in found.result)
            check_out(self._out, shape, self._dtype, **self._operands)
        left = []
        for x, labels in zip(self._operands.values(), found.operands, strict=True):
            whole = tuple(found.extents[label] for label in labels)
            left.append(_Term(x if x.shape == whole else self.xp.broadcast_to(x, whole), labels).diagonal())
        for step in steps:
            x, *others = (left[place] for place in step)
            left = [term for place, term in enumerate(left) if place not in step]
            while others:
                y, *others = others
                x = self._multiplied(x, y, _labels(found.result, left, others))
            left.append(self._summed(x, _labels(found.result, left)))
        result = left[0].ordered(found.result)
        if self._out is None:
            return result
        if is_tensor(self._out):
            return self._out.copy_(result)
        self._out[...] = result
        return self._out

    def _matmul(self, x: Any, y: Any) -> Any:
        found = matmul(x, y, **self._options)
        if not isinstance(found, tuple):
            return found
        self.beside.extend(found[1:])
        return found[0]

    def _summed(self, term: _Term, keep: set[Label]) -> _Term:
        """Without the labels that are not to be kept: the product with ones."""
        kept = tuple(label for label in term.labels if label in keep)
        if kept == term.labels:
            return term
        x = term.ordered(kept + tuple(label for label in term.labels if label not in keep))
        shape, extent = x.shape[: len(kept)], math.prod(x.shape[len(kept) :])
        where = {} if self.xp is np else {"device": x.device}
        ones = self.xp.ones((extent, 1), dtype=x.real.dtype, **where)
        return _Term(self._matmul(x.reshape(math.prod(shape), extent), ones).reshape(shape), kept)

    def _multiplied(self, x: _Term, y: _Term, keep: set[Label]) -> _Term:
        """The product of two, summed over what both have and is not to be kept."""
        x, y = self._summed(x, keep.union(y.labels)), self._summed(y, keep.union(x.labels))
        both = [label for label in x.labels if label in y.labels]
        stack = tuple(label for label in both if label in keep)
        inner = tuple(label for label in both if label not in keep)
        rows = tuple(label for label in x.labels if label not in both)
        columns = tuple(label for label in y.labels if label not in both)
        a, b = x.ordered(stack + rows + inner), y.ordered(stack + inner + columns)
        outer, of_rows = a.shape[: len(stack)], a.shape[len(stack) : len(stack + rows)]
        of_columns = b.shape[len(stack + inner) :]
        if not inner and self._is_entrywise:
            a = a.reshape((*a.shape, *[1] * len(columns)))
            b = b.reshape((*outer, *[1] * len(rows), *of_columns))
            return _Term(_entrywise(a, b), stack + rows + columns)
        m, n, k = math.prod(of_rows), math.prod(of_columns), math.prod(a.shape[len(stack + rows) :])
        product = self._matmul(a.reshape((*outer, m, k)), b.reshape((*outer, k, n)))
        return _Term(product.reshape((*outer, *of_rows, *of_columns)), stack + rows + columns)


def _labels(result: Labels, *terms: Iterable[_Term]) -> set[Label]:
    return set(result).union(*(term.labels for group in terms for term in group))


@in_default_mode
def _entrywise(x: Any, y: Any) -> Any:
    """The products of entries, each rounded to nearest; extents of 1 go with any. Precondition: of one dtype, not complex."""
    if is_tensor(x) and x.device.type != "cpu":
        return x * y
    torch = require_torch() if is_tensor(x) else None
    first, second = (library.as_array("x", z) for z in (x, y))
    shape = np.broadcast_shapes(first.shape, second.shape)
    with np.errstate(all="ignore"):  # as matmul, which warns of nothing
        # By NumPy, as threads of torch have modes of their own.
        made = np.multiply(first, second, out=library.new_array(torch, shape, first.dtype))
    return made if torch is None else library.tensor_of_array(made)
