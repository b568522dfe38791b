"""The pipeline: tile t + 1 travels to a device while tile t is multiplied and tile t - 1 travels back.

A thread of each device feeds it and multiplies; copies have threads of their own. Devices take tiles from one queue, each as soon
as it has room for one, so that a faster one makes more of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from traceback import clear_frames
from typing import Any, NamedTuple

from .._core import WorkspaceError
from .._dispatch import plain
from .copies import Copies, HostMatrices, Workers
from .devices import DONE, Cpu
from .tiles import Box, Tiling


class Job(NamedTuple):
    """A product to be made, within `limit` bytes on each device.

    `host` has the operands by their names. `results` are the product, and bounds of its error if they are wanted. `options` are
    those of :func:`ozfp4.matmul` for every tile, `kept` those of :func:`ozfp4.prepare` for a resident operand that is kept.
    """

    tiling: Tiling
    host: dict[str, HostMatrices]
    results: list[HostMatrices]
    options: dict[str, Any]
    kept: dict[str, Any]
    limit: int


class Moved(NamedTuple):
    """The work of a device: bytes in both directions, and tiles."""

    up: int
    down: int
    tiles: int


_SIDES = {"a": "left", "b": "right"}  # of ozfp4.prepare


def multiply(job: Job, devices: list[Cpu], progress: Callable[[float], object] | None) -> list[Moved]:
    """Make the product of a job on devices. Returns once the results are there; `progress` is called with the fraction that is.

    An exception in a thread or in `progress` ends all of them: nothing is under way when it is raised here, and the results are
    then undefined.
    """
    tiles, news, sizes = deque(job.tiling.tiles()), SimpleQueue[Any](), job.tiling.sizes
    entries, there = sizes.matrices * sizes.m * sizes.n, 0
    threads = Workers(len(devices), "ozfp4 multiply")
    lines: list[_Line] = []
    failure = None
    try:
        lines.extend(_Line(job, device, tiles, news) for device in devices)
        for line in lines:
            threads.submit(line.run).add_done_callback(news.put)
        while there < entries:
            found = news.get()
            if isinstance(found, Future):  # a line that has ended
                found.result()
                continue
            there += found
            if progress is not None:
                progress(there / entries)
    except BaseException as error:
        failure = error
    tiles.clear()
    pools = [*(each.threads for line in lines for each in (line.up, line.down)), threads]
    steps = [each.shutdown for each in pools]
    late = _all_of([*steps, *(line.device.finish for line in lines)])
    failure = failure or late
    while news.qsize():
        news.get()  # what a line raised refers to this queue
    moved = [Moved(line.up.bytes, line.down.bytes, line.made) for line in lines]
    lines.clear()
    if failure is not None:
        clear_frames(failure.__traceback__)  # of threads, which hold memory of devices
        try:
            raise failure
        finally:
            del failure
    return moved


def _all_of(steps: Iterable[Callable[[], object]]) -> BaseException | None:
    """Do all of it, whatever interrupts that; what was raised last."""
    raised: BaseException | None = None
    for step in steps:
        while True:
            try:
                step()
                break
            except KeyboardInterrupt as error:
                raised = error
            except Exception as error:
                raised = error
                break
    return raised


@dataclass(eq=False)
class _Slot:
    """Memory for one piece of an operand at a time.

    `parts` are copied to it, and none of them after a product has waited for it. `last` is the end of the last product that
    reads it. `kept` is a piece and its prepared form.
    """

    memory: Any
    piece: object = None
    parts: list[Future[Any]] = field(default_factory=list)
    last: Any = DONE
    kept: tuple[object, Any] | None = None


@dataclass(eq=False)
class _Place:
    """Memory for a tile of each result; `is_free` once what was there is on the host."""

    memory: list[Any]
    is_free: Future[None] | None = None


_Slots = dict[str, _Slot]  # of what a tile needs, by the operand's name


class _Line:
    """The pipeline of one device."""

    def __init__(self, job: Job, device: Cpu, tiles: deque[Box], news: SimpleQueue[Any]) -> None:
        self._job, self.device, self._tiles, self._news = job, device, tiles, news
        self.made = 0
        tiling = job.tiling
        self._slots = {  # of each operand, the one that was not used for longest first
            side: [_Slot(device.memory(tiling.piece_bytes(side))) for _ in range(tiling.slots(side))]
            for side in "ab"
        }
        entries = tiling.matrices * tiling.rows * tiling.columns
        self._places = deque(
            _Place([device.memory(entries * x.dtype.itemsize) for x in job.results])
            for _ in range(tiling.slots("c"))
        )
        device.reserve(tiling.product_bytes(job.limit - device.slack))
        self.up = Copies(device, "up", max(map(tiling.piece_bytes, "ab")))
        self.down = Copies(device, "down", tiling.piece_bytes("c"))

    def run(self) -> None:
        """Take tiles, let what they need travel, and multiply the first one where there is no room for another."""
        fed: deque[tuple[Box, _Slots]] = deque()
        for tile in iter(self._next, None):
            while len(fed) == 2 or not self._feed(tile, fed):
                self._multiply(*fed.popleft())
        while fed:
            self._multiply(*fed.popleft())
        for place in self._places:
            if place.is_free is not None:
                place.is_free.result()

    def _next(self) -> Box | None:
        try:
            return self._tiles.popleft()
        except IndexError:
            return None

    def _feed(self, tile: Box, fed: deque[tuple[Box, _Slots]]) -> bool:
        """Let what a tile needs travel to slots that hold it already, or that no tile uses; False where there is none."""
        tiling, found = self._job.tiling, {}
        for side, slots in self._slots.items():
            piece = tiling.piece(side, tile)
            free = (x for x in slots if all(x is not used[side] for _, used in fed))
            slot = next((x for x in slots if x.piece == piece), None) or next(free, None)
            if slot is None:
                return False
            found[side] = slot
        for side, slot in found.items():
            self._slots[side].remove(slot)
            self._slots[side].append(slot)
            piece = tiling.piece(side, tile)
            if slot.piece != piece:
                slot.piece, slot.parts = (
                    piece,
                    self.up.begin(self._job.host[side], piece, slot.memory, slot.last),
                )
        fed.append((tile, found))
        return True

    def _multiply(self, tile: Box, slots: _Slots) -> None:
        """Enqueue the product of a tile, and send it back."""
        after = [part.result() for slot in slots.values() for part in slot.parts]
        place = self._places[0]
        self._places.rotate(-1)
        if place.is_free is not None:
            place.is_free.result()
        there = list(zip(place.memory, self._job.results, strict=True))
        outs = [self._view(memory, host, tile) for memory, host in there]
        last = self.device.run(after, partial(self._product, tile, slots, outs))
        for slot in slots.values():
            slot.parts, slot.last = [], last
        begun = (self.down.begin(host, tile, memory, last) for memory, host in there)
        parts = [part for each in begun for part in each]
        self.made += 1
        place.is_free = self.down.threads.submit(self._arrive, tile, parts)

    def _arrive(self, tile: Box, parts: list[Future[Any]]) -> None:
        """Report a tile once all parts of it are there. They are under way by now, as threads take them in order."""
        for part in parts:
            part.result()
        self._news.put(tile.entries)

    def _product(self, tile: Box, slots: _Slots, outs: list[Any]) -> None:
        job, tiling = self._job, self._job.tiling
        pieces = {side: tiling.piece(side, tile) for side in slots}
        operands = {
            side: self._view(slot.memory, job.host[side], pieces[side]) for side, slot in slots.items()
        }
        kept = 0
        if tiling.is_kept:
            side = tiling.resident
            operands[side] = self._prepared(side, pieces[side], slots[side], operands[side])
            kept = operands[side].nbytes
        left = job.limit - self.device.slack - tiling.held_bytes + min(0, tiling.kept_bytes - kept)
        out, *bounds = outs
        try:
            found = plain.products["matmul"](
                operands["a"], operands["b"], out, **{**job.options, "workspace_limit": max(1, left)}
            )
        except OverflowError:
            dtype = job.results[0].dtype
            raise OverflowError(
                f"overflow: entries of the product do not fit {dtype}; nothing was written"
            ) from None
        except WorkspaceError as error:
            raise MemoryError(
                f"workspace_limit: {job.limit} bytes leave too few for a tile's workspace: {error}"
            ) from None
        for bound in bounds:
            bound[...] = found[1]

    def _prepared(self, side: str, piece: object, slot: _Slot, operand: Any) -> Any:
        if slot.kept is None or slot.kept[0] != piece:
            for each in self._slots[side]:
                each.kept = None  # before the next one takes its memory
            slot.kept = piece, plain.products["prepare"](operand, _SIDES[side], **self._job.kept)
        return slot.kept[1]

    def _view(self, memory: Any, host: HostMatrices, piece: Box) -> Any:
        """A piece of host matrices as it lies on the device, with both matrix axes, and one of a stack if there are several."""
        shape = host.box(*piece).shape
        view = self.device.view(memory, host.dtype, shape)
        view = view[0] if shape[0] == 1 else view
        return view.swapaxes(-1, -2) if host.is_turned else view
