"""torch's private names: all that the package uses of torch besides its public interface, each here alone.

The next torch may rename any of them. tests/torch_ops/test_private_names.py looks for each and says which one a version lacks.
Range of all functions: the program has imported torch.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

# ---- Who sees products: torch.func, forward mode, torch.jit.trace, dispatch modes


def interpreter() -> Any:
    """The innermost level of torch.func in this thread; None outside of it."""
    return _torch()._C._functorch.peek_interpreter_stack()


def tangent_level() -> Any:
    """The level of forward mode that the process is at; below 0 where no tensor has a tangent."""
    return _torch().autograd.forward_ad._current_level


def is_recorded() -> bool:
    """Whether torch.jit.trace writes down what this thread calls."""
    return _torch()._C._get_tracing_state() is not None


def modes() -> Any:
    """The dispatch modes of this thread, the innermost last."""
    return _torch().utils._python_dispatch._get_current_dispatch_mode_stack()


def watching_functions() -> dict[str, Any]:
    """Functions of torch that ``_core.Unwatched`` calls directly, by its arguments' names: a wrapper around each would take
    longer than the answer."""
    torch = _torch()
    return {
        "count_modes": torch._C._len_torch_dispatch_stack,
        "find_interpreters": torch._C._functorch.peek_interpreter_stack,
        "find_record": torch._C._get_tracing_state,
        "forward_mode": torch.autograd.forward_ad,
        "level_name": "_current_level",
    }


def is_fake(x: object) -> bool:
    """Whether a tensor has no entries, as those that torch traces with. torch.compile traces this."""
    torch: Any = sys.modules.get("torch")
    return isinstance(x, torch._subclasses.FakeTensor)


def is_for_tracing(kind: type) -> bool:
    """Whether tensors of a class are those that torch traces with."""
    return str(kind.__module__).startswith("torch._subclasses")


def has_compiler() -> bool:
    """Whether the program has imported torch's compiler."""
    return "torch._dynamo" in sys.modules


# ---- Levels of torch.func


def is_jvp(level: Any) -> Any:
    """Whether a level is one of ``torch.func.jvp``."""
    return level.key() == _torch()._C._functorch.TransformType.Jvp


def at_outer_level() -> Any:
    """In it, the thread is at the level around the innermost one."""
    return _torch()._functorch.pyfunctorch.temporarily_pop_interpreter_stack()


def is_wrapped(x: Any) -> bool:
    """Whether a tensor wraps another one at any level."""
    return bool(_torch()._C._functorch.is_functorch_wrapped_tensor(x))


def is_wrapped_at(x: Any, level: Any) -> Any:
    """Whether a tensor wraps another one at this level."""
    return _torch()._C._functorch.maybe_get_level(x) == level.level()


def unwrapped(x: Any) -> Any:
    """The tensor that one wraps."""
    return _torch()._C._functorch.get_unwrapped(x)


# ---- Gradients and tangents of an operator


def below_gradients() -> Any:
    """In it, operators go to what computes them, past gradients and tangents."""
    return _torch()._C._AutoDispatchBelowAutograd()


def is_below_tangents() -> bool:
    """Whether this thread is in the kernel of an operator that has its tangents from torch."""
    torch = _torch()
    return bool(torch._C._dispatch_tls_is_dispatch_key_excluded(torch._C.DispatchKey.ADInplaceOrView))


def with_tangents() -> Any:
    """In it, products have tangents, which torch switches off around a custom function."""
    return _torch().autograd.forward_ad._set_fwd_grad_enabled(True)


def function_of_one_level() -> Any:
    """The base of nodes that belong to the level of torch.func which the dispatcher is at."""
    return _torch().autograd.function._SingleLevelFunction


def functions_of_one_level() -> Any:
    """In it, such a node can be made at a level of torch.func."""
    return _torch()._functorch.autograd_function.enable_single_level_autograd_function()


# ---- Operators


def operator_class() -> Any:
    """The class of operators with one schema."""
    return _torch()._ops.OpOverload


