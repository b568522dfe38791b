"""The replacements of torch's functions: which calls go to torch at once, by which keys, and how they are counted."""

from __future__ import annotations

import gc
import threading
import weakref
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest

from ozfp4 import _core

torch = pytest.importorskip("torch")

A, B = torch.ones(3, 4, dtype=torch.float64), torch.ones(4, 2, dtype=torch.float64)


class Standing(_core.Left):
    """For a function that returns its arguments; what goes another way is kept."""

    def __init__(self, scopes: Any, form: Any = None, place: int = 0, names: Any = ("input", "mat2")) -> None:
        super().__init__(
            lambda *args, **named: (args, named), scopes, (torch.Tensor,), names, form, "f", place
        )
        self.others: list[Any] = []

    def _otherwise(self, args: Any, named: Any, key: Any) -> Any:
        self.others.append((args, named, key))
        return "otherwise"

    def key(self, *args: Any, **named: Any) -> Any:
        """The key of arguments; None where they go to torch."""
        return self.others[-1][2] if self(*args, **named) == "otherwise" else None


@pytest.fixture
def scopes() -> ContextVar[Any]:
    found: ContextVar[Any] = ContextVar("scopes")
    found.set(SimpleNamespace(left_by_name={}))
    return found


KEY = ("f", A.shape, B.shape, torch.float64, -1, None)


def test_known_keys_go_on_and_are_counted(scopes: Any) -> None:
    f, calls = Standing(scopes), _core.Calls()
    left = scopes.get().left_by_name
    assert f(A, B) == "otherwise"
    assert f.others == [((A, B), {}, KEY)]
    left[KEY] = calls
    given, named = f(A, B, out=3)
    assert (given[0] is A, given[1] is B, named) == (True, True, {"out": 3})
    assert calls.value == 1
    left[KEY] = None  # is left, and not counted
    assert f(A, B)[1] == {}
    assert (calls.value, len(f.others)) == (1, 1)


def test_outside_of_scopes_and_in_those_without_names(scopes: Any) -> None:
    f = Standing(scopes)
    scopes.set(None)
    assert f(input=1, other=2) == ((), {"input": 1, "other": 2})
    scopes.set(SimpleNamespace(left_by_name=None))
    assert f(A, B) == "otherwise"
    assert f.others == [((A, B), {}, KEY)]
    scopes.set(SimpleNamespace())
    with pytest.raises(AttributeError, match="left_by_name"):
        f(A, B)


@pytest.mark.parametrize(
    ("given", "named"),
    [((), {"input": A, "mat2": B, "out": 5}), ((A,), {"mat2": B, "out": 5}), ((A, B), {"out": 5})],
    ids=["both", "one", "none"],
)
def test_operands_by_their_names_are_put_in_their_places(scopes: Any, given: Any, named: Any) -> None:
    f = Standing(scopes)
    before = dict(named)
    assert f.__call__(*given, **named) == "otherwise"
    assert f.others == [((A, B), {"out": 5}, KEY)]
    assert named == before
    scopes.get().left_by_name[KEY] = None
    assert f(*given, **named)[1] == {"out": 5}


def test_other_operands_go_on(scopes: Any) -> None:
    class Other(torch.Tensor):
        pass

    f = Standing(scopes)
    for given in ((), (A,), (A, 3), (B.numpy(), A), (A.as_subclass(Other), B), (A, B.as_subclass(Other))):
        assert f(*given) == (given, {})
    assert f(A, other=B) == ((A,), {"other": B})
    assert f.others == []


def test_keys_differ_by_all_that_decides(scopes: Any) -> None:
    f = Standing(scopes)
    products = [(A, B), (A.mT, A), (A[:2], B), (A, B[:, :1]), (A.float(), B)]
    keys = [f.key(*given) for given in products]
    assert len(set(keys)) == len(keys)
    assert f.key(A + 1, B.mT.contiguous().mT) == keys[0]


def test_keys_hold_further_arguments(scopes: Any) -> None:
    by_name = Standing(scopes, "bias")
    cases = [
        ((A, B), {}), ((A, B, None), {}), ((A, B), {"bias": None}), ((A, B, A), {}), ((A, B), {"bias": A}),
    ]  # fmt: skip
    assert [by_name.key(*given, **named)[-1] for given, named in cases] == [False, False, False, True, True]
    by_function = Standing(scopes, lambda args, named: (len(args), named), place=1, names=())
    assert by_function.key("ij", A, B, named=3) is None  # a dictionary is nothing to be found by
    assert by_function((0, A, B)) == (((0, A, B),), {})
    scopes.get().left_by_name["f", A.shape, B.shape, torch.float64, -1, (3, None)] = calls = _core.Calls()
    by_function("ij", A, B)
    assert calls.value == 1


@pytest.mark.parametrize("error", [IndexError, AttributeError, RuntimeError, TypeError])
def test_arguments_that_cannot_be_read_are_torchs(scopes: Any, error: type[Exception]) -> None:
    def fail(args: Any, named: Any) -> Any:
        raise error

    assert Standing(scopes, fail)(A, B) == ((A, B), {})


def test_errors_of_forms_are_raised(scopes: Any) -> None:
    def fail(args: Any, named: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Standing(scopes, fail)(A, B)


def test_no_call_is_lost_between_threads() -> None:
    calls, turns = _core.Calls(), 20000
    threads = [threading.Thread(target=lambda: [calls.add() for _ in range(turns)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert calls.value == 8 * turns
    with pytest.raises(AttributeError):
        calls.value = 3


def test_methods_are_bound(scopes: Any) -> None:
    class Tensor:
        f = Standing(scopes)

    x = Tensor()
    assert Tensor.f is vars(Tensor)["f"]
    assert x.f(1, n=2) == ((x, 1), {"n": 2})
    assert x.f.__self__ is x


def test_it_ends_with_what_holds_it(scopes: Any) -> None:
    class Plain(_core.Left):
        pass

    holder: list[Any] = []
    f = Plain(holder.append, scopes, (), (), None, "f", 0)
    holder.append(f)  # a circle
    del holder
    ended = weakref.ref(f)
    del f
    gc.collect()
    assert ended() is None


def test_a_builtin_function_binds_nothing(scopes: Any) -> None:
    class Holder:
        f = _core.Left(len, scopes, (), (), None, "f", 0)
        plain = len

    assert Holder().f is vars(Holder)["f"]
    assert Holder().plain is len


def test_axes_as_a_tensor_are_taken_by_torch() -> None:
    import ozfp4

    axes = torch.tensor([1])
    right = torch.tensordot(A, B, axes)
    with ozfp4.emulate():
        found = torch.tensordot(A, B, axes)
        again = torch.tensordot(A, B, dims=axes)
    assert torch.equal(found, right)
    assert torch.equal(again, right)


def test_without_init_it_is_refused() -> None:
    f = _core.Left.__new__(_core.Left)
    with pytest.raises(TypeError, match="__init__ was not called"):
        f()


def test_refusals(scopes: Any) -> None:
    for given in (
        (), (print, None, (), (), None, "f", 0), (print, scopes, [], (), None, "f", 0),
        (print, scopes, (), (), None, "f", -1), (print, scopes, (), (), None, "f", "0"),
    ):  # fmt: skip
        with pytest.raises(TypeError):
            _core.Left(*given)
