"""The examples in docstrings run: of every module that has one."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

import ozfp4

ROOT = Path(ozfp4.__file__).parent
MODULES = sorted(
    ".".join(("ozfp4", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
    for path in ROOT.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
# Optional modules, which not every install has.
OPTIONAL = ("matplotlib", "torch")


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in OPTIONAL:
            raise
        pytest.skip(f"{error.name} is not here")
    tests = [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]
    assert tests
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test)
    assert runner.failures == 0
