"""NumPy's own tests of matmul, TestMatmul of test_multiarray.py, with ozfp4.matmul instead of NumPy's.

Also where a test calls np.matmul by its name. Each test that calls it for every dtype runs once a dtype. Differences
from NumPy are listed by name with their reason; a listed test that passes fails here.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ozfp4

try:
    theirs = importlib.import_module("numpy._core.tests.test_multiarray")
except ImportError as error:
    pytest.skip(
        f"NumPy below 2, or one that was installed without its tests: {error}", allow_module_level=True
    )

REFUSED = {
    "e": "float16 is refused: float32 holds it",
    "g": "longdouble is refused: no unit multiplies it",
    "G": "complex longdouble is refused: no unit multiplies it",
    "O": "object arrays are refused",
}
TEXT = "asks for the words of NumPy's error"
DIFFERENT = {
    "test_out_arg": TEXT,
    "test_empty_out": TEXT,
    "test_matmul_object": REFUSED["O"],
    "test_matmul_object_type_scalar": REFUSED["O"],
    "test_matmul_empty": REFUSED["O"],
}


class Counted:
    """ozfp4.matmul, and how often it was called."""

    calls = 0

    def __call__(self, *args: Any, **names: Any) -> Any:
        self.calls += 1
        return ozfp4.matmul(*args, **names)


class WithOurs(ModuleType):
    """NumPy as the tests see it: np.matmul is that of ozfp4."""

    def __init__(self, matmul: Counted) -> None:
        super().__init__("numpy")
        self.matmul = matmul

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


def methods(of: type) -> list[str]:
    return sorted(name for name in vars(of) if name.startswith("test_"))


def cases() -> dict[str, tuple[str, dict[str, Any]]]:
    """Every test: its name, and what it is called with or the dtype that it is for."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for name in methods(theirs.MatmulCommon):
        found |= {f"{name}[{letter}]": (name, {"types": letter}) for letter in theirs.MatmulCommon.types}
    for name in methods(theirs.TestMatmul):
        marks = getattr(getattr(theirs.TestMatmul, name), "pytestmark", [])
        values = [
            (mark.args[0], value) for mark in marks if mark.name == "parametrize" for value in mark.args[1]
        ]
        for index, (argument, value) in enumerate(values):
            found[f"{name}[{getattr(value, '__name__', index)}]"] = (name, {argument: value})
        if not values:
            found[name] = (name, {})
    return found


def why_different(label: str) -> str | None:
    """The reason for which a test does not pass, None where it has to."""
    name, given = CASES[label]
    return REFUSED.get(given.get("types", "")) or DIFFERENT.get(label) or DIFFERENT.get(name)


CASES = cases()
LISTED = {label: why_different(label) for label in CASES}


def run(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, given = CASES[label]
    ours = Counted()
    monkeypatch.setattr(theirs, "np", WithOurs(ours))
    case = type("OurMatmul", (theirs.TestMatmul,), {"matmul": staticmethod(ours)})()
    if "types" in given:
        # Some leave the first out, which is bool in their list, and have a part of their own for it.
        case.types = given["types"] if given["types"] == "?" else 2 * given["types"]
        given = {}
    method: Callable[..., None] = getattr(case, name)
    try:
        method(**given)
    finally:
        assert ours.calls > 0


@pytest.mark.parametrize("label", [label for label, reason in LISTED.items() if reason is None])
def test_numpys_own_matmul_tests(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(label, monkeypatch)


@pytest.mark.parametrize("label", [label for label, reason in LISTED.items() if reason is not None])
def test_listed_differences_from_numpy_fail(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not xfail, which takes a third of a second to show a place in a file of that length."""
    error = AssertionError if LISTED[label] is TEXT else TypeError
    with pytest.raises(error, match=None if LISTED[label] is TEXT else "is not supported"):
        run(label, monkeypatch)


def test_every_difference_that_is_listed_exists() -> None:
    assert set(DIFFERENT) <= {*CASES, *(name for name, _ in CASES.values())}
    assert set(REFUSED) <= set(theirs.MatmulCommon.types)
