"""What a product on a GPU left in its workspace, for its report."""

from __future__ import annotations

from typing import Any

from ...plans.plan import Plan
from ...report import Report
from ...request import library


class Findings:
    """What scale left in the workspace, gathered after every turn; looking at it waits for the device."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.moduli, self.special_rows, self.special_columns = 0, 0, 0
        self._exponents: list[int] = []
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

    def _take(self, name: str, lines: int, about: dict[str, Any], workspace: Any, word: Any) -> int:
        """The number of an operand's lines with special entries; notes their exponents."""
        if lines == 0:
            return 0
        flags = workspace[about[f"special_{name}"] :][:lines]
        shifts = workspace[about[f"shift_{name}"] :][: 4 * lines].view(word)
        others = shifts[shifts != 0]
        top = self._plan.bits - 1
        if len(others) > 0:
            self._exponents += [top - int(others.max()), top - int(others.min())]
        if len(others) < lines:
            self._unshifted.add(name)
        return int((flags != 0).sum().item())

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


def make_report(
    plan: Plan, a: Any, b: Any, problem: Any | None, findings: Findings, reason: str, fallback: str | None
) -> Report:
    """What the launches of a product did; `problem` is None where there was nothing to launch."""
    torch = library.require_torch()
    workspace, kernel = 0, "none"
    if problem is not None:
        about = problem.describe()
        workspace = about["bytes"]
        splits = f", {about['splits']} splits" if about["splits"] > 1 else ""
        kernel = f"{about['kernel']}, tile {about['tile']}{splits}"
    used = plan.moduli[: findings.moduli] if plan.moduli else ()
    products = sum(term.modulus in used for term in plan.terms) if plan.moduli else plan.products
    return Report(
        backend=plan.backend,
        kernel=kernel,
        device=f"{a.device} ({torch.cuda.get_device_name(a.device)})",
        plan=plan,
        moduli_used=findings.moduli,
        products=products,
        bits=plan.bits,
        exponents=findings.exponents(a, b),
        special_rows=findings.special_rows,
        special_columns=findings.special_columns,
        workspace=workspace,
        reason=reason,
        fallback=fallback,
    )
