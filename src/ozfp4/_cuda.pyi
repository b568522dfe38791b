"""The extension module of products on NVIDIA GPUs (source: csrc/bindings/cuda); not in every build.

Tensors are torch's, on CUDA devices; products are enqueued on their current stream. A refused
argument raises ValueError, a failed call of CUDA RuntimeError.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._core import Plan

compute_capabilities: tuple[tuple[int, int], ...]
kernels: tuple[str, ...]

# ---- What is set ----

def connect(
    *,
    api: Any,
    unwatched: Any,
    dtypes: Mapping[Any, tuple[int, int]],
    empty: Callable[..., Any],
    empty_strided: Callable[..., Any],
    uint8: Any,
    find_stream: Callable[[int], int],
    find_current_stream: Callable[[int], Any],
    increment_version: Callable[[Any], None],
    out_of_memory: type,
    waits_for_stages: bool,
) -> None:
    """The functions of torch that products call: `api` is ``torch.Tensor.__dlpack_c_exchange_api__`` or None, `unwatched` a
    ``_core.Unwatched``, `dtypes` has the code and the bits of each dtype as in DLPack. With `waits_for_stages` every stage is
    waited for, so that an error names the stage that made it."""

def mark_ready(device: int, /) -> None:
    """The build has kernels for it; before this none of its products is plain."""

def read_environment() -> None:
    """Read again what was measured."""

def has_measured_ways(device: int, /) -> bool:
    """Whether it is known what the ways to make a product take there over their models."""

def force(
    kernel: int | None = None,
    tile: str | None = None,
    splits: int | None = None,
    overlap: bool | None = None,
    direct: str | None = None,
) -> None:
    """In place of what would be chosen, for all products from now on. `direct`: "never", or wherever there is a kernel "always",
    "thin" or "tiles"."""

# ---- Products ----

def multiply_plain(
    a: Any, b: Any, out: Any, accuracy: str, keywords: dict[str, Any], may_be_watched: bool = True,
    alpha: Any = 1, beta: Any = 0, c: Any = None, trans_a: Any = False, trans_b: Any = False, /,
) -> Any:  # fmt: skip
    """As ``_core.multiply_plain``, of tensors. `may_be_watched`: the operands."""

def multiply_tensors(
    a: Any,
    b: Any,
    out: Any,
    asked: tuple[Any, ...],
    alpha: complex = 1.0,
    beta: complex = 0.0,
    addend: Any = None,
    upper: Any = None,
    bound: Any = None,
    prepared_a: Prepared | None = None,
    prepared_b: Prepared | None = None,
    is_reported: bool = False,
    events: tuple[int, int, int] = (0, 0, 0),
    gram: tuple[bool, int] | None = None,
) -> dict[str, Any]:
    """Enqueues the product; beside it the product rounded up, or bounds. Returns what happened where it is reported, which waits
    for the device. `events`: handles of CUDA events that are recorded after scale, encode and multiply. `gram`: as of the CPU's
    core."""

def multiply_integers(
    a: Any,
    b: Any,
    out: Any,
    asked: tuple[Any, ...],
    bits: int,
    alpha: int = 1,
    beta: int = 0,
    addend: Any = None,
    modulus: int = 0,
    overflows: Any = None,
    is_reported: bool = False,
    gram: int | None = None,
) -> dict[str, Any]:
    """The same of integers, modulo 2^w of the dtype of `out`; of bool whether it is not 0; or A B modulo a `modulus` that is not
    0. `bits`: of a plan for the entries as they are. `overflows`: a tensor of one int64, which gets the number of entries of A B
    that the dtype does not hold. `out` may have both matrix axes beside operands of one axis."""

class Prepared:
    """An operand that is scaled and encoded once."""

    @property
    def nbytes(self) -> int: ...
    @property
    def plan(self) -> tuple[Any, ...]:
        """The arguments of make_plan."""

def prepare(
    x: Any, is_right: bool, is_for_real: bool, precision: int, stays: bool, asked: tuple[Any, ...], /
) -> Prepared:
    """`stays`: the entries are not copied."""

def choose(
    asked: tuple[Any, ...], shape: tuple[int, int, int, int], precision: int, is_paired: bool, device: int, /
) -> tuple[tuple[Any, ...] | None, int, str, str | None]:
    """The arguments of make_plan (None: a plan was passed), the number of the kernel, why, and why not the cheapest. `shape`: the
    inner dimension of the real product, m and n (0: not known) and matrices."""

def cheapest(asked: tuple[Any, ...], precision: int, inner: int, device: int, /) -> tuple[str, str]:
    """As ``_core.cheapest``."""

def way_of(a: Any, b: Any, out: Any, asked: tuple[Any, ...], /) -> dict[str, Any]:
    """How such a product is made; `microseconds` by the models of "direct", "thin", "tiles" and "stages", infinite where there is
    no kernel, and for complex matrices."""

def note_ways(notes: bool, /) -> None:
    """Whether products are noted from now on, of one thread."""

def noted_ways() -> list[str]: ...
def count_repaired_at(address: int, /) -> bool:
    """Let products of the calling thread store together how many entries they repair at an address that the device can write
    to; 0: nowhere. Returns whether one was enqueued that stores it at the address before."""

# ---- A piece of K ----

repair_count_bytes: int
most_prefixes: int

def piece_facts_scratch(x: Any, is_right: bool, /) -> int: ...
def piece_facts(x: Any, is_right: bool, words: int, scratch: int, device: int, stream: int, /) -> None: ...
def listed_words(columns: int, /) -> int: ...

class Partial:
    """The stages of a product of which a device has a piece of K, of `piece_k` entries; the whole lines have `whole_k`."""

    def __init__(
        self,
        plan: Plan,
        piece_k: int,
        whole_k: int,
        kernel: int,
        accuracy: str,
        rounding: str,
        precision: int,
        device: int,
        /,
    ) -> None: ...
    def plane_bytes(self, lines: int, /) -> int: ...
    def residue_bytes(self, count: int, rows: int, columns: int, /) -> int: ...
    def spare_planes(self, count: int, /) -> int: ...
    def encode(
        self, x: Any, is_right: bool, shift: int, record: int, planes: int, decision: int, stream: int, /
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
        decision: int,
        stream: int,
        /,
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
        out: Any,
        listed: int,
        counts: int,
        decision: int,
        stream: int,
        /,
    ) -> None: ...

# ---- Kernels ----

def tiles(kernel: int, /) -> tuple[str, ...]: ...
def kernel_error(kernel: int, element: str, device: int, /) -> str | None: ...
def find_kernel(element: str, device: int, residues: bool, /) -> int | None: ...
def has_thin_kernels(device: int, /) -> bool: ...
def code_version(device: int, /) -> tuple[int, int]: ...

# The self-test, as that of _core with the number of a device.
def kernels_of(device: int, plan: Plan | None, /) -> list[tuple[str, str]]:
    """(name, element) of those that multiply the planes of a plan, best first; without a plan of all that there are."""

def device_facts(device: int, /) -> dict[str, str]: ...
def verdict_of(device: int, name: str, element: str, /) -> tuple[Any, ...]: ...
def known_verdict(device: int, name: str, element: str, /) -> tuple[Any, ...] | None: ...
def test_kernel(device: int, name: str, element: str, short: bool, /) -> tuple[Any, ...]: ...
def failed_kernels() -> list[tuple[int, str, str]]: ...
def forget_verdicts() -> None: ...
def break_kernels(kernels: Sequence[tuple[str, str]], /) -> None: ...
