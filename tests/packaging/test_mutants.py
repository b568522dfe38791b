"""tools/mutate.py finds places to change in every source, and its numbers are those of C++."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from mutants import cpp, python  # noqa: E402
from mutants.mutation import apply  # noqa: E402


def constants(number: str) -> set[str]:
    text = f"int f(int x) {{\n  return x + {number};\n}}\n"
    found = [each for each in cpp.candidates(text) if each.kind == "constant"]
    whole = f"x + (SWITCH ? (NEW) : ({number}));"
    for each in found:
        new = each.change.split("->")[1].split()[0]
        assert whole.replace("NEW", new) in apply(text, [(each, "SWITCH")])
    return {each.change.split("->")[1].split()[0] for each in found}


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("0666", {"439", "437"}),
        ("00", {"1"}),
        ("10u", {"11u", "9u"}),
        ("0x1F", {"32", "30"}),
        ("0b101", {"6", "4"}),
        ("50'000'000", {"50000001", "49999999"}),
        ("2.5", {"2.55", "0.0"}),
    ],
)
def test_constants_of_cpp(number: str, expected: set[str]) -> None:
    assert constants(number) == expected


@pytest.mark.slow
def test_every_source_has_candidates_or_none() -> None:
    found = 0
    for path in sorted([*(ROOT / "csrc").rglob("*.[ch]pp"), *(ROOT / "src").rglob("*.py")]):
        text = path.read_text(encoding="utf-8")
        found += sum(1 for _ in (python if path.suffix == ".py" else cpp).candidates(text))
    assert found > 10_000
