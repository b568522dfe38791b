"""torch's own samples of its products, and of what has products in its gradients, within ``ozfp4.emulate(mode="always")``.

Results and gradients are torch's, within its tolerance, and products were caught.

float32 is compared with torch's results in twice the precision, as in test_torch_samples.py, but where torch decomposes a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import ozfp4
from ozfp4._emulation import chains, choice
from ozfp4._emulation.summary import Decision

torch = pytest.importorskip("torch")
from torch_devices import DEVICES  # noqa: E402
from torch_samples import WIDE, operators, samples  # noqa: E402

from ozfp4._emulation.for_torch.products import FUNCTIONS  # noqa: E402

# By torch's name: what has to be caught of all samples together, forward and backward.
CAUGHT: dict[str, set[str]] = {
    "matmul": {"dot", "mv", "mm", "bmm"},
    "__rmatmul__": {"dot", "mv", "mm", "bmm"},
    "mm": {"mm"},
    "bmm": {"bmm"},
    "addmm": {"addmm", "mm"},
    "baddbmm": {"baddbmm", "bmm"},
    "addbmm": {"addbmm", "bmm"},
    "addmv": {"addmv", "mv"},
    "mv": {"mv"},
    "dot": {"dot"},
    "vdot": {"vdot"},
    "inner": {"dot"},
    "einsum": {"bmm"},
    "tensordot": {"dot", "mm"},
    "nn.functional.linear": {"addmm", "mm"},
    "linalg.multi_dot": {"mm"},
    "linalg.matrix_power": {"mm", "bmm"},
    # Only the gradients of DECOMPOSED are caught.
    "linalg.solve": {"mm", "bmm"},
    "linalg.cholesky": {"mm", "bmm"},
    "linalg.qr": {"mm", "bmm"},
}
# These compute inside LAPACK, cuSOLVER and MAGMA, where nothing is caught, and as precisely as the dtype allows.
DECOMPOSED = {"linalg.solve", "linalg.cholesky", "linalg.qr"}
FLOATS = ["float64", "complex128", "float32", "complex64"]
OPERATORS = operators(set(CAUGHT))


def tensors(x: Any) -> Iterator[Any]:
    if isinstance(x, torch.Tensor):
        yield x
    elif isinstance(x, (list, tuple)):
        for each in x:
            yield from tensors(each)


def results(operator: Any, sample: Any) -> list[Any]:
    """The results of the operator, and all gradients."""
    out = operator(sample.input, *sample.args, **sample.kwargs)
    out = list(tensors(sample.output_process_fn_grad(out)))
    leaves = [
        x for x in tensors([sample.input, list(sample.args), list(sample.kwargs.values())]) if x.requires_grad
    ]
    ends = [x for x in out if x.requires_grad]
    if not leaves or not ends:
        return out
    torch.manual_seed(3)
    starts = [torch.randn(x.shape, dtype=torch.float64).to(x) for x in ends]
    return [*out, *(x for x in torch.autograd.grad(ends, leaves, starts, allow_unused=True) if x is not None)]


def check(operator: Any, device: str, dtype: str, scope: Any, called: Any = None) -> None:
    own = getattr(torch, dtype)
    wide = own if operator.name in DECOMPOSED else WIDE.get(dtype, own)
    where = "cpu" if dtype == "int64" else device  # torch multiplies no integers on a GPU

    def precise(x: Any) -> Any:
        if not isinstance(x, torch.Tensor):
            return x
        return x.detach().to(where, wide if x.dtype == own else x.dtype).requires_grad_(x.requires_grad)

    for sample in samples(operator, device, dtype, requires_grad=dtype != "int64"):
        theirs = results(operator, sample.transform(precise))
        with scope:
            ours = results(called or operator, sample)
        what = sample.summary()
        for x, y in zip(ours, theirs, strict=True):
            torch.testing.assert_close(x, y.to(x), msg=lambda text, what=what: f"{what}: {text}")


def test_the_table_has_all_of_them() -> None:
    assert set(OPERATORS) == set(CAUGHT)


@pytest.mark.parametrize("name", CAUGHT)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("device", DEVICES)
def test_emulated_operators_give_torchs_samples(device: str, dtype: str, name: str) -> None:
    scope = ozfp4.emulate(dtypes=FLOATS, mode="always")
    check(OPERATORS[name], device, dtype, scope)
    assert {row.operation.removesuffix("_") for row in scope.summary.rows if row.taken} == CAUGHT[name]


# Operators that mode="fastest" catches by name.
BY_NAME = [name for name in CAUGHT if name.removeprefix("nn.functional.") in FUNCTIONS]


class Called:
    """The function at an operator's name, or the tensors' method of that name, at the time of the call."""

    def __init__(self, name: str, is_method: bool) -> None:
        self.name, self._is_method = name, is_method

    def __call__(self, *args: Any, **named: Any) -> Any:
        if self._is_method:
            return getattr(args[0], self.name)(*args[1:], **named)
        function = torch
        for name in self.name.split("."):
            function = getattr(function, name)
        return function(*args, **named)


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize("is_method", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("device", DEVICES)
def test_emulated_names_give_torchs_samples(
    device: str, dtype: str, is_method: bool, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_method and not hasattr(torch.Tensor, name):
        pytest.skip("torch has no such method")
    monkeypatch.setattr(choice, "_fastest", lambda problem, options: Decision(True, "told"))
    monkeypatch.setattr(
        chains, "made", lambda problem, options, compute: compute(**options.keywords_of(problem.dtype))
    )
    scope = ozfp4.emulate(dtypes=FLOATS)
    # torch's table wraps einsum in a function that calls it by name.
    check(OPERATORS[name], device, dtype, scope, None if name == "einsum" else Called(name, is_method))
    assert {row.operation for row in scope.summary.rows if row.taken} == {name.removeprefix("nn.functional.")}


@pytest.mark.parametrize("name", [name for name in CAUGHT if torch.int64 in OPERATORS[name].dtypes])
@pytest.mark.parametrize("device", DEVICES)
def test_emulated_integers_give_torchs_samples(device: str, name: str) -> None:
    scope = ozfp4.emulate(dtypes="integers", mode="always")
    check(OPERATORS[name], device, "int64", scope)
    assert scope.summary.caught
