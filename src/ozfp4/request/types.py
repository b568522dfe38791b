"""What type checkers see of a torch tensor, whether or not torch is installed where they run."""

from __future__ import annotations

from typing import Protocol, TypeVar


class TensorLike(Protocol):
    """The part of torch.Tensor that tells it from an array."""

    requires_grad: bool

    def data_ptr(self) -> int: ...
    def is_neg(self) -> bool: ...


TensorT = TypeVar("TensorT", bound=TensorLike)
