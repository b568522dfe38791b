"""From the arguments of ``ozfp4.matmul``, ``gemm`` and ``gram`` to the operators, where torch watches the tensors.

torch may be tracing this: nothing here looks at entries or addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._dispatch.decision import check_bits_of_plan
from .._options import Options, unusual
from .._request import library
from .._request.integers import dtype_name
from .._request.library import require_torch
from .._request.operands import check_factor, check_integer_factor, transposed
from .._request.prepared import Prepared
from . import dtensors

torch: Any = require_torch()


def matmul(a: Any, b: Any, out: Any, options: Mapping[str, Any]) -> Any:
    settings, unasked = _split(options, a, b)
    if dtensors.are_given(a, b, out):
        return _of_dtensors("matmul", out, unasked, settings, a=a, b=b)
    _check(unasked, a=a, b=b, out=out)
    return _by_operator("matmul", (a, b), out, _checked(settings))


def gemm(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any, trans_a: Any, trans_b: Any, out: Any, options: Mapping[str, Any]
) -> Any:  # fmt: skip
    settings, unasked = _split(options, a, b, c)
    if dtensors.are_given(a, b, c, out):
        a, b = transposed("a", a, trans_a), transposed("b", b, trans_b)
        return _of_dtensors("gemm", out, unasked, settings, a=a, b=b, alpha=alpha, beta=beta, c=c)
    _check(unasked, a=a, b=b, c=c, out=out)
    if not torch.compiler.is_compiling():  # else the operator checks them as it computes
        alpha, beta = _factors(alpha, beta, (a, b, c), settings)
    a, b = transposed("a", a, trans_a), transposed("b", b, trans_b)
    return _by_operator("gemm", (a, b, alpha, beta, c), out, _checked(settings))


def gram(a: Any, left: bool, out: Any, options: Mapping[str, Any]) -> Any:
    settings, unasked = _split(options, a)
    if dtensors.are_given(a, out):
        name = "a" if dtensors.are_given(a) else "out"
        raise TypeError(f"{name}: gram takes no DTensor; ozfp4.matmul(a.mH, a) is the same product")
    _check(unasked, a=a, out=out)
    asked = _checked(settings)
    return _by_operator("gram", (a,), out, {**asked, "left": left} if left else asked)


def _by_operator(name: str, arguments: tuple[Any, ...], out: Any, settings: dict[str, Any]) -> Any:
    operator = getattr(torch.ops.ozfp4, name)
    if out is None:
        return operator.default(*arguments, **settings)
    operator.out(*arguments, **settings, out=out)
    return out


# Options that no operator has.
_UNASKED = ("report", "return_bound")


def _split(options: Mapping[str, Any], *operands: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of an operator, and what none has, of what is not as by default: to hand one over takes torch longer than to
    leave it out."""
    settings, unasked = {}, {}
    for name, value in unusual(options).items():
        if name == "plan" and not torch.compiler.is_compiling() and not _are_integers(operands):
            settings.update(_of_plan(value, options, operands))
        elif name in _UNASKED or name == "plan":
            unasked[name] = value
        else:
            settings[name] = value
    return settings, unasked


def _are_integers(operands: tuple[Any, ...]) -> bool:
    return all(x is None or library.is_integer(getattr(x, "dtype", "")) for x in operands)


def _of_plan(plan: Any, options: Mapping[str, Any], operands: tuple[Any, ...]) -> dict[str, Any]:
    """The arguments from which an operator makes a plan anew. Errors are those of plain products."""
    asked = Options.of(options)
    singles = (torch.float32, torch.complex64)
    single = asked.dtype is None and all(
        getattr(x, "dtype", None) in singles for x in operands if x is not None
    )
    check_bits_of_plan(asked, single)
    settings = {"scheme": plan.scheme, "backend": plan.backend}
    if asked.accuracy == "scaled":
        settings |= {"bits": plan.bits, "family": plan.family}
    return settings


