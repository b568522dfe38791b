"""A prepared operand as a value, and what a product may ask of it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, NoReturn

from .._options import DEFAULTS, Options
from .._plans.plan import Plan
from .._support.table import Table, Tabular
from . import library

SIDES = {"left": "a", "right": "b"}
OTHERS = ("complex", "real")
SINGLE, DOUBLE = ("float32", "complex64"), ("float64", "complex128")


@dataclass(frozen=True, eq=False, repr=False)
class Prepared(Tabular):
    """An operand that :func:`ozfp4.prepare` scaled and encoded, for any number of products; immutable. ``prepared @ b`` is
    ``ozfp4.matmul(prepared, b)``, and ``a @ prepared`` likewise, of arrays of NumPy and tensors of torch.

    Attributes
    ----------
    shape : tuple of int
    dtype : NumPy or torch dtype
        Of the operand.
    side : {"left", "right"}
        On which side of a product it stands.
    plan : Plan
    accuracy : {"standard", "correct", "scaled"}
        What its products promise.
    result_dtype : str
        "float64" or "float32": of its products, or of their parts; where the operand is complex "complex128" or "complex64".
    other : {"any", "complex", "real"}
        What it is multiplied with: a real operand with any, a complex one with such as it was prepared for.
    device : str
        "cpu", "cuda:0" and so on.
    nbytes : int
        Memory that it takes: its planes, on the CPU the copy of the operand, and what a complex one is copied to.
    """

    shape: tuple[int, ...]
    dtype: Any
    side: str
    plan: Plan
    accuracy: str
    result_dtype: str
    device: str
    nbytes: int
    other: str
    _entries: Any  # what products read of the operand itself, or where they do not, a stand-in of its shape and dtype
    _held: Any  # what the core of its device made of it
    _watched: Callable[[], Any] | None = None  # the tensor that was passed, if torch counts its versions
    _version: int = 0
    _library: str | None = None  # the library of its products, where that is another than NumPy and torch

    is_prepared: ClassVar[bool] = True
    __array_ufunc__: ClassVar[None] = None  # NumPy's operators leave it to those below
    multiply: ClassVar[Callable[[Any, Any], Any]]  # ozfp4.matmul, which api/prepare enters: it stands above

    def __matmul__(self, other: Any) -> Any:
        """``ozfp4.matmul(self, other)``."""
        return type(self).multiply(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        """``ozfp4.matmul(other, self)``."""
        return type(self).multiply(other, self)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a prepared operand cannot be copied or pickled; copy the matrix, and ozfp4.prepare it anew"
        )

    @property
    def _part_dtype(self) -> str:
        """Of its results, or of their parts."""
        return "float32" if self.result_dtype in SINGLE else "float64"

    def _like(self, part_dtype: str) -> str:
        """The result_dtype of these parts."""
        return (SINGLE if part_dtype == "float32" else DOUBLE)[self.other != "any"]

    def _tables(self) -> Iterator[Table]:
        shape = " × ".join(map(str, self.shape))
        others = "" if self.other == "any" else f", for {self.other} ones"
        yield Table(
            [
                ("prepared", f"{self.side} operand, {shape} {self.dtype} on {self.device}{others}"),
                ("accuracy", f"{self.accuracy}, results of {self.result_dtype}"),
                (
                    "plan",
                    f"scheme {self.plan.scheme}, {self.plan.backend}, {self.plan.bits} bits, {self.plan.planes_a} planes",
                ),
                ("memory", f"{self.nbytes / 2**20:.1f} MiB"),
            ]
        )

    def _lines(self, first: int, last: int) -> Prepared:
        """Those of its rows (columns, on the right) alone. Range: a real operand on a device, `first` a multiple of 64."""
        rows, columns = (slice(first, last), slice(None))[:: 1 if self.side == "left" else -1]
        entries = self._entries[..., rows, columns]
        return replace(
            self,
            shape=tuple(entries.shape),
            _entries=entries,
            _held=self._held.part(first, last, self.side == "right"),
        )


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
        One on the other side, or of a tensor that was modified since; two of different plans or accuracies, or that are not for
        each other.
    """
    sides = Sides(*(x if isinstance(x, Prepared) else None for x in (a, b)))
    for (side, name), prepared in zip(SIDES.items(), sides, strict=True):
        if prepared is None:
            continue
        if prepared.side != side:
            raise ValueError(
                f"{name}: it was prepared for the {prepared.side} side; ozfp4.prepare(x, side={side!r}) serves here"
            )
        tensor = None if prepared._watched is None else prepared._watched()
        if tensor is not None and tensor._version != prepared._version:
            raise ValueError(
                f"{name}: the tensor was modified in place since it was prepared; ozfp4.prepare it anew"
            )
    if sides.a is not None and sides.b is not None:
        check_others(sides, sides.a.dtype, sides.b.dtype)
        for name in ("plan", "accuracy", "result_dtype"):
            of_a, of_b = getattr(sides.a, name), getattr(sides.b, name)
            if of_a != of_b and (name != "result_dtype" or sides.a._part_dtype != sides.b._part_dtype):
                shown = "another plan" if name == "plan" else f"{name} {of_b!r}, a for {of_a!r}"
                raise ValueError(f"b: it was prepared for {shown}; prepare both alike")
    return sides


