"""What a product did: returned beside the result by ``report=True``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .plans.plan import Plan
from .support.table import Table, Tabular


@dataclass(frozen=True, repr=False)
class Report(Tabular):
    """What ran, on what, and how.

    Attributes
    ----------
    backend, kernel, device : str
        The alphabet, the routine that multiplied the planes, and where.
    plan : Plan
        The plan; of its moduli the first `moduli_used` were needed for this data (0 for scheme I).
    products : int
        Plane products that ran for each matrix.
    bits : int
        Capacity of the scaled integers.
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
    """

    backend: str
    kernel: str
    device: str
    plan: Plan
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

    def _tables(self) -> Iterator[Table]:
        moduli = f" ({self.moduli_used} of {len(self.plan.moduli)} moduli)" if self.plan.moduli else ""
        yield Table(
            [
                ("ran", f"scheme {self.plan.scheme}, {self.backend} ({self.kernel}) on {self.device}"),
                ("products", f"{self.products}{moduli}"),
                ("bits", f"{self.bits}"),
                ("exponents", f"{self.exponents[0]} .. {self.exponents[1]}"),
                ("specials", f"{self.special_rows} rows of A, {self.special_columns} columns of B"),
                ("workspace", f"{self.workspace / 2**20:.1f} MiB"),
                ("chosen", self.reason),
                ("fallback", self.fallback or "none"),
            ]
        )
        yield Table(
            [(stage, f"{1e3 * seconds:.3f} ms") for stage, seconds in self.seconds.items()],
            right=(1,),
        )
