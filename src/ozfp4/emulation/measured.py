"""Times of native products and of ours on this machine: measured when one is first asked for, and kept for later processes.

Only products of certain extents are measured: powers of two and what lies half-way between. One between them is judged by that
below it in every extent. By the model of cost, ours / native falls with each extent, as what is done for an entry of A, B and C
is shared by more multiplications: where ours is faster for the smaller product, it is so for the larger one.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _core
from ..api.gemm import gemm
from ..api.matmul import matmul
from ..cost.rates import GIGA, TERA, device_rates
from ..dispatch.this_machine import this_cpu, this_gpu
from ..request import library
from ..request.library import require_torch
from ..support import disk_cache
from ..support.child_lock import ChildLock
from ..support.logger import LOGGER
from ..support.refusals import OVER_LIMIT, is_over_limit
from ..trust.identity import cpu_identity, gpu_identity
from .options import Options
from .problem import Problem, gpu_index

Times = tuple[float, float]  # seconds, of native's and of ours

AT_ONCE, SHARE = 0.1, 0.05  # seconds, and of the time since this was imported, that measuring may take
MOST_SHAPES, MOST_KINDS = 4096, 64  # times that are known of one kind of products, and kinds
LONGEST = 0.05  # seconds that a measured product may take by native's nominal rate
SERIES = 2e-3  # seconds between two clock readings, where that needs no more than MOST_CALLS
MOST_CALLS = 20
LARGEST, LARGEST_OF_INTEGERS = 8192, 256  # extents that are measured; of integers on a CPU
CAPTURED = "a CUDA graph is captured, which allows no measuring: run it once before"
NOT_YET = f"not measured yet: that would take more than {100 * SHARE:g} % of the program's time"
NO_ROOM = "not measured: there is no memory left for it"

_lock = ChildLock()  # two threads that measure would slow each other
_known: dict[str, dict[Problem, Times | str]] = {}
_spent = 0.0
_born = time.perf_counter()


def representative(problem: Problem) -> Problem:
    """The product that is measured in place of one: of extents that are not larger. Range: none of them is 0."""
    largest = LARGEST_OF_INTEGERS if _is_slow(problem) else LARGEST
    extents = [_level(min(extent, largest)) for extent in (problem.m, problem.n, problem.k)]
    most = _most_multiplications(problem)
    stack = 1 << (min(problem.stack, 1 << 20).bit_length() - 1) // 2 * 2  # powers of four
    while stack > 1 and (stack * math.prod(extents) > most or stack * max(extents) ** 2 > largest**2):
        stack //= 4
    while math.prod(extents) > most:
        place = extents.index(max(extents))
        extents[place] = _level(extents[place] - 1)
    m, n, k = extents
    return problem._replace(stack=stack, m=m, n=n, k=k)


def _level(extent: int) -> int:
    """The largest of 1, 2, 3, 4, 6, 8, 12, 16, ... that is not larger.

    >>> [_level(x) for x in (1, 5, 2047, 3071, 3072)]
    [1, 4, 1536, 2048, 3072]
    """
    power = 1 << (extent.bit_length() - 1)
    return power + power // 2 if power > 1 and extent >= power + power // 2 else power


def _most_multiplications(problem: Problem) -> float:
    """Of a product that is measured."""
    if _is_slow(problem):
        return float(LARGEST_OF_INTEGERS**3)
    rate = _fp64_rate(problem) or TERA
    return min(float(LARGEST**3), LONGEST * rate / (8 if library.is_complex(problem.dtype) else 2))


def _is_slow(problem: Problem) -> bool:
    """Whether the library has plain loops for it, without BLAS."""
    return problem.on_cpu and library.is_integer(problem.dtype)


def _fp64_rate(problem: Problem) -> float | None:
    """Operations a second of the device's real products of float64; None: not known."""
    if problem.on_cpu:
        return this_cpu().rates["II", "fp64"]
    rates = device_rates(_gpu_name(problem.device))
    return rates.fp64 * TERA if rates is not None and rates.fp64 > 0 else None


def native_rate(problem: Problem) -> float | None:
    """Operations a second of the library's real products of this dtype; None: the model does not know."""
    if library.is_integer(problem.dtype):
        return None
    is_double = problem.dtype in ("float64", "complex128")
    rate = _fp64_rate(problem)
    if is_double or rate is None:
        return rate
    return 2 * rate if problem.on_cpu else None  # tensor cores may be allowed


