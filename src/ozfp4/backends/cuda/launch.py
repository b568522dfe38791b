"""Products of torch CUDA tensors: views, workspace and launch. torch owns all memory; nothing here synchronises."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...cost import model as cost
from ...plans.plan import Plan, make_plan
from ...report import Report
from ...request.library import check_device_out, torch_module
from ...request.operands import MatmulShape
from ...trust import guard
from ..backend import Backend
from .extension import extension, extension_error, is_forced, why_unavailable

UNLIMITED = 2**62
BACKENDS = cost.GPU_BACKENDS
_LONGEST_EXTENT = 2**31 - 4096  # kLongestExtent of csrc/cuda/multiply/contract.hpp
_ready: set[int] = set()


def check_devices(a: Any, b: Any) -> None:
    """RuntimeError unless both tensors lie on one CUDA device that this build has kernels for."""
    if a.device != b.device:
        raise RuntimeError(f"b: device {b.device} differs from {a.device}, where a lies")
    if a.device.type != "cuda":
        held = "cpu" if extension() is None else "cpu, cuda"
        raise RuntimeError(f"a: device {a.device} has no kernel in this build; it holds: {held}")
    index = a.device.index
    if index in _ready:
        return
    reason = why_unavailable(a.device)
    if reason is not None:
        raise RuntimeError(f"a: device {a.device}: {reason}")
    torch = torch_module()
    assert torch is not None
    if torch.cuda.is_current_stream_capturing():
        raise RuntimeError(
            f"a: the first product on {a.device} loads its kernels, which a CUDA graph cannot capture; "
            "run one product before the capture"
        )
    _ready.add(index)


class DevicePlan:
    """What a kernel on a device makes of a plan for one inner dimension; equal only to itself."""

    def __init__(self, plan: Plan, k: int, kernel: int, device: int) -> None:
        torch = torch_module()
        cuda = extension()
        assert torch is not None
        assert cuda is not None
        self.cuda_plan = cuda.CudaPlan(plan._core, k, kernel)
        self.steps: Any = None
        # A schedule too long for the kernel's parameters is read from the device.
        if steps := self.cuda_plan.device_steps:
            if torch.cuda.is_current_stream_capturing():
                raise RuntimeError(
                    f"k: the first product of this plan at k = {k} brings its schedule to cuda:{device}, which a CUDA graph "
                    "cannot capture; run one product before the capture"
                )
            self.steps = torch.frombuffer(bytearray(steps), dtype=torch.uint8).to(
                torch.device("cuda", device)
            )

    def steps_address(self) -> int:
        return 0 if self.steps is None else int(self.steps.data_ptr())


def _device_plan(plan: Plan, k: int, device: int, kernel: int | None) -> DevicePlan:
    if kernel is None:
        kernel = guard.serving_kernel(plan, device)
    key = (k, kernel, device)
    made = plan._device_plans.get(key)
    if made is None:
        made = plan._device_plans[key] = DevicePlan(plan, k, kernel, device)
    return made


def _collapse(stack: tuple[int, ...], *strides: tuple[int, ...]) -> tuple[list[int], list[list[int]]]:
    """Fewest axes that visit the same matrices: axes of extent 1 are dropped, adjacent ones merged where all can be."""
    extents: list[int] = []
    merged: list[list[int]] = [[] for _ in strides]
    for axis in range(len(stack)):
        extent = stack[axis]
        if extent == 1:
            continue
        steps = [s[axis] for s in strides]
        if extents and all(m[-1] == step * extent for m, step in zip(merged, steps, strict=True)):
            extents[-1] *= extent
            for m, step in zip(merged, steps, strict=True):
                m[-1] = step
        else:
            extents.append(extent)
            for m, step in zip(merged, steps, strict=True):
                m.append(step)
    return extents, merged


def _axis_strides(extents: tuple[int, ...], strides: tuple[int, ...], stack_rank: int) -> tuple[int, ...]:
    """Strides of an operand's stack axes as the output sees them: missing and broadcast axes have stride 0."""
    own = len(extents) - 2
    return (
        *(0 for _ in range(stack_rank - own)),
        *(0 if extents[i] == 1 else strides[i] for i in range(own)),
    )


class Prepared:
    """A problem, and the schedule on the device that its launches read (None: it travels with them)."""

    def __init__(self, problem: Any, steps: Any) -> None:
        self.problem = problem
        self.steps = steps


class Launch:
    """One product on the device: what was built for it and the workspace that it used."""

    def __init__(self, prepared: Prepared, workspace: Any) -> None:
        self.prepared = prepared
        self.workspace = workspace

    @property
    def problem(self) -> Any:
        return self.prepared.problem


