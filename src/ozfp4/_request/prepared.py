"""A prepared operand as a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from .._plans.plan import Plan
from .._support.table import Table, Tabular

SIDES = ("left", "right")
OTHERS = ("complex", "real")
SINGLE, DOUBLE = ("float32", "complex64"), ("float64", "complex128")


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Tabular):
    """An operand of :func:`ozfp4.prepare`, for any number of products; immutable.

    ``prepared @ b`` is ``ozfp4.matmul(prepared, b)``, and ``a @ prepared`` likewise, for arrays of
    NumPy and tensors of torch.

    Attributes
    ----------
    shape : tuple of int
    dtype : NumPy or torch dtype
        dtype of the operand.
    side : {"left", "right"}
        The side of the products.
    plan : Plan
    accuracy : {"standard", "correct", "scaled"}
        Accuracy of the products.
    result_dtype : str
        dtype of the products: "float64" or "float32", "complex128" or "complex64" for a complex
        operand. The products of a real operand with complex ones have parts of this dtype.
    other : {"any", "complex", "real"}
        The other operands: any for a real operand, else those that it was prepared for.
    device : str
        "cpu", "cuda:0" and so on.
    nbytes : int
        Memory of the operand: its planes, on the CPU a copy of the entries, and the copy of a
        complex operand.
    """

    shape: tuple[int, ...]
    dtype: Any
    side: str
    plan: Plan
    accuracy: str
    result_dtype: str
    device: str
    nbytes: int
    other: str
    _entries: Any  # what products read of the operand itself, or where they do not, a stand-in of its shape and dtype
    _held: Any  # what the core of its device made of it
    _watched: Callable[[], Any] | None = None  # the tensor that was passed, if torch counts its versions
    _version: int = 0
    _library: Any = None  # the library of its products, where that is another than NumPy and torch

    __array_ufunc__: ClassVar[None] = None  # NumPy's operators leave it to those below
    multiply: ClassVar[Callable[[Any, Any], Any]]  # ozfp4.matmul, which _api/prepare enters: it stands above

    def __matmul__(self, other: Any) -> Any:
        """``ozfp4.matmul(self, other)``."""
        return type(self).multiply(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        """``ozfp4.matmul(other, self)``."""
        return type(self).multiply(other, self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a prepared operand cannot be copied or pickled; copy the matrix, and ozfp4.prepare it anew"
        )

    def _tables(self) -> Iterator[Table]:
        shape = " × ".join(map(str, self.shape))
        others = "" if self.other == "any" else f", for {self.other} ones"
        plan = self.plan
        yield Table(
            [
                ("prepared", f"{self.side} operand, {shape} {self.dtype} on {self.device}{others}"),
                ("accuracy", f"{self.accuracy}, results of {self.result_dtype}"),
                ("plan", f"scheme {plan.scheme}, {plan.backend}, {plan.bits} bits, {plan.planes_a} planes"),
                ("memory", f"{self.nbytes / 2**20:.1f} MiB"),
            ]
        )