def is_composite(operator: Any) -> bool:
    """Whether torch has an operator made of others, for gradients too."""
    torch = _torch()
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), key))


def overlaps_itself(x: Any) -> bool:
    """Whether entries of a tensor surely share memory; torch does not look long."""
    return bool(_torch()._debug_has_internal_overlap(x) == 1)


def in_shape(x: Any, shape: Any) -> Any:
    """The entries of a tensor as one that torch keeps as no view of it."""
    return _torch().ops.aten._unsafe_view(x, shape)


def scripted_operator(function: Any) -> Any:
    """The name of the operator that torch.jit.script has for a function; None where it has none."""
    return _torch().jit._builtins._find_builtin(function)


def script_as(function: Any, operator: Any) -> None:
    """Have torch.jit.script take this operator for a function."""
    _torch().jit._builtins._register_builtin(function, operator)


# ---- Dispatch modes of our own


def mode_class() -> Any:
    """The base of dispatch modes. The compiler leaves a class alone if ``_should_skip_dynamo`` is true."""
    return _torch().utils._python_dispatch.TorchDispatchMode


def push_mode(mode: Any) -> None:
    """Put a mode on this thread's stack."""
    _torch().utils._python_dispatch._push_mode(mode)


def pop_mode() -> Any:
    """Take the innermost mode off this thread's stack."""
    return _torch().utils._python_dispatch._pop_mode()


def without_modes() -> Any:
    """In it, this thread is in no dispatch mode."""
    return _torch().utils._python_dispatch._disable_current_modes()


# Names from all versions of torch; each has some.
MODE_FLAGS = (
    "_is_in_torch_dispatch_mode",
    "_is_in_non_infra_torch_dispatch_mode",
    "_is_in_any_mode_without_ignore_compile_internals",
)


def mode_flags() -> dict[str, bool]:
    """The process's flags of dispatch modes that this torch has."""
    held = _torch().utils._python_dispatch
    return {name: getattr(held, name) for name in MODE_FLAGS if hasattr(held, name)}


def set_mode_flags(flags: dict[str, bool]) -> None:
    """Set those flags. torch's C++ has the last of them too, in versions that have `set_is_in_mode_...`."""
    held = _torch().utils._python_dispatch
    for name, value in flags.items():
        setattr(held, name, value)
    tell = getattr(held, "set_is_in_mode_without_ignore_compile_internals", None)
    if tell is not None and MODE_FLAGS[2] in flags:
        tell(flags[MODE_FLAGS[2]])


# ---- DTensor and process groups


def local_of(x: Any) -> Any:
    """The tensor itself that a DTensor has on this rank; `to_local` makes a view, for gradients."""
    return x._local_tensor


def spec_of(x: Any) -> Any:
    """Mesh, placements, shape and dtype of a DTensor: one hashable value."""
    return x._spec


def dtensor_of(kind: Any, local: Any, spec: Any) -> Any:
    """A DTensor, of the class of DTensors, by what this rank has of it; TypeError where torch makes them otherwise."""
    return kind(local, spec, requires_grad=False)


def backend_of(group: Any, device: Any) -> Any:
    """The backend for tensors of a device in a process group; RuntimeError where nothing does."""
    return group._get_backend(device)


def timeout_of(backend: Any) -> Any:
    """The time after which a collective of such a backend fails, a timedelta; None where it does not say."""
    return getattr(getattr(backend, "options", None), "_timeout", None)


# ---- CUDA


def stream_function() -> Callable[[int], int]:
    """The fastest function for the handle of a device's current stream, without the object that torch has around it."""
    torch = _torch()
    return getattr(
        torch._C, "_cuda_getCurrentRawStream", lambda device: torch.cuda.current_stream(device).cuda_stream
    )


def sleep_on_device(cycles: int) -> None:
    """Keep the current stream busy for so many cycles of the GPU."""
    _torch().cuda._sleep(cycles)


def _torch() -> Any:
    return sys.modules["torch"]
