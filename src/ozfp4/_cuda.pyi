"""The extension module of products on NVIDIA GPUs (source: csrc/bindings/cuda); not in every build.

Pointers, strides (bytes) and streams are integers. What a function refuses comes as ValueError, a failed call of CUDA as
RuntimeError.
"""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ._core import Plan

compute_capabilities: tuple[tuple[int, int], ...]
kernels: tuple[str, ...]
pointer_alignment: int
counter_bytes: int
most_direct_inner: int  # the longest K of products in one launch
most_tile_inner: int  # the longest K of products made tile by tile in one launch
most_thin_lines: int  # rows of A or columns of B of products in one pass over the other

class ElementType:
    float64: ClassVar[ElementType]
    float32: ClassVar[ElementType]
    int8: ClassVar[ElementType]
    uint8: ClassVar[ElementType]
    int16: ClassVar[ElementType]
    uint16: ClassVar[ElementType]
    int32: ClassVar[ElementType]
    uint32: ClassVar[ElementType]
    int64: ClassVar[ElementType]
    uint64: ClassVar[ElementType]
    __members__: ClassVar[dict[str, ElementType]]

    def __init__(self, value: int) -> None: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...

class Operand:
    """Rows of A or columns of B: one matrix."""

    def __init__(
        self,
        data: int,
        type: ElementType,
        outer: int,
        inner: int,
        outer_stride: int,
        inner_stride: int,
    ) -> None: ...

class Result:
    """The result: one matrix."""

    def __init__(
        self,
        data: int,
        type: ElementType,
        rows: int,
        columns: int,
        row_stride: int,
        column_stride: int,
    ) -> None: ...

class CudaPlan:
    """What a kernel makes of a plan for one inner dimension."""

    def __init__(
        self,
        plan: Plan,
        k: int,
        kernel: int,
        accuracy: str = "scaled",
        rounding: str = "nearest",
        second: str = "none",
        precision: int = 53,
        updates: bool = False,
        modulus: int = 0,
    ) -> None:
        """The names as :class:`ozfp4.backends.cuda.promise.Promise` has them."""
    @property
    def device_steps(self) -> bytes: ...
    @property
    def element(self) -> str:
        """Of its planes: "u8", "s8" or "e2m1"."""

class Store:
    """Scale and encode of an operand by itself, of given shape, strides, type and alignment, launched any number of times.

    Its stack has at most four axes, of columns of B under a complex plan three; bytes from one matrix to the next. Such columns
    are seen as two matrices, of the even and of the odd ones.
    """

    def __init__(
        self,
        plan: CudaPlan,
        operand: Operand,
        extents: Sequence[int],
        strides: Sequence[int],
        is_right: bool,
        device: int,
    ) -> None: ...
    def describe(self) -> dict[str, int]:
        """`bytes` of the memory that is kept and where parts of it are, and of the `scratch` of a launch; `matrices`, and `lines`
        of one."""

    def launch(
        self,
        data: int,
        memory: int,
        scratch: int,
        clear_counters: int,
        stream: int,
        sync_stages: bool = False,
    ) -> None: ...

verdict_bytes: int
repair_count_bytes: int
most_prefixes: int
most_pieces: int

def piece_facts_scratch(operand: Operand) -> int: ...
def piece_facts(operand: Operand, words: int, scratch: int, device: int, stream: int) -> None: ...
def listed_words(columns: int) -> int: ...

class Partial:
    """The stages of a product of which a device has a piece of K: `piece` is the plan for its entries, `whole` that for all."""

    def __init__(self, piece: CudaPlan, whole: CudaPlan, device: int) -> None: ...
    def plane_bytes(self, lines: int) -> int: ...
    def residue_bytes(self, count: int, rows: int, columns: int) -> int: ...
    def spare_planes(self, count: int) -> int: ...
    def encode(
        self, operand: Operand, shift: int, record: int, planes: int, verdict: int, stream: int
    ) -> None: ...
    def multiply(
        self,
        planes_a: int,
        lines_a: int,
        first_row: int,
        rows: int,
        planes_b: int,
        lines_b: int,
        first_column: int,
        columns: int,
        out: int,
        verdict: int,
        device_steps: int,
        stream: int,
    ) -> None: ...
    def finish(
        self,
        residues: int,
        pieces: int,
        piece_bytes: int,
        shift_a: int,
        record_a: int,
        shift_b: int,
        record_b: int,
        result: Result,
        listed: int,
        counts: int,
        verdict: int,
        stream: int,
    ) -> None: ...

