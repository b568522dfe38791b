"""The one small exchange before any data moves: every rank says what it was called with, or why it refuses that, and all come to
the same conclusion. :func:`confirm` is a smaller one in between: did every rank come so far?

A rank whose own arguments are wrong takes part, so that nobody waits for it.
"""

from __future__ import annotations

import hashlib
import json
import time
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from .. import _core
from .._request.library import require_torch
from .._support import torch_private
from .._support.ranks import check_refusals, text_of
from .._support.version import __version__
from ._collectives import Group, all_gather

FRAME = 1024  # bytes of a message, its length in the first four; what is longer takes a second exchange
REMEMBERED = 4096  # calls of a group
# From so many bytes on, all ranks make sure that all of them have the memory before any sends.
LEAST_CONFIRMED = 2**28
PATIENCE = 0.8  # a share of the timeout: at its end torch ends a process that waits for NCCL, and with it what we would say
CONFIRMS = "confirms"  # a field of messages within a call
MESH = "mesh"  # the only field of messages of DTensors: what a part of their mesh has said
CODE = ("*.py", "_core*.so", "_cuda*.so", "libozfp4_cuda*.so")
Fields = dict[str, Any]
Agreed = TypeVar("Agreed")
Taken = TypeVar("Taken")


@lru_cache(maxsize=1)
def build() -> str:
    """A digest of the package: ranks of one version may have been built from different sources."""
    # An editable installation has its Python code elsewhere than the extension modules.
    folders = Path(__file__).parents[1], Path(str(_core.__file__)).parent
    return digest_of(*dict.fromkeys(folders))


def digest_of(*folders: Path) -> str:
    """Of all that computes there: the Python code, the extension modules, and the library that holds the kernels for GPUs."""
    digest = hashlib.blake2b(digest_size=8)
    for folder in folders:
        found = [path for pattern in CODE for path in folder.rglob(pattern)]
        for path in sorted(found):
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.blake2b(path.read_bytes()).digest())
    return digest.hexdigest()


def identity() -> str:
    """The library that a rank runs, and the torch beneath."""
    return f"ozfp4 {__version__}, build {build()}, torch {require_torch().__version__}"


class Channel:
    """Where the messages of a group travel, and what was agreed there."""

    def __init__(self, group: Group) -> None:
        torch = require_torch()
        # Of what the group is, not of what this rank was called with, which may be wrong.
        self.on_host = group.backend(torch.device("cpu")) != ""
        self.agreed: dict[bytes, tuple[list[bytes], Any]] = {}  # by the message of this rank
        self.messages: dict[Any, bytes] = {}  # of this rank, by what it was called with
        self.known: dict[Any, Any] = {}  # by what a rank was called with, where that says what all were
        self.meshes: dict[Any, dict[Any, Any]] = {}  # the same of DTensors, by their mesh
        self._streams: dict[int, Any] = {}  # by the index of a device

    def swap(self, group: Group, message: bytes) -> list[bytes]:
        """The messages of all ranks, in rank order; waits for them.

        Raises
        ------
        RuntimeError
            A rank did not answer within the group's timeout, or its process has ended.
        """
        frames = self._swap(group, _framed(message, FRAME))
        lengths = [int.from_bytes(frame[:4], "little") for frame in frames]
        if max(lengths) > FRAME - 4:
            frames = self._swap(group, _framed(message, max(lengths) + 4))
        return [frame[4 : 4 + length] for frame, length in zip(frames, lengths, strict=True)]

    def _swap(self, group: Group, frame: bytearray) -> list[bytes]:
        if not self.on_host:
            _check_not_captured()
        try:
            return (self._by_host if self.on_host else self._by_device)(group, frame)
        except require_torch().cuda.OutOfMemoryError:  # a RuntimeError, and nobody else's fault
            raise
        except RuntimeError as error:  # of torch.distributed, which has no narrower ones everywhere
            raise RuntimeError(
                f"rank {group.rank} of {group.size} had no answer of all other ranks: one of them has ended, or raised or "
                f"waits elsewhere: {error}"
            ) from error

    @staticmethod
    def _by_host(group: Group, frame: bytearray) -> list[bytes]:
        torch = require_torch()
        sent = torch.frombuffer(frame, dtype=torch.uint8)
        found = torch.empty(group.size * len(frame), dtype=torch.uint8, device="cpu")
        all_gather(found, sent, group).wait()
        return _cut(found.numpy().tobytes(), len(frame))

    def _by_device(self, group: Group, frame: bytearray) -> list[bytes]:
        """On a stream of its own: what the current one still computes is not waited for."""
        torch = require_torch()
        index = torch.cuda.current_device()
        if index not in self._streams:
            self._streams[index] = torch.cuda.Stream()
        with torch.cuda.stream(self._streams[index]):
            sent = torch.frombuffer(frame, dtype=torch.uint8).to(torch.device("cuda", index))
            found = torch.empty(group.size * len(frame), dtype=torch.uint8, device=sent.device)
            all_gather(found, sent, group).wait()
            host = torch.empty(found.shape, dtype=torch.uint8, device="cpu", pin_memory=True)
            host.copy_(found, non_blocking=True)
            done = torch.cuda.Event()
            done.record()
        limit = PATIENCE * _timeout(group, sent.device)
        ends = time.monotonic() + limit
        while not done.query():
            if time.monotonic() > ends:
                raise RuntimeError(f"nothing came in {limit:.3g} s, {PATIENCE} of the group's timeout")
        return _cut(host.numpy().tobytes(), len(frame))