class Findings:
    """What scale left in the workspace, gathered after every turn; looking at it waits for the device."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.moduli, self.special_rows, self.special_columns = 0, 0, 0
        self._exponents: list[int] = []
        self._unshifted: set[str] = set()  # operands with lines whose shift is 0

    def add(self, problem: Any, turn: int, workspace: Any) -> None:
        torch = torch_module()
        assert torch is not None
        about = problem.describe()
        if self._plan.moduli:
            start = about["units_used"]
            self.moduli = max(self.moduli, int(workspace[start : start + 4].view(torch.int32).item()))
        rows, columns = problem.new_lines(turn)
        self.special_rows += self._take("a", rows, about, workspace, torch.int32)
        self.special_columns += self._take("b", columns, about, workspace, torch.int32)

    def _take(self, name: str, lines: int, about: dict[str, Any], workspace: Any, word: Any) -> int:
        """The number of an operand's lines with special entries; notes their exponents."""
        if lines == 0:
            return 0
        flags = workspace[about[f"special_{name}"] :][:lines]
        shifts = workspace[about[f"shift_{name}"] :][: 4 * lines].view(word)
        others = shifts[shifts != 0]
        top = self._plan.bits - 1
        if len(others) > 0:
            self._exponents += [top - int(others.max()), top - int(others.min())]
        if len(others) < lines:
            self._unshifted.add(name)
        return int((flags != 0).sum().item())

    def exponents(self, a: Any, b: Any) -> tuple[int, int]:
        """Least and largest exponent of the lines of the operands; those with nothing finite but zeros have none.

        Their shift is 0, and so is that of lines whose largest entry has the exponent bits - 1: the operand says whether there
        are such.
        """
        torch = torch_module()
        assert torch is not None
        found = list(self._exponents)
        top = self._plan.bits - 1
        for name, lines in (("a", a), ("b", b.mT if b.dim() > 1 else b)):
            if name in self._unshifted:
                largest = torch.where(torch.isfinite(lines), lines, 0).abs().amax(-1)
                if bool(((largest >= 2.0**top) & (largest < 2.0 ** (top + 1))).any()):
                    found.append(top)
        return min(found, default=0), max(found, default=0)


# What a tensor's address does not say: shape, strides in entries, dtype.
Geometry = tuple[tuple[int, ...], tuple[int, ...], Any]


@lru_cache(maxsize=512)
def _problem(
    made: DevicePlan,
    shape: MatmulShape,
    a: Geometry,
    b: Geometry,
    c: Geometry,
    alignments: tuple[int, int, int],
    device: int,
    limit: int,
) -> Prepared:
    """What is launched for a product. `alignments` are the addresses modulo cuda.pointer_alignment."""
    torch = torch_module()
    assert torch is not None
    cuda = extension()
    assert cuda is not None
    types = {torch.float64: cuda.ElementType.float64, torch.float32: cuda.ElementType.float32}
    type_of = {**types, torch.int8: cuda.ElementType.int8, torch.int32: cuda.ElementType.float32}
    rank = len(shape.stack)
    in_bytes = [tuple(s * x[2].itemsize for s in x[1]) for x in (a, b, c)]
    strides = (
        _axis_strides(a[0], in_bytes[0], rank),
        _axis_strides(b[0], in_bytes[1], rank),
        in_bytes[2][:rank],
    )
    extents, (stack_a, stack_b, stack_c) = _collapse(shape.stack, *strides) if rank else ([], ([], [], []))
    operand_a = cuda.Operand(alignments[0], type_of[a[2]], shape.m, shape.k, in_bytes[0][-2], in_bytes[0][-1])
    operand_b = cuda.Operand(alignments[1], type_of[b[2]], shape.n, shape.k, in_bytes[1][-1], in_bytes[1][-2])
    result = cuda.Result(alignments[2], type_of[c[2]], shape.m, shape.n, in_bytes[2][-2], in_bytes[2][-1])
    problem = cuda.Problem(
        made.cuda_plan, operand_a, operand_b, result, extents, stack_a, stack_b, stack_c, device, limit,
        made.steps_address(),
    )  # fmt: skip
    return Prepared(problem, made.steps)


# By device and stream: counters that launches leave as they found them, zero. Launches of one stream follow each other.
_counters: dict[tuple[int, int], Any] = {}


def _clear_counters(stream: int, device: int) -> int:
    """The address of the current stream's counters; 0 while it is captured: a graph may run beside the stream."""
    cuda = extension()
    assert cuda is not None
    number = cuda.stream_id(stream, device)
    if number < 0:
        return 0
    key = (device, number)
    counters = _counters.get(key)
    if counters is None:
        torch = torch_module()
        assert torch is not None
        counters = torch.zeros(cuda.counter_bytes, dtype=torch.uint8, device=torch.device("cuda", device))
        _counters[key] = counters
    return int(counters.data_ptr())