class Problem:
    """A product of given shapes, strides, types and alignments, to be launched any number of times.

    Its stack has any number of axes, of any extents; bytes from one matrix to the next, 0 where an operand is broadcast. All
    matrices are launched in `turns` turns, which share the workspace.
    """

    def __init__(
        self,
        plan: CudaPlan,
        a: Operand,
        b: Operand,
        result: Result,
        extents: Sequence[int],
        strides_a: Sequence[int],
        strides_b: Sequence[int],
        strides_c: Sequence[int],
        device: int,
        workspace_limit: int,
        device_steps: int,
        tile: str | None = None,
        splits: int | None = None,
        overlap: bool | None = None,
        kept_a: tuple[int, int] | None = None,
        kept_b: tuple[int, int] | None = None,
        addend: Result | None = None,
        strides_addend: Sequence[int] = ...,
        direct: str = "never",
        factors: tuple[float, float, float, float] = ...,
    ) -> None:
        """`addend`, with the bytes from one of its matrices to the next: C of alpha A B + beta C, where the plan's promise has an
        update and beta is not 0.

        `tile`, `splits`, `overlap`: what the cost model would choose; for whoever hunts a wrong bit.

        A tile is one of `tiles(kernel)`; `overlap` is whether multiply, and reconstruct behind it, may start while the kernel
        before ends. `direct`: whether the product may be made without planes: "never", "where it pays", or wherever there is a
        kernel: "always" in one launch, "thin" in one pass over an operand where the other has few rows or columns, "tiles" in one
        launch tile by tile where K is short. `factors`: what this device takes over what the models say, in the order of
        `model_times`, each above 0.
        `kept_a`, `kept_b`: lines of a matrix, and matrices, of an operand that a Store has launched.
        """

    def model_times(self) -> tuple[float, float, float, float]:
        """Microseconds by the models of a product in one launch, in one pass, tile by tile and by the stages; infinite where
        there is no kernel. Of plans of real products."""

    @property
    def bytes(self) -> int: ...
    @property
    def turns(self) -> int: ...
    def new_lines(self, turn: int) -> tuple[int, int]:
        """Rows of A and columns of B that a turn takes; 0 where an earlier turn took the same matrices."""

    def describe(self) -> dict[str, Any]: ...
    def launch(
        self,
        a: int,
        b: int,
        c: int,
        workspace: int,
        clear_counters: int,
        stream: int,
        after_scale: int = 0,
        after_encode: int = 0,
        after_multiply: int = 0,
        first_turn: int = 0,
        last_turn: int = 2**63 - 1,
        sync_stages: bool = False,
        second: int = 0,
        kept_a: int = 0,
        kept_b: int = 0,
        first_line_a: int = 0,
        first_line_b: int = 0,
        alpha: float = 1.0,
        beta: float = 0.0,
        addend: int = 0,
    ) -> None:
        """Enqueues, what the plan promises beside the result to `second`, contiguous; with `sync_stages` waits for every
        stage, so that an error names the stage that made it. `kept_a`, `kept_b`: memory of a Store, whose lines are taken from
        the first one given on.

        That is refused (ValueError) while the stream is being captured.
        """

    @property
    def relaunch(self) -> Callable[[int, int, int, int, int, int, float, float, int], None]:
        """The function that enqueues all turns of a product that leaves nothing but its result, of operands that are not kept: of
        the addresses of A, B, the result, workspace and counters, the stream, alpha, beta, and the address of an addend."""

def tiles(kernel: int) -> tuple[str, ...]: ...
def kernel_error(kernel: int, element: str, device: int) -> str | None: ...
def find_kernel(element: str, device: int, residues: bool = True) -> int | None: ...
def has_thin_kernels(device: int) -> bool: ...
def expand(
    data: int,
    type: ElementType,
    matrices: int,
    k: int,
    n: int,
    matrix_stride: int,
    k_stride: int,
    n_stride: int,
    is_conjugated: bool,
    to: int,
    stream: int,
    device: int,
) -> None:
    """Enqueues: of k x n complex matrices at `data`, strides in entries, the columns of the real form at `to`: for each (re, -im)
    along k, then (im, re)."""

# The self-test, as that of _core with the number of a device.
def device_facts(device: int) -> dict[str, str]: ...
def verdict_of(device: int, name: str, element: str) -> dict[str, Any]: ...
def known_verdict(device: int, name: str, element: str) -> dict[str, Any] | None: ...
def test_kernel(device: int, name: str, element: str, short: bool) -> dict[str, Any]: ...
def forget_verdicts() -> None: ...
def break_kernels(kernels: Sequence[tuple[str, str]]) -> None: ...
def code_version(device: int) -> tuple[int, int]: ...
def stream_id(stream: int, device: int) -> int: ...
def tell_repaired(address: int) -> bool:
    """Let launches of the calling thread store together how many entries they repair at an address that the device can write
    to; 0: nowhere. Returns whether any was to tell since the last call."""