def _check_not_captured() -> None:
    if require_torch().cuda.is_current_stream_capturing():
        raise RuntimeError(
            "a CUDA graph is being captured, in which no rank can wait for the others; whole= and check='first' leave the "
            "exchange out of a call like an earlier one"
        )


def _framed(message: bytes, size: int) -> bytearray:
    return bytearray(len(message).to_bytes(4, "little") + message[: size - 4]).ljust(size, b"\0")


def _cut(found: bytes, size: int) -> list[bytes]:
    return [found[start : start + size] for start in range(0, len(found), size)]


def _timeout(group: Group, device: Any) -> float:
    """Seconds after which a collective of the group fails."""
    timeout = torch_private.timeout_of(torch_private.backend_of(group.handle, device))
    return 600.0 if timeout is None else float(timeout.total_seconds())


_channels: weakref.WeakKeyDictionary[Any, Channel] = weakref.WeakKeyDictionary()


def channel(group: Group) -> Channel:
    found = _channels.get(group.handle)
    if found is None:
        found = _channels[group.handle] = Channel(group)
    return found


def agree(
    group: Group, message: bytes | None, error: Exception | None, conclude: Callable[[list[Fields]], Agreed]
) -> Agreed:
    """What `conclude` makes of the fields of all ranks: the same on each rank, or the same error.

    `message` is of :func:`encode`; None on a rank that refuses what it was called with, because of `error`.

    Raises
    ------
    Exception
        `error` itself on a rank that has one.
    RuntimeError
        On the others, with the rank and what it said (an OverflowError for one); or a rank has ended.
    """
    if group.size == 1:
        if error is not None:
            raise error
        assert message is not None
        return conclude([json.loads(message)])
    said = message if message is not None else encode({"refused": text_of(error)})
    place = channel(group)
    found = place.swap(group, said)
    before = place.agreed.get(said)
    if before is not None and before[0] == found:
        concluded: Agreed = before[1]
        return concluded
    if error is not None:
        raise error
    fields = [json.loads(each) for each in found]
    _check_place(fields)
    _check_refusals(fields)
    result = conclude(fields)
    remember(place.agreed, said, (found, result))
    return result


