"""Products of integers on a GPU: what their operands become there, and what is found in them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...plans.plan import Plan
from ...report import Report
from ...request import library
from ...request.integers import words_of
from ...request.operands import MatmulRequest
from . import launch
from .findings import Findings
from .promise import Promise
from .variant import Variant

_MOST_BITS = (
    82  # of plans whose integers are encoded in three words (kMultipliedBits of csrc/arith/scale_wide.hpp)
)


class IntegerFindings(Findings):
    """How many moduli every turn took: lines of integers have nothing else to be looked at."""

    def add(self, problem: Any, turn: int, workspace: Any) -> None:
        start = problem.describe()["units_used"]
        used = workspace[start : start + 4].view(library.require_torch().int32).item()
        self.moduli = max(self.moduli, int(used))


class IntegerProduct:
    """An enqueued product: the result, or what becomes it."""

    def __init__(self, request: MatmulRequest, c: Any, counter: Any, made: launch.Launch | None) -> None:
        self._request = request
        self._c = c
        self._counter = counter
        self._made = made

    @property
    def made(self) -> launch.Launch | None:
        """The launch where it alone made the result."""
        is_whole = self._counter is None and self._request.dtype == self._c.dtype
        return self._made if is_whole else None

    def overflows(self) -> int:
        """Entries that the result's dtype does not hold; waits for the device. Range: they were counted."""
        return 0 if self._counter is None else int(self._counter.item())

    def store(self) -> Any:
        """The result, in `out` if it was given."""
        request, c = self._request, self._c
        if (
            library.name_of(request.dtype) == "bool"
        ):  # true where the count of products of two is not 0, which 64 bits hold
            c = c != 0
        if request.out is None or c is request.out:
            return c
        request.out.copy_(c)
        return request.out

    def report(self, plan: Plan, findings: IntegerFindings, reason: str, fallback: str | None) -> Report:
        workspace, kernel = 0, "none"
        if self._made is not None:
            about = self._made.problem.describe()
            workspace = about["bytes"]
            splits = f", {about['splits']} splits" if about["splits"] > 1 else ""
            kernel = f"{about['kernel']}, tile {about['tile']}{splits}"
        used = plan.moduli[: findings.moduli]
        a, b = self._request.a, self._request.b
        device = a.device
        return Report(
            backend=plan.backend,
            kernel=kernel,
            device=f"{device} ({library.require_torch().cuda.get_device_name(device)})",
            plan=plan,
            moduli_used=findings.moduli,
            products=sum(term.modulus in used for term in plan.terms),
            bits=plan.bits,
            exponents=exponents(a, b),
            special_rows=0,
            special_columns=0,
            workspace=workspace,
            reason=reason,
            fallback=fallback,
            accuracy="exact",
            kind="integer",
            overflows=self.overflows(),
        )


def matmul(
    request: MatmulRequest,
    plan: Plan,
    variant: Variant | None,
    modulus: int,
    *,
    counts: bool,
    keeps_out: bool,
    findings: IntegerFindings | None,
) -> IntegerProduct:
    """Enqueue a product of integers: `counts` the entries that the result's dtype does not hold; `keeps_out`: until
    :meth:`IntegerProduct.store` nothing is written to `out`.

    Raises
    ------
    ValueError
        A plan that no GPU has for integers.
    MemoryError
        A workspace limit below what the smallest blocks need.
    """
    torch, shape = request.torch, request.shape
    if plan.scheme != "II":
        raise ValueError(f"scheme: {plan.scheme!r} is not for integers on a GPU; allowed is 'II'")
    if plan.bits > _MOST_BITS:
        raise ValueError(
            f"plan: its bits are {plan.bits}; integers on a GPU take plans of {_MOST_BITS} at most"
        )
    is_bool = library.name_of(request.dtype) == "bool"
    counts = counts and not is_bool and modulus == 0
    a, b = (words_of(x, has_unsigned=counts) for x in (request.a, request.b))
    c = request.out
    if c is None or keeps_out or is_bool:
        c = torch.empty(shape.result, dtype=torch.int64 if is_bool else request.dtype, device=a.device)
    view = c.unsqueeze(-1) if shape.b_vector else c
    view = view.unsqueeze(-2) if shape.a_vector else view
    counter = torch.zeros(1, dtype=torch.int64, device=a.device) if counts else None
    promise = Promise("exact", second="overflows" if counts else "none", modulus=modulus)
    own = replace(request, a=a, b=b, out=None)
    made = launch.fill(own, plan, variant, view, findings, promise, counter)
    return IntegerProduct(request, c, counter, made)


def exponents(a: Any, b: Any) -> tuple[int, int]:
    """Least and largest exponent among the largest entries of the rows of A and the columns of B; (0, 0) without any."""
    torch = library.require_torch()
    found: list[int] = []
    for operand, lines in ((a, a), (b, b.mT if b.dim() > 1 else b)):
        words = words_of(lines, has_unsigned=False)
        if words.numel() == 0:
            continue
        most, least = words.amax(-1), words.amin(-1)
        largest = torch.maximum(most, -least)  # of -2^63 the same again: bit 63, as of uint64
        if library.name_of(operand.dtype) == "uint64":
            largest = torch.where(least < 0, least, most)
        bits = sum((largest >= 2**i).to(torch.int64) for i in range(63))
        bits = torch.where((largest < 0) | (least == -(2**63)), torch.full_like(bits, 64), bits)
        if bool((bits > 0).any()):
            found += [int(bits[bits > 0].min()) - 1, int(bits.max()) - 1]
    return min(found, default=0), max(found, default=0)
