"""``ozfp4.selftest``: proof on this machine that its kernels are exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from .._backends.kernels import device_name, installed_kernels
from .._support.table import Table, Tabular
from .._trust import guard
from .._trust.verdict import Verdict


@dataclass(frozen=True, repr=False)
class SelfTest(Tabular):
    """Verdicts on all kernels of all devices; true if every kernel passed; shows itself as a table."""

    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts)

    def __bool__(self) -> bool:
        return self.passed

    def _tables(self) -> Iterator[Table]:
        yield Table(
            [
                (
                    device_name(v.kernel.device),
                    v.kernel.name,
                    v.kernel.element,
                    str(v.cases),
                    f"{1e3 * v.seconds:.1f}",
                    v.text,
                )
                for v in self.verdicts
            ],
            ("device", "kernel", "element", "cases", "ms", "verdict"),
            right=(3, 4),
        )


def selftest(*, short: bool = False, progress: Callable[[float], Any] | None = None) -> SelfTest:
    """Run every kernel of this installation on adversarial integer products whose exact results are known.

    Sums at and near the limits of the accumulators, signs that alternate along K, every pair of limbs, every place along
    K, extents around the boundaries of tiles, and whole products. What comes out must be equal to the exact integer.

    The first product on a device runs the short form for the kernel that it needs, and the verdict is kept in the user's
    cache folder (``OZFP4_CACHE_DIR``), for this device, driver and build. This function always runs, replaces what was
    kept, and so also enables a kernel again that was disabled. A kernel that fails is disabled with a RuntimeWarning that
    names it; the next kernel or backend serves in its place.

    Parameters
    ----------
    short : bool
        Only the cases that the first product runs.
    progress : callable, optional
        Called with the fraction done.

    Returns
    -------
    SelfTest
        Prints as a table. GPUs are in it if torch is imported and sees them.

    Raises
    ------
    MemoryError
        If there is no memory for the test.
    """
    chosen = installed_kernels(with_stand_ins=not short)
    verdicts = []
    for done, kernel in enumerate(chosen):
        if progress is not None:
            progress(done / len(chosen))
        verdicts.append(guard.test(kernel, short=short))
    return SelfTest(tuple(verdicts))
