"""The elements that planes of a plan can have on a GPU."""

from __future__ import annotations


def gpu_elements(scheme: str, backend: str) -> tuple[str, ...]:
    """E2M1 codes ("e2m1"), limbs ("s8") or residues ("u8") of scheme "I" or "II", best first."""
    if backend == "fp4":
        return "e2m1", "s8"
    return ("u8",) if scheme == "II" else ("s8",)