def _of_dtensors(
    name: str, out: Any, unasked: dict[str, Any], settings: dict[str, Any], **arguments: Any
) -> Any:
    """A product of DTensors by its operator; `arguments` are in the order of the schema."""
    if torch.compiler.is_compiling():  # the operator checks them
        return _by_operator(name, tuple(arguments.values()), None, settings)
    if out is None and not unasked:  # the shortest way
        result = dtensors.again(name, tuple(arguments.values()), settings)
        if result is not None:
            return result
    numbers = {key: arguments[key] for key in ("alpha", "beta") if key in arguments}
    tensors = {key: x for key, x in arguments.items() if key not in numbers}
    if not all(x is None or isinstance(x, torch.Tensor) for x in tensors.values()):
        library.is_from_torch(**tensors)
    dtensors.check(out, unasked, **tensors)
    if numbers:
        factors = _factors(arguments["alpha"], arguments["beta"], tuple(tensors.values()), settings)
        arguments["alpha"], arguments["beta"] = factors
    return dtensors.product(name, tuple(arguments.values()), _checked(settings))


def _factors(alpha: Any, beta: Any, tensors: tuple[Any, ...], settings: dict[str, Any]) -> tuple[Any, Any]:
    """Both factors of an update of A, B and C, as torch takes them."""
    is_integer = _are_integers(tensors)
    is_bool = all(x is None or x.dtype == torch.bool for x in tensors)
    wraps = settings.get("overflow", "wrap") == "wrap" and not is_bool
    has_addend = tensors[-1] is not None  # without C beta has to be 0 itself
    return (
        _factor("alpha", alpha, is_integer, wraps),
        _factor("beta", beta, is_integer, wraps and has_addend),
    )


def _factor(name: str, factor: Any, is_integer: bool, wraps: bool) -> Any:
    """A factor as torch takes it: a float or complex number, or of integers one of 64 bits, to which any is reduced if the
    result `wraps`."""
    if not is_integer:
        value = check_factor(name, factor)
        return value if value.imag != 0 else value.real
    exact = check_integer_factor(name, factor)
    if -(2**63) <= exact < 2**63:
        return exact
    if not wraps:
        raise ValueError(f"{name}: {exact} does not fit the 64 bits that an operator of torch takes")
    return (exact + 2**63) % 2**64 - 2**63  # the same modulo 2^64, as the result is


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings as a schema takes them; errors are those of plain products. As torch compiles, the operator has to check."""
    if torch.compiler.is_compiling() or not settings:
        return settings
    checked = Options.of(settings)
    asked = {name: getattr(checked, name) for name in settings}
    if "dtype" in asked:
        asked["dtype"] = getattr(torch, dtype_name(asked["dtype"]))
    return asked


_WATCHED = "is not for tensors that require grad, or that torch traces, maps or watches"


def _check(unasked: dict[str, Any], **given: Any) -> None:
    """ValueError for an option that an operator cannot have; TypeError for one that nobody could ask for, prepared operands,
    arrays beside tensors, and tensors that are not dense."""
    is_compiling = torch.compiler.is_compiling()
    for name, value in unasked.items():
        if not is_compiling:
            Options.of({name: value})
        if name in ("report", "return_bound") and not value:  # NumPy's False
            continue
        what = repr(value) if isinstance(value, bool) else f"a {type(value).__name__}"
        raise ValueError(f"{name}: {what} {_WATCHED}; pass detached tensors, outside of what watches them")
    for name, x in given.items():
        if isinstance(x, Prepared):
            raise TypeError(f"{name}: a prepared operand {_WATCHED}; pass the matrix itself")
        if not (x is None or isinstance(x, torch.Tensor)):
            library.is_from_torch(**given)
    for name, x in given.items():
        if x is None:
            continue
        if not is_compiling:
            library.check_kind(name, x)
        elif x.is_nested or x.layout != torch.strided:
            raise TypeError(library.refusal_of(name, x))
