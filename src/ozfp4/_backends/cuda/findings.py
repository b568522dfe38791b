"""The report of a product on a GPU, from what its core found."""

from __future__ import annotations

from typing import Any

from ..._plans.plan import Plan
from ..._report import Certified, Report
from ..._request import library
from ..._request.integers import words_of
from ..._request.operands import MatmulRequest
from ..kernels import device_name


def make_report(request: MatmulRequest, plan: Plan, outcome: dict[str, Any], c: Any, beside: Any) -> Report:
    """The report of a product from the core's findings; `c` is the result, `beside` the bounds or the product
    rounded up, or None."""
    asked = request.asked
    complex_ones = [library.is_complex(x.dtype) for x in (request.a, request.b)]
    names = ["complex" if kind else "real" for kind in complex_ones]
    is_paired = all(complex_ones)
    # Columns of a complex B are two of the same numbers beside a complex A.
    special_columns = outcome["special_columns"] // (2 if is_paired else 1)
    exponents = _exponents(request, plan, outcome)
    capacities = outcome["capacities"]
    if capacities == (0, 0) and exponents != (0, 0):
        capacities = plan.bits, plan.bits
    certified = None
    if asked.accuracy != "scaled":
        entries = (
            c.numel() * (2 if any(complex_ones) else 1) * (1 if beside is None or asked.return_bound else 2)
        )
        repaired, exactly = outcome["repaired"], outcome["repaired_exactly"]
        chains = repaired + exactly if asked.accuracy == "standard" else 0
        if chains:
            repaired = exactly = 0
        certified = Certified(None, None, None, None, chains, repaired, exactly, entries)
    return Report(
        backend=plan.backend,
        kernel=outcome["kernel"],
        device=device_name(str(request.a.device)),
        plan=plan,
        moduli_used=outcome["moduli_used"],
        products=products_made(plan, outcome["moduli_used"])
        * (1 if plan.is_complex or not any(complex_ones) else 4 if is_paired else 2),
        bits=plan.bits,
        exponents=exponents,
        special_rows=outcome["special_rows"],
        special_columns=special_columns,
        workspace=outcome["workspace"],
        reason=outcome["reason"],
        fallback=outcome["fallback"],
        accuracy=asked.accuracy,
        kind=names[0] if names[0] == names[1] else " by ".join(names),
        capacities=capacities,
        certified=certified,
        largest_bound=_largest_bound(request, beside) if asked.return_bound else None,
    )


def make_integer_report(
    request: MatmulRequest,
    plan: Plan,
    reason: str,
    fallback: str | None,
    outcome: dict[str, Any],
    overflows: int,
) -> Report:
    """The same of integers; `overflows`: entries that the result's dtype does not hold."""
    return Report(
        backend=plan.backend,
        kernel=outcome["kernel"],
        device=device_name(str(request.a.device)),
        plan=plan,
        moduli_used=outcome["moduli_used"],
        products=products_made(plan, outcome["moduli_used"]),
        bits=plan.bits,
        exponents=integer_exponents(request.a, request.b),
        special_rows=0,
        special_columns=0,
        workspace=outcome["workspace"],
        reason=reason,
        fallback=fallback,
        accuracy="exact",
        kind="integer",
        overflows=overflows,
    )


def products_made(plan: Plan, moduli_used: int) -> int:
    """Plane products of as many moduli: of a plan that was lengthened, which is one of INT8, one each."""
    if not plan.moduli:
        return plan.products
    if moduli_used > len(plan.moduli):
        return moduli_used
    used = plan.moduli[:moduli_used]
    return sum(term.modulus in used for term in plan.terms)


def _exponents(request: MatmulRequest, plan: Plan, outcome: dict[str, Any]) -> tuple[int, int]:
    """Least and largest exponent of the lines of the operands; those with nothing finite but zeros have none.

    The shift of these is 0, and so is that of lines whose largest entry has the exponent bits - 1: the operand says whether there
    are such.
    """
    torch, top = library.require_torch(), plan.bits - 1
    found = list(outcome["exponents"]) if outcome["has_exponents"] else []
    for has_unshifted, x, axis in zip(
        outcome["unshifted"], (request.a, request.b), (-1, -2 if request.b.dim() > 1 else -1), strict=True
    ):
        if not has_unshifted or x.numel() == 0:
            continue
        parts = torch.view_as_real(x.resolve_conj()).abs().amax(-1) if x.is_complex() else x.abs()
        largest = torch.where(torch.isfinite(parts), parts, 0).amax(axis)
        if bool(((largest >= 2.0**top) & (largest < 2.0 ** (top + 1))).any()):
            found.append(top)
    return min(found, default=0), max(found, default=0)


def _largest_bound(request: MatmulRequest, bound: Any) -> float:
    """The largest bound of a product's entries, without those whose row or column holds a NaN or an infinity; 0 without any."""
    torch, a, b = library.require_torch(), request.a, request.b
    rows, columns = torch.isfinite(a).all(-1), torch.isfinite(b).all(-2 if b.dim() > 1 else -1)
    if a.dim() > 1 and b.dim() > 1:
        rows, columns = rows.unsqueeze(-1), columns.unsqueeze(-2)
    bounds = torch.view_as_real(bound).amax(-1) if bound.is_complex() else bound
    found = bounds[(rows & columns).expand(bounds.shape)]
    return float(found.max().item()) if found.numel() > 0 else 0.0


def integer_exponents(a: Any, b: Any) -> tuple[int, int]:
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
