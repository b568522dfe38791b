"""torch's own samples of its operators, from its table of them."""

from __future__ import annotations

from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
pytest.importorskip(
    "expecttest", reason="torch's table of operators imports expecttest, which torch does not install"
)
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

WIDE = {"float32": torch.float64, "complex64": torch.complex128}


def operators(names: Any) -> dict[str, Any]:
    """Operators of the table by name, without torch's variants that compute the same, composed of others or compiled."""
    return {op.name: op for op in op_db if op.name in names and op.variant_test_name == ""}


def samples(operator: Any, device: str, dtype: str, *, requires_grad: bool = False) -> list[Any]:
    torch.manual_seed(1)
    found = list(operator.sample_inputs(device, getattr(torch, dtype), requires_grad=requires_grad))
    assert found
    return found
