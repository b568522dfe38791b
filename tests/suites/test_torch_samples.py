"""torch's own samples of its products, from its table of operators: ozfp4's results are torch's within torch's tolerance.

Torch multiplies float32 and complex64 in twice the precision for that: its own error exceeds its tolerance where sums cancel.

On the CPU, and on a GPU where there is one with kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ozfp4

torch = pytest.importorskip("torch")
from torch_devices import DEVICES  # noqa: E402
from torch_samples import WIDE, operators, samples  # noqa: E402


def gemm(c: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """gemm; of integers torch drops what is no integer of the factors, which we refuse."""
    factors = (int(alpha), int(beta)) if a.dtype == torch.int64 else (alpha, beta)
    return ozfp4.gemm(factors[0], a, b, factors[1], c)


# By torch's name what is called with the arguments of torch's function.
OURS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), ozfp4.matmul),
    "__rmatmul__": lambda a, b: ozfp4.matmul(b, a),
    "addmm": gemm,
    "baddbmm": gemm,
    "einsum": lambda tensors, text: ozfp4.einsum(text, *tensors),
    "inner": lambda a, b: ozfp4.tensordot(a, b, ([-1], [-1]) if a.ndim and b.ndim else 0),
    "tensordot": lambda a, b, dims: ozfp4.tensordot(a, b, dims),
}
DTYPES = ["float64", "float32", "complex128", "complex64", "int64"]
OPERATORS = operators(OURS)


def test_the_table_has_all_of_them() -> None:
    assert set(OPERATORS) == set(OURS)


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("device", DEVICES)
def test_products_give_torchs_samples(device: str, dtype: str, name: str) -> None:
    wide = WIDE.get(dtype, getattr(torch, dtype))
    where = "cpu" if dtype == "int64" else device  # torch multiplies no integers on a GPU
    for sample in samples(OPERATORS[name], device, dtype):
        ours = OURS[name](sample.input, *sample.args, **sample.kwargs)
        precise = sample.transform(lambda x: x.to(where, wide) if isinstance(x, torch.Tensor) else x)
        theirs = OPERATORS[name](precise.input, *precise.args, **precise.kwargs).to(
            device, getattr(torch, dtype)
        )
        assert type(ours) is torch.Tensor
        what = sample.summary()
        torch.testing.assert_close(ours, theirs, msg=lambda text, what=what: f"{what}: {text}")
