"""Enqueues products of torch CUDA tensors. torch owns all memory; nothing here synchronises, and nothing asks whom to trust."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...plans.plan import Plan
from ...request import library
from ...request.operands import MatmulRequest, MatmulShape
from ...request.prepared import NEITHER
from ...request.update import Update
from ...support import debug
from ...support.torch_private import stream_handle
from . import extension
from .device_plan import device_plan
from .findings import Findings
from .kept import NOTHING_KEPT, KeptSides
from .promise import PLAIN, Promise
from .variant import Variant
from .views import Prepared, prepare

UNLIMITED = 2**62
_LONGEST_EXTENT = 2**31 - 4096  # kLongestExtent of csrc/plan/schedule.hpp


class Launch:
    """One product on the device: what was built for it, the workspace that it used, what it left beside the result (None:
    nothing was promised), and where A, B, the result and the addend (0: none) lay."""

    def __init__(
        self, prepared: Prepared, workspace: Any, second: Any, addresses: tuple[int, int, int], addend: int
    ) -> None:
        self.prepared = prepared
        self.workspace = workspace
        self.second = second
        self.addresses = addresses
        self.addend = addend

    @property
    def problem(self) -> Any:
        return self.prepared.problem


class OnlyLaunch:
    """The launch of what may be several products: None where there was none, or where there were several. Its memory is let go
    of, which the next one may take."""

    def __init__(self) -> None:
        self.launch: Launch | None = None
        self._count = 0

    def add(self, launch: Launch | None) -> None:
        self._count += 1
        self.launch = launch if self._count == 1 else None
        if launch is not None:
            launch.workspace = launch.second = None


# Of a problem that is launched again; larger ones take far longer than the allocation of theirs.
_KEPT_WORKSPACE = 2**20


class StreamMemory:
    """What launches of one stream share, which follow each other: the addresses of counters that they leave as they found them,
    zero, and of a workspace for small problems; and the tensors of both."""

    def __init__(self, device: int) -> None:
        torch, cuda = library.require_torch(), extension.require_cuda()
        where = torch.device("cuda", device)
        self.held = (
            torch.zeros(cuda.counter_bytes, dtype=torch.uint8, device=where),
            torch.empty(_KEPT_WORKSPACE, dtype=torch.uint8, device=where),
        )
        self.counters, self.workspace = (int(x.data_ptr()) for x in self.held)


_memories: dict[tuple[int, int], StreamMemory] = {}  # by device and stream
_MOST_STREAMS = 256  # a megabyte each


def memory_of(stream: int, device: int) -> StreamMemory | None:
    """That of a stream, the current one, which the caller holds until its launch is enqueued: other threads may forget it. None
    while the stream is captured: a graph may run beside it."""
    number = extension.require_cuda().stream_id(stream, device)
    memory = _memories.get((device, number))
    if memory is None and number >= 0:
        for oldest in list(_memories)[: max(0, len(_memories) - _MOST_STREAMS + 1)]:
            _memories.pop(oldest, None)
        # Another thread's, if it was first.
        memory = _memories.setdefault((device, number), StreamMemory(device))
    return memory


def forget(memory: StreamMemory | None) -> None:
    """Behind a launch that failed: those before it have left the counters as they were in between."""
    for key, own in list(_memories.items()):
        if own is memory:
            _memories.pop(key, None)


def is_captured(device: int) -> bool:
    """Whether a graph is captured on the device's current stream."""
    stream = stream_handle(device)
    return bool(extension.require_cuda().stream_id(stream, device) < 0)


def _workspace_for(prepared: Prepared, device: Any) -> tuple[Prepared, Any]:
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
            smaller = None if is_captured(device.index) else prepared.in_half()
            if smaller is None and prepared is asked:
                raise
        if smaller is None:  # what is told is what was wanted
            return asked, torch.empty(asked.bytes, dtype=torch.uint8, device=device)
        prepared = smaller


