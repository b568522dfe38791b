"""Which stage of a whole product was wrong: what each of them left, beside what the CPU's stages make of the same operands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..plans.plan import Plan
from ..support import integers


@dataclass(frozen=True)
class StageResults:
    """What the stages of one product left.

    Attributes
    ----------
    moduli : int
        How many of the plan's moduli scale asked for; the number of groups where the plan has no moduli.
    exponents : tuple of two int32 arrays
        s_i of the rows of A, t_j of the columns of B.
    planes : tuple of two arrays
        Planes of A (planes × m × K) and of B (planes × n × K); those of moduli that were not asked for count for nothing.
    output : array
        Groups × m × n: residues in [0, modulus); one matrix of Python integers where the
        plan has no moduli.
    c : m × n float64 array
    launch : dict
        What the kernel ran with on a GPU: tile and splits.
    """

    moduli: int
    exponents: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]
    planes: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    output: npt.NDArray[Any]
    c: npt.NDArray[np.float64]
    launch: Mapping[str, str] = field(default_factory=dict)


def on_cpu(plan: Plan, a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], moduli: int) -> StageResults:
    """The stages of `a` times `b` on the CPU, with the first so many moduli."""
    rows, columns = a, np.ascontiguousarray(b.T)
    exponents = [_core.scale(x, plan.bits)[0] for x in (rows, columns)]
    planes = [
        _core.encode(plan._core, moduli, _core.quantise(x, s, integers.words_of(plan.bits)))
        for x, s in zip((rows, columns), exponents, strict=True)
    ]
    output = _core.multiply(plan._core, moduli, *planes)
    c = _core.reconstruct(plan._core, moduli, output, exponents[0], exponents[1], False)
    kept = (
        output if plan.moduli else integers.of_words(_core.integers(plan._core, moduli, output))[np.newaxis]
    )
    return StageResults(moduli, (exponents[0], exponents[1]), (planes[0], planes[1]), kept, c)


def digits_to_integers(digits: npt.NDArray[Any], base: int) -> npt.NDArray[Any]:
    """Python integers of positional digits (planes × m × n), the lowest first, the last one a signed byte."""
    total: npt.NDArray[Any] = digits[-1].astype(np.uint8).view(np.int8).astype(object)
    for digit in digits[-2::-1]:
        total = total * base + digit.astype(object)
    return total


def _first_difference(found: npt.NDArray[Any], expected: npt.NDArray[Any]) -> str | None:
    if found.shape != expected.shape:
        return f"shape {found.shape}, not {expected.shape}"
    wrong = np.asarray(found != expected, dtype=bool)
    if not wrong.any():
        return None
    place = tuple(int(x) for x in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    return f"{place} is {found[place]}, not {expected[place]}, {int(wrong.sum())} of {wrong.size} wrong"


def _planes_of(plan: Plan, operand: str, moduli: int) -> Mapping[int, int | None]:
    """The planes of an operand that the first so many moduli need, and the modulus of each."""
    used = plan.moduli[:moduli]
    return {
        getattr(term, f"{operand}_plane"): term.modulus
        for term in plan.terms
        if not plan.moduli or term.modulus in used
    }


def first_wrong_stage(
    plan: Plan,
    a: npt.NDArray[np.float64],
    b: npt.NDArray[np.float64],
    exact: npt.NDArray[np.float64],
    found: StageResults,
) -> str | None:
    """The first stage whose result differs from the CPU's, and where; None if every one is right."""
    groups = len(plan.moduli) or plan._core.count
    if not 1 <= found.moduli <= groups:
        return f"scale: {found.moduli} of {groups} moduli"
    expected = on_cpu(plan, a, b, found.moduli)
    for name, mine, right in zip("ab", found.exponents, expected.exponents, strict=True):
        if (wrong := _first_difference(mine, right)) is not None:
            return f"scale: exponent of {name} {wrong}"
    for name, planes, right_planes in zip("ab", found.planes, expected.planes, strict=True):
        for plane, modulus in sorted(_planes_of(plan, name, found.moduli).items()):
            mine, right = planes[plane].astype(np.int64), right_planes[plane].astype(np.int64)
            if plan.alphabet == "int8" and modulus is not None:  # any representative serves
                mine, right = mine % modulus, right % modulus
            if (wrong := _first_difference(mine, right)) is not None:
                return f"encode: plane {plane} of {name} {wrong}"
    count = plan._core.parts * found.moduli if plan.moduli else 1
    if (wrong := _first_difference(found.output[:count], expected.output[:count])) is not None:
        return f"multiply: output {wrong}"
    if (wrong := _first_difference(found.c, expected.c)) is not None:
        return f"reconstruct: entry {wrong}"
    if (wrong := _first_difference(found.c, exact)) is not None:
        return f"scale: too few moduli, {found.moduli} of {groups}: entry {wrong}"
    return None
