"""Products and updates on a GPU like one that was made before: all that differs is the data, so that nothing is checked anew but
whether `out` lies apart from what is read.

A short product takes less time than all the checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

from .. import _core
from ..backends.cuda import pairs, variant
from ..backends.cuda.kept import NOTHING_KEPT, KeptSides
from ..backends.cuda.launch import Launch, relaunch
from ..backends.cuda.views import Prepared as Launchable
from ..request import complex as forms
from ..request.integers import words_of
from ..request.library import check_storage, require_torch, torch_module, unwatched
from ..request.prepared import NEITHER, Prepared, Sides
from ..request.update import transposed
from ..trust import guard

Transposes = tuple[bool | str, bool | str]


class Made(NamedTuple):
    """What is launched again; what makes a tensor for the result, and its dtype; whether an operand is prepared; which of the
    operands are read where they are passed, others as words or in their real form; which are transposed; how the pairs of B are
    made, where that is all that is to be done; the factors of an update; what launches it again where that is all, and knows
    where `out` may lie."""

    launchable: Launchable
    empty: Callable[[], Any]
    dtype: Any
    is_prepared: bool
    lies: tuple[bool, bool]
    transposes: Transposes
    expansion: pairs.Expansion | None
    factors: tuple[float, float] | None
    repeat: _core.Repeat


made: dict[tuple[Any, ...], Made] = {}  # by likeness
_MOST_MADE = 512

Tensors = tuple[Any, Any, Any, Any]  # A, B, then C and `out` or None


def product(tensors: Tensors, arguments: tuple[Any, ...], is_asked: bool = False) -> tuple[Any, Any]:
    """The :func:`likeness`, and the product by it if one like it has been made before; None otherwise."""
    torch = torch_module()
    reader = _reader() if torch is not None and variant.forced is variant.NOTHING else None
    if reader is None:
        like = likeness(tensors, arguments, is_asked)
    else:  # the shortest way
        like, result = reader.again(tensors, arguments, is_asked, guard.generation, made, relaunch)
        if result is not None:
            if tensors[3] is not None:
                torch.autograd.graph.increment_version(result)
            return like, result
        if like is None:
            like = _likeness_of_prepared(tensors, arguments, torch, is_asked)
    return like, None if like is None else again(like, tensors)


def likeness(tensors: Tensors, arguments: tuple[Any, ...], is_asked: bool = False) -> tuple[Any, ...] | None:
    """What two products share that differ in their data alone; None where nothing is repeated, and where it `is_asked` whether
    anybody may have to see the product as an operator of torch. Of a prepared operand they share how it was prepared. The
    `arguments` have beside each number its type: 2.0 == 2, and True == 1."""
    torch = torch_module()
    if torch is None or variant.forced is not variant.NOTHING:
        return None
    found = _forms(tensors, torch, is_asked)
    if found is None:
        return _likeness_of_prepared(tensors, arguments, torch, is_asked)
    # The generation because a kernel may be disabled by now.
    return guard.generation, found, arguments


def _likeness_of_prepared(
    tensors: Tensors, arguments: tuple[Any, ...], torch: Any, is_asked: bool
) -> tuple[Any, ...] | None:
    """The same where an operand is prepared; None where none is."""
    a, b, *rest = tensors
    if not (isinstance(a, Prepared) or isinstance(b, Prepared)):
        return None
    found = _forms((_entries(a), _entries(b), *rest), torch, is_asked)
    if found is None:
        return None
    sides = [_preparation(x, side) for x, side in zip((a, b), ("left", "right"), strict=True)]
    if None in sides:
        return None
    return guard.generation, found, (*arguments, *sides)


def _forms(tensors: tuple[Any, ...], torch: Any, is_asked: bool = False) -> Any:
    """All of tensors, some of which may be None, but their data. None of what matmul may have to refuse, or to look at more
    closely, and where it `is_asked` who watches."""
    reader = _reader()
    if reader is not None:
        return reader.of(tensors, is_asked)
    if is_asked and not unwatched().are(tensors):
        return None
    found = tuple(_form(x, torch) for x in tensors)
    return None if None in found else found


class Reader(NamedTuple):
    """Functions of :class:`_core.TensorForms`."""

    of: Callable[..., Any]
    again: Callable[..., Any]


@lru_cache(maxsize=1)
def _reader() -> Any | None:
    """What reads tensors as C structures, in a third of the time that their attributes take; None where torch offers none (before
    2.10), or those of another version of DLPack."""
    torch = require_torch()
    api = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
    try:
        forms = None if api is None else _core.TensorForms(api, unwatched())
    except (TypeError, ValueError):
        return None
    return None if forms is None else Reader(forms.of, forms.again)


def _form(x: Any, torch: Any) -> tuple[Any, ...] | None:
    """The same of one, by its attributes; () of None."""
    if x is None:
        return ()
    if type(x) is not torch.Tensor and type(x) is not torch.nn.Parameter:
        return None
    if not x.is_cuda or x.layout != torch.strided or x.is_nested or x.is_neg():
        return None
    if (x.requires_grad and torch.is_grad_enabled()) or x.data_ptr() == 0:
        return None
    try:
        check_storage("x", x)
    except RuntimeError:  # matmul refuses it by its name
        return None
    return x.shape, x.stride(), x.dtype, x.device, x.data_ptr() % 16, x.is_conj()


def _entries(x: Any) -> Any:
    return x._entries if isinstance(x, Prepared) else x


def _preparation(x: Any, side: str) -> tuple[Any, ...] | None:
    """How an operand was prepared, () where it was not; None where matmul has to refuse it, or nothing is kept of it. Range: not
    prepared, or on a device."""
    if not isinstance(x, Prepared):
        return ()
    if x.side != side or x._held is None or x._library is not None:
        return None
    if x._tensor is not None and x._tensor._version != x._version:
        return None
    return (
        x.plan,
        x.accuracy,
        x.result_dtype,
        x._held.element,
        x._held.about["lines"],
        x._held.about["matrices"],
        x.other,
    )


def enter(
    key: tuple[Any, ...],
    launch: Launch | None,
    tensors: Tensors,
    shape: tuple[int, ...],
    dtype: Any,
    factors: tuple[complex, complex] = (1, 0),
    transposes: Transposes = (False, False),
) -> None:
    """Let products like this one be repeated, if that was its only launch (None: there was none, or there were several), and what
    it read can be found again."""
    alpha, beta = factors
    if launch is None or alpha.imag != 0 or beta.imag != 0 or alpha == 0:  # read are turned copies, or zeros
        return
    a, b, c, out = _entries(tensors[0]), _entries(tensors[1]), tensors[2] if beta != 0 else None, tensors[3]
    first, second, result = launch.addresses
    lies = first == a.data_ptr(), second == b.data_ptr()
    if dtype.is_floating_point and not all(lies):  # converted operands lie elsewhere the next time
        return
    if (c is not None and launch.addend != c.data_ptr()) or (out is not None and result != out.data_ptr()):
        return
    spans = (_span(a), _span(b), _span(c), _span(out))
    torch = torch_module()
    may_be_c = c is not None and _forms((c,), torch) == _forms((out,), torch)
    is_prepared = isinstance(tensors[0], Prepared) or isinstance(tensors[1], Prepared)
    expansion = _expansion(a, b, transposes) if lies == (True, False) and not is_prepared else None
    if len(made) >= _MOST_MADE:
        made.clear()
    update = None if (alpha, beta) == (1, 0) else (alpha.real, beta.real)
    empty = partial(
        torch.empty_strided, shape, _row_by_row(shape), dtype=dtype, device=a.device
    )  # in half of the time of new_empty
    is_whole = lies == (True, True) and not is_prepared
    repeat = _core.Repeat(launch.prepared, empty, a.device, update, spans, may_be_c, is_whole)
    made[key] = Made(launch.prepared, empty, dtype, is_prepared, lies, transposes, expansion, update, repeat)


def _row_by_row(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of entries one behind the other. Range: no extent is 0.

    >>> _row_by_row((2, 3, 4)), _row_by_row(())
    ((12, 4, 1), ())
    """
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _span(x: Any) -> int:
    """Bytes from a tensor's first entry to the end of its last one, 0 of None; torch has no negative strides."""
    if x is None:
        return 0
    steps = (step * (extent - 1) for step, extent in zip(x.stride(), x.shape, strict=True))
    return int((sum(steps) + 1) * x.itemsize)


