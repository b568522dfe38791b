"""The subscripts of a sum of products, as numpy.einsum and torch.einsum read them."""

from __future__ import annotations

import operator
import re
import string
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

# A letter, or an axis of an ellipsis, counted from the last one: -1, -2, ...
Label = str | int
Labels = tuple[Label, ...]


class Subscripts(NamedTuple):
    """Labels of the axes of every operand and of the result, and how far each label runs."""

    operands: tuple[Labels, ...]
    result: Labels
    extents: dict[Label, int]


def from_lists(arguments: Sequence[Any]) -> tuple[str, list[Any]]:
    """Subscripts as text, and the operands, of NumPy's other form: operand, list, operand, list, ..., perhaps a last list.

    >>> from_lists(["x", [0, 1], "y", [1, ...], [0, ...]])
    ('AB,B...->A...', ['x', 'y'])
    """
    is_odd = len(arguments) % 2
    operands = list(arguments[: len(arguments) - is_odd : 2])
    text = [_from_list(each) for each in (*arguments[1::2], *arguments[len(arguments) - is_odd :])]
    result = f"->{text.pop()}" if is_odd else ""
    return ",".join(text) + result, operands


def _from_list(labels: Any) -> str:
    letters = string.ascii_uppercase + string.ascii_lowercase
    try:
        found = [None if label is Ellipsis else operator.index(label) for label in labels]
    except TypeError:
        raise TypeError(
            f"subscripts: {labels!r} is no list of integers and Ellipsis, nor are the subscripts text"
        ) from None
    for index in found:
        if index is not None and not 0 <= index < len(letters):
            raise ValueError(f"subscripts: {index} is outside 0..{len(letters) - 1}")
    return "".join("..." if index is None else letters[index] for index in found)


def parse(text: str, shapes: Sequence[tuple[int, ...]]) -> Subscripts:
    """The subscripts of operands of these shapes; ValueError where they do not fit.

    >>> parse("...ij,jk", [(5, 2, 3), (3, 4)])
    Subscripts(operands=((-1, 'i', 'j'), ('j', 'k')), result=(-1, 'i', 'k'), extents={-1: 5, 'i': 2, 'j': 3, 'k': 4})
    """
    terms, arrow, last = re.sub(r"\s", "", text).partition("->")
    given = terms.split(",")
    if len(given) != len(shapes):
        raise ValueError(f"subscripts: {text!r} is for {len(given)} operands, given are {len(shapes)}")
    operands = tuple(
        _labels(f"operands[{i}]", term, len(shape))
        for i, (term, shape) in enumerate(zip(given, shapes, strict=True))
    )
    extents = _extents(operands, shapes)
    axes = sorted(label for label in extents if isinstance(label, int))
    if arrow:
        before, dots, after = _parts("the result", last)
        result: Labels = (*before, *(axes if dots else ()), *after)
    else:
        counts = Counter(label for labels in operands for label in labels)
        result = (*axes, *sorted(x for x, n in counts.items() if isinstance(x, str) and n == 1))
    for label, count in Counter(result).items():
        if count > 1:
            raise ValueError(f"subscripts: the result has {label!r} {count} times in {text!r}")
        if label not in extents:
            raise ValueError(f"subscripts: the result has {label!r}, which no operand has in {text!r}")
    return Subscripts(operands, result, extents)


def _parts(what: str, term: str) -> tuple[str, bool, str]:
    """Letters before the ellipsis, whether there is one, letters behind it."""
    before, dots, after = term.partition("...")
    for letter in before + after:
        if letter not in string.ascii_letters:
            raise ValueError(
                f"subscripts: {letter!r} in {term!r} of {what} is neither a letter nor an ellipsis"
            )
    return before, bool(dots), after


def _labels(what: str, term: str, ndim: int) -> Labels:
    before, dots, after = _parts(what, term)
    hidden = ndim - len(before) - len(after)
    if hidden < 0 or (hidden and not dots):
        least = "at least " if dots else ""
        raise ValueError(f"{what}: {ndim} axes do not fit {term!r}, which is for {least}{ndim - hidden}")
    return (*before, *range(-hidden, 0), *after)


def _extents(operands: tuple[Labels, ...], shapes: Sequence[tuple[int, ...]]) -> dict[Label, int]:
    """How far each label runs; 1 goes with every extent, but not along one diagonal."""
    found: dict[Label, int] = {}
    for i, (labels, shape) in enumerate(zip(operands, shapes, strict=True)):
        own: dict[Label, int] = {}
        for label, extent in zip(labels, shape, strict=True):
            if own.setdefault(label, extent) != extent:
                raise ValueError(f"operands[{i}]: the diagonal {label!r} of shape {shape} is not square")
            known = found.get(label, 1)
            if known != extent and 1 not in (known, extent):
                raise ValueError(f"operands[{i}]: {label!r} is {extent}, and {known} in those before it")
            found[label] = extent if known == 1 else known
    return found


def order(found: Subscripts, optimize: Any) -> list[tuple[int, ...]]:
    """The operands to multiply, step by step, by NumPy's path finder: their places among those that are left. Each product
    is appended to these. ValueError for an `optimize` that is no order of these operands."""
    count = len(found.operands)
    if not isinstance(optimize, (bool, str, tuple, list)):
        raise TypeError(f"optimize: {optimize!r} is neither True, False, a name, nor a path")
    name = optimize[0] if isinstance(optimize, (tuple, list)) and optimize else optimize
    if not isinstance(name, bool) and name not in ("greedy", "optimal", "einsum_path"):
        raise ValueError(f"optimize: {optimize!r} is no path, and no name among 'greedy', 'optimal'")
    if count < 3 and isinstance(optimize, bool):
        return [tuple(range(count))]
    letters = dict(zip(found.extents, string.ascii_letters, strict=False))
    if len(letters) < len(found.extents):
        raise ValueError(
            f"subscripts: {len(found.extents)} different axes; at most {len(letters)} can be ordered"
        )
    terms = ["".join(letters[x] for x in labels) for labels in (*found.operands, found.result)]
    shapes = [tuple(found.extents[x] for x in labels) for labels in found.operands]
    dummies = [np.broadcast_to(np.float64(0), shape) for shape in shapes]  # shapes are all it looks at
    try:
        path = np.einsum_path(f"{','.join(terms[:-1])}->{terms[-1]}", *dummies, optimize=optimize)[0]
        steps = [tuple(operator.index(place) for place in step) for step in path[1:]]
    except (KeyError, TypeError, RuntimeError, ValueError, IndexError) as error:
        raise ValueError(f"optimize: {optimize!r} is no way through these operands: {error}") from None
    left = count
    for step in steps:
        if not step or len(set(step)) < len(step) or not all(0 <= place < left for place in step):
            raise ValueError(f"optimize: the step {step} does not choose among {left} operands")
        left += 1 - len(step)
    if left != 1:
        raise ValueError(f"optimize: {optimize!r} leaves {left} operands of {count}")
    return steps
