"""The tree of src/ozfp4 from top to bottom: a module imports only what stands further down, and no module imports in a circle.

docs/inside/architecture.md has the purpose of each part.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import ozfp4

LAYERS = (
    "__main__",
    "_cli",
    "_measure",
    "testing",
    "__init__",
    "linalg",
    "_emulation",
    "distributed",
    "_api",
    "torch_ops",
    "_torch_ops",
    "_streaming",
    "stages",
    "_dispatch",
    "_trust",
    "_backends",
    "_report",
    "_request",
    "_options",
    "_plans",
    "_support",
    "_cuda",
    "_testing",
    "_core",
)
ROOT = Path(ozfp4.__file__).parent


def modules() -> dict[str, Path]:
    """All modules by their names below ozfp4; a package is its __init__."""
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)] = file
    return found


def imports(name: str, source: str, is_package: bool, known: set[str]) -> set[str]:
    """The modules of ozfp4 that a module imports, wherever in its text; all __init__ but the root's on the way count for
    nothing, as they import their own modules alone."""
    parts = () if name == "__init__" else tuple(name.split("."))
    package = parts if is_package else parts[:-1]
    found: set[str] = set()

    def take(target: tuple[str, ...], names: list[str]) -> None:
        if not target and not names:
            found.add("__init__")
        for each in names:
            inner = ".".join((*target, each))
            found.add(inner if inner in known else ".".join(target) or "__init__")
        if target and not names:
            found.add(".".join(target))

    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                take((*package[: len(package) - node.level + 1], *module), names)
            elif module[:1] == ("ozfp4",):
                take(module[1:], names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                whole = tuple(alias.name.split("."))
                if whole[0] == "ozfp4":
                    take(whole[1:], [])
    return found - {name}


def graph(files: dict[str, Path]) -> dict[str, set[str]]:
    known = {*files, "_core", "_cuda", "_testing"}
    return {
        name: imports(name, file.read_text(encoding="utf-8"), file.name == "__init__.py", known)
        for name, file in files.items()
    }


GRAPH = graph(modules())


def layer(name: str) -> int:
    return LAYERS.index(name.partition(".")[0])


def test_every_module_has_a_layer() -> None:
    assert {name.partition(".")[0] for name in GRAPH} <= set(LAYERS)
    assert len(GRAPH) > 60


@pytest.mark.parametrize("name", GRAPH)
def test_no_module_imports_upward(name: str) -> None:
    upward = sorted(other for other in GRAPH[name] if layer(other) < layer(name))
    assert not upward, f"{name} imports {upward}, which stand above it"


def test_no_circle() -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join((*path[path.index(name) :], name))
        if name not in done:
            for other in sorted(GRAPH.get(name, ())):
                visit(other, (*path, name))
            done.add(name)

    for name in GRAPH:
        visit(name, ())


# Functions of torch that use its default device unless one is named.
FACTORIES = {
    "arange", "as_tensor", "asarray", "empty", "empty_strided", "eye", "full", "linspace", "logspace", "ones", "rand", "randint",
    "randn", "randperm", "scalar_tensor", "tensor", "tril_indices", "triu_indices", "zeros",
}  # fmt: skip


def made_anywhere(source: str) -> list[str]:
    """Calls that leave it to torch's default device where a tensor lies; those of NumPy and of `linalg._native` name none."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in FACTORIES
        and ast.unparse(node.func.value).rpartition(".")[2] not in ("np", "numpy", "native")
        and not any(keyword.arg in ("device", None) for keyword in node.keywords)
    ]


@pytest.mark.parametrize("name", GRAPH)
def test_no_tensor_lies_where_the_default_device_says(name: str) -> None:
    assert not made_anywhere(modules()[name].read_text(encoding="utf-8"))
