"""Types of operands and flags for type checkers; torch need not be installed where they run."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeVar

import numpy.typing as npt

Array = npt.NDArray[Any]
Arrays = npt.ArrayLike
No = Literal[False]
Yes = Literal[True]


class TensorLike(Protocol):
    """The part of torch.Tensor that tells it from an array."""

    requires_grad: bool

    def data_ptr(self) -> int: ...
    def is_neg(self) -> bool: ...


TensorT = TypeVar("TensorT", bound=TensorLike)
