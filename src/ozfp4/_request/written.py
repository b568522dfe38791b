"""What torch is told of memory that is written beside its back."""

from __future__ import annotations

from typing import Any

from . import library


def mark_written(*outs: Any) -> None:
    """Count what was passed as `out` as modified: autograd and prepared operands ask for the version. Range: tensors, arrays or
    None."""
    for out in outs:
        if library.is_tensor(out):  # those of inference mode have no version, and torch knows
            library.require_torch().autograd.graph.increment_version(out)
