"""torch's private names: a test for each that says which of them this version of torch lacks or has changed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from inspect import getmembers, isfunction
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import ozfp4  # noqa: E402
from ozfp4._support import torch_private as private  # noqa: E402

X = torch.ones(2, 2, dtype=torch.float64)
forward_ad = torch.autograd.forward_ad


def in_jvp(question: Callable[[Any], Any]) -> Any:
    """The result of a function of a tensor within torch.func.jvp."""
    said = []

    def asked(x: Any) -> Any:
        said.append(question(x))
        return x

    torch.func.jvp(asked, (X,), (X,))
    return said[0]


def in_trace(question: Callable[[], Any]) -> Any:
    said = []

    def asked(x: Any) -> Any:
        said.append(question())
        return x + 1

    torch.jit.trace(asked, X, check_trace=False)
    return said[0]


def in_mode(question: Callable[[], Any]) -> Any:
    with private.mode_class()():
        return question()


def in_dual_level(question: Callable[[], Any]) -> Any:
    with forward_ad.dual_level():
        return question()


def in_outer_level(x: Any) -> bool:
    with private.at_outer_level():
        return private.interpreter() is None


def gives_tangents() -> bool:
    """Within a node of torch's, which has them switched off."""
    said = []

    class Node(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

        @staticmethod
        def jvp(ctx: Any, tangent: Any) -> Any:
            with private.with_tangents():
                said.append(forward_ad.unpack_dual(forward_ad.make_dual(X.clone(), X) * 2).tangent)
            return tangent

    with forward_ad.dual_level():
        Node.apply(forward_ad.make_dual(X.clone(), X))
    return said[0] is not None


def runs_nodes_of_one_level() -> bool:
    methods = {"forward": staticmethod(lambda ctx, x: x * 2), "backward": staticmethod(lambda ctx, x: x * 2)}
    node = type("Node", (private.function_of_one_level(),), methods)
    x = X.clone().requires_grad_()
    node.apply(x).sum().backward()
    return torch.equal(x.grad, 2 * X)


def moves_modes() -> bool:
    mode = private.mode_class()()
    private.push_mode(mode)
    there = private.modes() == [mode]
    return there and private.pop_mode() is mode and private.modes() == []


def flags_are_set() -> bool:
    before = private.mode_flags()
    set_all = dict.fromkeys(before, True)
    private.set_mode_flags(set_all)
    try:
        return bool(before) and private.mode_flags() == set_all
    finally:
        private.set_mode_flags(before)


def is_scripted() -> bool:
    def own(x: Any) -> Any:
        return x

    private.script_as(own, private.scripted_operator(torch.matmul))
    return private.scripted_operator(own) == private.scripted_operator(torch.matmul) == "aten::matmul"


def with_fake(question: Callable[[Any], Any]) -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        return question(mode.from_tensor(X))


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A process group of this process alone."""
    dist = torch.distributed
    if not (dist.is_available() and dist.is_gloo_available()):
        pytest.skip("this torch has no gloo")
    if dist.is_initialized():
        pytest.skip("a process group of another test is there")
    file = tmp_path_factory.mktemp("group") / "store"
    dist.init_process_group(
        "gloo", init_method=f"file://{file}", rank=0, world_size=1, timeout=timedelta(seconds=77)
    )
    yield dist.group.WORLD
    dist.destroy_process_group()


def with_dtensor(question: Callable[[Any], Any]) -> Any:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, distribute_tensor

    return question(distribute_tensor(X, init_device_mesh("cpu", (1,)), [Replicate()]))


def is_remade(x: Any) -> bool:
    made = private.dtensor_of(type(x), private.local_of(x), private.spec_of(x))
    return torch.equal(made.to_local(), X) and made.placements == x.placements


CPU = torch.device("cpu")
ADDMM, MATMUL = torch.ops.aten.addmm.default, torch.ops.aten.matmul.default
FUNC, MODES = "torch._C._functorch", "torch.utils._python_dispatch"
# By the function of torch_private: the names that it has of torch, and whether that says what the function does.
CASES: dict[str, tuple[str, Callable[[], Any]]] = {
    "interpreter": (
        f"{FUNC}.peek_interpreter_stack",
        lambda: private.interpreter() is None and in_jvp(lambda x: private.interpreter()) is not None,
    ),
    "tangent_level": (
        "torch.autograd.forward_ad._current_level",
        lambda: private.tangent_level() < 0 <= in_dual_level(private.tangent_level),
    ),
    "is_recorded": (
        "torch._C._get_tracing_state",
        lambda: not private.is_recorded() and in_trace(private.is_recorded),
    ),
    "modes": (
        f"{MODES}._get_current_dispatch_mode_stack",
        lambda: private.modes() == [] and isinstance(in_mode(private.modes)[0], private.mode_class()),
    ),
    "watching_functions": (
        f"torch._C._len_torch_dispatch_stack, {FUNC}.peek_interpreter_stack, torch._C._get_tracing_state",
        lambda: isinstance(private.watching_functions(), dict),
    ),
    "is_fake": (
        "torch._subclasses.FakeTensor",
        lambda: not private.is_fake(X) and with_fake(private.is_fake),
    ),
    "is_for_tracing": (
        "torch._subclasses",
        lambda: not private.is_for_tracing(type(X)) and with_fake(lambda x: private.is_for_tracing(type(x))),
    ),
    "has_compiler": ("torch._dynamo", lambda: __import__("torch._dynamo") and private.has_compiler()),
    "is_jvp": (
        f"{FUNC}.TransformType.Jvp",
        lambda: in_jvp(lambda x: private.is_jvp(private.interpreter())),
    ),
    "at_outer_level": (
        "torch._functorch.pyfunctorch.temporarily_pop_interpreter_stack",
        lambda: in_jvp(in_outer_level),
    ),
    "is_wrapped": (
        f"{FUNC}.is_functorch_wrapped_tensor",
        lambda: not private.is_wrapped(X) and in_jvp(private.is_wrapped),
    ),
    "is_wrapped_at": (
        f"{FUNC}.maybe_get_level",
        lambda: in_jvp(lambda x: private.is_wrapped_at(x, private.interpreter())),
    ),
    "unwrapped": (
        f"{FUNC}.get_unwrapped",
        lambda: in_jvp(lambda x: not private.is_wrapped(private.unwrapped(x))),
    ),
    "below_gradients": ("torch._C._AutoDispatchBelowAutograd", lambda: not is_followed_below()),
    "is_below_tangents": (
        "torch._C._dispatch_tls_is_dispatch_key_excluded, torch._C.DispatchKey.ADInplaceOrView",
        lambda: not private.is_below_tangents() and entered(in_kernel(), private.is_below_tangents),
    ),
    "with_tangents": ("torch.autograd.forward_ad._set_fwd_grad_enabled", gives_tangents),
    "function_of_one_level": ("torch.autograd.function._SingleLevelFunction", runs_nodes_of_one_level),
    "functions_of_one_level": (
        "torch._functorch.autograd_function.enable_single_level_autograd_function",
        lambda: entered(private.functions_of_one_level()),
    ),
    "operator_class": ("torch._ops.OpOverload", lambda: type(ADDMM) is private.operator_class()),
    "is_composite": (
        "torch._C._dispatch_has_kernel_for_dispatch_key, torch._C.DispatchKey.CompositeImplicitAutograd",
        lambda: private.is_composite(MATMUL) and not private.is_composite(ADDMM),
    ),
    "overlaps_itself": (
        "torch._debug_has_internal_overlap",
        lambda: private.overlaps_itself(torch.ones(1).expand(3)) and not private.overlaps_itself(X),
    ),
    "in_shape": ("torch.ops.aten._unsafe_view", lambda: private.in_shape(X, (4,)).shape == (4,)),
    "scripted_operator": (
        "torch.jit._builtins._find_builtin",
        lambda: (
            private.scripted_operator(len_of) is None
            and private.scripted_operator(torch.matmul) == "aten::matmul"
        ),
    ),
    "script_as": ("torch.jit._builtins._register_builtin", is_scripted),
    "mode_class": (f"{MODES}.TorchDispatchMode", lambda: in_mode(lambda: True)),
    "push_mode": (f"{MODES}._push_mode", moves_modes),
    "pop_mode": (f"{MODES}._pop_mode", moves_modes),
    "without_modes": (
        f"{MODES}._disable_current_modes",
        lambda: in_mode(lambda: entered(private.without_modes(), lambda: private.modes() == [])),
    ),
    "mode_flags": (f"{MODES}: {', '.join(private.MODE_FLAGS)}", lambda: private.mode_flags()),
    "set_mode_flags": (f"{MODES}.set_is_in_mode_without_ignore_compile_internals", flags_are_set),
    "stream_function": (
        "torch._C._cuda_getCurrentRawStream",
        lambda: on_gpu(lambda: private.stream_function()(0) == torch.cuda.current_stream(0).cuda_stream),
    ),
    "sleep_on_device": ("torch.cuda._sleep", lambda: on_gpu(lambda: private.sleep_on_device(1) is None)),
}
# The same with a process group.
IN_GROUP: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "local_of": (
        "DTensor._local_tensor",
        lambda group: with_dtensor(lambda x: private.local_of(x).data_ptr() == x.to_local().data_ptr()),
    ),
    "spec_of": (
        "DTensor._spec",
        lambda group: with_dtensor(
            lambda x: hash(private.spec_of(x)) and private.spec_of(x).placements == x.placements
        ),
    ),
    "dtensor_of": ("DTensor(local, spec, requires_grad=)", lambda group: with_dtensor(is_remade)),
    "backend_of": (
        "ProcessGroup._get_backend",
        lambda group: private.backend_of(group, CPU).name() == "gloo",
    ),
    "timeout_of": (
        "Backend.options._timeout",
        lambda group: private.timeout_of(private.backend_of(group, CPU)) == timedelta(seconds=77),
    ),
}


def len_of(x: Any) -> int:
    return len(x)


def entered(scope: Any, question: Callable[[], Any] = lambda: True) -> Any:
    with scope:
        return question()


def in_kernel() -> Any:
    """As torch's own kernels are, without tangents."""
    return torch._C._ExcludeDispatchKeyGuard(torch._C.DispatchKeySet(torch._C.DispatchKey.ADInplaceOrView))


def is_followed_below() -> bool:
    with private.below_gradients():
        return bool((X.clone().requires_grad_() * 2).requires_grad)


def on_gpu(question: Callable[[], bool]) -> bool:
    if not torch.cuda.is_available():
        pytest.skip("no GPU here")
    return question()


def check(name: str, names: str, holds: Callable[..., Any], *arguments: Any) -> None:
    what = f"{names}, of which torch_private.{name} is made, in torch {torch.__version__}"
    try:
        is_so = holds(*arguments)
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    assert is_so, f"{what}: it says something else"


@pytest.mark.parametrize("name", CASES)
def test_torch_has(name: str) -> None:
    check(name, *CASES[name])


@pytest.mark.parametrize("name", IN_GROUP)
def test_torch_has_of_several_processes(name: str, group: Any) -> None:
    check(name, *IN_GROUP[name], group)


def test_all_are_looked_for() -> None:
    own = {name for name, f in getmembers(private, isfunction) if f.__module__ == private.__name__}
    assert own - {"_torch"} == {*CASES, *IN_GROUP}


def test_a_name_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.jit._builtins, "_find_builtin")
    with pytest.raises(
        AssertionError,
        match=re.escape(
            f"_find_builtin, of which torch_private.scripted_operator is made, in torch {torch.__version__}"
        ),
    ):
        test_torch_has("scripted_operator")


ROOT = Path(ozfp4.__file__).parent
# Names of objects of torch whose module does not say that they are private.
OF_OBJECTS = {"_local_tensor", "_spec", "_get_backend", "_current_level"}


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
