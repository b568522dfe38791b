"""``ozfp4.emulate`` as a context manager and decorator: its arguments, refusals and summary."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ozfp4

A = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("error", "pattern", "options"),
    [
        (ValueError, "mode: 'never' is unknown; allowed are 'fastest', 'always'", {"mode": "never"}),
        (ValueError, "mode: 1 is unknown", {"mode": 1}),
        (ValueError, "dtypes: 'float16' is not supported; allowed are float64", {"dtypes": ["float16"]}),
        (ValueError, "dtypes: <class 'object'> is not supported", {"dtypes": object}),
        (TypeError, "dtypes: 'nonsense'|dtypes: <object object", {"dtypes": object()}),
        (TypeError, "dtypes: None is no dtype", {"dtypes": None}),
        (ValueError, "dtypes: at least one is needed", {"dtypes": []}),
        (ValueError, "min_size: -1 is negative", {"min_size": -1}),
        (TypeError, "min_size: 1.5 is not an integer", {"min_size": 1.5}),
        (TypeError, "min_size: True is not an integer", {"min_size": True}),
        (TypeError, "verbose: 'yes' is neither True nor False", {"verbose": "yes"}),
        (ValueError, "accuracy: 'exact' is unknown", {"accuracy": "exact"}),
        (ValueError, "rounding: 'up' needs accuracy='correct'", {"rounding": "up"}),
        (TypeError, r"emulate\(\) got an unexpected keyword argument 'bits'", {"bits": 30}),
        (ValueError, "backend: 'cuda' is unknown", {"backend": "cuda"}),
    ],
)
def test_refusals(
    check_refused: Callable[..., None], error: type[Exception], pattern: str, options: dict[str, Any]
) -> None:
    check_refused(error, pattern, ozfp4.emulate, **options)


def test_functions_that_return_before_their_body_are_refused() -> None:
    def generator() -> Iterator[int]:
        yield 1

    async def coroutine() -> None:
        pass

    class Later:
        async def __call__(self) -> None:
            pass

    functions: list[Any] = [generator, coroutine, functools.partial(coroutine), Later()]
    for function in functions:
        with pytest.raises(TypeError, match="returns before its body has run; enter the scope in the body"):
            ozfp4.emulate()(function)
    for nothing in (3, dict, staticmethod(len)):
        with pytest.raises(TypeError, match="is no function"):
            ozfp4.emulate()(nothing)


def test_a_decorated_function() -> None:
    scope = ozfp4.emulate(mode="always")

    @scope
    def square(x: Any, *, deep: int = 0) -> Any:
        """What it does."""
        return square(x, deep=deep - 1) if deep else np.matmul(x, x.T)

    assert square.__name__ == "square"
    assert square.__doc__ == "What it does."
    np.testing.assert_array_equal(square(A, deep=3), ozfp4.matmul(A, A.T))
    square(A)
    assert scope.summary.caught == 2
    np.matmul(A, A.T)
    assert scope.summary.caught == 2


def test_dtypes_are_names_or_dtypes() -> None:
    integers = np.arange(4).reshape(2, 2)
    for dtypes in ("int64", ["int64"], np.int64, np.dtype("int64"), [np.int64, "float32"], "integers"):
        with ozfp4.emulate(dtypes=dtypes, mode="always") as scope:
            np.matmul(integers, integers)
        assert scope.summary.caught == 1
    with ozfp4.emulate(dtypes=["bool"], mode="always") as scope:
        np.matmul(integers > 1, integers > 0)
    assert scope.summary.caught == 1


def test_min_size() -> None:
    with ozfp4.emulate(min_size=12, mode="always") as scope:
        np.matmul(A, A.T)  # 2 × 2 × 3
        np.matmul(A[:1], A.T)
    taken, left = scope.summary.rows
    assert (taken.problem.size, left.problem.size) == (12, 6)
    assert left.reason == "below min_size, 12 multiplications"


def test_the_summary() -> None:
    scope = ozfp4.emulate(mode="always")
    assert (scope.summary.caught, scope.summary.left, scope.summary.rows) == (0, 0, ())
    with scope:
        for _ in range(3):
            np.matmul(A, A.T)
        np.dot(A.astype(np.float32), A.T.astype(np.float32))
    summary = scope.summary
    assert (summary.caught, summary.left) == (3, 1)
    assert [(row.operation, row.calls, row.taken) for row in summary.rows] == [
        ("np.matmul", 3, True),
        ("np.dot", 1, False),
    ]
    first, second = summary.rows
    assert first.seconds is not None
    assert first.seconds > 0
    assert second.seconds is None
    for text in (str(summary), repr(summary), summary._repr_html_(), scope._repr_html_()):
        for words in ("3 products", "np.matmul", "2 × 2 × 3", "always", "float32 is not asked for"):
            assert words in text
    assert "caught  np.matmul  float64  cpu     2 × 2 × 3      3" in str(summary)
    assert repr(scope) == "ozfp4.emulate(mode='always'): 3 caught, 1 left"
    with scope:  # again: it counts on, and what was taken stays as it was
        np.matmul(A, A.T)
    assert (scope.summary.caught, summary.caught) == (4, 3)


def test_a_long_summary_is_cut() -> None:
    with ozfp4.emulate(min_size=10**9, mode="always") as scope:
        for n in range(1, 60):
            np.matmul(np.ones((1, n)), np.ones((n, 1)))
    assert len(scope.summary.rows) == 59
    assert "not shown  19 kinds, 19 calls" in str(scope.summary)


def test_it_is_printed_and_logged(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    scope = ozfp4.emulate(mode="always", verbose=True)
    with caplog.at_level(logging.DEBUG, logger="ozfp4"), scope:
        with scope:
            np.matmul(A, A.T)
        assert capsys.readouterr().out == ""  # not before the outermost is left
    assert capsys.readouterr().out == f"{scope.summary}\n"
    assert "emulate: caught 1 calls of np.matmul 2 × 2 × 3 float64 on cpu (always)" in caplog.messages
    with ozfp4.emulate(mode="always"):
        np.matmul(A, A.T)
    assert capsys.readouterr().out == ""


def test_errors_of_products_leave_the_scope() -> None:
    original = np.matmul
    with pytest.raises(ValueError, match="workspace_limit"), ozfp4.emulate(workspace_limit=-1):
        pass
    with (
        pytest.raises(MemoryError),
        ozfp4.emulate(mode="always", backend="int8", accuracy="scaled", workspace_limit=1),
    ):
        np.matmul(A, A.T)
    assert np.matmul is original
