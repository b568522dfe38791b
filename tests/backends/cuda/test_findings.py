"""What a GPU's report makes of the exponents that a launch leaves in its workspace, without a GPU: the stage on the CPU
writes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import stages
from ozfp4.backends.cuda.findings import Findings, make_report

torch = pytest.importorskip("torch")


def add(findings: Findings, a: np.ndarray, b: np.ndarray, bits: int) -> None:
    """A finished turn of one product, with shifts and flags of both operands behind each other in its workspace."""
    parts: dict[str, np.ndarray] = {"units_used": np.array([3], np.int32)}
    for name, x in (("a", a), ("b", b)):
        scaled = stages.scale(x, name, bits)
        parts |= {f"shift_{name}": scaled.exponents, f"special_{name}": scaled.special}
    about: dict[str, Any] = {"bytes": 0, "splits": 1, "kernel": "none", "tile": ""}
    memory = b""
    for name, x in parts.items():
        about[name] = len(memory)
        memory += x.tobytes() + bytes(-x.nbytes % 8)
    problem = SimpleNamespace(describe=lambda: about, new_lines=lambda turn: (a.shape[0], b.shape[1]))
    findings.add(problem, 0, torch.frombuffer(bytearray(memory), dtype=torch.uint8))


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
def test_the_same_exponents_as_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch, a: Any, b: Any, bits: int, dtype: Any
) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    x, y = (torch.tensor(z, dtype=dtype) for z in (a, b))
    plan = ozfp4.plan(2, 2, 2, backend="int8", bits=bits, accuracy="scaled")
    findings = Findings(plan)
    add(findings, x.numpy(), y.numpy(), bits)
    made = make_report(plan, x, y, None, findings, "", None)
    expected = ozfp4.matmul(x, y, plan=plan, report=True, accuracy="scaled")[1]
    assert made.exponents == expected.exponents
    assert (made.special_rows, made.special_columns) == (expected.special_rows, expected.special_columns)


def test_stacks_and_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    plan = ozfp4.plan(2, 2, 2, backend="int8", accuracy="scaled")
    a = torch.tensor([[[0.0, 0.0]], [[2.0**52, 1.0]]], dtype=torch.float64)
    b = torch.tensor([2.0**-3, 0.0], dtype=torch.float64)
    column = b.numpy()[:, np.newaxis]
    findings = Findings(plan)
    for matrix in a:
        add(findings, matrix.numpy(), column, 53)
    assert findings.exponents(a, b) == (-3, 52)
    findings = Findings(plan)
    add(findings, column.T, a[1].numpy().T, 53)
    assert findings.exponents(b, a.mT) == (-3, 52)
