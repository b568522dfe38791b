"""The paper's runtime model (section VI-C): t = 2 Q N³ / R + D / beta.

Q plane products at rate R, and D bytes moved at bandwidth beta: by scale and encode, the preprocessing, and by
reconstruct. The *compute stage* is the first term and reconstruct.
"""

from __future__ import annotations

from dataclasses import dataclass

from ozfp4._plans.plan import Plan, make_plan

from .device_rates import GIGA, TERA, Rates, alphabet_rate
from .experiment import Row


@dataclass(frozen=True)
class Traffic:
    """Bytes moved: by preprocessing for each entry of A and of B, by reconstruct for each entry of C."""

    operand: float
    result: float


def traffic(plan: Plan, *, packed: bool = False) -> Traffic:
    """The bytes that our pipeline moves for a plan that runs whole.

    Scale reads each entry. Encode reads it again and writes its planes: one byte a limb, half a byte with `packed` E2M1,
    eight bytes in the FP64 alphabet, two of TI16. Reconstruct reads one output for each group and writes FP64. A residue is
    1 byte up to modulus 256, 2 of TI16 and 4 beyond; scheme I's groups are sums of 8 bytes.
    """
    limb = {"fp64": 8.0, "ti16": 2.0, "fp4": 0.5 if packed else 1.0}.get(plan.alphabet, 1.0)
    if plan.moduli:
        residue = 1 if max(plan.moduli) <= 256 else 2 if plan.alphabet == "ti16" else 4
        outputs = plan._core.parts * len(plan.moduli) * residue
    else:
        outputs = 8 * (1 + max(term.group or 0 for term in plan.terms))
    return Traffic(8 + 8 + limb * plan.planes_a, outputs + 8)


@dataclass(frozen=True)
class Times:
    """Seconds that the model predicts."""

    products: float
    reconstruct: float
    preprocess: float

    @property
    def compute(self) -> float:
        return self.products + self.reconstruct

    @property
    def total(self) -> float:
        return self.compute + self.preprocess


def predict(products: int, n: int, rate: float, bandwidth: float, moved: Traffic) -> Times:
    """The model for an n × n × n product: Q `products` at so many operations, and bytes, a second."""
    return Times(
        2 * products * n**3 / rate, moved.result * n * n / bandwidth, moved.operand * 2 * n * n / bandwidth
    )


def deviation(measured: float, predicted: float) -> float:
    """By how many percent the measurement exceeds the prediction."""
    return 100 * (measured / predicted - 1)


# ---- The paper's own table, from its constants ---------------------------------------------------------------

PAPER_RATE = 1408 * TERA  # "single-kernel measurement of our Triton kernel"
PAPER_BANDWIDTH = 1490 * GIGA  # "copy benchmark"
PAPER_PEAK = {"fp4": 2000 * TERA, "fp8": 1000 * TERA}
PAPER_PRODUCTS = {"OzI-FP4": 225, "OzII-FP4": 75, "GEMMul8-FP8": 39}
# Table of TFLOPS: N: (compute stage, total).
PAPER_TFLOPS = {
    "OzI-FP4": {4096: (5.60, 4.96), 8192: (5.41, 5.09), 16384: (5.58, 5.41)},
    "OzII-FP4": {4096: (16.28, 10.81), 8192: (17.11, 13.52), 16384: (17.31, 15.26)},
    "GEMMul8-FP8": {4096: (13.68, 11.64), 8192: (15.41, 13.88), 16384: (15.68, 14.65)},
    "GEMMul8-INT8": {4096: (32.41, 25.45), 8192: (39.78, 33.49), 16384: (40.94, 36.39)},
    "cuBLAS DGEMM": {4096: (1.85, 1.85), 8192: (1.85, 1.85), 16384: (1.85, 1.85)},
}
# The paper does not print D. These bytes of its description reproduce its percentages. Per entry: the row maximum (8 read), the
# integers (8 read, 8 written), the planes (8 read, 38 half bytes written). Per result: INT32 residues of 19 moduli and FP64.
PAPER_TRAFFIC = Traffic(8 + 16 + 8 + 38 / 2, 19 * 4 + 8)
# Values of the paper: compute stage over the model in percent, preprocessing over its bandwidth bound, the advantage by products
# and nominal rates. Then the fractions of nominal peak attained (least, most).
PAPER_DEVIATIONS = {4096: 2, 8192: 3, 16384: 5}
PAPER_PREPROCESS_FACTOR = 3.7
PAPER_ADVANTAGE = 1.04
PAPER_ATTAINED = {"OzII-FP4": (61, 65), "GEMMul8-FP8": (53, 61)}


