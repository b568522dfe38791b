"""Places on a device for pieces of an operand, or for tiles of the result."""

from __future__ import annotations

from typing import Any

from .devices import DONE, Event
from .run import Countdown, Run


class Slot:
    """Memory that holds one piece at a time.

    Attributes
    ----------
    memory : bytes on the device
    piece : object
        What it holds, or will hold once `filled`; None before.
    filled : Countdown or None
        Of the parts that are copied to it.
    arrived : Event
        Behind all of these, once they are enqueued.
    last : Event
        The end of the last product that uses it.
    kept : object
        What was prepared of the piece.
    """

    def __init__(self, memory: Any) -> None:
        self.memory = memory
        self.piece: object = None
        self.filled: Countdown | None = None
        self.arrived: Event = DONE
        self.last: Event = DONE
        self.kept: Any = None
        self._users = 0
        self._used = 0  # when, by the count of what was taken

    def wait_filled(self) -> None:
        """Return once its piece has been enqueued, whole."""
        assert self.filled is not None
        self.filled.wait()

    @property
    def is_free(self) -> bool:
        return self._users == 0


class Slots:
    """Those for one kind of pieces."""

    def __init__(self, run: Run, slots: list[Slot]) -> None:
        self._run, self._slots, self._taken = run, slots, 0

    def take(self, piece: object) -> tuple[Slot, bool]:
        """The slot that holds a piece, or the one that was not used for longest as soon as it is free; whether it is new there.
        A new one may still be in use by products that were enqueued: until `last`. Range: one thread takes."""
        slot = self._run.wait_for(lambda: self._held(piece) or self._longest_free())
        is_new = slot.piece != piece

        def use() -> None:
            self._taken += 1
            slot._used = self._taken
            slot._users += 1
            slot.piece = piece

        self._run.change(use)
        return slot, is_new

    def _held(self, piece: object) -> Slot | None:
        return next((slot for slot in self._slots if slot.piece == piece), None)

    def _longest_free(self) -> Slot | None:
        free = [slot for slot in self._slots if slot.is_free]
        return min(free, key=lambda slot: slot._used) if free else None

    def release(self) -> None:
        """Let go of all memory, and of what copies to it hold."""
        for slot in self._slots:
            slot.memory = slot.kept = slot.filled = None
        self._slots = []

    def forget_kept(self) -> None:
        """Let go of what was prepared of any piece."""
        for slot in self._slots:
            slot.kept = None

    def give_back(self, slot: Slot, last: Event) -> None:
        """One use less; the slot can be filled anew behind `last`."""

        def release() -> None:
            slot.last = last
            slot._users -= 1

        self._run.change(release)
