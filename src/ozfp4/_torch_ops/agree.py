"""The small exchanges in which the ranks of a group or a mesh agree.

Before any data move they agree on their arguments, or on why a rank refuses them; later on whether each came so far. A rank with
wrong arguments takes part, so that no rank waits for it.
"""

from __future__ import annotations

import hashlib
import json
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from .. import _core
from .._request.library import require_torch
from .._support import torch_private
from .._support.version import __version__

torch: Any = require_torch()

FRAME = 1024  # bytes of a message, its length in the first four; what is longer takes a second exchange
LONGEST = 4096  # characters of why a rank refuses
REMEMBERED = 4096  # calls of a group
# From so many bytes on, all ranks make sure that all of them have the memory before any sends.
LEAST_CONFIRMED = 2**28
PATIENCE = 0.8  # a share of the timeout: at its end torch ends a process that waits for NCCL, and with it what we would say
CODE = ("*.py", "_core*.so", "_cuda*.so", "libozfp4_cuda*.so")
WITHIN = "within an earlier call"  # a kind of call, as errors name it
Fields = dict[str, Any]
Taken = TypeVar("Taken")


def digest_of(*folders: Path) -> str:
    """The digest of all that computes there: the Python code, the extension modules, the library of kernels for GPUs."""
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


def all_gather(found: Any, sent: Any, group: Group) -> Any:
    """torch's collective of one tensor from each rank; the work that it returns. Newer versions have another name for it."""
    dist = torch.distributed
    function = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
    return function(found, sent, group=group.handle, async_op=True)


def device_of(x: Any) -> AbstractContextManager[Any]:
    """A scope in which the GPU where a tensor lies is the current one, as collectives want it."""
    is_there = isinstance(x, torch.Tensor) and x.is_cuda
    return torch.cuda.device(x.device) if is_there else nullcontext()


class Group:
    """A process group of torch: this rank in it, how many there are, and where their messages travel."""

    def __init__(self, handle: Any) -> None:
        self._handle = weakref.ref(handle)  # a group ends where the program ends it
        self.rank, self.size = handle.rank(), handle.size()
        # A fact of the group, not of the arguments of this rank, which may be wrong.
        self.on_host = self.backend(torch.device("cpu")) != ""
        # Agreements, by the arguments of this rank. Calls with `whole`, those without and those of each mesh are kept apart.
        # All ranks have the same ones of a kind (except those without), and drop them at once when there are too many.
        self.known: dict[Any, dict[Any, Any]] = defaultdict(dict)
        self._streams: dict[int, Any] = {}  # by the index of a device

    @property
    def handle(self) -> Any:
        """torch's object; RuntimeError where the program has ended the group, as torch takes None for the group of all ranks."""
        if (found := self._handle()) is None:
            raise RuntimeError("group: it has ended")
        return found

    def backend(self, device: Any) -> str:
        """The name of the backend for tensors of a device, such as "gloo" and "nccl"; "" without one."""
        try:
            return str(torch_private.backend_of(self.handle, device).name()).lower()
        except RuntimeError:
            return ""

    def goes_by_host(self, x: Any) -> bool:
        return x.device.type != "cpu" and self.backend(x.device) == "gloo"

    def swap(self, message: bytes) -> list[bytes]:
        """The messages of all ranks, in rank order; waits for them. RuntimeError where a rank has ended, or does not answer
        within the group's timeout."""
        frames = self._swap(message, FRAME)
        lengths = [int.from_bytes(frame[:4], "little") for frame in frames]
        if max(lengths) > FRAME - 4:
            frames = self._swap(message, max(lengths) + 4)
        return [frame[4 : 4 + length] for frame, length in zip(frames, lengths, strict=True)]

    def _swap(self, message: bytes, size: int) -> list[bytes]:
        frame = bytearray(len(message).to_bytes(4, "little") + message[: size - 4]).ljust(size, b"\0")
        if not self.on_host and torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                "a CUDA graph is being captured, in which no rank can wait for the others; whole= and check='first' leave the "
                "exchange out of a call like an earlier one"
            )
        try:
            found = (self._by_host if self.on_host else self._by_device)(frame).numpy().tobytes()
        except torch.cuda.OutOfMemoryError:  # a RuntimeError that is no rank's fault
            raise
        except RuntimeError as error:  # of torch.distributed, which has no narrower ones everywhere
            raise RuntimeError(
                f"rank {self.rank} of {self.size} had no answer of all other ranks: one of them has ended, or raised or "
                f"waits elsewhere: {error}"
            ) from error
        return [found[start : start + size] for start in range(0, len(found), size)]

    def _by_host(self, frame: bytearray) -> Any:
        sent = torch.frombuffer(frame, dtype=torch.uint8)
        found = torch.empty(self.size * len(frame), dtype=torch.uint8, device="cpu")
        all_gather(found, sent, self).wait()
        return found

    def _by_device(self, frame: bytearray) -> Any:
        """On a separate stream: it does not wait for what the current one still computes."""
        index = torch.cuda.current_device()
        if index not in self._streams:
            self._streams[index] = torch.cuda.Stream()
        with torch.cuda.stream(self._streams[index]):
            sent = torch.frombuffer(frame, dtype=torch.uint8).to(torch.device("cuda", index))
            found = torch.empty(self.size * len(frame), dtype=torch.uint8, device=sent.device)
            all_gather(found, sent, self).wait()
            host = torch.empty(found.shape, dtype=torch.uint8, device="cpu", pin_memory=True)
            host.copy_(found, non_blocking=True)
            done = torch.cuda.Event()
            done.record()
        limit = PATIENCE * _timeout(self, sent.device)
        ends = time.monotonic() + limit
        while not done.query():
            if time.monotonic() > ends:
                raise RuntimeError(f"nothing came in {limit:.3g} s, {PATIENCE} of the group's timeout")
        return host


