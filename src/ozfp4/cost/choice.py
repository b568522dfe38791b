"""What ``backend="auto"`` takes: least products / rate."""

from __future__ import annotations

from dataclasses import dataclass

from ..plans.plan import make_plan
from .peaks import DevicePeaks
from .rates import TERA

ASKED_FOR = "asked for"


@dataclass(frozen=True)
class Choice:
    """What ``backend="auto"`` takes.

    Attributes
    ----------
    order : tuple of str
        Backends that serve the request, least products / rate first; the preferred one even where none does.
    reason : str
        One line: products and rates of each.
    """

    order: tuple[str, ...]
    reason: str

    @property
    def backend(self) -> str:
        return self.order[0]


def choose(peaks: DevicePeaks, scheme: str, family: str, bits: int, k: int) -> Choice:
    """Least Q / R among the backends that have a plan for inner dimension `k`.

    The products decide, not m and n: what is moved differs little and counts for small matrices alone.
    """
    if family != "least":
        return Choice(("fp4",), f"family {family!r} is made of limbs of fp4")
    backends = peaks.backends(scheme)
    found: list[tuple[float, str, str]] = []
    for backend in backends:
        try:
            products = make_plan(scheme, backend, family, bits, max(k, 1)).products
        except ValueError:  # no plan of this backend is exact for k
            continue
        rate = peaks.rates[scheme, backend]
        found.append((products / rate, backend, f"{backend} {products} at {rate / TERA:.4g}"))
    found.sort(key=lambda candidate: candidate[0])  # stable: among equals the first
    if not found:
        return Choice((backends[0],), "no backend has a plan")
    return Choice(
        tuple(backend for _, backend, _ in found),
        f"least products / rate: {', '.join(text for *_, text in found)} TOPS ({peaks.basis})",
    )
