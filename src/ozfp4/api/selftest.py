"""``ozfp4.selftest``: proof on this machine that its kernels are exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..backends.cuda.extension import extension, why_unavailable
from ..request.library import torch_module
from ..support.text_table import columns
from ..trust import guard, plane_products
from ..trust.guard import Verdict
from ..trust.plane_products import Pair


@dataclass(frozen=True)
class SelfTest:
    """Verdicts on all (device, kernel) pairs; true if every kernel passed; prints as a table."""

    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts)

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        rows = [
            (
                plane_products.device_name(v.pair.device),
                v.pair.kernel,
                v.pair.element,
                str(v.cases),
                f"{1e3 * v.seconds:.1f}",
                v.text,
            )
            for v in self.verdicts
        ]
        return "\n".join(
            columns([("device", "kernel", "element", "cases", "ms", "verdict"), *rows], right=(3, 4))
        )


def pairs(*, stand_ins: bool = False) -> list[Pair]:
    """The (device, kernel) pairs of this installation; those of GPUs if torch is imported and sees them.

    `stand_ins`: also the kernels that serve no product, only tests.
    """
    found = plane_products.cpu_pairs()
    torch = torch_module()
    if torch is None or extension() is None or not torch.cuda.is_available():
        return found
    for index in range(torch.cuda.device_count()):
        if why_unavailable(torch.device("cuda", index)) is None:
            found += plane_products.gpu_pairs(("u8", "s8", "e2m1"), index)
            found += plane_products.stand_ins(index) if stand_ins else []
    return found


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
    MemoryError, torch.cuda.OutOfMemoryError
        If there is no memory for the test.
    """
    chosen = pairs(stand_ins=not short)
    verdicts = []
    for done, pair in enumerate(chosen):
        if progress is not None:
            progress(done / len(chosen))
        verdicts.append(guard.test(pair, short=short))
    return SelfTest(tuple(verdicts))
