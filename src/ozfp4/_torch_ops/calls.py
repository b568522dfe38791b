"""From the arguments of ``ozfp4.matmul``, ``gemm`` and ``gram`` to the operators, where torch watches the tensors. torch may be
tracing this: nothing here looks at entries or addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._dispatch.decision import check_bits_of_plan
from .._options import Options, unusual
from .._request import library
from .._request.integers import dtype_name
from .._request.library import dtensor_class, is_dtensor, require_torch
from .._request.operands import check_factor, check_integer_factor, transposed
from .._request.prepared import Prepared
from . import dtensors

torch: Any = require_torch()


def matmul(a: Any, b: Any, out: Any, options: Mapping[str, Any]) -> Any:
    return _product("matmul", {"a": a, "b": b}, out, options)


def gemm(
    alpha: Any, a: Any, b: Any, beta: Any, c: Any, trans_a: Any, trans_b: Any, out: Any, options: Mapping[str, Any]
) -> Any:  # fmt: skip
    if isinstance(a, torch.Tensor):  # whatever else is refused below
        a = transposed("a", a, trans_a)
    if isinstance(b, torch.Tensor):
        b = transposed("b", b, trans_b)
    return _product("gemm", {"a": a, "b": b, "alpha": alpha, "beta": beta, "c": c}, out, options)


def gram(a: Any, left: bool, out: Any, options: Mapping[str, Any]) -> Any:
    for name, x in (("a", a), ("out", out)):
        if is_dtensor(x):
            raise TypeError(f"{name}: gram takes no DTensor; ozfp4.matmul(a.mH, a) is the same product")
    return _product("gram", {"a": a}, out, options, left)


def _product(
    name: str, arguments: dict[str, Any], out: Any, options: Mapping[str, Any], left: bool = False
) -> Any:
    """The product by its operator; the schema has the `arguments` in their order."""
    is_compiling, kind = torch.compiler.is_compiling(), dtensor_class()
    operands = tuple(x for place, x in arguments.items() if place not in ("alpha", "beta"))
    settings, unasked = _split(options, operands)
    has_dtensors = kind is not None and any(isinstance(x, kind) for x in (*operands, out))
    of_dtensors = has_dtensors and not is_compiling  # as torch compiles, the operator checks its arguments
    key, given = None, tuple(arguments.values())
    if of_dtensors and out is None and not unasked:  # the shortest way
        key = dtensors.key_of(name, given, settings)
        result = dtensors.again(key, name, given, settings)
        if result is not None:
            return result
    if has_dtensors and out is not None:
        raise ValueError(
            f"out: a {type(out).__name__} is not written to by products of DTensors; copy the result there"
        )
    _check_unasked(unasked, has_dtensors)
    tensors = {place: x for place, x in arguments.items() if place not in ("alpha", "beta")}
    if not has_dtensors:
        _check(is_compiling, **tensors, out=out)
    elif of_dtensors:
        if not all(x is None or isinstance(x, torch.Tensor) for x in operands):
            library.is_from_torch(**tensors)
        dtensors.check(**tensors)
    if name == "gemm" and not is_compiling:
        arguments.update(_factors(arguments["alpha"], arguments["beta"], operands, settings))
    settings, given = _checked(settings), tuple(arguments.values())
    if left:
        settings = {**settings, "left": True}
    if of_dtensors:
        return dtensors.product(key, name, given, settings)
    operator = getattr(torch.ops.ozfp4, name)
    if out is None:
        return operator.default(*given, **settings)
    operator.out(*given, **settings, out=out)
    return out


def _split(options: Mapping[str, Any], operands: tuple[Any, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of an operator, and what none has, of what is not as by default: to hand one over takes torch longer than to
    leave it out."""
    settings = unusual(options)
    unasked: dict[str, Any] = {
        name: settings.pop(name) for name in ("plan", "report", "return_bound") if name in settings
    }
    if "plan" in unasked and not torch.compiler.is_compiling() and not are_integers(operands):
        settings.update(_of_plan(unasked.pop("plan"), options, operands))
    return settings, unasked


def are_integers(operands: tuple[Any, ...]) -> bool:
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


def _factors(alpha: Any, beta: Any, tensors: tuple[Any, ...], settings: dict[str, Any]) -> dict[str, Any]:
    """Both factors of an update of A, B and C, as torch takes them."""
    is_integer = are_integers(tensors)
    is_bool = all(x is None or x.dtype == torch.bool for x in tensors)
    wraps = settings.get("overflow", "wrap") == "wrap" and not is_bool
    has_addend = tensors[-1] is not None  # without C beta has to be 0 itself
    return {
        "alpha": _factor("alpha", alpha, is_integer, wraps),
        "beta": _factor("beta", beta, is_integer, wraps and has_addend),
    }


def _factor(name: str, factor: Any, is_integer: bool, wraps: bool) -> Any:
    """A float or complex number, or of integers one of 64 bits, to which any is reduced if the result `wraps`."""
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


def _check_unasked(unasked: dict[str, Any], has_dtensors: bool) -> None:
    """ValueError for an option that an operator cannot have."""
    why = f"{_WATCHED}; pass detached tensors, outside of what watches them"
    if has_dtensors:
        why = "is not for DTensors; multiply gathered operands, x.full_tensor()"
    for name, value in unasked.items():
        if not torch.compiler.is_compiling():
            Options.of({name: value})
        if name == "plan" or value:  # not NumPy's False
            what = repr(value) if isinstance(value, bool) else f"a {type(value).__name__}"
            raise ValueError(f"{name}: {what} {why}")


def _check(is_compiling: bool, **given: Any) -> None:
    """TypeError for prepared operands, arrays together with tensors, and tensors that are not dense."""
    for name, x in given.items():
        if x is None:
            continue
        if isinstance(x, Prepared):
            raise TypeError(f"{name}: a prepared operand {_WATCHED}; pass the matrix itself")
        if not isinstance(x, torch.Tensor):
            library.is_from_torch(**given)
        elif not is_compiling:
            library.check_kind(name, x)
        elif x.is_nested or x.layout != torch.strided:
            raise TypeError(library.refusal_of(name, x))
