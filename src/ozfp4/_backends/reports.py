"""Reports of products, made of what the cores found."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from .._plans.plan import Plan
from .._report import DIRECT, Certified, Report
from .._request import library
from .._request.integers import words_of
from .._request.operands import MatmulRequest
from .kernels import device_name

SMALL = "so small a product takes less time without planes"
_NAMES = {field.name for field in fields(Report)} - {"plan", "certified", "largest_bound"}


def make_report(
    request: MatmulRequest, plan: Plan, outcome: dict[str, Any], c: Any = None, beside: Any = None
) -> Report:
    """The report of a product of floating-point numbers. On a GPU `c` is the result, `beside` the bounds or the product rounded
    up, or None."""
    kinds = ["complex" if library.is_complex(x.dtype) else "real" for x in (request.a, request.b)]
    about = {
        **_named(outcome),
        "plan": plan,
        "device": _device(request),
        "bits": plan.bits,
        "backend": plan.backend,
        "accuracy": request.asked.accuracy,
        "kind": kinds[0] if kinds[0] == kinds[1] else " by ".join(kinds),
    }
    if library.is_tensor(request.a):
        return Report(**about | _on_cuda(request, plan, outcome, kinds, c, beside))
    about["kernel"], is_direct = _ways(outcome)
    if is_direct:
        about |= {"backend": DIRECT, "reason": SMALL}
    if "certified" in outcome:
        about["certified"] = Certified(**outcome["certified"])
    return Report(**about, largest_bound=outcome["largest_bound"] if request.asked.return_bound else None)


def make_integer_report(
    request: MatmulRequest, plan: Plan | None, outcome: dict[str, Any], overflows: int | None = None
) -> Report:
    """The same for integers. Without a plan all was multiplied in words, with one some of it may have been. `overflows`:
    entries that the result's dtype does not hold, where the outcome does not say."""
    bits = outcome.get("word_bits", 0)
    about = {
        "products": 0,
        "special_rows": 0,
        "special_columns": 0,
        "overflows": overflows,
        **_named(outcome),
    }
    if library.is_tensor(request.a):
        about["exponents"] = _integer_exponents(request.a, request.b)
    else:
        about["kernel"] = _integer_kernels(plan, outcome)
    about |= {
        "plan": plan,
        "device": _device(request),
        "bits": bits if plan is None else plan.bits,
        "backend": DIRECT if plan is None else plan.backend,
        "accuracy": "exact",
        "capacities": (0, 0),
        "kind": "integer",
    }
    return Report(**about)


def what_ran(plan: Plan | None, outcome: dict[str, Any]) -> tuple[str, str]:
    """The method that multiplied on the CPU, for a log, and why it was chosen. `plan`: None for integers in words."""
    products, reason = f"{outcome['products']} products", outcome["reason"]
    if "word_bits" in outcome:  # of integers
        kernel, is_direct = _integer_kernels(plan, outcome), plan is None
    else:
        kernel, is_direct = _ways(outcome)
        reason = SMALL if is_direct else reason
    if plan is None:
        return kernel, reason
    if is_direct:
        return f"{DIRECT} ({kernel}), {products}", reason
    return f"scheme {plan.scheme} {plan.backend} ({kernel}), {products} of {plan.bits} bits", reason


def _named(outcome: dict[str, Any]) -> dict[str, Any]:
    """The findings of a core, by the names of a report."""
    return {name: found for name, found in outcome.items() if name in _NAMES}


def _device(request: MatmulRequest) -> str:
    return device_name(str(request.a.device) if library.is_tensor(request.a) else "cpu")


