"""The operators of torch that are products of matrices or vectors, all as alpha A B + beta C: where each has its operands, and
what ozfp4 makes of them."""

from __future__ import annotations

import cmath
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any

from ..._api.gemm import gemm
from ..._api.matmul import matmul
from ..._request.library import is_integer, require_torch
from ..._request.operands import broadcast, matmul_shape
from ..._support import torch_private
from ..calls import Call, problem_of

torch: Any = require_torch()


@dataclass(frozen=True, eq=False)
class Operator:
    """A product by its name, which ends with _ where the result goes to C's place. Then the places of A, B and C (None:
    there is none) among its arguments, and the numbers of axes of A and B. Then the function that is applied to A and B
    before, and whether it sums products of a stack."""

    name: str
    places: tuple[int, int, int | None]
    axes: tuple[int, int]
    before: Callable[[Any, Any], tuple[Any, Any]] | None = None
    is_sum: bool = False

    @property
    def in_place(self) -> bool:
        return self.name.endswith("_")

    def key(self, args: Any) -> Any:
        """The facts that all decisions about a product depend on: neither strides nor entries."""
        first, second, _ = self.places
        a, b = args[first], args[second]
        return self, a.shape, b.shape, a.dtype, a.device

    def call(self, args: Any, named: dict[str, Any]) -> Call:
        """The product as a call; ValueError where torch refuses it."""
        first, second, third = self.places
        a, b, c = args[first], args[second], None if third is None else args[third]
        out = c if self.in_place else named.get("out")
        check_alike(a, b, c, out)
        found = matmul_shape(tuple(a.shape), tuple(b.shape))
        stack, k, shape = prod(found.stack), found.k, found.result
        if self.is_sum:
            stack, k, shape = 1, k * stack, shape[1:]
        is_taken = (
            (a.ndim, b.ndim) == self.axes
            and a.shape[:-2] == b.shape[:-2]
            and all(_is_factor(named[name], a.dtype) for name in ("alpha", "beta") if name in named)
            and (out is None or not torch_private.overlaps_itself(out))
            and (
                c is None or (tuple(c.shape) if self.in_place else broadcast(tuple(c.shape), shape)) == shape
            )
        )
        if not is_taken:
            raise ValueError("no product of this operator")
        return Call(
            problem_of((a, b), stack, found.m, found.n, k),
            partial(self._compute, a, b, c, out, shape, named),
            shape,
            out,
        )

    def _compute(
        self, a: Any, b: Any, c: Any, out: Any, shape: Any, named: dict[str, Any], **keywords: Any
    ) -> Any:
        read = [a, b] if out is c or c is None else [a, b, c]
        fitting = (
            out is not None
            and tuple(out.shape) == shape
            and not (out.is_conj() or out.is_neg())
            and not any(_share(out, x) for x in read)
        )
        if self.before is not None:
            a, b = self.before(a, b)
        asked: dict[str, Any] = {**keywords, "out": out} if fitting else keywords
        factors = [named.get(name, 1) for name in ("alpha", "beta")]
        # As torch does.
        alpha, beta = (int(x) if isinstance(x, bool) or is_integer(a.dtype) else x for x in factors)
        found = matmul(a, b, **asked) if c is None else gemm(alpha, a, b, beta, c, **asked)
        if out is None or fitting:
            return found
        torch.ops.aten.clone.out(found, out=out)  # resizes as torch does, with its warning
        return out


def check_alike(*tensors: Any) -> None:
    """ValueError unless all but None are dense, of one dtype, and on one device that ozfp4 multiplies on."""
    first = tensors[0]
    for x in tensors:
        if x is None:
            continue
        if x.layout is not torch.strided or x.is_nested or x.dtype != first.dtype or x.device != first.device:
            raise ValueError("tensors that differ, or are not dense")
    if first.device.type not in ("cpu", "cuda"):
        raise ValueError("another device")


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
    """For stacks with products that are summed: one product, with an inner dimension that is that of all."""
    stack, m, k = a.shape
    return a.transpose(0, 1).reshape(m, stack * k), b.reshape(stack * k, b.shape[2])


_ALL = (
    Operator("mm", (0, 1, None), (2, 2)),
    Operator("bmm", (0, 1, None), (3, 3)),
    Operator("mv", (0, 1, None), (2, 1)),
    Operator("dot", (0, 1, None), (1, 1)),
    Operator("vdot", (0, 1, None), (1, 1), lambda a, b: (a.conj(), b)),
    Operator("addmm", (1, 2, 0), (2, 2)),
    Operator("addmv", (1, 2, 0), (2, 1)),
    Operator("baddbmm", (1, 2, 0), (3, 3)),
    Operator("addbmm", (1, 2, 0), (3, 3), _joined, is_sum=True),
)
_IN_PLACE = [replace(x, name=f"{x.name}_") for x in _ALL if x.places[2] is not None]
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