@lru_cache(maxsize=64)
def _gpu_name(device: str) -> str:
    return this_gpu(gpu_index(device)).name


def times(problem: Problem, options: Options) -> Times | str:
    """Seconds of a product of these very extents; or why they are not known."""
    key = _key(problem, options)
    kept = _known.get(key["what"])
    if kept is not None and (found := kept.get(problem)) is not None:
        return found
    with _lock:
        kept = _known.get(key["what"])
        if kept is None:
            kept = _known[key["what"]] = _loaded(key, problem)
            _forget_oldest(_known, MOST_KINDS)
        if problem in kept:
            return kept[problem]
        measured = _measured(problem, options)
        if measured not in (CAPTURED, NOT_YET):
            kept[problem] = measured
            _forget_oldest(kept, MOST_SHAPES)
        if not isinstance(measured, str):
            _store(key, kept, problem)
        return measured


def native_seconds(problem: Problem, options: Options) -> float:
    """The seconds that native should take, by what was measured in place of the problem; 0: not known."""
    like = representative(problem)
    found = times(like, options)
    return 0.0 if isinstance(found, str) else found[0] * problem.size / like.size


def _store(key: dict[str, str], kept: dict[Problem, Times | str], like: Problem) -> None:
    """With what other processes have stored meanwhile."""
    pairs = {**_loaded(key, like), **kept}
    _forget_oldest(pairs, MOST_SHAPES)
    disk_cache.store(
        key, {_text(problem): pair for problem, pair in pairs.items() if not isinstance(pair, str)}
    )


def _forget_oldest(table: dict[Any, Any], most: int) -> None:
    while len(table) > most:
        del table[next(iter(table))]


def _key(problem: Problem, options: Options) -> dict[str, str]:
    """Under which times are kept: of a device, library, dtype and keywords."""
    keywords = options.keywords_of(problem.dtype)
    place = f"{problem.device} {_threads(problem)}" if problem.on_cpu else problem.device
    return {
        **_identity(problem.library, problem.device),
        "finding": "emulation",
        "what": f"{problem.library} {place} {problem.dtype} {sorted(keywords.items())}",
    }


def _threads(problem: Problem) -> str:
    """How many of the CPU ours takes, and native where it can be asked."""
    ours = f"threads {_core.thread_count()}"
    return f"{ours} {require_torch().get_num_threads()}" if problem.library == "torch" else ours


@lru_cache(maxsize=64)
def _identity(of: str, device: str) -> dict[str, str]:
    native = require_torch().__version__ if of == "torch" else np.__version__
    if device == "cpu":
        return {**cpu_identity(), "native": native}
    return {**gpu_identity(gpu_index(device)), "native": native}


def _text(problem: Problem) -> str:
    form = "update" if problem.is_update else "product"
    return f"{form} {problem.stack} {problem.m} {problem.n} {problem.k}"


def _loaded(key: dict[str, str], like: Problem) -> dict[Problem, Times | str]:
    """What earlier processes measured; nothing that is not as it was written."""
    found: dict[Problem, Times | str] = {}
    for text, pair in (disk_cache.load(key) or {}).items():
        form, *numbers = text.split()
        try:
            stack, m, n, k = map(int, numbers)
            native, ours = map(float, pair)
        except (TypeError, ValueError):
            continue
        if form in ("update", "product") and native > 0 and ours > 0:
            about = like._replace(stack=stack, m=m, n=n, k=k, is_update=form == "update")
            found[about] = (native, ours)
    return found


def _measured(problem: Problem, options: Options) -> Times | str:
    global _spent
    began = time.perf_counter()
    if _spent + _expected(problem) > AT_ONCE + SHARE * (began - _born):
        return NOT_YET
    found: Times | str
    try:
        found = (_on_cpu if problem.on_cpu else _on_gpu)(problem, options.keywords_of(problem.dtype))
    except MemoryError as error:
        found = OVER_LIMIT if is_over_limit(error) else NO_ROOM
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):  # as torch says on a CPU
            raise
        found = NO_ROOM
    _spent += time.perf_counter() - began
    if not isinstance(found, str):
        native, ours = found
        LOGGER.info(
            "emulate: measured %s %s on %s: %.4g ms, native %.4g ms; that took %.2f s, once on this machine",
            problem.extents, problem.dtype, problem.device, 1e3 * ours, 1e3 * native, time.perf_counter() - began,
        )  # fmt: skip
    return found


