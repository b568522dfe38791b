"""The pipeline: tile t + 1 travels to a device while tile t is multiplied and tile t - 1 travels back.

Every device has a thread that feeds it and one that multiplies; copies have threads of their own. Devices take tiles from one
queue, each as soon as it has room for one, so that a faster one makes more of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Thread
from traceback import clear_frames
from typing import Any, NamedTuple

from .copies import Copies
from .devices import Device, Event
from .host import Box, HostMatrices
from .run import Countdown, Passed, Run, Shared
from .slots import Slot, Slots
from .tiles import Tile, Tiling


@dataclass(frozen=True)
class Job:
    """A product to be made.

    Attributes
    ----------
    tiling : Tiling
    a, b : HostMatrices
    results : list of HostMatrices
        The product, and bounds of its error if they are wanted.
    options : dict
        Of :func:`ozfp4.matmul`, for every tile.
    kept : dict
        Of :func:`ozfp4.prepare`, for the resident operand where the tiling keeps it.
    limit : int
        Bytes on each device.
    most_workspace : int
        Bytes of it that a product may take, whatever is left.
    progress : callable or None
        Called with the fraction of the result that is there.
    """

    tiling: Tiling
    a: HostMatrices
    b: HostMatrices
    results: list[HostMatrices]
    options: dict[str, Any]
    kept: dict[str, Any]
    limit: int
    most_workspace: int
    progress: Callable[[float], object] | None = None


@dataclass
class Moved:
    """What a device did: bytes in both directions, and tiles."""

    up: int = 0
    down: int = 0
    tiles: int = 0


_SIDES = {"a": "left", "b": "right"}  # of ozfp4.prepare


class _Fed(NamedTuple):
    """A tile, and the slots of what it needs by the operand's name."""

    tile: Tile
    slots: dict[str, Slot]


class Finished:
    """Entries of the result that are on the host."""

    def __init__(self, run: Run) -> None:
        self._run, self.entries = run, 0

    def add(self, entries: int) -> None:
        def count() -> None:
            self.entries += entries

        self._run.change(count)

    def beyond(self, told: int) -> int:
        """How many they are, once they are more than were told of."""
        return self._run.wait_for(lambda: self.entries if self.entries > told else 0)


def multiply(job: Job, devices: list[Device]) -> list[Moved]:
    """Make the product of a job on devices. Returns once the results are there.

    What a thread raises, and what `progress` does, ends all of them: nothing is under way when it is raised here, and the results
    are then undefined.
    """
    run, tiles = Run(), Shared(job.tiling.tiles())
    finished, sizes = Finished(run), job.tiling.sizes
    entries = sizes.matrices * sizes.m * sizes.n
    lines: list[_Line] = []
    try:
        for device in devices:
            lines.append(_Line(run, job, device, tiles, finished))
        for line in lines:
            line.start()
        told = 0
        while told < entries:
            told = finished.beyond(told)
            if job.progress is not None:
                job.progress(told / entries)
    except BaseException as error:
        run.fail(error)
    finally:
        for line in lines:
            run.guard(line.end)
    moved = [line.moved for line in lines]
    lines.clear()
    if (failure := run.release()) is not None:
        clear_frames(failure.__traceback__)  # of threads, which hold memory of devices
        try:
            raise failure
        finally:
            del failure
    return moved


