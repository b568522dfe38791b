"""What the self-test found about one kernel, and all that is needed to see a failure again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._backends.kernels import DeviceKernel


@dataclass(frozen=True)
class Failure:
    """The first wrong case of a self-test, all that repeats it: the case's name, whose operands are the same on any machine, and
    m, n, k; what was wrong, in a sentence; of a whole product its plan, of residues their modulus; the first wrong entry, where
    the kernel came to an end, as it was found and as it is exactly."""

    case: str
    extents: tuple[int, ...]
    text: str
    plan: str | None = None
    modulus: int | None = None
    entry: tuple[int, int] | None = None
    found: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Verdict:
    """What the self-test found about one kernel on one device.

    `form` is "short" or "long"; of `cases` that were tried the last one failed. `reason` is the case and the first wrong entry,
    or what the device said, and `failure` the data that repeat it; both None if all was right.
    """

    kernel: DeviceKernel
    passed: bool
    form: str
    cases: int
    seconds: float
    reason: str | None = None
    failure: Failure | None = field(default=None, compare=False)

    @property
    def text(self) -> str:
        """In a few words."""
        return f"passed, {self.form} form" if self.passed else f"FAILED: {self.reason}"


def of_core(kernel: DeviceKernel, found: Mapping[str, Any]) -> Verdict:
    """The verdict that the core states by its fields."""
    failure = None if found["failure"] is None else Failure(**found["failure"])
    return Verdict(kernel, **{**found, "failure": failure})
