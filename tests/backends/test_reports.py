"""Reports of a GPU's findings, without a GPU: the stage on the CPU finds the shifts of lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import stages
from ozfp4._backends.reports import make_report
from ozfp4._options import Options
from ozfp4._request.library import Operands
from ozfp4._request.operands import MatmulRequest, matmul_request

torch = pytest.importorskip("torch")


def requested(a: Any, b: Any, **options: Any) -> MatmulRequest:
    return matmul_request(Operands(a, b, None, torch, on_device=True), Options(**options))


def found(a: np.ndarray, b: np.ndarray, bits: int) -> dict[str, Any]:
    """As the core's DeviceFindings of a product that is scaled."""
    exponents: list[int] = []
    outcome: dict[str, Any] = {
        "kernel": "none", "workspace": 0, "moduli_used": 3, "products": 3, "reason": "why", "fallback": None, "repaired": 0,
        "repaired_exactly": 0, "capacities": (0, 0),
    }  # fmt: skip
    unshifted = []
    for name, lines, x in (("a", "rows", a), ("b", "columns", b)):
        scaled = stages.scale(x, name, bits)
        shifts = scaled.exponents.ravel()
        exponents += [bits - 1 - int(shift) for shift in shifts if shift != 0]
        unshifted.append(bool((shifts == 0).any()))
        outcome[f"special_{lines}"] = int(np.count_nonzero(scaled.special))
    outcome["exponents"] = (min(exponents, default=0), max(exponents, default=0))
    return {**outcome, "has_exponents": bool(exponents), "unshifted": tuple(unshifted)}


@pytest.mark.parametrize("bits", [2, 30, 53])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([[0.0, 0.0], [1.0, 2.0**-40]], [[4.0], [0.0]]),
        ([[0.0, 0.0]], [[2.0**60], [1.0]]),
        ([[0.0, 0.0]], [[2.0**-60, 0.0], [1.0, 0.0]]),
        ([[0.0, np.inf]], [[0.0], [np.nan]]),
        ([[0.0, np.inf], [2.0**52, np.nan]], [[0.0], [2.0**29]]),
        ([[1.5 * 2.0**29, 0.0], [0.0, 0.0]], [[0.0], [3.0]]),
        ([[-3.0, 0.0], [0.0, 0.0]], [[0.0], [-0.0]]),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_same_exponents_as_on_the_cpu(a: Any, b: Any, bits: int, dtype: Any) -> None:
    x, y = (torch.tensor(z, dtype=dtype) for z in (a, b))
    plan = ozfp4.plan(2, 2, 2, backend="int8", bits=bits, accuracy="scaled")
    request = requested(x, y, accuracy="scaled", plan=plan)
    c, expected = ozfp4.matmul(x, y, plan=plan, report=True, accuracy="scaled")
    made = make_report(request, plan, found(x.numpy(), y.numpy(), bits), c, None)
    assert made.exponents == expected.exponents
    assert (made.special_rows, made.special_columns) == (expected.special_rows, expected.special_columns)
    assert made.certified is None


def test_stacks_and_vectors() -> None:
    plan = ozfp4.plan(2, 2, 2, backend="int8", accuracy="scaled")
    a = torch.tensor([[[0.0, 0.0]], [[2.0**52, 1.0]]], dtype=torch.float64)
    b = torch.tensor([2.0**-3, 0.0], dtype=torch.float64)
    column = b.numpy()[:, np.newaxis]
    for x, y, outcome in (
        (a, b, found(a.reshape(2, 2).numpy(), column, 53)),
        (b, a.mT, found(column.T, a.reshape(2, 2).numpy().T, 53)),
    ):
        request = requested(x, y, accuracy="scaled", plan=plan)
        assert make_report(request, plan, outcome, None, None).exponents == (-3, 52)


@pytest.mark.parametrize(
    "dtypes", [("complex128", "complex128"), ("complex128", "float64"), ("float64", "float64")]
)
@pytest.mark.parametrize("beside", [None, "bound", "upper"])
@pytest.mark.parametrize("accuracy", ["standard", "correct"])
def test_what_was_repaired_and_what_is_complex(
    dtypes: tuple[str, str], beside: str | None, accuracy: str
) -> None:
    """Entries count by their parts, and twice where the product is also rounded up. Columns of a complex B count as two if A is
    complex, too."""
    a, b = (torch.ones(s, dtype=getattr(torch, d)) for s, d in zip(((2, 3), (3, 4)), dtypes, strict=True))
    paired = dtypes[1] == "complex128"
    parts = 2 if "complex128" in dtypes else 1
    request = requested(a, b, accuracy=accuracy, return_bound=beside == "bound")
    plan = ozfp4.plan_for(a, b, accuracy=accuracy)
    outcome = found(np.ones((2, 3)), np.ones((3, 4)), 53) | {
        "special_rows": 1, "special_columns": 4, "repaired": 5, "repaired_exactly": 2, "capacities": (50, 57),
    }  # fmt: skip
    c = a @ b.to(a.dtype)
    bounds = torch.full(c.shape, 0.5, dtype=c.dtype) + (0.25j if parts == 2 else 0)
    made = make_report(request, plan, outcome, c, None if beside is None else bounds)
    assert made.special_columns == (2 if paired else 4)
    assert made.capacities == (50, 57)
    kinds = {("complex128", "float64"): "complex by real"}
    assert made.kind == kinds.get(dtypes, "complex" if paired else "real")
    assert made.certified is not None
    assert made.certified.total == 8 * parts * (2 if beside == "upper" else 1)
    counts = (made.certified.chains, made.certified.repaired, made.certified.repaired_exactly)
    assert counts == ((7, 0, 0) if accuracy == "standard" else (0, 5, 2))
    assert made.largest_bound == (0.5 if beside == "bound" else None)


def test_bounds_of_rows_and_columns_that_are_not_finite_are_left_out() -> None:
    a, b = torch.ones(2, 3, dtype=torch.float64), torch.ones(3, 2, dtype=torch.float64)
    request = requested(a, b, return_bound=True)
    plan, outcome = ozfp4.plan_for(a, b), found(np.ones((2, 3)), np.ones((3, 2)), 53)
    bound = torch.tensor([[1.0, 4.0], [8.0, 16.0]], dtype=torch.float64)
    for place, largest in ((None, 16.0), ((a, (1, 0)), 4.0), ((b, (0, 1)), 1.0), ((a, (0, 2)), 0.0)):
        if place is not None:
            place[0][place[1]] = float("inf")
        assert make_report(request, plan, outcome, a @ b, bound).largest_bound == largest
