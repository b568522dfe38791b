"""Small products on the CPU: ozfp4.matmul on NumPy matrices beside np.matmul, as fast as either is chosen and in parts.

    python benchmarks/cpu_small.py [--threads N] [--sizes 8,16,...] [--dtype float64|float32] [--skinny] [--ways] [--parts]

Each row is a size; times are the lower deciles of repeated calls, in microseconds, and behind each its ratio to
np.matmul. --ways compares products in words, by limbs and by planes, which is what `ways_that_pay` in
csrc/cpu/words/product.cpp rests on; --parts says where the time of a call goes: Python and the binding, and the core's
stages, with the median and what ran.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence

SIZES = (8, 16, 32, 64, 96, 128, 192, 256, 384, 512)
MODES = ("scaled", "standard", "correct")
SKINNY = (
    (64, 64, 8),
    (256, 256, 8),
    (1024, 256, 8),
    (8, 256, 256),
    (8, 256, 1024),
    (1, 256, 256),
    (256, 256, 1),
    (1, 4096, 1),
)


def times_of(call: Callable[[], object], seconds: float = 0.2) -> list[float]:
    """Microseconds of repeated calls, the least first."""
    call()
    start = time.perf_counter()
    call()
    count = max(5, min(2000, int(seconds / (time.perf_counter() - start))))
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append((time.perf_counter() - start) * 1e6)
    return sorted(times)


def microseconds(call: Callable[[], object]) -> float:
    times = times_of(call)
    return times[len(times) // 10]


def spread_of(call: Callable[[], object]) -> tuple[float, float]:
    """The least and the median."""
    times = times_of(call)
    return times[0], times[len(times) // 2]


def columns(sides: Sequence[tuple[int, int, int]], dtype: str, ways: Sequence[str | None]) -> None:
    """One row for each m, k, n: np.matmul, then each accuracy in each way."""
    import numpy as np

    import ozfp4
    from ozfp4.testing import forced_on_cpu

    rng = np.random.default_rng(0)
    heads = [f"{mode} {way or ''}" for way in ways for mode in MODES]
    print(f"{'m k n':>15} {'np.matmul':>10} " + " ".join(f"{head:>18}" for head in heads))
    for m, k, n in sides:
        a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
        reference = microseconds(lambda: np.matmul(a, b))  # noqa: B023
        found = []
        for way in ways:
            for mode in MODES:

                def call(mode: str = mode) -> object:
                    return ozfp4.matmul(a, b, accuracy=mode)  # noqa: B023

                if way is None:
                    found.append(microseconds(call))
                else:
                    with forced_on_cpu(words=way == "words", limbs=way == "limbs"):
                        found.append(microseconds(call))
        cells = " ".join(f"{x:10.1f} {x / reference:6.1f}x" for x in found)
        print(f"{f'{m} {k} {n}':>15} {reference:10.1f} {cells}", flush=True)


def parts(sizes: Sequence[int], dtype: str) -> None:
    """Where the time of a call goes, of calls like an earlier one: the least and the median of many, of np.matmul too, what the
    call takes beside the core's stages, and of each stage the least."""
    import numpy as np

    import ozfp4

    stages = ("scale", "encode", "multiply", "reconstruct", "repair")
    rng = np.random.default_rng(0)
    heads = " ".join(f"{head:>11}" for head in (*stages, "beside"))
    print(f"{'n':>5} {'accuracy':>9} {'least':>9} {'median':>9} {'np.matmul':>9} {heads}  kernel")
    for n in sizes:
        a, b = (rng.standard_normal((n, n)).astype(dtype) for _ in range(2))
        reference = spread_of(lambda: np.matmul(a, b))[1]  # noqa: B023
        for mode in MODES:
            least, median = spread_of(lambda: ozfp4.matmul(a, b, accuracy=mode))  # noqa: B023
            reports = [
                ozfp4.matmul(a, b, accuracy=mode, report=True)[1] for _ in range(300 if n <= 128 else 20)
            ]
            each = [min(about.seconds.get(stage, 0.0) for about in reports) * 1e6 for stage in stages]
            cells = " ".join(f"{x:11.1f}" for x in (*each, least - sum(each)))
            print(
                f"{n:5} {mode:>9} {least:9.1f} {median:9.1f} {reference:9.1f} {cells}  {reports[0].kernel}",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--threads", type=int, default=1, help="of ozfp4 and of the BLAS")
    parser.add_argument("--sizes", type=lambda text: tuple(map(int, text.split(","))), default=SIZES)
    parser.add_argument("--dtype", choices=("float64", "float32"), default="float64")
    parser.add_argument("--skinny", action="store_true", help="few rows or columns, vectors")
    parser.add_argument("--ways", action="store_true", help="in words, by limbs and by planes")
    parser.add_argument("--parts", action="store_true", help="where the time goes")
    given = parser.parse_args()
    for name in ("OZFP4_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(given.threads)
    if "numpy" in sys.modules:
        raise RuntimeError("NumPy is imported: its BLAS has chosen its threads")
    if given.parts:
        parts(given.sizes, given.dtype)
        return
    sides = SKINNY if given.skinny else tuple((n, n, n) for n in given.sizes)
    columns(sides, given.dtype, ("words", "limbs", "planes") if given.ways else (None,))


if __name__ == "__main__":
    main()