def run(
    plan: Plan,
    variant: Variant,
    a: Any,
    b: Any,
    c: Any,
    shape: MatmulShape,
    limit: int,
    events: tuple[int, int, int] = (0, 0, 0),
    findings: Findings | None = None,
    promise: Promise = PLAIN,
    second: Any = None,
    kept: KeptSides = NOTHING_KEPT,
    update: Update | None = None,
) -> Launch:
    """Enqueue c = a b by the kernel of `variant`; `a`, `b`, `c` are tensors with both matrix axes. Every extent is at least 1.

    `update`, whose C has both matrix axes, makes it c = alpha a b + beta C.

    `events` are handles of CUDA events to record after scale, encode and multiply (0: none). `findings` are gathered where
    given. `second` is a contiguous tensor of the result's extents for what the promise has beside the result. Of the operands in
    `kept`, `a` and `b` are the entries.

    Raises
    ------
    RuntimeError
        What is kept of an operand is not what the kernel multiplies.
    """
    device = a.device
    addresses = (a.data_ptr(), b.data_ptr(), c.data_ptr())
    alignment = extension.require_cuda().pointer_alignment
    if promise.may_lengthen and (
        kept is not NOTHING_KEPT or a.dtype is not c.dtype or b.dtype is not c.dtype
    ):
        promise = promise._replace(may_lengthen=False)
    key = (shape.k, variant.kernel, device.index, promise)
    made = plan._device_plans.get(key) or device_plan(plan, *key)  # no call where there is one
    shapes: tuple[Any, ...] = ()
    if kept is not NOTHING_KEPT:
        kept.check(made.cuda_plan.element)
        shapes = kept.shapes()
    prepared = prepare(
        made,
        shape,
        (a.shape, a.stride(), a.dtype),
        (b.shape, b.stride(), b.dtype),
        (c.shape, c.stride(), c.dtype),
        (addresses[0] % alignment, addresses[1] % alignment, addresses[2] % alignment),
        device.index,
        limit,
        variant,
        shapes,
        None if update is None or update.c is None else (update.c.shape, update.c.stride(), update.c.dtype),
    )
    prepared, workspace = _workspace_for(prepared, device)
    enqueue(prepared, workspace, addresses, device, events, findings, second, kept, update)
    addend = 0 if update is None or update.c is None else int(update.c.data_ptr())
    return Launch(prepared, workspace, second, addresses, addend)


_steps_of_graphs: dict[int, Any] = {}  # by address


def _hold_steps(steps: Any, device: int, is_captured: bool) -> None:
    """A schedule on the device outlives the launches of the current stream, as its memory came from another one; and for good
    those of a graph, which reads it whenever it is replayed."""
    if is_captured:
        _steps_of_graphs[steps.data_ptr()] = steps
    else:
        steps.record_stream(library.require_torch().cuda.current_stream(device))


# Arguments of every launch.
_DEBUG: dict[str, Any] = {"sync_stages": True} if debug.SYNC_STAGES else {}


def enqueue(
    prepared: Prepared,
    workspace: Any,
    addresses: tuple[int, int, int],
    device: Any,
    events: tuple[int, int, int] = (0, 0, 0),
    findings: Findings | None = None,
    second: Any = None,
    kept: KeptSides = NOTHING_KEPT,
    update: Update | None = None,
) -> None:
    """Enqueue a problem on matrices at these addresses, in a workspace that the stream uses until it has run."""
    torch = library.require_torch()
    index = device.index
    problem = prepared.problem
    stream = stream_handle(index)
    shared = memory_of(stream, index)
    if prepared.steps is not None:
        _hold_steps(prepared.steps, index, shared is None)
    counters = 0 if shared is None else shared.counters
    further = _DEBUG if second is None else {**_DEBUG, "second": second.data_ptr()}
    if kept is not NOTHING_KEPT:
        further = {**further, **kept.arguments(torch, index, stream)}
    if update is not None:
        addend = 0 if update.c is None else update.c.data_ptr()
        further = {**further, "alpha": update.alpha, "beta": update.beta, "addend": addend}
    try:
        if findings is None:
            problem.launch(*addresses, workspace.data_ptr(), counters, stream, *events, **further)
            return
        for turn in range(problem.turns):  # the next turn overwrites what this one leaves
            problem.launch(
                *addresses, workspace.data_ptr(), counters, stream, *events, turn, turn + 1, **further
            )
            findings.add(problem, turn, workspace)
        for name, side in zip("ab", kept, strict=True):
            if side is not None:
                findings.add_kept(name, side)
    except BaseException:
        forget(shared)
        raise