def again(key: tuple[Any, ...], tensors: Tensors) -> Any | None:
    """The product if one like it has been made before; None otherwise, also for whatever matmul may have to refuse."""
    try:
        before = made.get(key)
    except TypeError:  # an argument that is not hashable
        return None
    if before is None:
        return None
    launchable, empty, _, is_prepared, lies, _, expansion, factors, repeat = before
    a, b, c, out = tensors
    kept, sides = NOTHING_KEPT, NEITHER
    if is_prepared:
        sides = Sides(*(x if isinstance(x, Prepared) else None for x in (a, b)))
        kept = KeptSides(*(None if x is None else x._held for x in sides))
        a, b = _entries(a), _entries(b)
    first, second = a.data_ptr(), b.data_ptr()
    addend = 0 if factors is None or factors[1] == 0 else c.data_ptr()
    if out is not None and not repeat.may_write((first, second, addend, out.data_ptr())):
        return None
    if expansion is not None:
        x, y = a, expansion.columns(second, a.device)
        second = y.data_ptr()
    elif lies != (True, True):
        x, y = _as_read(a, b, before, sides)
        first, second = x.data_ptr(), y.data_ptr()
    result = empty() if out is None else out
    relaunch(launchable, (first, second, result.data_ptr()), a.device, factors, addend, kept)
    if out is not None:
        torch_module().autograd.graph.increment_version(out)
    return result


def _complex_matrices(a: Any, b: Any, transposes: Transposes) -> tuple[Any, Any]:
    """The operands of an update as they are multiplied, with both matrix axes."""
    x, y = (transposed(name, x, asked) for name, x, asked in zip("ab", (a, b), transposes, strict=True))
    return forms.with_matrix_axes(x, y)


def _expansion(a: Any, b: Any, transposes: Transposes) -> pairs.Expansion | None:
    """How the pairs of B are made; None where that takes more, or there are none. Range: A is read where it lies, B is not."""
    if not forms.are_paired(a, b):
        return None
    columns = forms.distinct(_complex_matrices(a, b, transposes)[1])
    matrices = pairs.along_one_axis(columns)
    return pairs.expansion_of(matrices) if matrices.data_ptr() == b.data_ptr() else None


def _as_read(a: Any, b: Any, made: Made, sides: Sides) -> tuple[Any, Any]:
    """The operands as the kernels read them."""
    if not made.dtype.is_complex:
        return words_of(a), words_of(b)
    rows, columns = _complex_matrices(a, b, made.transposes)
    return forms.real_operands(rows, columns, pairs.expand, sides)
