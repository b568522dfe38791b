"""What ``backend="auto"`` takes: least products / rate."""

from __future__ import annotations

from dataclasses import dataclass

from .. import _core
from .._plans.plan import SCHEMES
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
    rates = [(backend, peaks.rates[scheme, backend]) for backend in backends]
    ranked = _core.rank_units(SCHEMES[scheme], family, bits, max(k, 1), rates)
    if not ranked:
        return Choice((backends[0],), "no backend has a plan")
    texts = [
        f"{backend} {products} at {peaks.rates[scheme, backend] / TERA:.4g}" for backend, products in ranked
    ]
    return Choice(
        tuple(backend for backend, _ in ranked),
        f"least products / rate: {', '.join(texts)} TOPS ({peaks.basis})",
    )