def relaunch(
    prepared: Prepared,
    addresses: tuple[int, int, int],
    device: Any,
    factors: tuple[float, float] | None = None,
    addend: int = 0,
    kept: KeptSides = NOTHING_KEPT,
) -> None:
    """Enqueue a problem of which nothing is asked but its result; of an update with these factors, and C at `addend`. A small one
    takes the workspace that its stream keeps; one that was laid out in less memory stays so, as a large request that fails costs
    torch all that it keeps."""
    torch, index = library.require_torch(), device.index
    stream = stream_handle(index)
    shared = memory_of(stream, index)
    if shared is None or prepared.bytes > _KEPT_WORKSPACE:
        prepared, workspace = _workspace_for(prepared, device)
        address, counters = workspace.data_ptr(), 0 if shared is None else shared.counters
    else:
        address, counters = shared.workspace, shared.counters
    if prepared.steps is not None:
        _hold_steps(prepared.steps, index, shared is None)
    alpha, beta = factors or (1.0, 0.0)
    try:
        if kept is NOTHING_KEPT and not _DEBUG:
            prepared.relaunch(*addresses, address, counters, stream, alpha, beta, addend)
        else:
            further = {**_DEBUG, **kept.arguments(torch, index, stream)}
            prepared.problem.launch(
                *addresses, address, counters, stream, alpha=alpha, beta=beta, addend=addend, **further
            )
    except BaseException:
        forget(shared)
        raise


def check_extents(shape: MatmulShape) -> None:
    """ValueError for an extent that no product on a GPU takes."""
    check_extents_of(shape.m, shape.n, shape.k)


def check_extents_of(m: int, n: int, k: int) -> None:
    """The same of the three by themselves."""
    if max(m, n, k) > _LONGEST_EXTENT:
        name, extent = max((("m", m), ("n", n), ("k", k)), key=lambda x: x[1])
        raise ValueError(f"{name}: {extent} exceeds 2**31 - 4096, the largest extent of a product on a GPU")


def fill(
    request: MatmulRequest,
    plan: Plan,
    variant: Variant | None,
    c: Any,
    findings: Findings | None = None,
    promise: Promise = PLAIN,
    second: Any = None,
) -> Launch | None:
    """Enqueue the product into `c`, a tensor with both matrix axes; `variant` is None where it is empty or zero.

    Raises
    ------
    MemoryError
        A workspace limit below what the smallest blocks need.
    """
    shape = request.shape
    check_extents(shape)
    if variant is None:
        fill_zero(c, promise)
        if second is not None:
            second.zero_()
        return None
    rows = request.a.unsqueeze(0) if shape.a_vector else request.a
    columns = request.b.unsqueeze(-1) if shape.b_vector else request.b
    limit = request.asked.workspace_limit or UNLIMITED
    update = request.update
    if update is not None and update.c is not None:
        update = replace(update, c=_with_matrix_axes(update.c, shape))
    return run(
        plan, variant, rows, columns, c, shape, limit, findings=findings, promise=promise, second=second,
        kept=kept_of(request), update=update,
    )  # fmt: skip


def kept_of(request: MatmulRequest) -> KeptSides:
    """What was made of the operands before."""
    if request.prepared is NEITHER:
        return NOTHING_KEPT
    return KeptSides(*(None if side is None else side._held for side in request.prepared))


def _with_matrix_axes(c: Any, shape: MatmulShape) -> Any:
    """A tensor of the result's shape with both matrix axes, as a view."""
    view = c.unsqueeze(-1) if shape.b_vector else c
    return view.unsqueeze(-2) if shape.a_vector else view


def fill_zero(c: Any, promise: Promise) -> None:
    """Fill a product whose inner dimension is 0: an exact zero is -0 when it is rounded down."""
    c.fill_(-0.0 if promise.rounding == "down" else 0.0)


def matmul(
    request: MatmulRequest,
    plan: Plan,
    variant: Variant | None,
    findings: Findings | None = None,
    promise: Promise = PLAIN,
) -> tuple[Any, Any, Launch | None]:
    """The product by a plan, into `out` if it was given; what the promise has beside it, or None; and its launch. Raises as
    :func:`fill`."""
    shape, c, torch = request.shape, request.out, request.torch
    if c is None:
        c = torch.empty(shape.result, dtype=request.dtype, device=request.a.device)
    second = None
    if promise.second != "none":
        dtype = torch.float64 if promise.second == "bound" else request.dtype
        second = torch.empty(shape.result, dtype=dtype, device=request.a.device)
    return c, second, fill(request, plan, variant, _with_matrix_axes(c, shape), findings, promise, second)


def int8_matmul(request: MatmulRequest, plan: Plan, variant: Variant | None) -> tuple[Any, Launch | None]:
    """The int32 product of int8 matrices, a tensor of its own, and its launch. Raises as :func:`fill`."""
    shape = request.shape
    # The kernel stores pairs of entries, and a matrix of a stack begins where 16 bytes do: what is more is cut off at the end.
    multiple = 4 if shape.stack else 2
    c = request.torch.empty(
        (*shape.stack, shape.m, shape.n + -shape.n % multiple), dtype=request.dtype, device=request.a.device
    )
    made = fill(request, plan, variant, c)
    return c[..., : shape.n].contiguous().reshape(shape.result), made
