"""The extension module: plans, the four stages and whole products on the CPU (sources: csrc/bindings)."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ._options import Options

_Array = npt.NDArray[Any]

class _Enum:
    def __init__(self, value: int) -> None: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def value(self) -> int: ...

class Scheme(_Enum):
    I: ClassVar[Scheme]
    II: ClassVar[Scheme]
    INT8: ClassVar[Scheme]
    __members__: ClassVar[dict[str, Scheme]]

ALPHABETS: tuple[str, ...]
LEAST_BITS: int
MOST_BITS: int

class Plan:
    """A value; made by make_plan and make_int8_matmul_plan."""

    @property
    def scheme(self) -> Scheme: ...
    @property
    def alphabet(self) -> str: ...
    @property
    def family(self) -> str: ...
    @property
    def bits(self) -> int: ...
    @property
    def k_max(self) -> int: ...
    @property
    def base(self) -> int: ...
    @property
    def planes_a(self) -> int: ...
    @property
    def planes_b(self) -> int: ...
    @property
    def products(self) -> int: ...
    @property
    def is_complex(self) -> bool: ...
    @property
    def parts(self) -> int: ...
    @property
    def count(self) -> int:
        """Moduli, or groups where there are none: what the stages count."""
    @property
    def moduli(self) -> list[int]: ...
    @property
    def terms(self) -> list[tuple[int, int, int, int]]:
        """(group, plane of A, plane of B, weight)."""
    def encode(self, words: npt.NDArray[np.uint32], /) -> npt.NDArray[np.int8] | npt.NDArray[np.int32]: ...

class WorkspaceError(MemoryError):
    """A workspace limit below what the smallest blocks of a product need."""

    least: int

# Plans, limbs and bounds.
MOST_COMPLEX_BITS: int

def make_plan(scheme: Scheme, alphabet: str, family: str, bits: int, k: int, is_complex: bool, /) -> Plan: ...
def make_int8_matmul_plan(products: int, /) -> Plan: ...

# Stages; `count`: how many moduli (or groups) are used.
def scale(operand: _Array, capacity: int, /) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], float]:
    """(exponents s, special flags, upper bound of the largest squared norm) of the rows."""

def quantise(operand: _Array, shift: npt.NDArray[np.int32], words: int, /) -> npt.NDArray[np.uint32]:
    """Integers as little-endian 32-bit words, two's complement, along the last axis."""

def encode(plan: Plan, count: int, words: npt.NDArray[np.uint32], /) -> _Array: ...
def multiply(plan: Plan, count: int, planes_a: _Array, planes_b: _Array, /) -> _Array: ...
def reconstruct(
    plan: Plan,
    count: int,
    output: _Array,
    shift_a: npt.NDArray[np.int32],
    shift_b: npt.NDArray[np.int32],
    single: bool,
    /,
) -> _Array: ...
def integers(plan: Plan, count: int, output: _Array, /) -> npt.NDArray[np.uint32]:
    """Little-endian 32-bit words, two's complement, along the last axis."""

# Whole products.
def byte_kernels() -> list[tuple[str, str]]: ...
def serving_byte_kernel() -> tuple[str, str] | None: ...
def has_limb_unit() -> bool:
    """Whether this CPU has a unit that multiplies limbs of eight bits."""

def disable_limb_unit(is_disabled: bool, /) -> None: ...

class ForcedKernel:
    def __init__(self, setting: str) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

# The self-test of this CPU's kernels, by name and element; a verdict is what ozfp4._trust.guard.Verdict has behind the kernel.
_Verdict = tuple[bool, str, int, float, str | None]

def cpu_facts() -> dict[str, str]:
    """All that findings about the CPU depend on."""

def verdict_of(name: str, element: str, /) -> _Verdict:
    """The known verdict, else that of the short form, which runs now. ValueError for a kernel that this CPU does not have."""

def known_verdict(name: str, element: str, /) -> _Verdict | None:
    """The verdict of this process or an earlier one."""

def test_kernel(name: str, element: str, short: bool, /) -> _Verdict:
    """Try it now, and keep the verdict."""

def cpu_kernels() -> list[tuple[str, str]]:
    """All of this CPU: for each alphabet the best first, but for bytes in plain loops; then those without planes."""

def serving_kernel(alphabet: str, /) -> str:
    """The name of the kernel that multiplies the planes of an alphabet now. ValueError where OZFP4_CPU_KERNEL names none."""

def check_trusted(alphabet: str, /) -> None:
    """RuntimeError unless what multiplies these planes passed its self-test; one that failed is passed over for the next."""

def failed_kernels() -> list[tuple[str, str]]:
    """Kernels of which this process knows that they failed."""

def forget_verdicts() -> None:
    """Know as little as a new process, which reads the environment."""

