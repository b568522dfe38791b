"""``ozfp4.matmul_mod``: exact products of integers modulo a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .._options import Options, UnitOptions, check_taken, takes
from .._plans.plan import Plan
from .._report import Report
from .._request import library
from .._request.dlpack import any_library
from .._request.integers import check_modulus, entry_bits
from .._request.library import mark_written
from .._request.types import Array, Arrays, No, Yes
from .._request.types import TensorT as T
from .integers import integer_product

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ModOptions(UnitOptions, total=False):
    """Options of :func:`matmul_mod`, without those that change its result's type."""

    plan: Plan | None


Integers = npt.NDArray[np.int64]


# fmt: off
@overload
def matmul_mod(a: T, b: T, modulus: int, *, out: T | None = ..., report: No = ..., **options: Unpack[ModOptions]) -> T: ...
@overload
def matmul_mod(
    a: T, b: T, modulus: int, *, out: T | None = ..., report: Yes, **options: Unpack[ModOptions]
) -> tuple[T, Report]: ...
@overload
def matmul_mod(
    a: Arrays, b: Arrays, modulus: int, *, out: Array | None = ..., report: No = ..., **options: Unpack[ModOptions]
) -> Integers: ...
@overload
def matmul_mod(
    a: Arrays, b: Arrays, modulus: int, *, out: Array | None = ..., report: Yes, **options: Unpack[ModOptions]
) -> tuple[Integers, Report]: ...
# fmt: on
@takes(ModOptions, "report")
@any_library
def matmul_mod(a: Any, b: Any, modulus: int, *, out: Any = None, **options: Any) -> Any:
    """Matrix product of integers modulo `modulus`, exact: every entry is that of the integers' real product, in
    [0, modulus).

    Parameters
    ----------
    a, b : array_like or torch.Tensor
        Integers or bool, of any size and sign, not necessarily of one dtype; shapes as in :func:`ozfp4.matmul`.
    modulus : int
        1 <= modulus < 2**63; it need not be prime.
    scheme, backend, report, workspace_limit
        As in :func:`ozfp4.matmul`.
    plan : Plan, optional
        As there; its bits are at least two more than those of modulus // 2, or one more than those of the entries' dtypes.
    out : array or tensor, optional
        As there, of dtype int64.

    Returns
    -------
    c, or (c, Report)
        int64. NumPy in, NumPy out; torch in, torch out.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([[2**62, -1], [3, 2**63 - 1]])
    >>> matmul_mod(a, a, 10**9 + 7)
    array([[829977020, 563242002],
           [310274008, 737564068]])

    Raises
    ------
    TypeError
        Floating-point operands, `modulus` that is no integer; else as :func:`ozfp4.matmul`.
    ValueError
        `modulus` outside 1..2**63 - 1; else as :func:`ozfp4.matmul`.
    RuntimeError, MemoryError
        As :func:`ozfp4.matmul`.
    """
    modulus = check_modulus(modulus)
    check_taken(matmul_mod, options)
    asked = Options.of(options)
    operands = library.take_operands(a, b, out, library.INTEGERS)
    # The core multiplies what is nearest to zero modulo the modulus.
    bits = min(max(entry_bits(x.dtype) for x in operands[:2]), max(modulus.bit_length(), 2))
    c, about = integer_product(operands, asked, np.dtype(np.int64), bits, modulus)
    mark_written(out)
    c = c if out is None else out
    return (c, about) if asked.report else c
