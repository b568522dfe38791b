"""Tests of torch.linalg by torch's own samples: gradients of every function compared with differences of its results, as in
torch's own tests. exec_suites.py runs them under `ozfp4 exec`; nothing here is of ozfp4.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import torch
from torch.testing._internal.common_methods_invocations import op_db

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
MOST_SAMPLES = 5  # of each function and dtype

pytestmark = pytest.mark.filterwarnings("ignore")  # raised in torch's samples


def cases() -> Iterator[Any]:
    for operator in op_db:
        if not operator.name.startswith("linalg.") or not operator.supports_autograd:
            continue
        for dtype in (torch.float64, torch.complex128):
            if dtype in operator.supported_backward_dtypes(DEVICE):
                name = (
                    f"{operator.name}{'.' if operator.variant_test_name else ''}{operator.variant_test_name}"
                )
                for number in range(MOST_SAMPLES):
                    yield pytest.param(operator, dtype, number, id=f"{name}-{str(dtype)[6:]}-{number}")


@pytest.mark.parametrize(("operator", "dtype", "number"), list(cases()))
def test_gradients(operator: Any, dtype: torch.dtype, number: int) -> None:
    torch.manual_seed(number)
    sample = next(islice(operator.sample_inputs(DEVICE, dtype, requires_grad=True), number, None), None)
    if sample is None:
        pytest.skip("there are not so many samples")
    wanted = [x for x in (sample.input, *sample.args) if isinstance(x, torch.Tensor) and x.requires_grad]
    if not wanted:
        pytest.skip("nothing to differentiate")

    def function(*given: Any) -> Any:
        left = iter(given)
        taken = [
            next(left) if isinstance(x, torch.Tensor) and x.requires_grad else x
            for x in (sample.input, *sample.args)
        ]
        found = operator.gradcheck_wrapper(operator, *taken, **sample.kwargs)
        if sample.output_process_fn_grad is not None:
            found = sample.output_process_fn_grad(found)
        return found

    assert torch.autograd.gradcheck(
        function, wanted, fast_mode=True, nondet_tol=operator.gradcheck_nondet_tol
    )
