"""Operands of which torch need not see the product as an operator; checked before every product of tensors."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from ozfp4._request import library

torch = pytest.importorskip("torch")
A = torch.ones(2, 2, dtype=torch.float64)
GRAD = torch.ones(2, 2, dtype=torch.float64, requires_grad=True)


class Other(torch.Tensor):
    pass


@pytest.mark.parametrize(
    "x", [A, torch.nn.Parameter(A, requires_grad=False), A.to_sparse()], ids=lambda x: type(x).__name__
)
def test_plain_tensors_are_unwatched(x):
    assert library.unwatched().are((A, x, None))
    assert library.unwatched().are((x, None, A))


@pytest.mark.parametrize(
    "x", [A.as_subclass(Other), np.ones((2, 2)), 1.0, "x"], ids=lambda x: type(x).__name__
)
def test_whatever_else_needs_a_closer_look(x):
    assert not library.unwatched().are((A, x, None))
    assert not library.unwatched().are((A, A, None, x))


def test_gradients():
    parameter = torch.nn.Parameter(A.clone())
    for x in (GRAD, parameter, GRAD * 2):
        assert not library.unwatched().are((A, x, None))
        with torch.no_grad():
            assert library.unwatched().are((A, x, None))


def test_modes_that_watch():
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Passing(Mode):  # as scopes of emulate are
        passes_products = True

    with Mode(), Passing():
        assert not library.unwatched().are((A, A, None))
    with Passing(), Passing():
        assert library.unwatched().are((A, A, None))
    assert library.unwatched().are((A, A, None))


def test_maps_and_tangents():
    seen = []

    def ask(x):
        seen.append(library.unwatched().are((x, x, None)))
        return x.sum()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.func.vmap(ask)(A)
        torch.func.grad(ask)(A)
    with torch.autograd.forward_ad.dual_level():
        seen.append(library.unwatched().are((A, A, None)))
    assert seen == [False, False, False]
    assert library.unwatched().are((A, A, None))


def test_errors_of_torch_are_passed_on():
    from ozfp4 import _core

    def fail():
        raise RuntimeError("no answer")

    outside = SimpleNamespace(level=-1)
    never = {
        "records_gradients": bool,
        "count_modes": lambda: 1,
        "has_watching_mode": bool,
        "find_interpreters": lambda: None,
        "find_record": lambda: None,
    }
    for name in ("count_modes", "has_watching_mode", "find_interpreters", "find_record"):
        asked = _core.Unwatched(
            (torch.Tensor,), **{**never, name: fail}, forward_mode=outside, level_name="level"
        )
        with pytest.raises(RuntimeError, match="no answer"):
            asked.are((A,))
    with pytest.raises(AttributeError, match="no_level"):
        _core.Unwatched((torch.Tensor,), **never, forward_mode=outside, level_name="no_level").are((A,))


def test_operands_that_are_here():
    """Tensors on a CPU or a GPU, and numbers; by a function that outlives its owner."""
    are_here = library.unwatched().are_here
    assert are_here((A, None, 1, 2.5, 1j, A))
    assert are_here(())
    for x in (A.to("meta"), A.as_subclass(Other), np.ones((2, 2)), "x", GRAD, np.float64(1)):
        assert not are_here((A, x))
    with torch.no_grad():
        assert are_here((A, GRAD))
    with torch.autograd.forward_ad.dual_level():
        assert not are_here((A, A))
    for given in ((), (A,), ([A],), ((A,), (A,))):
        with pytest.raises(TypeError):
            are_here(*given)
    library.unwatched.cache_clear()
    assert are_here((A, A))
