"""The small exchanges in which ranks agree. Before any data move, each says what it was called with, or why it refuses that; in
between, whether it came so far. A rank whose own arguments are wrong takes part, so that nobody waits for it.
"""

from __future__ import annotations

import hashlib
import json
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from .. import _core
from .._request.library import require_torch
from .._support import torch_private
from .._support.ranks import check_refusals, text_of
from .._support.version import __version__
from ._collectives import Group, all_gather

torch: Any = require_torch()

FRAME = 1024  # bytes of a message, its length in the first four; what is longer takes a second exchange
REMEMBERED = 4096  # calls of a group
# From so many bytes on, all ranks make sure that all of them have the memory before any sends.
LEAST_CONFIRMED = 2**28
PATIENCE = 0.8  # a share of the timeout: at its end torch ends a process that waits for NCCL, and with it what we would say
CODE = ("*.py", "_core*.so", "_cuda*.so", "libozfp4_cuda*.so")
WITHIN = "within an earlier call"  # a kind of call, as errors name it
Fields = dict[str, Any]
Taken = TypeVar("Taken")


def digest_of(*folders: Path) -> str:
    """Of all that computes there: the Python code, the extension modules, and the library that holds the kernels for GPUs."""
    digest = hashlib.blake2b(digest_size=8)
    for folder in folders:
        for path in sorted(path for pattern in CODE for path in folder.rglob(pattern)):
            digest.update(f"{path.relative_to(folder).as_posix()}\0".encode())
            digest.update(hashlib.blake2b(path.read_bytes()).digest())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def identity() -> str:
    """The library that a rank runs, and the torch beneath: ranks of one version may have been built from different sources."""
    # An editable installation has its Python code elsewhere than the extension modules.
    folders = dict.fromkeys((Path(__file__).parents[1], Path(str(_core.__file__)).parent))
    return f"ozfp4 {__version__}, build {digest_of(*folders)}, torch {torch.__version__}"


class Channel:
    """Where the messages of a group travel."""

    def __init__(self, group: Group) -> None:
        # Of what the group is, not of what this rank was called with, which may be wrong.
        self.on_host = group.backend(torch.device("cpu")) != ""
        # Agreements, by the arguments of this rank. Calls with `whole`, those without and those of each mesh are kept
        # apart: all ranks have the same ones of a kind, but for those without, and forget them at once where there are too many.
        self.known: dict[Any, dict[Any, Any]] = defaultdict(dict)
        self._streams: dict[int, Any] = {}  # by the index of a device

    def swap(self, group: Group, message: bytes) -> list[bytes]:
        """The messages of all ranks, in rank order; waits for them. RuntimeError where a rank has ended, or does not answer
        within the group's timeout."""
        frames = self._swap(group, message, FRAME)
        lengths = [int.from_bytes(frame[:4], "little") for frame in frames]
        if max(lengths) > FRAME - 4:
            frames = self._swap(group, message, max(lengths) + 4)
        return [frame[4 : 4 + length] for frame, length in zip(frames, lengths, strict=True)]

    def _swap(self, group: Group, message: bytes, size: int) -> list[bytes]:
        frame = bytearray(len(message).to_bytes(4, "little") + message[: size - 4]).ljust(size, b"\0")
        if not self.on_host and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                "a CUDA graph is being captured, in which no rank can wait for the others; whole= and check='first' leave the "
                "exchange out of a call like an earlier one"
            )
        try:
            found = (self._by_host if self.on_host else self._by_device)(group, frame).numpy().tobytes()
        except torch.cuda.OutOfMemoryError:  # a RuntimeError, and nobody else's fault
            raise
        except RuntimeError as error:  # of torch.distributed, which has no narrower ones everywhere
            raise RuntimeError(
                f"rank {group.rank} of {group.size} had no answer of all other ranks: one of them has ended, or raised or "
                f"waits elsewhere: {error}"
            ) from error
        return [found[start : start + size] for start in range(0, len(found), size)]

    @staticmethod
    def _by_host(group: Group, frame: bytearray) -> Any:
        sent = torch.frombuffer(frame, dtype=torch.uint8)
        found = torch.empty(group.size * len(frame), dtype=torch.uint8, device="cpu")
        all_gather(found, sent, group).wait()
        return found

    def _by_device(self, group: Group, frame: bytearray) -> Any:
        """On a stream of its own: what the current one still computes is not waited for."""
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
        return host


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