def _ways(outcome: dict[str, Any]) -> tuple[str, bool]:
    """The names of what multiplied, first those that the report describes; and whether it was without planes."""
    counts = [outcome[name] for name in ("by_planes", "by_limbs", "in_words")]
    planes, limbs, words = counts
    most = ["up to " if count > 1 else "" for count in (limbs, words)]
    names = [
        outcome["kernel"],
        f"{most[0]}{outcome['limbs']} limbs of eight bits on {outcome['limb_unit']}",
        f"words of 64 bits, FP64 and {most[1]}{outcome['word_moduli']} residues",
    ]
    taken = [(name, count) for name, count in zip(names, counts, strict=True) if count] or [(names[0], 0)]
    others = (f"{count} of {sum(counts)} matrices by {name}" for name, count in taken[1:])
    return "; ".join((taken[0][0], *others)), planes == 0 < limbs + words


def _integer_kernels(plan: Plan | None, outcome: dict[str, Any]) -> str:
    """The names of what multiplied integers on the CPU."""
    kernels, bits = [] if plan is None else [outcome["kernel"]], outcome["word_bits"]
    return "; ".join([*kernels, f"words of {bits} bits"] if bits else kernels)


def _on_cuda(
    request: MatmulRequest, plan: Plan, outcome: dict[str, Any], kinds: list[str], c: Any, beside: Any
) -> dict[str, Any]:
    asked = request.asked
    about: dict[str, Any] = {"exponents": _exponents(request, plan, outcome)}
    if outcome["capacities"] == (0, 0) and about["exponents"] != (0, 0):
        about["capacities"] = plan.bits, plan.bits
    if kinds == ["complex", "complex"]:  # next to a complex A, columns of B are two of the same numbers
        about["special_columns"] = outcome["special_columns"] // 2
    if asked.accuracy != "scaled":
        results = 1 if beside is None or asked.return_bound else 2
        made = outcome.get("entries", c.numel()) if request.shape.k else 0  # empty sums have none
        entries = made * (2 if "complex" in kinds else 1) * results
        repaired, exactly, chains = outcome["repaired"], outcome["repaired_exactly"], 0
        if asked.accuracy == "standard":
            repaired, exactly, chains = 0, 0, repaired + exactly
        about["certified"] = Certified(None, None, None, None, chains, repaired, exactly, entries)
    if asked.return_bound:
        about["largest_bound"] = _largest_bound(request, beside)
    return about


def _exponents(request: MatmulRequest, plan: Plan, outcome: dict[str, Any]) -> tuple[int, int]:
    """Least and largest exponent of the lines of the operands; those with nothing finite but zeros have none.

    The shift of these is 0, and so is that of lines with a largest entry of the exponent bits - 1: the operand has this fact.
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
    """The largest bound of a product's entries, without those that have a NaN or an infinity in their row or column; 0
    without any."""
    torch, a, b = library.require_torch(), request.a, request.b
    rows, columns = torch.isfinite(a).all(-1), torch.isfinite(b).all(-2 if b.dim() > 1 else -1)
    if a.dim() > 1 and b.dim() > 1:
        rows, columns = rows.unsqueeze(-1), columns.unsqueeze(-2)
    bounds = torch.view_as_real(bound).amax(-1) if bound.is_complex() else bound
    found = bounds[(rows & columns).expand(bounds.shape)]
    return float(found.max().item()) if found.numel() > 0 else 0.0


def _integer_exponents(a: Any, b: Any) -> tuple[int, int]:
    """Least and largest exponent among the largest entries of the rows of A and the columns of B; (0, 0) without any."""
    lengths: list[int] = []
    for operand, lines in ((a, a), (b, b.mT if b.dim() > 1 else b)):
        words = words_of(lines)
        if words.numel() == 0:
            continue
        is_unsigned = library.name_of(operand.dtype) == "uint64"
        for least, most in zip(
            *(x.flatten().tolist() for x in (words.amin(-1), words.amax(-1))), strict=True
        ):
            largest = max(most, -least) if least >= 0 or not is_unsigned else 2**63
            lengths += [largest.bit_length()] if largest else []
    return min(lengths, default=1) - 1, max(lengths, default=1) - 1
