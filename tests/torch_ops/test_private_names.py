"""torch's private names: this version has those that torch_private takes, and no other module of the package takes any."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

import ozfp4  # noqa: E402
from ozfp4._support import torch_private as private  # noqa: E402

ROOT = Path(ozfp4.__file__).parent
# Private names of objects of torch that no module name marks as private.
OF_OBJECTS = {"_local_tensor", "_spec", "_get_backend", "_current_level"}


def names_of_torch(source: str) -> Iterator[tuple[str, str]]:
    """Each name below torch in the code of a module, with the function that has it."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            text = "\n".join(map(ast.unparse, node.body[1:] if ast.get_docstring(node) else node.body))
            for name in re.findall(r"(?<![\"\w.])(?:_torch\(\)|torch)\.([\w.]+)", text):
                yield node.name, name


NAMES = sorted(set(names_of_torch(inspect.getsource(private))))


@pytest.mark.parametrize(("function", "name"), NAMES)
def test_torch_has(function: str, name: str) -> None:
    held = torch
    for part in name.split("."):
        if not hasattr(held, part) and isinstance(
            held, ModuleType
        ):  # one that torch does not import by itself
            with suppress(ImportError):
                import_module(f"{held.__name__}.{part}")
        assert hasattr(held, part), f"torch {torch.__version__} has no {name}, which {function} takes"
        held = getattr(held, part)


def test_all_are_looked_for() -> None:
    assert ("is_jvp", "_C._functorch.TransformType.Jvp") in NAMES
    assert len(NAMES) > 30


X = torch.ones(2, 2, dtype=torch.float64)


def in_jvp(question: Callable[[Any], Any]) -> Any:
    """The result of a function of a tensor within torch.func.jvp."""
    said = []
    torch.func.jvp(lambda x: (said.append(question(x)), x)[1], (X,), (X,))
    return said[0]


def in_trace(question: Callable[[], Any]) -> Any:
    said = []
    torch.jit.trace(lambda x: (said.append(question()), x + 1)[1], X, check_trace=False)
    return said[0]


def in_kernel(question: Callable[[], Any]) -> Any:
    """As torch's own kernels are, without tangents."""
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView)
    with torch._C._ExcludeDispatchKeyGuard(keys):
        return question()


def with_fake(question: Callable[[Any], Any]) -> Any:
    with FakeTensorMode() as mode:
        return question(mode.from_tensor(X))


# Answers that few products depend on.
ANSWERS: dict[str, Callable[[], Any]] = {
    "is_recorded": lambda: not private.is_recorded() and in_trace(private.is_recorded),
    "is_fake": lambda: not private.is_fake(X) and with_fake(private.is_fake),
    "is_for_tracing": lambda: (
        not private.is_for_tracing(type(X)) and with_fake(lambda x: private.is_for_tracing(type(x)))
    ),
    "is_jvp": lambda: in_jvp(lambda x: private.is_jvp(private.interpreter())),
    "is_wrapped": lambda: not private.is_wrapped(X) and in_jvp(private.is_wrapped),
    "is_wrapped_at": lambda: in_jvp(
        lambda x: (
            private.is_wrapped_at(x, private.interpreter())
            and not private.is_wrapped_at(X, private.interpreter())
        )
    ),
    "unwrapped": lambda: in_jvp(lambda x: not private.is_wrapped(private.unwrapped(x))),
    "is_below_tangents": lambda: not private.is_below_tangents() and in_kernel(private.is_below_tangents),
    "is_composite": lambda: (
        private.is_composite(torch.ops.aten.matmul.default)
        and not private.is_composite(torch.ops.aten.addmm.default)
    ),
    "overlaps_itself": lambda: (
        private.overlaps_itself(torch.ones(1).expand(3)) and not private.overlaps_itself(X)
    ),
    "in_shape": lambda: (y := private.in_shape(X, (4,))).shape == (4,) and not y._is_view(),
    "scripted_operator": lambda: private.scripted_operator(torch.matmul) == "aten::matmul",
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch, of its trace
@pytest.mark.parametrize("name", ANSWERS)
def test_answers(name: str) -> None:
    assert ANSWERS[name](), f"torch_private.{name} says something else in torch {torch.__version__}"


def test_torch_has_flags_of_modes() -> None:
    before = private.mode_flags()
    raised = dict.fromkeys(before, True)
    private.set_mode_flags(raised)
    try:
        assert before
        assert private.mode_flags() == raised
    finally:
        private.set_mode_flags(before)


def test_the_stream_of_a_device() -> None:
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    assert private.stream_function()(0) == torch.cuda.current_stream(0).cuda_stream


def private_names(source: str) -> list[str]:
    """The private names of torch in a module, without its own objects."""
    return [
        text
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and (text := ast.unparse(node))
        and (
            node.attr in OF_OBJECTS
            or (
                re.match(r"(torch|require_torch\(\)|forward_ad)\.", text)
                and re.match(r"_[a-z]", node.attr, re.IGNORECASE)
            )
        )
    ]


def test_no_other_module_has_private_names() -> None:
    found = {
        str(file.relative_to(ROOT)): names
        for file in sorted(ROOT.rglob("*.py"))
        if file.name != "torch_private.py" and (names := private_names(file.read_text(encoding="utf-8")))
    }
    assert not found, f"support/torch_private.py is the place of {found}"


def test_what_counts_as_private() -> None:
    text = "torch._C.f()\nforward_ad._current_level\nx._spec\nself._torch.add\ntorch.Tensor.__matmul__\n"
    assert sorted(private_names(text)) == ["forward_ad._current_level", "torch._C", "x._spec"]
