"""Every argument of a product but its operands: names, bits, plan, limits; checked, and then a value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._core import LEAST_BITS, MOST_BITS
from ..plans.plan import ALPHABETS, FAMILIES, SCHEMES, Plan

ACCURACIES = ("standard", "correct", "scaled")
ROUNDINGS = ("nearest", "down", "up", "zero")


class Arguments(NamedTuple):
    """What matmul was asked for: names that exist, `bits` in 2..200 or None, a plan that they do not contradict or None, a
    limit of the workspace in bytes or None, a function to call or None; what is promised of the result, how it is rounded,
    and whether a bound of its error is wanted."""

    scheme: str = "II"
    backend: str = "auto"
    bits: int | None = None
    family: str = "least"
    plan: Plan | None = None
    workspace_limit: int | None = None
    progress: Callable[[float], object] | None = None
    accuracy: str = "scaled"
    rounding: str = "nearest"
    return_bound: bool = False


def check_arguments(
    scheme: str,
    backend: str,
    bits: Any,
    family: str,
    plan: Any = None,
    workspace_limit: Any = None,
    progress: Any = None,
    accuracy: Any = None,
    rounding: Any = "nearest",
    return_bound: Any = False,
) -> Arguments:
    """The arguments as a value.

    Raises
    ------
    TypeError, ValueError
        Unknown names, bits outside of 2..200, a plan that is none or contradicts the rest, a limit that is no positive
        number of bytes, `progress` that cannot be called; bits beside an accuracy other than "scaled", a rounding that the
        accuracy does not have, `return_bound` that is no truth value.
    """
    check_names(scheme, backend, family)
    if bits is not None:
        bits = check_bits(bits)
    accuracy = check_accuracy(accuracy, bits)
    check_rounding(rounding, accuracy)
    if not isinstance(return_bound, (bool, np.bool_)):
        raise TypeError(f"return_bound: {return_bound!r} is neither True nor False")
    if plan is not None:
        _check_agrees(check_plan(plan), scheme, backend, bits, family)
    limit = None if workspace_limit is None else check_workspace(workspace_limit)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress: {progress!r} is not callable")
    return Arguments(
        scheme, backend, bits, family, plan, limit, progress, accuracy, rounding, bool(return_bound)
    )


def _check_agrees(plan: Plan, scheme: str, backend: str, bits: int | None, family: str) -> None:
    if plan.scheme == "INT8":
        raise ValueError("plan: an INT8 plan multiplies int8 matrices; use ozfp4.int8_matmul")
    given = {
        "scheme": (scheme, "II", plan.scheme),
        "backend": (backend, "auto", plan.backend),
        "bits": (bits, None, plan.bits),
        "family": (family, "least", plan.family),
    }
    for name, (value, default, planned) in given.items():
        if value not in (default, planned):
            raise ValueError(f"{name}: {value!r} contradicts the given plan, whose {name} is {planned!r}")


# What people type for a backend that is a device.
_DEVICES = ("cuda", "gpu", "cpu")


def check_names(scheme: str, backend: str, family: str) -> None:
    """Raise ValueError for an unknown scheme, backend or family, naming what is allowed."""
    if not isinstance(scheme, str) or scheme not in SCHEMES:
        raise ValueError(f"scheme: {scheme!r} is unknown; allowed are {', '.join(map(repr, SCHEMES))}")
    if not isinstance(backend, str) or (backend != "auto" and backend not in ALPHABETS):
        names = f"'auto', {', '.join(map(repr, ALPHABETS))}"
        if isinstance(backend, str) and backend.partition(":")[0] in _DEVICES:
            raise ValueError(
                f"backend: {backend!r} is unknown; a product runs where its operands lie (for a GPU pass torch CUDA "
                f"tensors: a.to('cuda')), and backend names what it multiplies there: {names}"
            )
        raise ValueError(f"backend: {backend!r} is unknown; allowed are {names}")
    if not isinstance(family, str) or family not in FAMILIES:
        raise ValueError(f"family: {family!r} is unknown; allowed are {', '.join(map(repr, FAMILIES))}")


def check_accuracy(accuracy: object, bits: object = None) -> str:
    """The name of an accuracy, "standard" for None; ValueError for an unknown one, or for `bits` beside one that gives every line
    its own."""
    if accuracy is None:
        accuracy = "standard"
    if not isinstance(accuracy, str) or accuracy not in ACCURACIES:
        raise ValueError(f"accuracy: {accuracy!r} is unknown; allowed are {', '.join(map(repr, ACCURACIES))}")
    if bits is not None and accuracy != "scaled":
        raise ValueError(
            f"bits: {bits!r} is for products of floating-point numbers with accuracy='scaled'; with accuracy={accuracy!r} every "
            "row and column has bits of its own"
        )
    return accuracy


def check_family(family: str, accuracy: str, bits: int) -> None:
    """ValueError for a family other than the first beside an accuracy that takes so many bits."""
    if family != "least" and accuracy != "scaled":
        raise ValueError(
            f"family: {family!r} is for accuracy='scaled'; it has 53 bits, and accuracy={accuracy!r} takes {bits}"
        )


def check_rounding(rounding: object, accuracy: str) -> None:
    """ValueError for an unknown rounding, or one that the accuracy does not have."""
    if not isinstance(rounding, str) or rounding not in ROUNDINGS:
        raise ValueError(f"rounding: {rounding!r} is unknown; allowed are {', '.join(map(repr, ROUNDINGS))}")
    if rounding != "nearest" and accuracy != "correct":
        raise ValueError(
            f"rounding: {rounding!r} needs accuracy='correct'; with accuracy={accuracy!r} results are rounded to nearest"
        )


def check_plan(plan: object) -> Plan:
    """`plan` itself; TypeError if it is something else."""
    if not isinstance(plan, Plan):
        raise TypeError(f"plan: {type(plan).__name__} is not an ozfp4.Plan")
    return plan


def check_pair(name: str, pair: Any) -> tuple[Any, Any]:
    """Both of a tuple or list of two, (None, None) for None; TypeError for anything else."""
    if pair is None:
        return None, None
    if not isinstance(pair, (tuple, list)) or len(pair) != 2 or any(x is None for x in pair):
        text = f"{len(pair)} of them" if isinstance(pair, (tuple, list)) else type(pair).__name__
        raise TypeError(
            f"{name}: a pair of arrays is needed, for the lower and the upper bounds; given is {text}"
        )
    return pair[0], pair[1]


def check_bits(bits: object) -> int:
    """`bits` as an int in 2..200; TypeError or ValueError otherwise."""
    if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)):
        raise TypeError(f"bits: {bits!r} is not an integer")
    if not LEAST_BITS <= bits <= MOST_BITS:
        raise ValueError(f"bits: {bits} is outside {LEAST_BITS}..{MOST_BITS}")
    return int(bits)


def check_extent(name: str, extent: object) -> int:
    """A matrix extent as an int in 0..2^63 - 1; TypeError or ValueError otherwise."""
    if isinstance(extent, bool) or not isinstance(extent, (int, np.integer)):
        raise TypeError(f"{name}: {extent!r} is not an integer")
    if extent < 0:
        raise ValueError(f"{name}: {extent} is negative")
    if extent >= 2**63:
        raise ValueError(f"{name}: {extent} does not fit 63 bits")
    return int(extent)


def check_workspace(limit: object) -> int:
    """A limit of the workspace as an int; TypeError or ValueError unless it is a positive number of bytes below 2^62."""
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer)):
        raise TypeError(f"workspace_limit: {limit!r} is not an integer")
    if not 0 < limit < 2**62:
        raise ValueError(f"workspace_limit: {limit} is not a positive number of bytes below 2**62")
    return int(limit)
