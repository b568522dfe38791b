"""The package's names are imported at their first use, from the modules that a type checker reads."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys

import pytest

import ozfp4


def declared() -> dict[str, str]:
    """By name the module that the branch for type checkers takes it from."""
    tree = ast.parse(inspect.getsource(ozfp4))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: "." * node.level + (node.module or "")
        for node in branch.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_all_are_declared() -> None:
    assert sorted(declared()) == ozfp4.__all__
    assert set(ozfp4.__all__) <= set(dir(ozfp4))


@pytest.mark.parametrize("name", ozfp4.__all__)
def test_exports_are_those_of_type_checkers(name: str) -> None:
    module = declared()[name]
    if module == ".":
        expected = importlib.import_module(f"ozfp4.{name}")
    else:
        expected = getattr(importlib.import_module(module, "ozfp4"), name)
    vars(ozfp4).pop(name, None)
    assert getattr(ozfp4, name) is expected
    assert vars(ozfp4)[name] is expected  # found without a call from now on


@pytest.mark.parametrize("name", ["matmul", "gemm", "gram", "prepare"])
def test_lazy_import_resolves_reexports(name: str) -> None:
    program = f"from ozfp4._dispatch import plain; print(plain.products[{name!r}].__module__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("ozfp4._api.")


def test_unknown_names_are_errors() -> None:
    with pytest.raises(AttributeError, match="module 'ozfp4' has no attribute 'matmull'"):
        ozfp4.matmull  # noqa: B018


def test_star_import() -> None:
    program = "from ozfp4 import *; import ozfp4; print(len([x for x in ozfp4.__all__ if x in globals()]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(ozfp4.__all__)
