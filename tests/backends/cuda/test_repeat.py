"""What launches a product again: where it may write, what it launches with, and what it leaves to others."""

from __future__ import annotations

import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ozfp4 import _core
from ozfp4.request import library

torch = pytest.importorskip("torch")
_CPU = 1  # of DLDeviceType
GENERATION = 7

pytestmark = pytest.mark.skipif(
    not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"), reason="this torch offers no structures"
)


def repeat(
    factors: Any = None, *, may_be_c: bool = False, is_whole: bool = True, make: Any = None
) -> _core.Repeat:
    return _core.Repeat("problem", make or empty, "device", factors, (80, 40, 20, 20), may_be_c, is_whole)


def empty() -> Any:
    return torch.full((2, 2), -7.25, dtype=torch.float64)


@pytest.mark.parametrize(
    ("a", "b", "out", "may"),
    [
        (1000, 2000, 3000, True), (1000, 2000, 1000, False), (1000, 2000, 2039, False), (1000, 2000, 2040, True),
        (1000, 2000, 1981, False), (1000, 2000, 1980, True), (1000, 2000, 1079, False), (1000, 2000, 1080, True),
    ],
)  # fmt: skip
def test_out_lies_apart_from_the_operands(a: int, b: int, out: int, may: bool) -> None:
    assert repeat().may_write((a, b, 0, out)) is may
    assert repeat((2.0, 0.0)).may_write((a, b, out, out)) is may  # C is not read


def test_out_may_be_c() -> None:
    for may_be_c in (False, True):
        update = repeat((1.0, -0.5), may_be_c=may_be_c)
        assert update.may_write((1000, 2000, 3000, 3000)) is may_be_c
        assert not update.may_write((1000, 2000, 3000, 3008))
        assert update.may_write((1000, 2000, 3000, 3020))


@pytest.fixture
def again() -> Callable[..., Any]:
    found: Callable[..., Any] = _core.TensorForms(
        torch.Tensor.__dlpack_c_exchange_api__, library.unwatched(), _CPU
    ).again
    gc.collect()  # it holds what it is of
    return found


A, B, C, OUT = (torch.zeros(4, 4, dtype=torch.float64) for _ in range(4))


@pytest.mark.parametrize("has_out", [False, True])
@pytest.mark.parametrize("factors", [None, (2.0, 0.0), (2.0, -0.5)])
def test_a_launch(again: Any, factors: Any, has_out: bool) -> None:
    launched: list[Any] = []
    update = _core.Repeat("problem", empty, "device", factors, (128, 128, 128, 128), True, True)
    tensors = (A, B, C, OUT if has_out else None)
    key, result = again(tensors, ("II",), True, GENERATION, {}, launched.append)
    assert (key[0], key[2], result) == (GENERATION, ("II",), None)
    made = {key: SimpleNamespace(repeat=update)}
    same, result = again(tensors, ("II",), True, GENERATION, made, lambda *given: launched.append(given))
    assert same == key
    assert (result is OUT) == has_out
    addend = C.data_ptr() if factors == (2.0, -0.5) else 0
    addresses = (A.data_ptr(), B.data_ptr(), result.data_ptr())
    assert launched == [("problem", addresses, "device", factors, addend)]
    for arguments, generation in ((("I",), GENERATION), (("II",), 8)):
        assert again(tensors, arguments, True, generation, made, launched.append)[1] is None
    assert len(launched) == 1


def test_what_is_left_to_others(again: Any) -> None:
    def launch(*given: Any) -> None:
        raise AssertionError(given)

    def ask(tensors: Any, found: Any = None, arguments: Any = ()) -> Any:
        key, result = again(tensors, arguments, True, GENERATION, {}, launch)
        made = {} if key is None or found is None else {key: SimpleNamespace(repeat=found)}
        assert result is None
        return again(tensors, arguments, True, GENERATION, made, launch)

    key, result = ask((A, B, None, None), repeat(is_whole=False))
    assert (key is not None, result) == (True, None)
    assert ask((A, B, None, A), repeat())[1] is None  # out is an operand
    assert ask((A, B, None, None), arguments=(["II"],))[1] is None  # cannot be looked for
    for x in (A.numpy(), A.clone().requires_grad_(), torch._neg_view(A), A[:0]):
        assert again((x, B, None, None), (), True, GENERATION, {}, launch) == (None, None)
    with torch.autograd.forward_ad.dual_level():
        assert again((A, B, None, None), (), True, GENERATION, {}, launch) == (None, None)
        assert again((A, B, None, None), (), False, GENERATION, {}, launch)[0] is not None


def test_errors_of_a_launch_and_refusals(again: Any) -> None:
    def fail(*given: Any) -> None:
        raise MemoryError("no room")

    tensors = (A, B, None, None)
    key, _ = again(tensors, (), True, GENERATION, {}, fail)
    with pytest.raises(MemoryError, match="no room"):
        again(tensors, (), True, GENERATION, {key: SimpleNamespace(repeat=repeat())}, fail)
    with pytest.raises(MemoryError, match="no room"):
        again(tensors, (), True, GENERATION, {key: SimpleNamespace(repeat=repeat(make=fail))}, print)
    with pytest.raises(TypeError, match="made: a dictionary is needed"):
        again(tensors, (), True, GENERATION, [], fail)
    with pytest.raises(ValueError, match="tensors: A, B, C and out are needed"):
        again((A, B), (), True, GENERATION, {}, fail)
    for given in ((), (tensors,), (list(tensors), (), True, GENERATION, {}, fail)):
        with pytest.raises(TypeError, match="another number of arguments, or one is no tuple"):
            again(*given)
    assert np.isfinite(A.numpy()).all()