def all_calls(
    groups: Sequence[Group], ranks: Sequence[int], kind: str, fields: Fields | None, error: Exception | None
) -> list[Fields]:
    """The arguments of all ranks, in the order of `ranks`, which are their names in errors. `groups`: one a dimension of
    their mesh. `fields`: of this rank, unless it refuses the call because of `error`, which it raises then, and the others a
    RuntimeError that says so (an OverflowError for one), as they do where a rank makes another `kind` of call.

    The result of one dimension travels along the next one, so that no rank goes on that another one's refusal has not reached.
    """
    found: list[Any] = [fields if error is None else text_of(error)]
    for group in reversed(groups):
        if group.size == 1:
            continue
        message = json.dumps([kind, found], separators=(",", ":")).encode()
        answers = [_decoded(each) for each in channel(group).swap(group, message)]
        kinds = [each for each, _ in answers]
        if kinds == [kind] * group.size:
            found = [each for _, part in answers for each in part]
        else:  # the ranks of the next dimension wait for this one, and are told there
            other = RuntimeError(f"the ranks are in different calls: {_shares(kinds, range(group.size))}")
            found = [text_of(other)] * (len(found) * group.size)
            error = error or other
    if error is not None:
        raise error
    check_refusals({rank: each for rank, each in zip(ranks, found, strict=True) if isinstance(each, str)})
    return found


@lru_cache(maxsize=256)
def _decoded(message: bytes) -> Any:
    return json.loads(message)


def key_of(fields: Fields) -> tuple[Any, ...]:
    """The fields as a key of calls; True is no 1."""
    return tuple((type(value), value) for value in fields.values())


def digest_of_answers(found: list[Fields]) -> bytes:
    """A digest, kept in place of the answers of all ranks."""
    return hashlib.blake2b(repr(found).encode(), digest_size=16).digest()


def remember(found: dict[Any, Any], key: Any, value: Any) -> None:
    if len(found) >= REMEMBERED:
        found.clear()
    found[key] = value


def confirm(group: Group, error: Exception | None) -> None:
    """Returns where no rank has an error; else each rank raises its own, or a RuntimeError (an OverflowError for one) that names
    the ranks and theirs. Waits for all ranks."""
    all_calls([group], range(group.size), WITHIN, {}, error)


def together(group: Group, take: Callable[[], Taken], size: float = inf) -> Taken:
    """The result of `take`: on every rank or on none, so that none waits for one that has failed. Raises as :func:`confirm`.
    `size`: of memory about its bytes, the same on all ranks; less than LEAST_CONFIRMED is not worth an exchange."""
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


def check_alike(fields: Sequence[Fields], ranks: Sequence[int], own: Sequence[str] = ()) -> None:
    """ValueError for the first field that the ranks have different values of, but for their `own`; it names all values."""
    for name in fields[0]:
        if name not in own:  # another library, the first field, may have others
            values = [each[name] for each in fields]
            if any(value != values[0] for value in values):
                raise ValueError(f"{name}: the ranks differ: {_shares(values, ranks)}")


def _shares(values: Sequence[Any], ranks: Sequence[int]) -> str:
    """Which ranks have which value."""
    said: dict[str, list[int]] = {}
    for rank, value in zip(ranks, values, strict=True):
        said.setdefault(value if isinstance(value, str) and " " in value else repr(value), []).append(rank)
    return "; ".join(f"{value} on {_named(who)}" for value, who in said.items())


def _named(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if len(ranks) > 8:
        return f"{len(ranks)} ranks from rank {ranks[0]} on"
    return f"ranks {', '.join(map(str, ranks[:-1]))} and {ranks[-1]}"