def _current_stream(torch: Any, device: int) -> int:
    """The handle of the device's current stream, without the object around it where torch offers that."""
    raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
    return int(torch.cuda.current_stream(device).cuda_stream if raw is None else raw(device))


def run(
    plan: Plan,
    a: Any,
    b: Any,
    c: Any,
    shape: MatmulShape,
    limit: int,
    events: tuple[int, int, int] = (0, 0, 0),
    kernel: int | None = None,
    findings: Findings | None = None,
) -> Launch:
    """Enqueue c = a b; `a`, `b`, `c` are tensors with both matrix axes. Every extent is at least 1.

    `events` are handles of CUDA events to record after scale, encode and multiply (0: none). `kernel` is the number of the
    kernel that multiplies; by default the best one that passes its self-test. `findings` are gathered where given.
    """
    torch = torch_module()
    assert torch is not None
    cuda = extension()
    assert cuda is not None
    device = a.device
    addresses = (a.data_ptr(), b.data_ptr(), c.data_ptr())
    alignment = cuda.pointer_alignment
    prepared = _problem(
        _device_plan(plan, shape.k, device.index, kernel),
        shape,
        (a.shape, a.stride(), a.dtype),
        (b.shape, b.stride(), b.dtype),
        (c.shape, c.stride(), c.dtype),
        (addresses[0] % alignment, addresses[1] % alignment, addresses[2] % alignment),
        device.index,
        limit,
    )
    return Launch(prepared, _launch(prepared, addresses, device, events, findings))


def _launch(
    prepared: Prepared,
    addresses: tuple[int, int, int],
    device: Any,
    events: tuple[int, int, int] = (0, 0, 0),
    findings: Findings | None = None,
) -> Any:
    """Enqueue a problem on matrices at these addresses; returns the workspace, which the stream still uses."""
    torch = torch_module()
    assert torch is not None
    index = device.index
    problem = prepared.problem
    workspace = torch.empty(problem.bytes, dtype=torch.uint8, device=device)
    stream = _current_stream(torch, index)
    if prepared.steps is not None:  # its memory came from another stream: it must outlive this one's launches
        prepared.steps.record_stream(torch.cuda.current_stream(index))
    memory, counters = workspace.data_ptr(), _clear_counters(stream, index)
    if findings is None:
        problem.launch(*addresses, memory, counters, stream, *events)
        return workspace
    for turn in range(problem.turns):  # the next turn overwrites what this one leaves
        problem.launch(*addresses, memory, counters, stream, *events, turn, turn + 1)
        findings.add(problem, turn, workspace)
    return workspace


# What matmul did with two tensors and its other arguments, for tensors that differ from them in their data alone: the
# problem, the shape and the dtype of the result. A short product takes less time than all the checks.
_known: dict[tuple[Any, ...], tuple[Any, tuple[int, ...], Any]] = {}
_MOST_KNOWN = 512


