"""What the self-test found about one kernel, and all that is needed to see a failure again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._backends.kernels import DeviceKernel


@dataclass(frozen=True)
class Failure:
    """The first wrong case of a self-test.

    Attributes
    ----------
    case : str
        Its name; its operands are the same on any machine (csrc/product/trust).
    extents : tuple of int
        m, n, k.
    text : str
        What was wrong, in a sentence.
    plan : str or None
        Of a whole product: scheme, backend, family, bits; None for a product of planes alone.
    modulus : int or None
        Of the residues that were wrong; None for sums and whole products.
    entry : (int, int) or None
        The first wrong entry; None where the kernel did not come to an end.
    found, expected : str
        That entry as it was and as it is exactly; "" without an entry.
    """

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

    Attributes
    ----------
    kernel : DeviceKernel
    passed : bool
    form : {"short", "long"}
    cases : int
        How many were tried; the last one is that which failed.
    seconds : float
    reason : str or None
        The case and the first wrong entry, or what the device said; None if all was right.
    failure : Failure or None
        The data that repeat the failure; None if all was right.
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