def break_kernels(kernels: Sequence[tuple[str, str]], /) -> None:
    """For tests: these kernels, and no others, seem to be off by one in the last entry of each product."""

class DefaultFpMode:
    """The calling thread rounds to nearest and counts subnormal numbers meanwhile; afterwards as before."""

    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> None: ...

def read_environment() -> None:
    """Read the variables of the environment again, which are read when the module is loaded."""

def thread_count() -> int: ...
def set_thread_count(count: int, /) -> None:
    """0: as the environment says."""

def copy_entries(destination: npt.NDArray[Any], source: npt.NDArray[Any]) -> None:
    """Arrays of one shape, up to three axes and 1, 2, 4, 8 or 16 bytes an entry, without common memory. Else ValueError."""

def accuracy_bits(accuracy: str, precision: int, /) -> int:
    """The bits of a plan that serves accuracies other than "scaled"; `precision` that of the result, 53 or 24."""

class Prepared:
    """An operand, or a stack of them: a copy of its real form, scaled and encoded."""

    @property
    def nbytes(self) -> int: ...
    @property
    def plan(self) -> tuple[str, str, str, int, int, bool]:
        """Arguments of ``plans.plan.make_plan``."""

def prepare(x: _Array, is_right: bool, is_for_real: bool, precision: int, asked: Options, /) -> Prepared:
    """`is_for_real`: a complex operand that is multiplied with real ones; `precision`: of the results, 53 or 24."""

def multiply_plain(
    a: Any, b: Any, out: Any, accuracy: str, keywords: dict[str, Any], may_be_watched: bool = True,
    alpha: Any = 1, beta: Any = 0, c: Any = None, trans_a: Any = False, trans_b: Any = False, /,
) -> Any:  # fmt: skip
    """alpha A B + beta C of arrays by keywords of :func:`ozfp4.gemm`, and this accuracy where they name none; NotImplemented for
    whatever is not plain or not right. All of an update are passed, or none."""

def plain_tensors(
    api: Any,
    unwatched: Unwatched,
    makers: tuple[Callable[..., Any], ...],
    increment_version: Callable[..., Any],
    /,
) -> Callable[..., Any]:
    """The same function of tensors on the CPU; `may_be_watched`: the operands. `makers` of tensors of a shape and strides, of
    float64, float32, complex128 and complex64. ValueError for an `api` that reads none."""

def multiply_arrays(
    a: _Array,
    b: _Array,
    out: _Array,
    asked: Options,
    alpha: complex = 1.0,
    beta: complex = 0.0,
    addend: _Array | None = None,
    upper: _Array | None = None,
    bound: _Array | None = None,
    prepared_a: Prepared | None = None,
    prepared_b: Prepared | None = None,
    is_reported: bool = False,
    gram: tuple[bool, int] | None = None,
) -> dict[str, Any]:
    """Put alpha A B + beta C into `out`, of the shape that the product has; `upper` takes the product rounded up, `bound` bounds
    of the errors of all parts. `gram`: X X^H of X and its transpose, which is taken conjugated; whether X is `a`, and of blocks
    the least columns (0: as pays). Returns what happened where it is asked for."""

def multiply_integers(
    a: _Array,
    b: _Array,
    out: _Array,
    asked: Options,
    bits: int,
    alpha: int = 1,
    beta: int = 0,
    addend: _Array | None = None,
    modulus: int = 0,
    counts: bool = False,
    is_reported: bool = False,
    gram: int | None = None,
) -> dict[str, Any]:
    """Put alpha A B + beta C of integers, modulo 2^w of the dtype of `out`, into it, or A B modulo a `modulus` other than 0; all
    have the same axes. `bits`: of a plan for the entries as they are. `counts` the entries that wrap. `gram`: X X^T of X and its
    transpose, by blocks of so many columns at least; `out` is then undefined where an overflow is refused. Returns what happened
    where it is asked for, with a "plan" unless all was done in words."""

def force_way(way: str | None, /) -> str | None:
    """Make all products in "words", by "limbs" or by "planes"; None: as is cheapest. Returns the way before."""

def choose(
    asked: Options, m: int, n: int, k: int, precision: int, is_paired: bool, has_bound: bool, /
) -> tuple[tuple[str, str, str, int, int, bool] | None, str]:
    """The plan that a product would take, as arguments of ``plans.plan.make_plan`` (None: the one that was passed), and why."""

def cheapest(asked: Options, precision: int, k: int, /) -> tuple[str, str]:
    """The backend of the plan of real operands, and why it is that one, whatever its self-test finds."""

piece_words: int

def piece_facts(operand: _Array, is_right: bool, /) -> npt.NDArray[np.int64]: ...