def _likeness(a: Any, b: Any, arguments: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """All that decides what becomes of a product but for the data; None where repeat does not serve."""
    torch = torch_module()
    if (
        is_forced()
        or torch is None
        or type(a) is not torch.Tensor
        or type(b) is not torch.Tensor
        or not a.is_cuda
    ):
        return None
    if a.layout != torch.strided or b.layout != torch.strided:
        return None
    if a.requires_grad or b.requires_grad or a.is_neg() or b.is_neg():
        return None
    # Types because 2.0 == 2 and True == 1.
    return (
        a.shape, a.stride(), a.dtype, a.device, a.data_ptr() % 16, b.shape, b.stride(), b.dtype, b.device,
        b.data_ptr() % 16, *arguments, *map(type, arguments),
    )  # fmt: skip


def forget() -> None:
    """Let no product repeat what was made for a kernel that may be disabled by now."""
    _known.clear()


def repeat(a: Any, b: Any, arguments: tuple[Any, ...]) -> Any | None:
    """The product if one like it has been made before; None otherwise, also for whatever matmul may have to refuse."""
    key = _likeness(a, b, arguments)
    if key is None:
        return None
    try:
        known = _known.get(key)
    except TypeError:  # an argument that is not hashable
        return None
    if known is None:
        return None
    prepared, shape, dtype = known
    torch = torch_module()
    assert torch is not None
    c = torch.empty(shape, dtype=dtype, device=a.device)
    _launch(prepared, (a.data_ptr(), b.data_ptr(), c.data_ptr()), a.device)
    return c


def remember(a: Any, b: Any, arguments: tuple[Any, ...], c: Any, launch: Launch | None) -> None:
    """Let repeat serve products like this one, whose result `c` is new."""
    key = _likeness(a, b, arguments)
    if key is None or launch is None:
        return
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = (launch.prepared, tuple(c.shape), c.dtype)


def fill(
    plan: Plan,
    a: Any,
    b: Any,
    c: Any,
    shape: MatmulShape,
    limit: int | None,
    findings: Findings | None = None,
) -> Launch | None:
    """Enqueue c = a b for any extents; `c` has both matrix axes, `a` and `b` are as the caller passed them."""
    if max(shape.m, shape.n, shape.k) > _LONGEST_EXTENT:
        name, extent = max((("m", shape.m), ("n", shape.n), ("k", shape.k)), key=lambda x: x[1])
        raise ValueError(f"{name}: {extent} exceeds 2**31 - 4096, the largest extent of a product on a GPU")
    if c.numel() == 0:
        return None
    if shape.k == 0:
        c.zero_()
        return None
    rows = a.unsqueeze(0) if shape.a_vector else a
    columns = b.unsqueeze(-1) if shape.b_vector else b
    return run(plan, rows, columns, c, shape, UNLIMITED if limit is None else limit, findings=findings)


def matmul(
    plan: Plan,
    a: Any,
    b: Any,
    shape: MatmulShape,
    dtype: Any,
    out: Any,
    limit: int | None,
    findings: Findings | None = None,
) -> tuple[Any, Launch | None]:
    """The product of two CUDA tensors by a plan, into `out` if given; and its launch."""
    torch = torch_module()
    assert torch is not None
    if out is None:
        c = torch.empty(shape.result, dtype=dtype, device=a.device)
    else:
        if out.device != a.device:
            raise RuntimeError(f"out: device {out.device} differs from {a.device}, where the operands lie")
        check_device_out(out, shape.result, dtype, a=a, b=b)
        c = out
    view = c.unsqueeze(-1) if shape.b_vector else c
    return c, fill(plan, a, b, view.unsqueeze(-2) if shape.a_vector else view, shape, limit, findings)


def make_report(
    plan: Plan, a: Any, b: Any, launch: Launch | None, findings: Findings, reason: str, fallback: str | None
) -> Report:
    """What the launches of a product did."""
    torch = torch_module()
    assert torch is not None
    workspace, kernel = 0, "none"
    if launch is not None:
        about = launch.problem.describe()
        workspace = about["bytes"]
        splits = f", {about['splits']} splits" if about["splits"] > 1 else ""
        kernel = f"{about['kernel']}, tile {about['tile']}{splits}"
    used = plan.moduli[: findings.moduli] if plan.moduli else ()
    products = sum(term.modulus in used for term in plan.terms) if plan.moduli else plan.products
    return Report(
        backend=plan.backend,
        kernel=kernel,
        device=f"{a.device} ({torch.cuda.get_device_name(a.device)})",
        plan=plan,
        moduli_used=findings.moduli,
        products=products,
        bits=plan.bits,
        exponents=findings.exponents(a, b),
        special_rows=findings.special_rows,
        special_columns=findings.special_columns,
        workspace=workspace,
        reason=reason,
        fallback=fallback,
    )


def _plan_of(scheme: str, backend: str) -> Plan:
    """Some plan of a backend: all of a scheme have planes of the same kind."""
    return make_plan(scheme, backend, "least", 53, 1)


def serving_backend(choice: cost.Choice, scheme: str, index: int) -> tuple[str, str | None]:
    """The first of the choice's backends that has a kernel on a CUDA device which passes its self-test, and why it is not
    the very first (None if it is).

    Raises
    ------
    RuntimeError
        If no kernel on the device passes its self-test, or it would have to be tested while a CUDA graph is captured.
    """
    fallback = None
    for backend in choice.order:
        try:
            guard.serving_kernel(_plan_of(scheme, backend), index)
            return backend, fallback
        except guard.AllFailedError as error:
            fallback = fallback or str(error)
    raise RuntimeError(f"{fallback}; no other backend is left on cuda:{index}")


def backends() -> tuple[Backend, ...]:
    """What this build and machine offer on GPUs; looks at devices only if torch is imported and has CUDA."""
    torch = torch_module()
    if extension() is None:
        reason = extension_error()
    elif torch is None:
        reason = "torch is not imported; GPU products take torch CUDA tensors"
    elif not torch.cuda.is_available():
        reason = "torch sees no CUDA device"
    else:
        found = []
        for index in range(torch.cuda.device_count()):
            missing = why_unavailable(torch.device("cuda", index))
            device = f"cuda:{index} ({torch.cuda.get_device_name(index)})"
            for name in BACKENDS:
                kernel, reason = (
                    ("", missing) if missing else guard.likely_kernel(_plan_of("II", name), index)
                )
                found.append(Backend(device, name, not reason, reason or kernel))
        return tuple(found)
    return tuple(Backend("cuda", name, False, reason) for name in BACKENDS)
