"""Memory of launches on a GPU, all of it torch's: counters and a small workspace that each stream keeps, and the workspace of a
product, which is laid out in less where the device has no more."""

from __future__ import annotations

from typing import Any

from ...request import library
from . import extension
from .views import Prepared

# Of a problem that is launched again; larger ones take far longer than the allocation of theirs.
KEPT_WORKSPACE = 2**20


class StreamMemory:
    """What launches of one stream share, which follow each other: the addresses of counters that they leave as they found them,
    zero, and of a workspace for small problems; and the tensors of both."""

    def __init__(self, device: int) -> None:
        torch, cuda = library.require_torch(), extension.require_cuda()
        where = torch.device("cuda", device)
        self.held = (
            torch.zeros(cuda.counter_bytes, dtype=torch.uint8, device=where),
            torch.empty(KEPT_WORKSPACE, dtype=torch.uint8, device=where),
        )
        self.counters, self.workspace = (int(x.data_ptr()) for x in self.held)


_memories: dict[tuple[int, int], StreamMemory] = {}  # by device and stream


def stream_memory(stream: int, device: int) -> StreamMemory | None:
    """That of a stream, the current one; None while it is captured: a graph may run beside the stream."""
    number = extension.require_cuda().stream_id(stream, device)
    memory = _memories.get((device, number))
    if memory is None and number >= 0:
        memory = _memories[device, number] = StreamMemory(device)
    return memory


def clear_counters(stream: int, device: int) -> int:
    """The address of the current stream's counters; 0 while it is captured."""
    memory = stream_memory(stream, device)
    return 0 if memory is None else memory.counters


def forget_counters(address: int) -> None:
    """Behind a launch that failed: those before it have left the counters as they were in between."""
    for key, memory in list(_memories.items()):
        if memory.counters == address:
            del _memories[key]


def workspace_for(prepared: Prepared, device: Any) -> tuple[Prepared, Any]:
    """A problem and a tensor of its workspace. Where the device has too little memory left it is the problem in half of the
    bytes, or in half of these: blocks in turn, with the same bits.

    Raises
    ------
    torch.cuda.OutOfMemoryError
        Not even the smallest blocks have room; or a stream is captured, whose graph keeps what it is given.
    """
    torch = library.require_torch()
    asked = prepared
    while True:
        try:
            return prepared, torch.empty(prepared.bytes, dtype=torch.uint8, device=device)
        except torch.cuda.OutOfMemoryError:
            smaller = None if torch.cuda.is_current_stream_capturing() else prepared.in_half()
            if smaller is None and prepared is asked:
                raise
        if smaller is None:  # what is told is what was wanted
            return asked, torch.empty(asked.bytes, dtype=torch.uint8, device=device)
        prepared = smaller
