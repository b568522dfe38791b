"""Options of a product: names, types, defaults and checks, in this one place.

Functions take ``**options`` of one of the dictionaries below (PEP 692), and :meth:`Options.of` makes the checked value of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextvars import ContextVar
from inspect import Parameter, signature
from typing import Any, NamedTuple, TypedDict, TypeVar

import numpy as np

from ._core import LEAST_BITS, MOST_BITS
from ._plans.plan import ALPHABETS, FAMILIES, PLANNED, SCHEMES, Plan

F = TypeVar("F", bound=Callable[..., Any])

ACCURACIES = ("standard", "correct", "scaled")
ROUNDINGS = ("nearest", "down", "up", "zero")

# The names that are allowed.
_NAMES: dict[str, Collection[str]] = {
    "scheme": SCHEMES,
    "backend": ("auto", *ALPHABETS),
    "family": FAMILIES,
    "accuracy": ACCURACIES,
    "rounding": ROUNDINGS,
    "overflow": ("wrap", "raise"),
}

# The accuracy where none is asked for: of the process, and before it of a scope of this thread and context.
PROCESS = ["standard"]
SCOPE: ContextVar[str] = ContextVar("ozfp4_accuracy", default="")

# The function that products of this thread and context report to.
PROGRESS: ContextVar[Callable[[float], object] | None] = ContextVar("ozfp4_progress", default=None)


def current_accuracy() -> str:
    """The accuracy where none is asked for."""
    return SCOPE.get() or PROCESS[0]


class Options(NamedTuple):
    """The checked options of a product, of those that were passed. `dtype` is one that
    :func:`ozfp4._request.integers.result_dtype` checks together with the operands; `progress`: the function that the
    product reports to."""

    scheme: str = "II"
    backend: str = "auto"
    bits: int | None = None
    family: str = "least"
    plan: Plan | None = None
    workspace_limit: int | None = None
    progress: Callable[[float], object] | None = None
    accuracy: str = "standard"
    rounding: str = "nearest"
    overflow: str = "wrap"
    report: bool = False
    return_bound: bool = False
    dtype: Any = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Options:
        """The options as a value, of those that were passed. TypeError or ValueError for what contradicts the rest."""
        asked = cls(**given)
        for name in ("scheme", "backend", "family", "rounding", "overflow"):
            check_name(name, getattr(asked, name))
        bits = None if asked.bits is None else check_bits(asked.bits)
        accuracy = check_accuracy(given.get("accuracy"), bits)
        if asked.rounding != "nearest" and accuracy != "correct":
            raise ValueError(
                f"rounding: {asked.rounding!r} needs accuracy='correct'; with accuracy={accuracy!r} results are rounded to "
                "nearest"
            )
        for name in ("report", "return_bound"):
            if not isinstance(flag := getattr(asked, name), (bool, np.bool_)):
                raise TypeError(f"{name}: {flag!r} is neither True nor False")
        if asked.plan is not None:
            _check_agrees(check_plan(asked.plan), asked)
        limit = None if asked.workspace_limit is None else check_workspace(asked.workspace_limit)
        return asked._replace(bits=bits, accuracy=accuracy, workspace_limit=limit, progress=PROGRESS.get())

    @property
    def raises(self) -> bool:
        """Whether an overflow of integers is an error."""
        return self.overflow == "raise"


#: The values of options that were not passed. An accuracy of None is the current default or that of a prepared operand.
DEFAULTS: dict[str, Any] = {**Options()._asdict(), "accuracy": None}


# Options of functions, as their ``**options``.


class UnitOptions(TypedDict, total=False):
    scheme: str
    backend: str
    workspace_limit: int | None


class PlanOptions(TypedDict, total=False):  # by what an operand is prepared
    scheme: str
    backend: str
    accuracy: str | None
    plan: Plan | None


class RequestOptions(TypedDict, total=False):  # what determines a plan
    scheme: str
    backend: str
    bits: int | None
    family: str
    accuracy: str | None


class RoundedOptions(UnitOptions, total=False):  # of any number of products, each rounded
    accuracy: str | None
    rounding: str


class ProductOptions(RoundedOptions, total=False):  # of one product
    plan: Plan | None
    overflow: str


class ReportedOptions(ProductOptions, total=False):
    report: bool
    return_bound: bool


class TypedOptions(ProductOptions, total=False):
    dtype: Any


class AllOptions(ReportedOptions, TypedOptions, total=False):
    pass


def plan_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options by which an operand of the product would be prepared."""
    names = {*PlanOptions.__annotations__, *RequestOptions.__annotations__}
    return {name: value for name, value in given.items() if name in names}


