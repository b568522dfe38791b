"""What a product on a GPU left in its workspace, for its report."""

from __future__ import annotations

from typing import Any

from ...plans.plan import Plan
from ...report import Certified, Report
from ...request import library
from .kept import Kept

_RECORD_BYTES = 32  # of a line: depth, nonzeros, rounded entries in 64 bits, capacity and exponent in 32


class Findings:
    """What scale left in the workspace, gathered after every turn; looking at it waits for the device."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.moduli, self.special_rows, self.special_columns = 0, 0, 0
        self.repaired, self.repaired_exactly = 0, 0
        self._exponents: list[int] = []
        self._capacities: list[int] = []
        self._unshifted: set[str] = set()  # operands with lines whose shift is 0

    def add(self, problem: Any, turn: int, workspace: Any) -> None:
        torch = library.require_torch()
        about = problem.describe()
        if self._plan.moduli:
            start = about["units_used"]
            self.moduli = max(self.moduli, int(workspace[start : start + 4].view(torch.int32).item()))
        rows, columns = problem.new_lines(turn)
        self.special_rows += self._take("a", rows, about, workspace, torch.int32)
        self.special_columns += self._take("b", columns, about, workspace, torch.int32)
        if "counts" in about:
            listed, exact, disjoint = workspace[about["counts"] :][:24].view(torch.int64).tolist()
            self.repaired += listed - exact - disjoint
            self.repaired_exactly += exact

    def add_kept(self, name: str, kept: Kept) -> None:
        """The lines that a product takes of an operand that was scaled before."""
        torch = library.require_torch()
        matrices, lines = kept.about["matrices"], kept.about["lines"]
        part = slice(kept.first, kept.first + kept.count)
        flags = kept.memory[kept.about["special"] :][: matrices * lines].view(matrices, lines)[:, part]
        records = kept.memory[kept.about["record"] :][: _RECORD_BYTES * matrices * lines].view(torch.int32)
        self._take_records(records.view(matrices, lines, -1)[:, part].reshape(-1))
        special = int((flags != 0).sum().item())
        if name == "a":
            self.special_rows += special
        else:
            self.special_columns += special

    def _take(self, name: str, lines: int, about: dict[str, Any], workspace: Any, word: Any) -> int:
        """The number of an operand's lines with special entries; notes their exponents."""
        if lines == 0:
            return 0
        flags = workspace[about[f"special_{name}"] :][:lines]
        if f"record_{name}" in about:
            self._take_records(workspace[about[f"record_{name}"] :][: _RECORD_BYTES * lines].view(word))
            return int((flags != 0).sum().item())
        shifts = workspace[about[f"shift_{name}"] :][: 4 * lines].view(word)
        others = shifts[shifts != 0]
        top = self._plan.bits - 1
        if len(others) > 0:
            self._exponents += [top - int(others.max()), top - int(others.min())]
        if len(others) < lines:
            self._unshifted.add(name)
        return int((flags != 0).sum().item())

    def _take_records(self, words: Any) -> None:
        """Notes the exponents and the capacities of lines (struct LineRecord of csrc/arith/accuracy/certificate.hpp)."""
        records = words.view(-1, _RECORD_BYTES // 4)
        others = records[(records[:, 2] != 0) | (records[:, 3] != 0)]  # with a finite nonzero entry
        if len(others) > 0:
            self._capacities += [int(others[:, 6].min()), int(others[:, 6].max())]
            self._exponents += [int(others[:, 7].min()), int(others[:, 7].max())]

    def capacities(self, exponents: tuple[int, int]) -> tuple[int, int]:
        """Least and largest capacity of the lines of the operands, whose exponents are given; (0, 0) where none has one."""
        if self._capacities:
            return min(self._capacities), max(self._capacities)
        return (self._plan.bits, self._plan.bits) if exponents != (0, 0) else (0, 0)

    def exponents(self, a: Any, b: Any) -> tuple[int, int]:
        """Least and largest exponent of the lines of the operands; those with nothing finite but zeros have none.

        Their shift is 0, and so is that of lines whose largest entry has the exponent bits - 1: the operand says whether there
        are such.
        """
        torch = library.require_torch()
        found = list(self._exponents)
        top = self._plan.bits - 1
        for name, lines in (("a", a), ("b", b.mT if b.dim() > 1 else b)):
            if name in self._unshifted:
                largest = torch.where(torch.isfinite(lines), lines, 0).abs().amax(-1)
                if bool(((largest >= 2.0**top) & (largest < 2.0 ** (top + 1))).any()):
                    found.append(top)
        return min(found, default=0), max(found, default=0)


def largest_bound(a: Any, b: Any, bound: Any) -> float:
    """Of the bounds of a product's entries, those left out whose row or column holds a NaN or an infinity; 0 without any."""
    torch = library.require_torch()
    rows, columns = torch.isfinite(a).all(-1), torch.isfinite(b).all(-2 if b.dim() > 1 else -1)
    if a.dim() > 1 and b.dim() > 1:
        rows, columns = rows.unsqueeze(-1), columns.unsqueeze(-2)
    found = bound[(rows & columns).expand(bound.shape)]
    return float(found.max().item()) if found.numel() > 0 else 0.0


def make_report(
    plan: Plan,
    a: Any,
    b: Any,
    problem: Any | None,
    findings: Findings,
    reason: str,
    fallback: str | None,
    accuracy: str = "scaled",
    entries: int = 0,
    bound: Any = None,
) -> Report:
    """What the launches of a product did; `problem` is None where there was nothing to launch, `entries` how many were
    computed, `bound` what was returned."""
    torch = library.require_torch()
    workspace, kernel = 0, "none"
    if problem is not None:
        about = problem.describe()
        workspace = about["bytes"]
        splits = f", {about['splits']} splits" if about["splits"] > 1 else ""
        kernel = f"{about['kernel']}, tile {about['tile']}{splits}"
    used = plan.moduli[: findings.moduli] if plan.moduli else ()
    products = sum(term.modulus in used for term in plan.terms) if plan.moduli else plan.products
    if plan.moduli and findings.moduli > len(plan.moduli):  # a longer plan of INT8: a product each
        products = findings.moduli
    exponents = findings.exponents(a, b)
    certified = None
    if accuracy != "scaled":
        listed = (findings.repaired, findings.repaired_exactly)
        counts = (sum(listed), 0, 0) if accuracy == "standard" else (0, *listed)
        certified = Certified(None, None, None, None, *counts, entries)
    return Report(
        backend=plan.backend,
        kernel=kernel,
        device=f"{a.device} ({torch.cuda.get_device_name(a.device)})",
        plan=plan,
        moduli_used=findings.moduli,
        products=products,
        bits=plan.bits,
        exponents=exponents,
        special_rows=findings.special_rows,
        special_columns=findings.special_columns,
        workspace=workspace,
        reason=reason,
        fallback=fallback,
        accuracy=accuracy,
        capacities=findings.capacities(exponents),
        certified=certified,
        largest_bound=None if bound is None else largest_bound(a, b, bound),
    )