def over_mesh(
    groups: Sequence[Group], ranks: list[int], fields: Fields | None, error: Exception | None
) -> None:
    """Returns where all ranks of a mesh have the same fields. `groups`: this rank's, one a dimension of the mesh; `ranks`: all of
    the mesh, in its order, as errors name them.

    What one dimension has told travels along the next one, so that each rank knows what all have said, and no rank goes on
    that another one's refusal has not reached.

    Raises
    ------
    Exception
        `error` itself on a rank that has one.
    ValueError
        The fields differ; the first that does, with the values of all ranks.
    RuntimeError
        A rank refuses (an OverflowError for one), makes another call, or has ended: that of a rank which met another call is
        told in place of what its dimension has said.
    """
    found: list[Fields] = [{"refused": text_of(error)} if fields is None else fields]
    for group in reversed(groups):
        if group.size > 1:
            parts = [json.loads(each) for each in channel(group).swap(group, encode({MESH: found}))]
            try:
                _check_place(parts)
            except (
                RuntimeError
            ) as other:  # the ranks of the next dimension wait for this one, and are told there
                found = [{"refused": text_of(other)}] * (len(found) * len(parts))
                error = other if error is None else error
            else:
                found = [each for part in parts for each in part[MESH]]
    if error is not None:
        raise error
    check_refusals({rank: x["refused"] for rank, x in zip(ranks, found, strict=True) if "refused" in x})
    check_alike(found, ("library",), ranks)  # another one may say other things
    check_alike(found, tuple(found[0]), ranks)


def remember(found: dict[Any, Any], key: Any, value: Any) -> None:
    if len(found) >= REMEMBERED:
        found.clear()
    found[key] = value


def confirm(group: Group, error: Exception | None) -> None:
    """Returns where no rank has an error; else each rank raises its own, or a RuntimeError (an OverflowError for one) that names
    the ranks and theirs. Waits for all ranks."""
    if group.size > 1:
        said: Fields = {CONFIRMS: True}
        if error is not None:
            said |= {"refused": text_of(error)}
        fields = [json.loads(each) for each in channel(group).swap(group, encode(said))]
        _check_place(fields)
        if error is None:
            _check_refusals(fields)
    if error is not None:
        raise error


def together(group: Group, size: int, take: Callable[[], Taken]) -> Taken:
    """What `take` gives, memory above all: on every rank or on none, so that none waits for one that has none. `size` is about
    its bytes, the same on all ranks: less than LEAST_CONFIRMED is not worth an exchange.

    Raises
    ------
    Exception
        As :func:`confirm`.
    """
    taken, failure = None, None
    try:
        taken = take()
    except Exception as error:
        failure = error
    if size >= LEAST_CONFIRMED:
        confirm(group, failure)
    elif failure is not None:
        raise failure
    return taken  # type: ignore[return-value]


def encode(fields: Fields) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()


def _check_place(fields: list[Fields]) -> None:
    """RuntimeError where some ranks begin a call, and others another kind of call or are within one: what they would exchange
    next is not alike."""
    within = [rank for rank, each in enumerate(fields) if CONFIRMS in each]
    if 0 < len(within) < len(fields):
        raise RuntimeError(
            f"the ranks are in different calls: {_ranks(within)} within an earlier one, which another rank has left"
        )
    on_mesh = [rank for rank, each in enumerate(fields) if MESH in each]
    if 0 < len(on_mesh) < len(fields):
        raise RuntimeError(
            f"the ranks are in different calls: {_ranks(on_mesh)} with DTensors, the others with parts"
        )


def _check_refusals(fields: list[Fields]) -> None:
    check_refusals({rank: each["refused"] for rank, each in enumerate(fields) if "refused" in each})


def check_alike(fields: list[Fields], names: tuple[str, ...], ranks: list[int] | None = None) -> None:
    """ValueError for the first of these fields that the ranks have different values of; it names them all, as `ranks` does."""
    for name in names:
        values = [each[name] for each in fields]
        if any(value != values[0] for value in values):
            said: dict[str, list[int]] = {}
            for rank, value in zip(ranks or range(len(values)), values, strict=True):
                said.setdefault(_shown(value), []).append(rank)
            shown = "; ".join(f"{value} on {_ranks(who)}" for value, who in said.items())
            raise ValueError(f"{name}: the ranks differ: {shown}")


def _shown(value: Any) -> str:
    return value if isinstance(value, str) and " " in value else repr(value)


def _ranks(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 8:
        return f"{len(ranks)} ranks from rank {ranks[0]} on"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
