"""Sums of products over labelled axes, as products of two matrices one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._options import Options, check_unasked, unusual
from .._request.complex import is_complex
from .._request.library import is_integer
from .._request.many import entrywise
from .._request.subscripts import Label, Labels
from .matmul import matmul


class Term(NamedTuple):
    """An array or a tensor, and the labels of its axes."""

    entries: Any
    labels: Labels


class Ways(NamedTuple):
    """How terms are multiplied: the library that they are of, matmul with all that was asked for, and whether a product without
    a sum is one of entries, which rounds as was asked for (of complex numbers it rounds more than once)."""

    library: Any
    matmul: Callable[[Any, Any], Any]
    entrywise: bool


def wide(term: Term, extents: Mapping[Label, int], library: Any) -> Term:
    """With the full extent of a label where it has 1, without a copy."""
    shape = tuple(extents[label] for label in term.labels)
    if tuple(term.entries.shape) == shape:
        return term
    return Term(library.broadcast_to(term.entries, shape), term.labels)


def make_ways(
    library: Any, operands: Sequence[Any], options: Mapping[str, Any], *, is_watched: bool = False
) -> Ways:
    """From the options of matmul; TypeError or ValueError for those that it would refuse. `is_watched`: torch has to see each
    step as an operator, whose derivatives are products."""
    asked = Options.of(options)
    if all(is_integer(x.dtype) for x in operands):
        check_unasked(options)
    is_entrywise = asked.accuracy != "scaled" and asked.rounding == "nearest" and not is_watched
    is_entrywise = is_entrywise and not any(is_complex(x) for x in operands)
    is_entrywise = is_entrywise and not _OF_PRODUCTS.intersection(unusual(options))
    return Ways(library, partial(matmul, **options), is_entrywise)


# Options that a multiplication of entries lacks.
_OF_PRODUCTS = {"plan", "overflow", "report", "return_bound"}


def contract(terms: Sequence[Term], result: Labels, steps: Sequence[Sequence[int]], ways: Ways) -> Any:
    """The sum over every label that the result has not, in its order of axes.

    Axes of one label are of one extent. A step names the terms to multiply by their places among those that are left; their
    product goes to the end.
    """
    left = [Term(*_diagonal(term)) for term in terms]
    for step in steps:
        x, *others = (left[place] for place in step)
        left = [term for place, term in enumerate(left) if place not in step]
        while others:
            y, *others = others
            x = _multiplied(x, y, _labels(result, left, others), ways)
        left.append(_summed(x, _labels(result, left), ways))
    (last,) = left
    return _ordered(last, result).entries


def _labels(result: Labels, *terms: Iterable[Term]) -> set[Label]:
    return set(result).union(*(term.labels for group in terms for term in group))


def _diagonal(term: Term) -> Term:
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
    return Term(x, labels)


def _ordered(term: Term, labels: Labels) -> Term:
    axes = [term.labels.index(label) for label in labels]
    x = term.entries
    return Term(x.transpose(axes) if isinstance(x, np.ndarray) else x.permute(axes), labels)


def _summed(term: Term, keep: set[Label], ways: Ways) -> Term:
    """Without the labels that are not to be kept: the product with ones."""
    kept = tuple(label for label in term.labels if label in keep)
    if kept == term.labels:
        return term
    x = _ordered(term, kept + tuple(label for label in term.labels if label not in keep)).entries
    shape, extent = x.shape[: len(kept)], math.prod(x.shape[len(kept) :])
    where = {} if ways.library is np else {"device": x.device}
    ones = ways.library.ones((extent, 1), dtype=x.real.dtype, **where)
    return Term(ways.matmul(x.reshape(math.prod(shape), extent), ones).reshape(shape), kept)


def _multiplied(x: Term, y: Term, keep: set[Label], ways: Ways) -> Term:
    """The product of two, summed over what both have and is not to be kept."""
    x, y = _summed(x, keep.union(y.labels), ways), _summed(y, keep.union(x.labels), ways)
    both = [label for label in x.labels if label in y.labels]
    stack = tuple(label for label in both if label in keep)
    inner = tuple(label for label in both if label not in keep)
    rows = tuple(label for label in x.labels if label not in both)
    columns = tuple(label for label in y.labels if label not in both)
    a, b = _ordered(x, stack + rows + inner).entries, _ordered(y, stack + inner + columns).entries
    labels = stack + rows + columns
    if not inner and ways.entrywise:
        product = entrywise(_with_ones(a, a.ndim, len(columns)), _with_ones(b, len(stack), len(rows)))
        return Term(product, labels)
    outer = a.shape[: len(stack)]
    m, k = (
        math.prod(group) for group in (a.shape[len(stack) :][: len(rows)], a.shape[len(stack) + len(rows) :])
    )
    shape = (*a.shape[: len(stack) + len(rows)], *b.shape[len(stack) + len(inner) :])
    n = math.prod(b.shape[len(stack) + len(inner) :])
    return Term(ways.matmul(a.reshape((*outer, m, k)), b.reshape((*outer, k, n))).reshape(shape), labels)


def _with_ones(x: Any, place: int, count: int) -> Any:
    """With `count` more axes, of extent 1, before the one at `place`."""
    return x.reshape((*x.shape[:place], *[1] * count, *x.shape[place:]))