class Pieces:
    """A product whose operands are cut along K: the scales of whole lines of `k` entries, rows of A and then columns of B, from
    the facts of their pieces, `words`: (places, lines, 6), each as of :func:`piece_facts`; and the stages by them."""

    def __init__(
        self,
        plan: Plan,
        words: npt.NDArray[np.int64],
        rows: int,
        k: int,
        accuracy: str,
        rounding: str,
        precision: int,
        prefixes: int,
        /,
    ) -> None: ...
    @property
    def count(self) -> int:
        """Moduli, of the last `prefixes` counts of the plan's."""

    @property
    def groups(self) -> int:
        """Residues of an entry, of `entry_bytes` each."""

    @property
    def entry_bytes(self) -> int: ...
    @property
    def is_certain(self) -> bool: ...
    @property
    def shift(self) -> npt.NDArray[np.int32]: ...
    @property
    def special(self) -> npt.NDArray[np.uint8]: ...
    @property
    def records(self) -> npt.NDArray[np.int64]:
        """LineRecord in four words a line: depth, nonzeros, rounded, capacity and exponent; without lines where the accuracy is
        "scaled"."""

    def count_rounded(self, a: _Array, b: _Array, /) -> npt.NDArray[np.int64]: ...
    def set_rounded(self, counts: npt.NDArray[np.int64], /) -> None: ...
    def residues(
        self, a: _Array, first_row: int, b: _Array, first_column: int, out: _Array, workspace_limit: int, /
    ) -> None: ...
    def finish(
        self, received: _Array, first_row: int, first_column: int, out: _Array, /
    ) -> npt.NDArray[np.int64]:
        """Rounds; the rows and columns, (entries, 2), of those that nothing certifies."""

class Unwatched:
    """Whether torch surely does without seeing the products of some tensors as operators."""

    def __init__(
        self,
        types: tuple[type, ...],
        /,
        *,
        records_gradients: Callable[[], bool],
        count_modes: Callable[[], int],
        has_watching_mode: Callable[[], bool],
        find_interpreters: Callable[[], object],
        find_record: Callable[[], object],
        forward_mode: object,
        level_name: str,
    ) -> None:
        """`types` are those of tensors that nobody watches by their class; `find_record` finds None unless torch.jit.trace
        records; the attribute `level_name` of `forward_mode` is below 0 where there are no tangents."""

    def are(self, operands: tuple[Any, ...], /) -> bool:
        """Whether each is None or of the types, none requires grad where gradients are recorded, and torch neither maps nor
        watches what tensors do, nor has tangents."""

    @property
    def are_here(self) -> Callable[[tuple[Any, ...]], bool]:
        """The function that says the same of operands on a CPU or a GPU, some of which may be numbers."""

def repaired() -> int:
    """How many entries products of the calling thread on the CPU have made from their row and column alone, in its life."""

def few_repairs(entries: int, /) -> int:
    """So many repaired entries take a small part of a product's time."""

def threshold(device: str, dtype: str, capability: int, is_correct: bool, /) -> int | None:
    """From which extent on products of a floating-point dtype gain on a GPU of that name and capability (90 for 9.0), or on the
    CPU, ""; None: none does. `is_correct`: those of accuracy "correct"."""

def cpu_name() -> str:
    """The CPU in lines of thresholds of the file of calibration (csrc/product/measured.hpp)."""

def rates_device() -> str:
    """The CPU in lines of its rates: with the unit that serves bytes, and the number of threads now."""

def measured_file() -> str:
    """The path of that file; "" where there is no cache folder."""

models_suffix: str
"""Behind the names, in that file, of what something takes over its model."""

class Calls:
    """How often something was done, by any number of threads."""

    value: int
    def add(self) -> None: ...

class Left:
    """What stands for a function of torch that is a product: where a scope is known to leave it, a call goes on to the
    function, and is counted; outside of scopes to the function alone. A derived class has `_otherwise(args, named, key)` for
    all other calls. All decisions on a product depend on its `key`; calls without one are the function's."""

    def __init__(
        self,
        original: Callable[..., Any],
        scopes: ContextVar[Any],
        types: tuple[type, ...],
        operands: tuple[str, ...],
        form: Callable[[Any, Any], Any] | str | None,
        name: str,
        place: int,
        /,
    ) -> None:
        """`scopes` has the scope of a context, or None; a scope's `left_by_name` by keys what is left, the :class:`Calls` where
        it is counted. `types` are those of tensors that are looked at, `operands` names, of which those at `place` and behind it
        are multiplied; `form` says of the arguments what else a key has, or names the one behind the operands, of which a key
        has whether it is given. A key begins with `name`."""

    def __call__(self, *args: Any, **named: Any) -> Any: ...
    def __get__(self, tensor: Any, kind: Any = None) -> Any: ...