def _timeout(group: Group, device: Any) -> float:
    """Seconds after which a collective of the group fails."""
    timeout = torch_private.timeout_of(torch_private.backend_of(group.handle, device))
    return 600.0 if timeout is None else float(timeout.total_seconds())


_groups: weakref.WeakKeyDictionary[Any, Group] = weakref.WeakKeyDictionary()


def take_group(handle: Any) -> Group:
    """The group of a product; RuntimeError where this process is in none, TypeError for something else."""
    dist = torch.distributed
    if not dist.is_available():
        raise RuntimeError("group: this build of torch has no torch.distributed")
    if not dist.is_initialized():
        raise RuntimeError(
            "group: torch.distributed is not initialised; call torch.distributed.init_process_group first"
        )
    if handle is None:
        handle = dist.group.WORLD
    if handle == dist.GroupMember.NON_GROUP_MEMBER:
        raise RuntimeError("group: this process is not a member of the group; only its members may call this")
    if not isinstance(handle, dist.ProcessGroup):
        raise TypeError(
            f"group: {type(handle).__name__} is no torch.distributed group; of a DeviceMesh pass get_group(axis)"
        )
    found = _groups.get(handle)
    if found is None:
        found = _groups[handle] = Group(handle)
    return found


def all_calls(who: Any, kind: str, fields: Fields | None, error: Exception | None) -> list[Fields]:
    """The arguments of all ranks of a :class:`Group`, or of a mesh of torch, in its order. `fields` are those of this rank,
    unless it refuses the call because of `error`. It raises that then, and the others a RuntimeError that says so, or an
    OverflowError where all refusals are. They do so, too, where a rank makes another `kind` of call. An error that came from
    another rank is no cause. The result of one dimension of a mesh travels along the next one, so refusals reach everybody."""
    groups, ranks = [who], range(who.size) if isinstance(who, Group) else who.mesh.flatten().tolist()
    if not isinstance(who, Group):
        groups = [take_group(who.get_group(dim)) for dim in range(who.ndim)]
    is_told = getattr(error, "is_told", False)
    found: list[Any] = [fields if error is None else "" if is_told else _text_of(error)]
    for group in reversed(groups):
        if group.size == 1:
            continue
        message = json.dumps([kind, found], separators=(",", ":")).encode()
        answers = [_decoded(each) for each in group.swap(message)]
        kinds = [each for each, _ in answers]
        if kinds == [kind] * group.size:
            found = [each for _, part in answers for each in part]
        else:  # the ranks of the next dimension wait for this one, and are told there
            other = RuntimeError(f"the ranks are in different calls: {_shares(kinds, range(group.size))}")
            found = [_text_of(other)] * (len(found) * group.size)
            error = error or other
    if error is not None and not is_told:
        raise error
    refused = {rank: each for rank, each in zip(ranks, found, strict=True) if isinstance(each, str)}
    if refused:
        causes = {rank: why for rank, why in refused.items() if why} or refused
        overflows = all(why.startswith("OverflowError:") for why in causes.values())
        told: Any = OverflowError if overflows else RuntimeError
        told = told("; ".join(f"rank {rank} refused: {why}" for rank, why in causes.items()))
        told.is_told = True
        raise told
    return found


def _text_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:LONGEST]


@lru_cache(maxsize=256)
def _decoded(message: bytes) -> Any:
    return json.loads(message)


def agreed(
    who: Any,
    kind: str,
    known: dict[Any, Any],
    describe: Callable[[], Fields],
    check: Callable[[Fields, bool], Any],
    conclude: Callable[[list[Fields], Any], Any],
    always: bool = False,
) -> Any:
    """The result of `conclude`, for the fields of all ranks and what `check` gives here, or that of an equal call before. Fields
    are those of `describe`; `check` has them, and whether the call is a new one. A call that is `known` exchanges nothing again,
    unless `always` is set. Raises as :func:`all_calls`."""
    fields, key, before, own, error = None, None, None, None, None
    try:
        fields = describe()
        key = tuple((type(value), value) for value in fields.values())  # True is no 1
        before = known.get(key)
        own = check(fields, before is None)
    except Exception as refusal:
        error = refusal
    if before is not None and not always:
        if error is not None:
            raise error
        return before[1]
    found = all_calls(who, kind, fields, error)
    digest = hashlib.blake2b(repr(found).encode(), digest_size=16).digest()  # instead of all answers
    if before is None or before[0] != digest:
        before = digest, conclude(found, own)
        if len(known) >= REMEMBERED:
            known.clear()
        known[key] = before
    return before[1]


def confirm(who: Any, error: Exception | None) -> None:
    """Returns where no rank of a group or mesh has an error; else raises as :func:`all_calls`. Waits for all ranks."""
    all_calls(who, WITHIN, {}, error)


def together(who: Any, take: Callable[[], Taken], size: float = inf) -> Taken:
    """The result of `take`: on every rank or on none, so that none waits for one that has failed. Raises as :func:`all_calls`.
    `size`: of memory about its bytes, the same on all ranks; less than LEAST_CONFIRMED is not worth an exchange."""
    taken, failure = None, None
    try:
        taken = take()
    except Exception as error:
        failure = error
    if size >= LEAST_CONFIRMED:
        confirm(who, failure)
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
