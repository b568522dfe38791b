"""Sums of products over labelled axes, as products of two matrices one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple, cast

import numpy as np

from .._options import Options, check_unasked, unusual
from .._request import library
from .._request.integers import result_dtype
from .._request.library import array_of_tensor, is_complex, is_integer, is_tensor, require_torch
from .._request.out import check_out
from .._request.subscripts import Label, Labels, Subscripts
from .._support.fp_mode import in_default_mode
from .matmul import matmul

# Options that a multiplication of entries lacks.
_OF_PRODUCTS = {"plan", "overflow", "report", "return_bound"}


def sum_of_products(
    operands: Mapping[str, Any],
    out: Any,
    dtype: Any,
    options: Mapping[str, Any],
    read: Callable[..., tuple[Subscripts, Sequence[Sequence[int]]]],
) -> tuple[Any, list[Any]]:
    """The sum over every label that the result has not; and what matmul returns beside its products.

    `operands` have the names that errors call them. ``read(*shapes, has_tensors=...)`` gives the labels of their axes, and the
    steps: each names the terms to multiply by their places among those that are left; their product goes to the end. Raises as
    :func:`ozfp4.matmul`.
    """
    is_watched = library.is_watched(*operands.values(), out)
    terms, xp = _taken(operands, out, is_watched)
    found, steps = read(*(tuple(x.shape) for x in terms), has_tensors=xp is not np)
    terms, dtype = _of_one_dtype(terms, xp, dtype, is_watched)
    contraction = _Contraction(terms, xp, options, is_watched)
    if out is not None:
        shape = tuple(found.extents[label] for label in found.result)
        check_out(out, shape, dtype, **dict(zip(operands, terms, strict=True)))
    left = [_wide(x, labels, found.extents, xp) for x, labels in zip(terms, found.operands, strict=True)]
    result = contraction.contract(left, found.result, steps)
    if out is None:
        return result, contraction.beside
    if is_tensor(out):
        out.copy_(result)
    else:
        out[...] = result
    return out, contraction.beside


# ---- Operands -------------------------------------------------------------------------------------------------------


def _taken(operands: Mapping[str, Any], out: Any, is_watched: bool) -> tuple[list[Any], Any]:
    """The operands as arrays, or as tensors on one device, and the library that they are of. `is_watched`: torch has to see what
    is made of the tensors, so that they stay what they are."""
    if not library.is_from_torch(**operands, out=out):
        library.checked_out(out)
        return [library.take_array(name, x, library.TAKEN) for name, x in operands.items()], np
    first, a = next(iter(operands.items()))
    for name, x in (*operands.items(), ("out", out)):
        if x is None:
            continue
        if is_watched:
            _check_watched(name, x)
        else:
            library.check_tensor(name, x)
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


def _check_watched(name: str, tensor: Any) -> None:
    """TypeError for a tensor that no operator here takes, RuntimeError for one whose storage is too small."""
    if library.is_dtensor(tensor):
        raise TypeError(f"{name}: a DTensor has no place here; ozfp4.matmul and gemm multiply DTensors")
    library.check_kind(name, tensor)
    if type(tensor) in (require_torch().Tensor, require_torch().nn.Parameter):
        library.check_storage(name, tensor)


@in_default_mode
def _of_one_dtype(operands: Sequence[Any], xp: Any, asked: Any, is_watched: bool) -> tuple[list[Any], Any]:
    """The operands in the dtype that all of them promote to, or the wider one that is asked for, so that no sum before the last
    is rounded to less, and that dtype; real ones beside complex ones in its real dtype. TypeError where the library has none."""
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
    result = require_torch().empty(x.shape, dtype=dtype, device="cpu")
    array_of_tensor("x", result)[...] = array_of_tensor("x", x)  # threads of torch have modes of their own
    return result


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


class _Contraction:
    """How terms are multiplied: the library that they are of, what was asked for, and whether a product without a sum is one of
    entries, which rounds as was asked for (of complex numbers it rounds more than once)."""

    def __init__(
        self, operands: Sequence[Any], xp: Any, options: Mapping[str, Any], is_watched: bool
    ) -> None:
        """TypeError or ValueError for options that matmul would refuse."""
        asked = Options.of(options)
        if all(is_integer(x.dtype) for x in operands):
            check_unasked(options)
        self._xp = xp
        self._options = options
        self._is_entrywise = (
            asked.accuracy != "scaled"
            and asked.rounding == "nearest"
            and not is_watched
            and not any(is_complex(x.dtype) for x in operands)
            and not _OF_PRODUCTS.intersection(unusual(options))
        )
        self.beside: list[Any] = []  # bounds and reports

    def contract(self, terms: Sequence[_Term], result: Labels, steps: Sequence[Sequence[int]]) -> Any:
        """The sum of products with the axes of the result in its order. Axes of one label are of one extent."""
        left = [_diagonal(term) for term in terms]
        for step in steps:
            x, *others = (left[place] for place in step)
            left = [term for place, term in enumerate(left) if place not in step]
            while others:
                y, *others = others
                x = self._multiplied(x, y, _labels(result, left, others))
            left.append(self._summed(x, _labels(result, left)))
        (last,) = left
        return last.ordered(result)

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
        where = {} if self._xp is np else {"device": x.device}
        ones = self._xp.ones((extent, 1), dtype=x.real.dtype, **where)
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
        shape = (*outer, *of_rows, *of_columns)
        if not inner and self._is_entrywise:
            a, b = (
                a.reshape((*a.shape, *[1] * len(columns))),
                b.reshape((*outer, *[1] * len(rows), *of_columns)),
            )
            return _Term(_entrywise(a, b), stack + rows + columns)
        m, n, k = math.prod(of_rows), math.prod(of_columns), math.prod(a.shape[len(stack + rows) :])
        product = self._matmul(a.reshape((*outer, m, k)), b.reshape((*outer, k, n)))
        return _Term(product.reshape(shape), stack + rows + columns)


def _wide(x: Any, labels: Labels, extents: Mapping[Label, int], xp: Any) -> _Term:
    """With the full extent of a label where it has 1, without a copy."""
    shape = tuple(extents[label] for label in labels)
    return _Term(x if tuple(x.shape) == shape else xp.broadcast_to(x, shape), labels)


def _labels(result: Labels, *terms: Iterable[_Term]) -> set[Label]:
    return set(result).union(*(term.labels for group in terms for term in group))


def _diagonal(term: _Term) -> _Term:
    """A view along the diagonals of labels that come twice."""
    x, labels = term
    while len(set(labels)) < len(labels):
        second = next(i for i, label in enumerate(labels) if label in labels[:i])
        first = labels.index(labels[second])
        writable = isinstance(x, np.ndarray) and x.flags.writeable
        x = x.diagonal(0, first, second)
        if writable:
            x.flags.writeable = True  # np.einsum's is, np.diagonal's not
        labels = (*(label for i, label in enumerate(labels) if i not in (first, second)), labels[first])
    return _Term(x, labels)


@in_default_mode
def _entrywise(x: Any, y: Any) -> Any:
    """The products of entries, each rounded to nearest; extents of 1 go with any. Range: of one dtype, not complex."""
    with np.errstate(all="ignore"):  # as matmul, which warns of nothing
        if not is_tensor(x):
            return np.asarray(x * y)  # NumPy's product of two 0-d arrays is none
        if x.device.type != "cpu":
            return x * y
        torch = require_torch()
        result = torch.empty(torch.broadcast_shapes(x.shape, y.shape), dtype=x.dtype, device="cpu")
        first, second, third = (array_of_tensor("x", z) for z in (x, y, result))
        np.multiply(first, second, out=third)  # threads of torch have modes of their own
        return result
