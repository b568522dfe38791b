"""What a product costs: the one model behind ``backend="auto"``, ``ozfp4 plan`` and ``ozfp4 model``.

    t = 2 Q m n k / R  +  D / beta  +  launches

Q plane products at the rate R of the unit that multiplies them, D bytes moved at bandwidth beta by scale, encode and
reconstruct, and on a GPU what launches take. R and beta are a device's nominal figures (``ozfp4.rates``) times the fraction
of them that kernels attain; figures measured on the machine at hand, by ``ozfp4 plan --measure``, replace both. Partly
filled tiles and waves, clocks under load and cuts of K are not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any

from ..plans.plan import Plan, make_plan
from .rates import GIGA, TERA, Rates, alphabet_rate, device_rates

ATTAINED = 0.65  # of nominal peaks: what the paper's kernel reaches on its device
LAUNCH_SECONDS = 4e-6  # of one kernel where the next one starts early
GPU_BACKENDS = ("int8", "fp4")  # among equals the first one is taken
CPU_BACKENDS = ("fp64", "int8", "fp4")
# SGEMM against DGEMM: twice the rate, less what decoding planes to float32 takes; 1.8 to 2.1 measured with OpenBLAS.
CPU_RATIO = {"fp64": 1.0, "int8": 1.9, "fp4": 1.9}
CPU_THREAD_FLOPS = 40 * GIGA  # DGEMM of one thread: 16 operations a clock at 2.5 GHz
CPU_THREAD_BANDWIDTH = 10 * GIGA


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
        outputs = len(plan.moduli) * (1 if max(plan.moduli) <= 256 else 4)
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
        for _, terms in groupby(plan.terms, lambda term: term.modulus)
    ]
    return max(folds, default=1)


# ---- Devices -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """One device as the model sees it.

    Attributes
    ----------
    name : str
    rates : dict
        Operations a second by (scheme, backend), as kernels attain them; without an entry: no unit.
    bandwidth : float
        Bytes a second, as kernels attain it.
    packed : frozenset of str
        Schemes whose planes of the FP4 alphabet are E2M1 codes, two a byte.
    launch : float
        Seconds of one launch; 0 on a CPU.
    pass_per_fold : bool
        Multiply takes a launch for each fold of a chain (tcgen05).
    basis : str
        Where the figures come from.
    """

    name: str
    rates: Mapping[tuple[str, str], float]
    bandwidth: float
    packed: frozenset[str] = frozenset()
    launch: float = 0.0
    pass_per_fold: bool = False
    basis: str = "nominal"

    def backends(self, scheme: str) -> list[str]:
        """Those with a unit, those taken first among equals in front."""
        return [backend for of, backend in self.rates if of == scheme]

    def __hash__(self) -> int:
        return hash((self.name, self.basis, self.bandwidth))


def gpu_machine(rates: Rates, attained: float = ATTAINED) -> Machine:
    """A GPU by its nominal figures, with a build that holds all kernels.

    Parameters
    ----------
    rates : Rates
    attained : float
        Fraction of the nominal rate and bandwidth.
    """
    tcgen05 = rates.int8_warp > 0
    # Kernels by tcgen05 store residues only: scheme I runs on bytes at the rate of warp-level instructions.
    digits = {
        backend: rates.int8_warp if tcgen05 else alphabet_rate(rates, backend) for backend in GPU_BACKENDS
    }
    figures = {("II", backend): alphabet_rate(rates, backend) for backend in GPU_BACKENDS}
    figures |= {("I", backend): digits[backend] for backend in GPU_BACKENDS}
    codes = rates.fp4 > rates.int8
    return Machine(
        rates.name,
        {key: attained * TERA * rate for key, rate in figures.items() if rate > 0},
        attained * GIGA * rates.bandwidth,
        frozenset({"II"} if tcgen05 and codes else {"I", "II"} if codes else ()),
        LAUNCH_SECONDS,
        tcgen05,
        f"nominal figures × {attained:g}",
    )


def cpu_machine(name: str, threads: int) -> Machine:
    """A CPU by what a thread of a present-day processor does; what counts is the ratio of its units."""
    rates = {
        (scheme, backend): CPU_THREAD_FLOPS * threads * CPU_RATIO[backend]
        for scheme in ("II", "I")
        for backend in CPU_BACKENDS
    }
    return Machine(name, rates, CPU_THREAD_BANDWIDTH * threads, basis="typical figures of a thread")


def with_measured(machine: Machine, found: Mapping[str, Any] | None) -> Machine:
    """The machine with its measured figures, as :func:`remember` keeps them, in place of those known before."""
    if not found:
        return machine
    rates = dict(machine.rates)
    for key in rates:
        # Scheme I is measured by no one: it scales with the unit.
        nominal, measured = machine.rates["II", key[1]], found.get(key[1])
        if isinstance(measured, (int, float)) and measured > 0:
            rates[key] *= measured / nominal
    bandwidth = found.get("bandwidth")
    if not isinstance(bandwidth, (int, float)) or bandwidth <= 0:
        bandwidth = machine.bandwidth
    return Machine(
        machine.name, rates, float(bandwidth), machine.packed, machine.launch, machine.pass_per_fold,
        "measured on this machine",
    )  # fmt: skip


def _unknown_rates(codes: bool, tcgen05_bytes: bool, tcgen05: bool) -> Rates:
    """Ratios for a GPU that is not in the table, by the kernels that run on it: INT8 is 1, FP4 beside it 2.

    tcgen05 without an INT8 unit of its own leaves bytes to the warp-level instructions, at 1/90 of FP4 as on B300.
    """
    fp4 = 0.0 if not codes else 90.0 if tcgen05 and not tcgen05_bytes else 2.0
    return Rates("a GPU without known rates", fp4, 0, 1, 0.1, 8, 0, (), 1 if tcgen05 else 0)


def _key(index: int | None) -> dict[str, str]:
    """Under which the measured figures of a CUDA device, or of the CPU (None), are kept."""
    from ..trust import identity

    return {**(identity.cpu_identity() if index is None else identity.gpu_identity(index)), "finding": "rates"}


def _measured(index: int | None) -> dict[str, Any] | None:
    from ..support import disk_cache

    return disk_cache.load(_key(index))


@lru_cache(maxsize=64)
def this_gpu(index: int) -> Machine:
    """A CUDA device of this process, with the kernels that this build has for it."""
    from ..backends.cuda import extension
    from ..request.library import torch_module

    torch, cuda = torch_module(), extension.extension()
    assert torch is not None
    assert cuda is not None

    def kernel(element: str, residues: bool) -> str:
        number = cuda.find_kernel(element, index, residues)
        return "" if number is None else str(cuda.kernels[number])

    name = torch.cuda.get_device_name(index)
    codes, digit_codes = kernel("e2m1", True), kernel("e2m1", False)
    names = (codes, kernel("u8", True), kernel("s8", True))
    tcgen05 = any(held.startswith("tcgen05") for held in names)
    known = device_rates(name) or _unknown_rates(bool(codes), names[1].startswith("tcgen05"), tcgen05)
    machine = gpu_machine(known)
    rates = dict(machine.rates)
    scale = ATTAINED * TERA
    bytes_by_warps = scale * (known.int8_warp or known.int8)
    if not names[1].startswith("tcgen05"):
        rates["II", "int8"] = bytes_by_warps
    if not codes:
        rates["II", "fp4"] = rates["II", "int8"]
    elif known.fp4_step_64 and "K=96" not in codes:
        rates["II", "fp4"] = scale * known.fp4_step_64
    if not digit_codes:
        rates["I", "fp4"] = rates["I", "int8"] = bytes_by_warps
    packed = frozenset(scheme for scheme, held in (("II", codes), ("I", digit_codes)) if held)
    machine = Machine(
        name, rates, machine.bandwidth, packed, machine.launch, codes.startswith("tcgen05"), machine.basis
    )
    return with_measured(machine, _measured(index))


@lru_cache(maxsize=1)
def this_cpu() -> Machine:
    """The CPU of this process."""
    from .. import _core
    from ..backends import cpu

    machine = cpu_machine(cpu.name(), _core.thread_count())
    return with_measured(machine, _measured(None))


def remember(index: int | None, figures: Mapping[str, float]) -> bool:
    """Keep measured figures of a CUDA device, or of the CPU (None), for this and later processes.

    Parameters
    ----------
    index : int or None
    figures : dict
        Operations a second by backend, and "bandwidth" in bytes a second.

    Returns
    -------
    bool
        Whether they could be kept.
    """
    from ..support import disk_cache

    kept = disk_cache.store(_key(index), dict(figures))
    for cached in (this_gpu, this_cpu, cpu_choice, gpu_choice):
        cached.cache_clear()
    return kept


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


def estimate(plan: Plan, extents: tuple[int, int, int], machine: Machine) -> Times | None:
    """The time of a product by a plan that runs whole; None where the machine has no unit for it."""
    rate = machine.rates.get((plan.scheme, plan.backend), 0.0)
    if rate <= 0:
        return None
    multiply = passes(plan, extents[2]) if machine.pass_per_fold and plan.scheme == "II" else 1
    moved = traffic(plan, packed=plan.scheme in machine.packed)
    # Scale, encode and reconstruct are a launch each.
    return predict(plan.products, extents, rate, machine.bandwidth, moved, machine.launch * (3 + multiply))


ASKED_FOR = "asked for"

# ---- backend="auto" ------------------------------------------------------------------------------------------------


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


def choose(machine: Machine, scheme: str, family: str, bits: int, k: int) -> Choice:
    """Least Q / R among the backends that have a plan for inner dimension `k`.

    The products decide, not m and n: what is moved differs little and counts for small matrices alone.
    """
    if family != "least":
        return Choice(("fp4",), f"family {family!r} is made of limbs of fp4")
    backends = machine.backends(scheme)
    found: list[tuple[float, str, str]] = []
    for backend in backends:
        try:
            products = make_plan(scheme, backend, family, bits, max(k, 1)).products
        except ValueError:  # no plan of this backend is exact for k
            continue
        rate = machine.rates[scheme, backend]
        found.append((products / rate, backend, f"{backend} {products} at {rate / TERA:.4g}"))
    found.sort(key=lambda candidate: candidate[0])  # stable: among equals the first
    if not found:
        return Choice((backends[0],), "no backend has a plan")
    return Choice(
        tuple(backend for _, backend, _ in found),
        f"least products / rate: {', '.join(text for *_, text in found)} TOPS ({machine.basis})",
    )


@lru_cache(maxsize=512)
def cpu_choice(scheme: str, family: str, bits: int, k: int) -> Choice:
    """What "auto" takes on the CPU."""
    return choose(this_cpu(), scheme, family, bits, k)


@lru_cache(maxsize=512)
def gpu_choice(scheme: str, family: str, bits: int, k: int, index: int) -> Choice:
    """What "auto" takes on a CUDA device."""
    return choose(this_gpu(index), scheme, family, bits, k)