def paper_rows() -> list[Row]:
    """The paper's comparison of model and measurement for OzII-FP4, recomputed: percent is measured over model, next to the
    paper's value; the preprocess factor is measured over D / beta."""
    rows = []
    for n, (compute, total) in PAPER_TFLOPS["OzII-FP4"].items():
        times = predict(PAPER_PRODUCTS["OzII-FP4"], n, PAPER_RATE, PAPER_BANDWIDTH, PAPER_TRAFFIC)
        measured, whole = (2 * n**3 / (rate * TERA) for rate in (compute, total))
        rows.append(
            {
                "N": n,
                "products ms": round(1e3 * times.products, 3),
                "reconstruct ms": round(1e3 * times.reconstruct, 3),
                "compute ms": round(1e3 * measured, 3),
                "percent": round(deviation(measured, times.compute), 2),
                "paper percent": PAPER_DEVIATIONS[n],
                "preprocess ms": round(1e3 * times.preprocess, 3),
                "preprocess measured ms": round(1e3 * (whole - measured), 3),
                "preprocess factor": round((whole - measured) / times.preprocess, 2),
            }
        )
    return rows


def paper_attained(method: str, n: int) -> float:
    """Percent of the nominal peak that a method of the paper attains in its compute stage, by the products required."""
    peak = PAPER_PEAK["fp4" if method.endswith("FP4") else "fp8"]
    return 100 * PAPER_PRODUCTS[method] * PAPER_TFLOPS[method][n][0] * TERA / peak


# ---- Projections --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contender:
    """A method of the projections and of the map: Q products of planes of one alphabet."""

    name: str
    alphabet: str
    products: int
    moved: Traffic


def contenders(n: int) -> list[Contender]:
    """Our plans for an n × n × n product of 53 bits in the worst case, FP8, published and by our search, and native FP64."""
    found = []
    for label, scheme, alphabet, family in (
        ("FP4 least", "II", "fp4", "least"),
        ("FP4 paper + Karatsuba", "II", "fp4", "paper-karatsuba"),
        ("FP4 paper", "II", "fp4", "paper"),
        ("FP4 scheme I", "I", "fp4", "least"),
        ("INT8", "II", "int8", "least"),
    ):
        plan = make_plan(scheme, alphabet, family, 53, n)
        found.append(Contender(label, alphabet, plan.products, traffic(plan, packed=True)))
    # GEMMul8 3.5: 12 moduli of up to 11 bits in 31 products, 39 of 13 before; a plane of one byte each, residues of two.
    found.append(Contender("FP8 published", "fp8", 31, Traffic(16 + 31, 12 * 2 + 8)))
    # tools/find_least_plans.py --fp8, for 121 bits, K up to 16384: 15 moduli below 50, and five below 1284 by three planes.
    found.append(Contender("FP8 least", "fp8", 30, Traffic(16 + 30, 15 + 5 * 2 + 8)))
    found.append(Contender("native FP64", "native", 1, Traffic(0, 0)))
    return found


# cuBLAS's FP64 products on Rubin, 10^12 operations a second, which its TI16 unit makes: as stated, nothing of it was measured.
RUBIN_DGEMM = 212


def ti16_rows() -> list[Row]:
    """Plans over TI16 by K, at 53 bits in the worst case for the data. The last column is the rate of its unit that would equal
    cuBLAS's rate on Rubin, by products alone."""
    rows = []
    for k in (4096, 16384, 2**20):
        plan = make_plan("II", "ti16", "least", 53, k)
        moved = traffic(plan)
        rows.append(
            {
                "K": k,
                "products": plan.products,
                "up to K": plan.k_max,
                "bytes an entry of A, of C": f"{moved.operand:.0f}, {moved.result:.0f}",
                "TOPS for cuBLAS's DGEMM": plan.products * RUBIN_DGEMM,
            }
        )
    return rows


def projection(contender: Contender, rates: Rates, n: int, attained: float) -> float:
    """Modelled TFLOPS = 2 n³ / t of the whole product at `attained` of the nominal peaks; 0 where the unit is missing."""
    rate = alphabet_rate(rates, contender.alphabet)
    if rate == 0:
        return 0.0
    times = predict(
        contender.products, n, attained * TERA * rate, attained * GIGA * rates.bandwidth, contender.moved
    )
    return 2 * n**3 / times.total / TERA


def break_even(contender: Contender, other: Contender) -> float:
    """How many times faster the first one's unit must be for both to take the same time on products."""
    return contender.products / other.products


def winner(rates: dict[str, float], field: list[Contender]) -> Contender:
    """Who needs the least time for the products, least Q / R; R by alphabet in any common unit, 0 for a missing one."""
    return max(field, key=lambda c: rates[c.alphabet] / c.products)
