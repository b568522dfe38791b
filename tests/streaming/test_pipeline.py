"""The pipeline on a device that does everything late: its order alone makes the results right."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
import weakref
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
from late_device import LateDevice
from traffic import moved_bytes

import ozfp4
from ozfp4._dispatch import plain
from ozfp4._streaming import call, copies, engine
from ozfp4._streaming.tiles import Tiling
from ozfp4.testing import assert_same_bits

RANDOM = np.random.default_rng(5)
A, B = RANDOM.standard_normal((310, 90)), RANDOM.standard_normal((90, 270))
C = ozfp4.matmul(A, B)
LIMIT = 2**20 + 400_000  # so little that no operand fits


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "CHUNK", 6_000)


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The jobs that were made, and what moved."""
    found: list[Any] = []
    multiply = engine.multiply

    def kept(job: Any, *further: Any) -> Any:
        moved = multiply(job, *further)
        found.append((job, moved))
        return moved

    monkeypatch.setattr(call, "multiply", kept)
    return found


@pytest.fixture
def workspaces(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Workspaces of tiles' products. Their results are filled with other values before."""
    found: list[int] = []
    product = plain.products["matmul"]

    def watched(a: Any, b: Any, out: Any, **options: Any) -> Any:
        found.append(options["workspace_limit"])
        out.view(np.uint8 if out.dtype == bool else out.real.dtype)[...] = 77
        return product(a, b, out=out, **options)

    monkeypatch.setitem(plain.products, "matmul", watched)
    return found


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Devices by any names are late ones with these settings."""
    made: list[LateDevice] = []

    def devices(count: int = 1, **settings: Any) -> list[LateDevice]:
        made.extend(LateDevice(f"late:{i}", seed=i, **settings) for i in range(count))
        monkeypatch.setattr(call, "devices_of", lambda given: made)
        return made

    yield devices
    for device in made:
        device.close()


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("limit", [LIMIT, 2**20 + 1_100_000, 2**23])
def test_one_device(late: Any, jobs: list[Any], workspaces: list[int], limit: int, keeps: bool) -> None:
    (device,) = late(keeps=keeps)
    assert_same_bits(ozfp4.matmul(A, B, device="late", workspace_limit=limit), C)
    (job, (moved,)) = jobs[0]
    assert moved.tiles == job.tiling.count == device.products
    assert moved.up + moved.down == moved_bytes(job.tiling)
    assert device.allocated + max(workspaces) + job.tiling.kept_bytes <= limit
    assert job.tiling.least_workspace <= device.reserved <= limit - device.allocated
    assert min(workspaces) >= job.tiling.least_workspace


@pytest.mark.parametrize("turned", [(False, True), (True, False), (True, True)])
def test_operands_and_results_by_columns(late: Any, turned: tuple[bool, bool]) -> None:
    late()
    a, b = (np.asfortranarray(x) if is_turned else x for x, is_turned in zip((A, B), turned, strict=True))
    out = np.full((270, 310), np.nan).T
    assert ozfp4.matmul(a, b, out=out, device="late", workspace_limit=LIMIT) is out
    assert_same_bits(out, C)


def test_several_devices_share_the_tiles(late: Any, jobs: list[Any]) -> None:
    slow, fast = late(2)
    slow.delay, fast.delay = 0.01, 0.0
    for _ in range(2):
        assert_same_bits(ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT), C)
    for job, moved in jobs:
        assert sum(each.tiles for each in moved) == job.tiling.count
        assert moved[1].tiles > moved[0].tiles


@pytest.mark.parametrize("pinned", [0, 1])
def test_each_device_says_what_is_pinned_for_it(
    late: Any, monkeypatch: pytest.MonkeyPatch, pinned: int
) -> None:
    """Memory from which one device copies by itself is plain memory to another."""
    direct: list[list[bool]] = [[], []]
    for number, device in enumerate(late(2)):
        monkeypatch.setattr(device, "is_staging", lambda array, number=number: number == pinned)

        def seen(array: Any, *further: Any, number: int = number, before: Any = device.upload) -> Any:
            direct[number].append(np.shares_memory(array, A) or np.shares_memory(array, B))
            return before(array, *further)

        monkeypatch.setattr(device, "upload", seen)
    assert_same_bits(ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT), C)
    assert any(direct[pinned])
    assert not any(direct[1 - pinned])


def test_results_with_bounds(late: Any) -> None:
    late()
    found = ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT, return_bound=True)
    for x, y in zip(found, ozfp4.matmul(A, B, return_bound=True), strict=True):
        assert_same_bits(x, y)


def test_a_tile_travels_while_another_is_multiplied(late: Any, jobs: list[Any]) -> None:
    """With products that take long, and copies that take as long, both go on at once."""
    (device,) = late(delay=0.0, keeps=False)
    spans: dict[str, list[tuple[float, float]]] = {"up": [], "product": []}

    def slowed(kind: str, seconds: float) -> None:
        put = device._queues[kind].put
        wrapped = device._queues[kind]

        class Timed:
            def put(self, job: Any) -> None:
                if job is None or getattr(job, "__name__", "") == "reach":
                    put(job)
                    return

                def timed() -> None:
                    began = time.monotonic()
                    time.sleep(seconds)
                    job()
                    spans[kind].append((began, time.monotonic()))

                put(timed)

            def get(self) -> Any:
                return wrapped.get()

        device._queues[kind] = Timed()

    slowed("product", 0.03)
    slowed("up", 0.002)
    assert_same_bits(ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT), C)
    beside = sum(
        max(0.0, min(end, last) - max(begin, first))
        for begin, end in spans["product"]
        for first, last in spans["up"]
    )
    assert beside > 0.25 * sum(last - first for first, last in spans["up"])


def test_progress_rises_to_one(late: Any, jobs: list[Any]) -> None:
    late()
    told: list[float] = []
    with ozfp4.progress(told.append):
        ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT)
    assert told == sorted(set(told))
    assert told[-1] == 1.0
    assert 1 < len(told) <= jobs[0][0].tiling.count


@pytest.mark.parametrize(
    "error", [OverflowError("mine"), MemoryError("workspace_limit mine"), KeyboardInterrupt()], ids=repr
)
def test_what_progress_raises_ends_everything_and_is_told_as_it_is(late: Any, error: BaseException) -> None:
    (device,) = late()
    threads = set(threading.enumerate())

    def stop(fraction: float) -> None:
        raise error

    with pytest.raises(type(error)) as raised, ozfp4.progress(stop):
        ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT)
    assert raised.value is error
    assert set(threading.enumerate()) <= threads
    products = device.products
    time.sleep(0.05)
    assert device.products == products
    assert_same_bits(ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT), C)


def test_an_interrupt_ends_everything(late: Any) -> None:
    """Ctrl-C, while the caller waits for tiles that take long."""
    if threading.current_thread() is not threading.main_thread():
        pytest.skip("signals arrive in the main thread")
    late(delay=0.05)
    before, threads = signal.signal(signal.SIGINT, signal.default_int_handler), set(threading.enumerate())
    main = threading.main_thread().ident
    assert main is not None
    timer = threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT))
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 10  # what was enqueued is waited for, nothing more
    assert set(threading.enumerate()) <= threads


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Products are cut so: rows, columns, the resident operand, whether it is prepared; and how many matrices of a stack."""

    def into(rows: int, columns: int, resident: str, is_kept: bool, matrices: int = 1) -> None:
        monkeypatch.setattr(
            call, "best_tiling", lambda sizes, _: Tiling(sizes, matrices, rows, columns, resident, is_kept)
        )

    return into


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("resident", ["a", "b"])
@pytest.mark.parametrize("tile", [(37, 41), (310, 50), (64, 270), (310, 270)])
def test_any_cut(
    late: Any, jobs: list[Any], cut: Any, tile: tuple[int, int], resident: str, is_kept: bool
) -> None:
    late()
    cut(*tile, resident, is_kept)
    assert_same_bits(ozfp4.matmul(A, B, device="late"), C)
    (job, (moved,)) = jobs[0]
    assert moved.tiles == job.tiling.count
    assert moved.up + moved.down == moved_bytes(job.tiling)


@pytest.mark.parametrize("is_kept", [False, True])
@pytest.mark.parametrize("resident", ["a", "b"])
@pytest.mark.parametrize("tile", [(9, 7, 1), (20, 30, 3), (20, 5, 1)])
@pytest.mark.parametrize(
    "shapes", [((7, 20, 8), (7, 8, 30)), ((7, 20, 8), (8, 30)), ((1, 20, 8), (7, 8, 30))], ids=str
)
def test_any_cut_of_a_stack(
    late: Any, cut: Any, shapes: Any, tile: tuple[int, int, int], resident: str, is_kept: bool
) -> None:
    late(delay=0.0005)
    *block, group = tile
    cut(*block, resident, is_kept, group)
    a, b = (np.random.default_rng(1).standard_normal(shape) for shape in shapes)
    assert_same_bits(ozfp4.matmul(a, b, device="late"), ozfp4.matmul(a, b))


@pytest.mark.parametrize("place", ["memory", "staging", "upload", "download", "run", "view"])
@pytest.mark.parametrize("after", [0, 3])
def test_what_a_device_raises_is_raised(
    late: Any, cut: Any, monkeypatch: pytest.MonkeyPatch, place: str, after: int
) -> None:
    (device,) = late()
    cut(40, 50, "b", True)
    before, calls = getattr(device, place), 0

    def fails(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > after:
            raise RuntimeError(f"no {place}")
        return before(*arguments)

    monkeypatch.setattr(device, place, fails)
    out = np.full(C.shape, np.nan)
    with pytest.raises(RuntimeError, match=f"no {place}"):
        ozfp4.matmul(A, B, out=out, device="late")
    assert after or np.isnan(out).all()


def threads_of_the_system() -> int:
    return len(os.listdir("/proc/self/task"))


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="Linux lists threads there")
@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_without_a_collector(late: Any, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """Memory of the device and the product's threads go with it, not with the next collection of cycles."""
    made: list[Any] = []
    (device,) = late(keeps=True)
    memory = device.memory

    def watched(nbytes: int) -> Any:
        taken = memory(nbytes)
        made.append(weakref.ref(taken))
        return taken

    monkeypatch.setattr(device, "memory", watched)

    def report(_: float) -> None:
        if fails:
            raise ValueError("no more")

    gc.collect()
    gc.disable()
    try:
        ozfp4.set_num_threads(1)  # the pool keeps its own
        before = threads_of_the_system()
        for _ in range(2):
            with (
                pytest.raises(ValueError, match="no more") if fails else nullcontext(),
                ozfp4.progress(report),
            ):
                ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT)
        ends = time.monotonic() + 10  # the device's own queues let go of what ran there a little later
        while (
            any(each() is not None for each in made) or threads_of_the_system() > before
        ) and time.monotonic() < ends:
            time.sleep(0.01)
        assert len(made) > 6
        assert [each for each in made if each() is not None] == []
        assert threads_of_the_system() <= before
    finally:
        ozfp4.set_num_threads(None)
        gc.enable()


def test_an_interrupt_amid_the_end_leaves_nothing_under_way(
    late: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (device,) = late()
    finish, interrupts = device.finish, [KeyboardInterrupt("second"), KeyboardInterrupt("third")]
    finished: list[bool] = []

    def interrupted() -> None:
        if interrupts:
            raise interrupts.pop()
        finish()
        finished.append(True)

    monkeypatch.setattr(device, "finish", interrupted)
    before = {thread for thread in threading.enumerate() if thread.name.startswith("ozfp4 ")}

    def report(_: float) -> None:
        raise KeyboardInterrupt("first")

    with pytest.raises(KeyboardInterrupt, match="first"), ozfp4.progress(report):
        ozfp4.matmul(A, B, device="late", workspace_limit=LIMIT)
    assert finished == [True]
    assert {thread for thread in threading.enumerate() if thread.name.startswith("ozfp4 ")} <= before