def takes(options: type, *others: str) -> Callable[[F], F]:
    """Give a function with ``**options`` the names that it takes, as its `options`, and a signature with them and their
    defaults."""

    def mark(function: F) -> F:
        own = signature(function)
        given = [x for x in own.parameters.values() if x.kind is not Parameter.VAR_KEYWORD]
        names = (*options.__annotations__, *others)
        given += [
            Parameter(name, Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name))
            for name in names
            if name not in own.parameters
        ]
        function.options = frozenset(names)  # type: ignore[attr-defined]
        function.__signature__ = own.replace(parameters=given)  # type: ignore[attr-defined]
        return function

    return mark


def check_taken(function: Any, given: Collection[str]) -> None:
    """TypeError for the name of an option that the function does not take."""
    for name in given:
        if name not in function.options:
            remedy = (
                "; they belong to a plan: plan=ozfp4.plan_for(a, b, ...)"
                if name in ("bits", "family")
                else ""
            )
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}{remedy}")


def unusual(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not as by default. torch.compile traces this."""
    return {name: value for name, value in given.items() if value is not DEFAULTS[name]}


def _check_agrees(plan: Plan, asked: Options) -> None:
    if plan.scheme == "INT8":
        raise ValueError("plan: an INT8 plan multiplies int8 matrices; use ozfp4.int8_matmul")
    for name in ("scheme", "backend", "bits", "family"):
        value, planned = getattr(asked, name), getattr(plan, name)
        if value not in (DEFAULTS[name], planned):
            raise ValueError(f"{name}: {value!r} contradicts the given plan, whose {name} is {planned!r}")


def check_name(argument: str, name: object, allowed: Collection[str] | None = None) -> None:
    """ValueError for an unknown name of what an argument may be; by default of the option."""
    allowed = _NAMES[argument] if allowed is None else allowed
    if not isinstance(name, str) or name not in allowed:
        if argument == "backend" and isinstance(name, str) and name in PLANNED:
            raise RuntimeError(f"backend: {name!r} has no kernel; it has plans alone")
        raise ValueError(f"{argument}: {name!r} is unknown; allowed are {', '.join(map(repr, allowed))}")


def check_accuracy(accuracy: object, bits: object = None) -> str:
    """The name of an accuracy, the current default for None; ValueError for an unknown one, or for `bits` with one that
    gives every line its own."""
    accuracy = current_accuracy() if accuracy is None else accuracy
    check_name("accuracy", accuracy)
    if bits is not None and accuracy != "scaled":
        raise ValueError(
            f"bits: {bits!r} is for products of floating-point numbers with accuracy='scaled'; with accuracy={accuracy!r} every "
            "row and column has its own bits"
        )
    return str(accuracy)


def check_unasked(given: Mapping[str, Any]) -> None:
    """ValueError for an option of a product of integers that has a meaning for floating-point numbers alone."""
    for name in ("bits", "accuracy", "rounding", "return_bound"):
        value = given.get(name, DEFAULTS[name])
        if value != DEFAULTS[name]:
            raise ValueError(
                f"{name}: {value!r} is for products of floating-point numbers; integers are neither scaled nor rounded"
            )


def check_plan(plan: object) -> Plan:
    """`plan` itself; TypeError if it is something else."""
    if not isinstance(plan, Plan):
        raise TypeError(f"plan: {type(plan).__name__} is not an ozfp4.Plan")
    return plan


def check_bits(bits: object) -> int:
    """`bits` as an int; TypeError or ValueError unless it is a number of bits that plans have."""
    return check_integer("bits", bits, LEAST_BITS, MOST_BITS)


def check_workspace(limit: object) -> int:
    """A limit of the workspace as an int; TypeError or ValueError unless it is a number of bytes below 2^62."""
    return check_integer("workspace_limit", limit, 1, 2**62 - 1, "1..2**62 - 1 bytes")


def check_integer(name: str, value: object, least: int, most: int, allowed: str = "") -> int:
    """`value` as an int; TypeError or ValueError unless it is one from `least` to `most`, shown as `allowed`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name}: {value!r} is not an integer")
    if not least <= value <= most:
        raise ValueError(f"{name}: {value} is outside {allowed or f'{least}..{most}'}")
    return int(value)
