"""A prepared operand as a value, and what a product may ask of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..plans.plan import Plan
from ..support.table import Table, Tabular
from . import library

SIDES = {"left": "a", "right": "b"}


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Tabular):
    """An operand that :func:`ozfp4.prepare` scaled and encoded, for any number of products; immutable.

    Attributes
    ----------
    shape : tuple of int
    dtype : NumPy or torch dtype
        Of the operand.
    side : {"left", "right"}
        On which side of a product it stands.
    plan : Plan
    accuracy : {"scaled", "fp64", "correct"}
        What its products promise.
    result_dtype : str
        "float64" or "float32": of its products.
    device : str
        "cpu", "cuda:0" and so on.
    nbytes : int
        Memory that it takes beside the operand, or beside a copy of it (on the CPU).
    """

    shape: tuple[int, ...]
    dtype: Any
    side: str
    plan: Plan
    accuracy: str
    result_dtype: str
    device: str
    nbytes: int
    _entries: Any  # as an operand of a product: an array, or a tensor on a device
    _held: Any  # what the backend made of it; None without entries
    _tensor: Any = None  # that was passed, where its version can be asked
    _version: int = 0

    def _tables(self) -> Iterator[Table]:
        shape = " × ".join(map(str, self.shape))
        yield Table(
            [
                ("prepared", f"{self.side} operand, {shape} {self.dtype} on {self.device}"),
                ("accuracy", f"{self.accuracy}, results of {self.result_dtype}"),
                (
                    "plan",
                    f"scheme {self.plan.scheme}, {self.plan.backend}, {self.plan.bits} bits, {self.plan.planes_a} planes",
                ),
                ("memory", f"{self.nbytes / 2**20:.1f} MiB"),
            ]
        )

    def _lines(self, first: int, last: int) -> Prepared:
        """Those of its rows (columns, on the right) alone. Range: an operand on a device, `first` a multiple of 64."""
        rows, columns = (slice(first, last), slice(None))[:: 1 if self.side == "left" else -1]
        entries = self._entries[..., rows, columns]
        return replace(self, shape=tuple(entries.shape), _entries=entries, _held=self._held.part(first, last))

    def _again(self, **changes: str) -> str:
        """The call that prepares it anew with these keywords."""
        words = ", ".join(f"{name}={value}" for name, value in changes.items())
        return f"ozfp4.prepare(x, side={self.side!r}{', ' if words else ''}{words})"


class Sides(NamedTuple):
    """Which operands of a product are prepared."""

    a: Prepared | None = None
    b: Prepared | None = None


NEITHER = Sides()


def sides_of(a: Any, b: Any) -> Sides:
    """The prepared ones of two operands, of which one is, each on its side and as it was prepared.

    Raises
    ------
    ValueError
        One on the other side, or of a tensor that was modified since; two of different plans or accuracies.
    """
    sides = Sides(*(x if isinstance(x, Prepared) else None for x in (a, b)))
    for (side, name), prepared in zip(SIDES.items(), sides, strict=True):
        if prepared is None:
            continue
        if prepared.side != side:
            raise ValueError(
                f"{name}: it was prepared for the {prepared.side} side; ozfp4.prepare(x, side={side!r}) serves here"
            )
        if prepared._tensor is not None and prepared._tensor._version != prepared._version:
            raise ValueError(
                f"{name}: the tensor was modified in place since it was prepared; {prepared._again()} prepares it anew"
            )
    if sides.a is not None and sides.b is not None:
        for name in ("plan", "accuracy", "result_dtype"):
            of_a, of_b = getattr(sides.a, name), getattr(sides.b, name)
            if of_a != of_b:
                shown = "another plan" if name == "plan" else f"{name} {of_b!r}, a for {of_a!r}"
                raise ValueError(f"b: it was prepared for {shown}; prepare both alike")
    return sides


def check_agrees(sides: Sides, plan: Plan | None, **asked: Any) -> tuple[Plan, str]:
    """The plan and the accuracy of a product of prepared operands; `asked`: scheme, backend, bits, family, accuracy.

    ValueError for what is asked for otherwise than it was prepared; defaults take what there is. Range: one is prepared.
    """
    name, prepared = ("a", sides.a) if sides.a is not None else ("b", sides.b)
    assert prepared is not None
    if plan is not None and plan != prepared.plan:
        raise ValueError(
            f"plan: {name} was prepared by another plan; {prepared._again(plan='...')} takes this one"
        )
    made = prepared.plan
    has = {
        "scheme": ("II", made.scheme),
        "backend": ("auto", made.backend),
        "bits": (None, made.bits),
        "family": ("least", made.family),
        "accuracy": (None, prepared.accuracy),
    }
    for key, value in asked.items():
        default, own = has[key]
        if not (value is None if default is None else value == default) and value != own:
            raise ValueError(
                f"{key}: {value!r} is not what {name} was prepared for, {own!r}; "
                f"{prepared._again(**{key: repr(value)})} serves it"
            )
    return made, prepared.accuracy


def take_prepared(a: Any, b: Any, plan: Any, accuracy: Any, **asked: Any) -> tuple[Sides, Any, Any, Any, Any]:
    """Which of `a` and `b` are prepared; both as entries, the plan and the accuracy. Range: one is prepared, the other as it was
    passed.

    Raises as :func:`sides_of` and :func:`check_agrees`.
    """
    sides = sides_of(a, b)
    plan, accuracy = check_agrees(sides, plan, accuracy=accuracy, **asked)
    return (
        sides,
        a if sides.a is None else sides.a._entries,
        b if sides.b is None else sides.b._entries,
        plan,
        accuracy,
    )


def check_result(sides: Sides, result_dtype: str, is_complex: bool) -> None:
    """ValueError where the other operand makes the result one of another dtype than was prepared for."""
    for name, prepared in zip(SIDES.values(), sides, strict=True):
        if prepared is not None and is_complex:
            raise ValueError(
                f"{name}: a prepared operand is not multiplied with complex ones; pass the matrix itself"
            )
        if prepared is not None and prepared.result_dtype != result_dtype:
            raise ValueError(
                f"{name}: it was prepared for results of {prepared.result_dtype}, and the other operand makes this one "
                f"{result_dtype}; {prepared._again(dtype=repr(result_dtype))} serves it"
            )


def is_watched(tensor: Any) -> bool:
    """Whether torch counts the modifications of a tensor."""
    return library.is_tensor(tensor) and not tensor.is_inference()
