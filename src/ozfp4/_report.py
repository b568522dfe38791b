"""What a product did: returned beside the result by ``report=True``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ._plans.plan import Plan
from ._support.table import Table, Tabular


@dataclass(frozen=True)
class Certified:
    """How many entries of a result rest on what; entries of rows and columns with a NaN or an infinity on nothing of it.
    The first four are None where a GPU made the product: it counts only the entries that have no certificate.

    Attributes
    ----------
    exact : int
        No entry of the row or the column was rounded to an integer; in "correct" also those of lines that are nonzero at no
        common index.
    depth : int
        In "standard": the row and the column are not deep, as their entries lie, on average, few binades below the largest.
    magnitude : int
        In "standard": the products of the magnitudes, eight bits of each entry, add up to enough.
    result : int
        In "correct": every number within the entry's error rounds to the same.
    chains : int
        In "standard": chains of fused multiply-adds, as nothing certifies the entry.
    repaired : int
        In "correct": summed anew from the row and the column in pairs of FP64 numbers, and rounded once.
    repaired_exactly : int
        The same by an exact sum, or on a CPU in threes of FP64 numbers, where pairs do not tell.
    total : int
        All of these; from a GPU the entries of the result.
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
        """Of a table."""
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


DIRECT = "direct"  # the backend of what a CPU multiplied without planes


@dataclass(frozen=True, repr=False)
class Report(Tabular):
    """What ran, on what, and how.

    Attributes
    ----------
    backend, kernel, device : str
        The alphabet, the routine that multiplied the planes, and where.
    plan : Plan or None
        The plan; of its moduli the first `moduli_used` were needed for this data (0 for scheme I). In "correct" a longer
        plan may have been used, of more moduli. Where a CPU multiplied without planes, `backend` is "direct": integers as they
        are, in words of `bits` bits, by no plan (None); or the plan's integers
        of a small product in words, in FP64 and modulo `moduli_used` numbers of their own, or by limbs of eight bits. Where
        matrices of a stack, or blocks, were made in different ways, all this is of those by planes, if there are any; `kernel`
        names the other ways, too.
    products : int
        Plane products that ran, or sums of products that stand for them, for each matrix, the most of a stack; like `moduli_used`
        and `bits` of the first product, where a GPU makes a second. By limbs those of all pairs of limbs, also where results are
        known without the least of them.
    bits : int
        Capacity of the scaled integers, the plan's; of integers without one the bits of a word.
    exponents : (int, int)
        Least and largest exponent among the largest finite entries of the rows of A and the columns of B; zeros have none,
        and (0, 0) says that there is none at all.
    special_rows, special_columns : int
        Rows of A and columns of B that hold a NaN or an infinity.
    workspace : int
        Bytes used beside inputs and output.
    reason : str
        Why this backend: what "auto" compared, or that it was asked for.
    fallback : str or None
        Why another backend than the preferred one ran; None if none did.
    seconds : dict
        Wall-clock seconds per stage.
    accuracy : str
        The promise: "standard", "correct" or "scaled"; "exact" of integers.
    capacities : (int, int)
        Least and largest capacity among the rows of A and the columns of B, which choose their own unless the accuracy is
        "scaled"; those without a finite nonzero entry have none.
    certified : Certified or None
        What the entries rest on; None where the accuracy is "scaled".
    largest_bound : float or None
        The largest of the bounds that were returned; None if there are none.
    kind : str
        "real"; "integer"; "complex", "complex by real" or "real by complex" for complex operands. For a complex product
        `products` counts plane products of the extents of A and B: those of a plan of complex products, else four for each of
        its real form, two where one operand is real. Entries of the result are counted by parts, and so are the special lines
        of a complex operand beside a real one.
    overflows : int or None
        Entries of a product of integers that its dtype does not hold and that are wrapped therefore; None of other products.
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
