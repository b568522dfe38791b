"""The cost of a product: the one model behind ``backend="auto"``, ``ozfp4 plan`` and ``benchmarks/model.py``.

    t = 2 Q m n k / R  +  D / beta  +  launches

Q plane products at the rate R of the unit that multiplies them, D bytes moved at bandwidth beta by scale, encode and
reconstruct, and on a GPU what launches take. R and beta are a device's nominal figures (``ozfp4._cost.rates``) times the fraction
of them that kernels attain; figures measured on the machine at hand, by ``ozfp4 calibrate``, replace both. Partly
filled tiles and waves, clocks under load and cuts of K are not modelled.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from .._plans.plan import Plan
from .peaks import DevicePeaks

# ---- What a plan moves ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Traffic:
    """Bytes moved: by preprocessing for each entry of A and of B, by reconstruct for each entry of C."""

    operand: float
    result: float


def traffic(plan: Plan, *, packed: bool = False) -> Traffic:
    """What our pipeline moves for a plan that runs whole.

    Scale reads each entry; encode reads it again and writes its planes, one byte a limb (half a byte with `packed` E2M1,
    eight bytes in the FP64 alphabet); reconstruct reads one output for each group and writes FP64. A residue is 1 byte up
    to modulus 256 and 4 beyond; scheme I's groups are sums of 8 bytes.
    """
    limb = 8.0 if plan.alphabet == "fp64" else 0.5 if packed and plan.alphabet == "fp4" else 1.0
    if plan.moduli:
        outputs = plan._core.parts * len(plan.moduli) * (1 if max(plan.moduli) <= 256 else 4)
    else:
        outputs = 8 * (1 + max(term.group or 0 for term in plan.terms))
    return Traffic(8 + 8 + limb * plan.planes_a, outputs + 8)


def passes(plan: Plan, k: int) -> int:
    """Launches of the tcgen05 kernels for one product: one for each fold of the longest chain (scheme II).

    Terms of equal weight are summed without a fold, up to 2^24 in FP32 sums of limb products of 144, up to 2^31 in INT32
    sums of residue products of 255².
    """
    limit = 2**24 // 144 if plan.alphabet == "fp4" else 2**31 // 255**2
    folds = [
        sum(-(-len(list(run)) * k // limit) for _, run in groupby(terms, lambda term: term.weight))
        for _, terms in groupby(plan.terms, lambda term: (term.modulus, term.part))
    ]
    return max(folds, default=1)


# ---- Estimates -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Times:
    """Seconds that the model predicts."""

    products: float
    reconstruct: float
    preprocess: float
    launches: float = 0.0

    @property
    def compute(self) -> float:
        return self.products + self.reconstruct

    @property
    def total(self) -> float:
        return self.compute + self.preprocess + self.launches


def predict(
    products: int,
    extents: tuple[int, int, int],
    rate: float,
    bandwidth: float,
    moved: Traffic,
    launches: float = 0.0,
) -> Times:
    """The model's terms.

    Parameters
    ----------
    products : int
        Q, the plane products that run.
    extents : (int, int, int)
        m, n, k of an m × k by k × n product.
    rate : float
        R in operations a second.
    bandwidth : float
        beta in bytes a second.
    moved : Traffic
    launches : float
        Seconds that launches take.
    """
    m, n, k = extents
    return Times(
        2 * products * m * n * k / rate,
        moved.result * m * n / bandwidth,
        moved.operand * (m * k + k * n) / bandwidth,
        launches,
    )


def estimate(plan: Plan, extents: tuple[int, int, int], peaks: DevicePeaks) -> Times | None:
    """The time of a product by a plan that runs whole; None where the machine has no unit for it."""
    rate = peaks.rates.get((plan.scheme, plan.backend), 0.0)
    if rate <= 0:
        return None
    multiply = passes(plan, extents[2]) if peaks.pass_per_fold and plan.scheme == "II" else 1
    moved = traffic(plan, packed=plan.scheme in peaks.packed)
    # Scale, encode and reconstruct are a launch each.
    return predict(plan.products, extents, rate, peaks.bandwidth, moved, peaks.launch * (3 + multiply))
