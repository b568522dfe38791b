"""Options of functions: one table of names and defaults, which every signature shows."""

from __future__ import annotations

import inspect

import pytest

import ozfp4
from ozfp4._options import DEFAULTS, Options

FUNCTIONS = (
    "matmul",
    "gemm",
    "gram",
    "enclose",
    "einsum",
    "tensordot",
    "prepare",
    "matmul_mod",
    "plan",
    "plan_for",
    "emulate",
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures_have_the_options_and_their_defaults(name: str) -> None:
    function = getattr(ozfp4, name)
    parameters = inspect.signature(function).parameters
    assert not any(x.kind is inspect.Parameter.VAR_KEYWORD for x in parameters.values())
    shared = {key: x.default for key, x in parameters.items() if key in DEFAULTS}
    assert len(shared) >= 3
    assert shared == {key: DEFAULTS[key] for key in shared}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_other_names_are_refused(name: str) -> None:
    given = {"matmul": 2, "gemm": 3, "gram": 1, "enclose": 2, "tensordot": 2, "plan_for": 2}.get(name, 0)
    operands: tuple[object, ...] = ([[1.0]],) * given
    operands = {
        "prepare": ([[1.0]], "left"), "matmul_mod": ([[1]], [[1]], 5), "plan": (1, 1, 1), "einsum": ("ij->ij", [[1.0]]),
        "gemm": (1, [[1.0]], [[1.0]]),
    }.get(name, operands)  # fmt: skip
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'precision'$"):
        getattr(ozfp4, name)(*operands, precision=3)


@pytest.mark.parametrize("name", ["report", "return_bound"])
def test_flags_are_checked(name: str) -> None:
    for wrong in ("yes", 1, None):
        with pytest.raises(TypeError, match=f"^{name}: .* is neither True nor False"):
            ozfp4.matmul([[1.0]], [[1.0]], **{name: wrong})


def test_options_are_values() -> None:
    asked = Options.of({"workspace_limit": 2**20, "overflow": "raise"})
    assert asked == Options(workspace_limit=2**20, overflow="raise")
    assert asked.raises