def check_others(sides: Sides, dtype_a: Any, dtype_b: Any) -> None:
    """ValueError where a complex operand was prepared for real ones and the other is complex, or the other way round."""
    for name, prepared, other, dtype in (("a", sides.a, "b", dtype_b), ("b", sides.b, "a", dtype_a)):
        kind = "complex" if library.is_complex(dtype) else "real"
        if prepared is not None and prepared.other not in ("any", kind):
            raise ValueError(
                f"{name}: it was prepared for {prepared.other} operands, and {other} is {kind}; prepare it with other={kind!r}"
            )


def take_prepared(a: Any, b: Any, given: Mapping[str, Any]) -> tuple[Sides, Any, Any, dict[str, Any]]:
    """Which of `a` and `b` are prepared; both as entries; and the options that were passed, with their plan and accuracy. Range:
    one is prepared, the other as it was passed.

    Raises as :meth:`Options.of`, then as :func:`sides_of`; ValueError for what is asked for otherwise than it was prepared.
    """
    name, prepared = ("a", a) if isinstance(a, Prepared) else ("b", b)
    own = {"plan": prepared.plan, "accuracy": prepared.accuracy}
    Options.of({**given, "accuracy": own["accuracy"] if given.get("accuracy") is None else given["accuracy"]})
    sides = sides_of(a, b)
    planned = {key: getattr(prepared.plan, key) for key in ("scheme", "backend", "bits", "family")}
    for key, has in {**own, **planned}.items():
        value = given.get(key, DEFAULTS[key])
        if value not in (DEFAULTS[key], has):
            if key == "plan":
                raise ValueError(f"plan: {name} was prepared by another plan; prepare it with this one")
            raise ValueError(
                f"{key}: {value!r} is not what {name} was prepared for, {has!r}; prepare it with {key}={value!r}"
            )
    x, y = (x if side is None else side._entries for x, side in zip((a, b), sides, strict=True))
    return sides, x, y, {**given, **own}


def check_result(sides: Sides, part_dtype: str) -> None:
    """ValueError where the other operand makes the result, or the parts of a complex one, of another dtype than was prepared
    for."""
    for name, prepared in zip(SIDES.values(), sides, strict=True):
        if prepared is not None and prepared._part_dtype != part_dtype:
            made = prepared._like(part_dtype)
            raise ValueError(
                f"{name}: it was prepared for results of {prepared.result_dtype}, and the other operand makes this one "
                f"{made}; prepare it with dtype={made!r}"
            )


def check_addend(sides: Sides, operands: library.Operands, c: Any, given: Any) -> None:
    """ValueError where C alone makes the result one of another dtype than was prepared for. `given` is the dtype that C had
    before it was converted beside the operands."""
    of_c = library.name_of(c.dtype)
    of_both = [library.name_of(x.dtype) for x in operands[:2]]
    is_taken = not library.is_complex(of_c) or any(map(library.is_complex, of_both))
    if of_c not in DOUBLE or not is_taken or any(name not in SINGLE for name in of_both):
        return
    for name, prepared in zip(SIDES.values(), sides, strict=True):
        if prepared is not None and prepared._part_dtype == "float32":
            made = prepared._like("float64")
            raise ValueError(
                f"c: dtype {library.name_of(given)} makes the result {made}, and {name} was prepared for results of "
                f"{prepared.result_dtype}; pass a c of {SINGLE[DOUBLE.index(of_c)]}, or prepare {name} with dtype={made!r}"
            )


def watch(tensor: Any) -> Callable[[], Any]:
    """A weak reference to a tensor that is modified where this one is: to what it is a view of, as views are short-lived."""
    base = tensor._base
    return weakref.ref(tensor if base is None else base)


def is_watched(tensor: Any) -> bool:
    """Whether torch counts the modifications of a tensor."""
    return library.is_tensor(tensor) and not tensor.is_inference()
