"""The operators of torch that are products of matrices or vectors, all as alpha A B + beta C: where each has its operands, and
what ozfp4 makes of them."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..._api.gemm import gemm
from ..._api.matmul import matmul
from ..._request.library import is_integer, require_torch
from ..._support import torch_private
from ..problem import Problem

torch: Any = require_torch()


@dataclass(frozen=True, eq=False)
class Operator:
    """A product by its name: the places of A, B and C (None: there is none) among its arguments, the numbers of axes of A and B;
    what it does to A and B before; whether the result goes to C's place."""

    name: str
    places: tuple[int, int, int | None]
    axes: tuple[int, int]
    before: Callable[[Any, Any], tuple[Any, Any]] | None = None
    in_place: bool = False

    def key(self, args: Any) -> Any:
        """What all that is decided of a product depends on: neither strides nor entries."""
        first, second, _ = self.places
        a, b = args[first], args[second]
        return self, a.shape, b.shape, a.dtype, a.device

    def is_nested(self, args: Any) -> bool:
        """Whether A or B are stacks of matrices of several shapes, which have no shape to ask for."""
        first, second, _ = self.places
        return bool(args[first].is_nested or args[second].is_nested)

    def operands(self, args: Any) -> tuple[Any, Any, Any]:
        first, second, third = self.places
        return args[first], args[second], None if third is None else args[third]

    def problem(self, a: Any, b: Any) -> Problem:
        """Range: as :meth:`fits` says."""
        stack = a.shape[0] if a.ndim == 3 and self.before is None else 1
        m = a.shape[-2] if a.ndim > 1 else 1
        n = b.shape[-1] if b.ndim > 1 else 1
        k = a.shape[-1] * (a.shape[0] if a.ndim == 3 and self.before is not None else 1)
        device = str(a.device)
        return Problem("torch", device, str(a.dtype).removeprefix("torch."), stack, m, n, k)

    def fits(self, a: Any, b: Any, c: Any, named: dict[str, Any]) -> bool:
        """Whether torch would take these; it says itself what is wrong with others."""
        tensors = [x for x in (a, b, c, named.get("out")) if x is not None]
        if any(
            x.dtype != a.dtype or x.device != a.device or x.layout != torch.strided or x.is_nested
            for x in tensors
        ):
            return False
        written = c if self.in_place else named.get("out")
        if written is not None and torch_private.overlaps_itself(written):
            return False
        if (a.ndim, b.ndim) != self.axes or a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
            return False
        if a.ndim == 3 and a.shape[0] != b.shape[0]:
            return False
        if c is not None and not self._takes(c, a, b):
            return False
        return all(_is_factor(factor, a.dtype) for factor in _factors(named))

    def _takes(self, c: Any, a: Any, b: Any) -> bool:
        shape = self.result(a, b)
        if self.in_place:
            return tuple(c.shape) == shape
        short = len(shape) - c.ndim
        return short >= 0 and all(x in (1, n) for x, n in zip(c.shape, shape[short:], strict=True))

    def result(self, a: Any, b: Any) -> tuple[int, ...]:
        """The shape of A B. Range: as :meth:`fits` says."""
        stack = a.shape[:1] if a.ndim == 3 and self.before is None else ()
        return (*stack, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ()))

    def compute(self, a: Any, b: Any, c: Any, named: dict[str, Any], keywords: dict[str, Any]) -> Any:
        """By ozfp4. Range: as :meth:`fits` says."""
        out = c if self.in_place else named.get("out")
        read = [a, b] if out is c or c is None else [a, b, c]
        fitting = (
            out is not None
            and tuple(out.shape) == self.result(a, b)
            and not (out.is_conj() or out.is_neg())
            and not any(_share(out, x) for x in read)
        )
        if self.before is not None:
            a, b = self.before(a, b)
        asked: dict[str, Any] = {**keywords, "out": out} if fitting else keywords
        alpha, beta = _factors(named)
        if is_integer(a.dtype):  # as torch does
            alpha, beta = int(alpha), int(beta)
        found = matmul(a, b, **asked) if c is None else gemm(alpha, a, b, beta, c, **asked)
        if out is None or fitting:
            return found
        torch.ops.aten.clone.out(found, out=out)  # resizes as torch does, with its warning
        return out


def _factors(named: dict[str, Any]) -> tuple[Any, Any]:
    alpha, beta = (named.get(name, 1) for name in ("alpha", "beta"))
    return int(alpha) if alpha is True or alpha is False else alpha, int(
        beta
    ) if beta is True or beta is False else beta


def _is_factor(factor: Any, dtype: Any) -> bool:
    """Whether an entry of the dtype holds a factor, but for its rounding: what torch makes of others is its own."""
    if not isinstance(factor, (int, float, complex)) or not cmath.isfinite(factor):
        return False
    if isinstance(factor, complex) and not dtype.is_complex:
        return False
    if dtype == torch.bool:
        return True
    info = torch.iinfo(dtype) if is_integer(dtype) else torch.finfo(dtype)
    return all(info.min <= part <= info.max for part in (factor.real, factor.imag))


def _share(x: Any, y: Any) -> bool:
    """Whether two tensors may share memory: what is written there must not be read any more."""
    first, second = x.untyped_storage(), y.untyped_storage()
    return bool(first.data_ptr() == second.data_ptr() and first.nbytes())


def _joined(a: Any, b: Any) -> tuple[Any, Any]:
    """Of stacks whose products are summed: one product, whose inner dimension is that of all."""
    stack, m, k = a.shape
    return a.transpose(0, 1).reshape(m, stack * k), b.reshape(stack * k, b.shape[2])


def _conjugated(a: Any, b: Any) -> tuple[Any, Any]:
    return a.conj(), b


_ALL = (
    Operator("mm", (0, 1, None), (2, 2)),
    Operator("bmm", (0, 1, None), (3, 3)),
    Operator("mv", (0, 1, None), (2, 1)),
    Operator("dot", (0, 1, None), (1, 1)),
    Operator("vdot", (0, 1, None), (1, 1), _conjugated),
    Operator("addmm", (1, 2, 0), (2, 2)),
    Operator("addmv", (1, 2, 0), (2, 1)),
    Operator("baddbmm", (1, 2, 0), (3, 3)),
    Operator("addbmm", (1, 2, 0), (3, 3), _joined),
)
_IN_PLACE = tuple(
    replace(operator, name=f"{operator.name}_", in_place=True)
    for operator in _ALL
    if operator.places[2] is not None
)
BY_NAME = {operator.name: operator for operator in (*_ALL, *_IN_PLACE)}


def _overloads() -> dict[Any, Operator]:
    found: dict[Any, Operator] = {}
    for operator in BY_NAME.values():
        packet = getattr(torch.ops.aten, operator.name)
        found[packet.default] = operator
        if not operator.in_place:
            found[packet.out] = operator
    return found


OPERATORS = _overloads()
