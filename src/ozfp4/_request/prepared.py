"""A prepared operand as a value, and what a product may ask of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
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
    multiply: ClassVar[Callable[[Any, Any], Any]]  # ozfp4.matmul, which _api/prepare enters: it stands above

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


class Sides(NamedTuple):
    """Which operands of a product are prepared."""

    a: Prepared | None = None
    b: Prepared | None = None


NEITHER = Sides()


def sides_of(a: Any, b: Any) -> Sides:
    """The prepared ones of two operands, of which one is. ValueError for one on the other side, or of a tensor that was modified
    since; for two of different plans or accuracies, or that are not for each other."""
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
        if sides.a.plan != sides.b.plan:
            raise ValueError("b: it was prepared for another plan; prepare both alike")
        if sides.a.accuracy != sides.b.accuracy:
            raise ValueError(
                f"b: it was prepared for accuracy {sides.b.accuracy!r}, a for {sides.a.accuracy!r}; prepare both alike"
            )
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
    """Which of `a` and `b` are prepared; both as entries; and the options with the plan and accuracy of the prepared one. Range:
    one is prepared. Raises as :meth:`Options.of` and :func:`sides_of`; ValueError for options that it was not prepared for."""
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


def check_result(sides: Sides, single: bool) -> None:
    """ValueError where the result is of another precision than was prepared for; `single`: of float32."""
    for name, prepared in zip(SIDES.values(), sides, strict=True):
        if prepared is None:
            continue
        if (prepared.result_dtype in SINGLE) != single:
            made = (SINGLE if single else DOUBLE)[prepared.other != "any"]
            raise ValueError(
                f"{name}: it was prepared for results of {prepared.result_dtype}, and all operands make it {made}; "
                f"prepare it with dtype={made!r}"
            )