def _expected(problem: Problem) -> float:
    """Seconds that measuring takes, in about: ten products as long as native's, and what is allocated and compiled."""
    rate = 2 * GIGA if _is_slow(problem) else _fp64_rate(problem) or TERA
    return 0.01 + 10 * (8 if library.is_complex(problem.dtype) else 2) * problem.size / rate


def _on_cpu(problem: Problem, keywords: dict[str, Any]) -> Times:
    rng = np.random.default_rng(problem.size)
    a, b, c = (_entries(rng, problem.dtype, shape) for shape in _shapes(problem))
    if problem.library == "numpy":
        return _medians(lambda: np.matmul(a, b), lambda: matmul(a, b, **keywords), time.perf_counter)
    torch = require_torch()
    x, y, z = map(torch.from_numpy, (a, b, c))
    with torch.utils._python_dispatch._disable_current_modes():
        return _medians(*_calls(torch, problem, x, y, z, keywords), time.perf_counter)


def _entries(rng: Any, dtype: str, shape: tuple[int, ...]) -> Any:
    """Normal numbers, or integers of full range: none is faster for its entries being small."""
    if not library.is_integer(dtype):
        numbers = rng.standard_normal(shape)
        return (numbers + 1j * numbers[..., ::-1] if library.is_complex(dtype) else numbers).astype(dtype)
    size = np.dtype(dtype).itemsize
    words = rng.integers(0, 256, (*shape[:-1], shape[-1] * size), np.uint8)
    return words % 2 == 1 if dtype == "bool" else words.view(dtype)


def _on_gpu(problem: Problem, keywords: dict[str, Any]) -> Times | str:
    torch = require_torch()
    if torch.cuda.is_current_stream_capturing():
        return CAPTURED
    device = torch.device(problem.device)
    with (
        torch.utils._python_dispatch._disable_current_modes(),
        torch.inference_mode(False),
        torch.no_grad(),
        torch.cuda.device(device),
    ):
        try:
            generator = torch.Generator(device).manual_seed(1)  # the program's own numbers stay as they are
            a, b, c = (
                torch.randn(shape, dtype=getattr(torch, problem.dtype), device=device, generator=generator)
                for shape in _shapes(problem)
            )
            return _medians(*_calls(torch, problem, a, b, c, keywords), lambda: _clock(torch))
        except torch.cuda.OutOfMemoryError:
            return NO_ROOM


def _clock(torch: Any) -> float:
    torch.cuda.synchronize()
    return time.perf_counter()


def _shapes(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """Of A, B and C."""
    stack = () if problem.stack == 1 else (problem.stack,)
    m, n, k = problem.m, problem.n, problem.k
    return (*stack, m, k), (*stack, k, n), (*stack, m, n)


def _calls(
    torch: Any, problem: Problem, a: Any, b: Any, c: Any, keywords: dict[str, Any]
) -> tuple[Callable[[], object], Callable[[], object]]:
    """Native's and ours."""
    if not problem.is_update:
        return lambda: torch.matmul(a, b), lambda: matmul(a, b, **keywords)
    native = torch.addmm if problem.stack == 1 else torch.baddbmm
    return lambda: native(c, a, b), lambda: gemm(1, a, b, 1, c, **keywords)


def _medians(native: Callable[[], object], ours: Callable[[], object], clock: Callable[[], float]) -> Times:
    """Median seconds a call of each, of three series that take turns, after two calls each."""
    calls, counts = (native, ours), []
    for call in calls:
        call()
        began = clock()
        call()
        counts.append(max(1, min(MOST_CALLS, int(SERIES / max(clock() - began, 1e-9)))))
    series: tuple[list[float], list[float]] = ([], [])
    for _ in range(3):
        for call, count, taken in zip(calls, counts, series, strict=True):
            began = clock()
            for _ in range(count):
                call()
            taken.append((clock() - began) / count)
    return statistics.median(series[0]), statistics.median(series[1])


def forget() -> None:
    """As in a new process."""
    global _spent, _born
    with _lock:
        _known.clear()
        _identity.cache_clear()
        _spent, _born = 0.0, time.perf_counter()