class _Line:
    """The pipeline of one device."""

    def __init__(self, run: Run, job: Job, device: Device, tiles: Shared[Tile], finished: Finished) -> None:
        self._run, self._job, self._device, self._tiles, self._finished = run, job, device, tiles, finished
        self.moved = Moved()
        self._threads: list[Thread] = []
        self._fed: Passed[_Fed] = Passed(run, 2)
        tiling = job.tiling
        self._slots = {
            side: Slots(
                run, [Slot(device.memory(tiling.piece_bytes(side))) for _ in range(tiling.slots(side))]
            )
            for side in "ab"
        }
        entries = tiling.matrices * tiling.rows * tiling.columns
        self._result_slots = Slots(
            run,
            [
                Slot([device.memory(entries * x.dtype.itemsize) for x in job.results])
                for _ in range(tiling.result_slots)
            ],
        )
        device.reserve(tiling.product_bytes(job.limit - device.slack))
        device.settle()
        self._up = Copies(run, device, "up", max(map(tiling.piece_bytes, "ab")))
        self._down = Copies(run, device, "down", tiling.result_bytes)

    def start(self) -> None:
        self._threads = [
            self._run.thread(self._feed, f"feed {self._device.name}"),
            self._run.thread(self._multiply, f"multiply {self._device.name}"),
        ]

    def end(self) -> None:
        """Return once nothing of it is under way, whatever interrupts that, which is raised then; its memory is given back."""
        steps = [
            *(thread.join for thread in self._threads),
            self._up.close,
            self._down.close,
            self._device.finish,
        ]
        interrupt = None
        for step in steps:
            while True:
                try:
                    step()
                    break
                except KeyboardInterrupt as error:
                    interrupt = error
        for slots in (*self._slots.values(), self._result_slots):
            slots.release()
        if interrupt is not None:
            raise interrupt

    def _feed(self) -> None:
        """Take tiles, and let what they need travel into slots as these become free."""
        while (tile := self._tiles.take()) is not None:
            self._fed.put(_Fed(tile, {side: self._bring(side, tile) for side in "ab"}))
        self._fed.put(None)

    def _bring(self, side: str, tile: Tile) -> Slot:
        """A slot with the piece of an operand that a tile needs, or to which it travels."""
        slot, is_new = self._slots[side].take(self._job.tiling.piece(side, tile))
        if is_new:
            slot.last.wait()  # not the queue, where chunks of other pieces still follow
            box = self._box(side, tile)
            host = self._host(side)
            self.moved.up += box.entries * host.dtype.itemsize

            def arrive() -> None:
                slot.arrived = self._device.mark("up")

            slot.filled = self._up.upload(host, box, slot.memory, arrive)
        return slot

    def _multiply(self) -> None:
        """Enqueue the products of what was fed, and send the results back."""
        number = 0
        while (fed := self._fed.take()) is not None:
            for slot in fed.slots.values():
                slot.wait_filled()
            place, _ = self._result_slots.take(number)
            last = self._product(fed, place)
            for side, slot in fed.slots.items():
                self._slots[side].give_back(slot, last)
            self._send_back(fed.tile, place, last)
            number += 1

    def _product(self, fed: _Fed, place: Slot) -> Event:
        tiling, device, results = self._job.tiling, self._device, self._job.results
        after = [slot.arrived for slot in fed.slots.values()]
        operands = {side: self._on_device(side, fed.tile, slot) for side, slot in fed.slots.items()}
        kept = 0
        if tiling.is_kept:
            side = tiling.resident
            slot = fed.slots[side]
            if slot.kept is None or slot.kept[0] != slot.piece:
                self._slots[side].forget_kept()  # before the next one takes its memory
                slot.kept = slot.piece, device.prepare(operands[side], _SIDES[side], after, self._job.kept)
            operands[side] = slot.kept[1]
            kept = operands[side].nbytes
        left = self._job.limit - device.slack - tiling.held_bytes + min(0, tiling.kept_bytes - kept)
        options = {**self._job.options, "workspace_limit": max(1, min(left, self._job.most_workspace))}
        outs = [
            _view(device, memory, host, host.box(*fed.tile))
            for memory, host in zip(place.memory, results, strict=True)
        ]
        return device.multiply(operands["a"], operands["b"], outs, after, options)

    def _send_back(self, tile: Tile, place: Slot, last: Event) -> None:
        results = self._job.results

        def there() -> None:
            self._result_slots.give_back(place, last)
            self.moved.tiles += 1
            self._finished.add(tile.entries)

        whole = Countdown(self._run, len(results), there)
        for memory, host in zip(place.memory, results, strict=True):
            box = host.box(*tile)
            self.moved.down += box.entries * host.dtype.itemsize
            self._down.download(memory, host, box, last, whole.part_is_done)

    def _host(self, side: str) -> HostMatrices:
        return self._job.a if side == "a" else self._job.b

    def _box(self, side: str, tile: Tile) -> Box:
        """Where a tile's piece of an operand lies on the host."""
        matrices, lines = self._job.tiling.piece(side, tile)
        inner = (0, self._job.tiling.sizes.k)
        return self._host(side).box(matrices, *((lines, inner) if side == "a" else (inner, lines)))

    def _on_device(self, side: str, tile: Tile, slot: Slot) -> Any:
        return _view(self._device, slot.memory, self._host(side), self._box(side, tile))


def _view(device: Device, memory: Any, host: HostMatrices, box: Box) -> Any:
    """A box of host matrices as it lies on a device, with both matrix axes, and one of a stack if there are several."""
    view = device.view(memory, host.dtype, box.shape)
    view = view[0] if box.shape[0] == 1 else view
    return view.swapaxes(-1, -2) if host.is_turned else view
