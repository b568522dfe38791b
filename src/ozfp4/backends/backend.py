"""One way to run a plan on one device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Backend:
    """One (device, backend) pair: whether it can run, with which kernel, or why not."""

    device: str
    name: str
    available: bool
    detail: str
