"""The report of a product, which ``report=True`` returns with the result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ._plans.plan import Plan
from ._support.table import Table, Tabular


@dataclass(frozen=True)
class Certified:
    """Numbers of entries of a result by what proves their accuracy.

    Entries of rows and columns with a NaN or an infinity are in `total` alone. A GPU counts only entries
    without a certificate; the first four are None there.

    Attributes
    ----------
    exact : int
        Entries of a row and a column that were converted to integers without rounding. In "correct" also
        entries of a row and a column that are nonzero at no common index.
    depth : int
        In "standard": entries of a row and a column in which the exponents spread little.
    magnitude : int
        In "standard": entries with a large enough sum of products of magnitudes, 8 bits each.
    result : int
        In "correct": entries for which every number within the error bound rounds to the same result.
    chains : int
        In "standard": entries without a certificate, computed as chains of fused multiply-adds.
    repaired : int
        In "correct": entries that were computed again from row and column, in pairs of FP64 numbers.
    repaired_exactly : int
        In "correct": entries for which pairs did not suffice, computed by an exact sum (on a CPU first
        in triples of FP64 numbers).
    total : int
        All of these; on a GPU the entries of the result.
    """

    exact: int | None
    depth: int | None
    magnitude: int | None
    result: int | None
    chains: int
    repaired: int
    repaired_exactly: int
    total: int

    def rows(self, accuracy: str) -> Iterator[tuple[str, str]]:
        """Rows of a table."""
        if self.exact is not None:
            counted = (self.exact, self.depth, self.magnitude, self.result)
            reasons = ("exact", "by depth", "by magnitudes", "by result")
            shown = ", ".join(f"{count} {why}" for count, why in zip(counted, reasons, strict=True) if count)
            yield "certified", shown or "0"
        if accuracy == "standard":
            yield "chains", f"{self.chains} of fused multiply-adds"
            return
        yield "repaired", f"{self.repaired} in pairs of FP64 numbers, {self.repaired_exactly} by exact sums"
        alone = self.repaired + self.repaired_exactly
        if 2 * alone > self.total:
            share = f"{100 * alone / self.total:.0f} %"
            yield "slow path", f"{share} of the entries had no certificate; most of the time may be theirs"


DIRECT = "direct"  # the backend of a CPU that multiplied without planes


@dataclass(frozen=True, repr=False)
class Report(Tabular):
    """How a product ran: method, device, accuracy, memory and time.

    ``report=True`` returns it with the result. It prints as a table.

    Attributes
    ----------
    backend : str
        Number format of the low-precision products: "fp4", "int8" or "fp64". "direct" on a CPU that
        multiplied without planes, in machine words or by limbs of 8 bits.
    kernel : str
        The routine that multiplied. If matrices of a stack, or blocks, ran in different ways, it names
        all; the other attributes then describe those with planes.
    device : str
        "cpu" or "cuda:0", with the name of the device.
    plan : Plan or None
        The plan. It is None for integers in machine words. In "correct" a plan of more moduli may have
        run.
    moduli_used : int
        How many moduli of the plan were needed for this data; 0 for scheme I.
    products : int
        Low-precision products for each matrix, the most of a stack.
    bits : int
        Bits of the scaled integers in the plan; for integers without a plan the bits of a word.
    exponents : (int, int)
        Least and largest exponent of the largest finite entries of rows of A and columns of B.
        (0, 0) if all entries are zero.
    special_rows, special_columns : int
        Rows of A and columns of B that hold a NaN or an infinity.
    workspace : int
        Bytes in addition to operands and result.
    reason : str
        Why this backend was chosen.
    fallback : str or None
        Why the preferred backend did not run; None if it ran.
    seconds : dict
        Wall-clock seconds of each stage.
    accuracy : str
        "standard", "correct" or "scaled"; "exact" for integers.
    capacities : (int, int)
        Least and largest number of bits among the rows of A and the columns of B. They differ unless
        the accuracy is "scaled".
    certified : Certified or None
        Counts of entries by what proves their accuracy; None if the accuracy is "scaled".
    largest_bound : float or None
        The largest of the returned error bounds; None if there are none.
    kind : str
        "real", "integer", "complex", "complex by real" or "real by complex".
    overflows : int or None
        Wrapped entries of a product of integers; None for other products.

    Notes
    -----
    For a **complex** product, `products` counts products of real planes. Entries of the result are counted
    by parts, and so are the special rows or columns of a complex operand that multiplies a real one.

    If a GPU multiplies a second time, `moduli_used`, `products` and `bits` are those of the first product.
    """

    backend: str
    kernel: str
    device: str
    plan: Plan | None
    moduli_used: int
    products: int
    bits: int
    exponents: tuple[int, int]
    special_rows: int
    special_columns: int
    workspace: int
    reason: str = ""
    fallback: str | None = None
    seconds: dict[str, float] = field(default_factory=dict, compare=False)
    accuracy: str = "scaled"
    capacities: tuple[int, int] = (0, 0)
    certified: Certified | None = None
    largest_bound: float | None = None
    kind: str = "real"
    overflows: int | None = None

    def _tables(self) -> Iterator[Table]:
        plan = self.plan if self.backend != DIRECT else None
        scheme = "" if plan is None else f"scheme {plan.scheme}, "
        rows = [("ran", f"{scheme}{self.backend} ({self.kernel}) on {self.device}")]
        if self.kind != "real":
            rows.append(("product", self.kind))
        rows.append(("accuracy", self.accuracy))
        if self.certified is not None:
            rows += self.certified.rows(self.accuracy)
        if self.largest_bound is not None:
            rows.append(("largest bound", f"{self.largest_bound:.3g}"))
        if self.overflows is not None:
            rows.append(("overflows", f"{self.overflows}"))
        moduli, bits = "", f"{self.bits}"
        if plan is not None and plan.moduli:
            of_plan = f" of {len(plan.moduli)}" if self.moduli_used <= len(plan.moduli) else ""
            moduli = f" ({self.moduli_used}{of_plan} moduli)"
        if self.accuracy not in ("scaled", "exact"):
            bits = f"{self.capacities[0]} .. {self.capacities[1]} of rows and columns, {bits} of the plan"
        rows += [
            ("products", f"{self.products}{moduli}"),
            ("bits", bits),
            ("exponents", f"{self.exponents[0]} .. {self.exponents[1]}"),
            ("specials", f"{self.special_rows} rows of A, {self.special_columns} columns of B"),
            ("workspace", f"{self.workspace / 2**20:.1f} MiB"),
            ("chosen", self.reason),
            ("fallback", self.fallback or "none"),
        ]
        yield Table(rows)
        times = [(stage, f"{1e3 * seconds:.3f} ms") for stage, seconds in self.seconds.items()]
        yield Table(times, right=(1,))
