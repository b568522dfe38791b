"""An INT8 unit of a CPU that multiplies wrongly: passed over for the next one; named; taken again when right."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._backends.kernels import cpu_kernel, cpu_kernels
from ozfp4._trust import guard
from ozfp4.testing import assert_same_bits, exact_matmul, forced_on_cpu

A, B = np.random.default_rng(0).standard_normal((2, 9, 9))
EXACT = exact_matmul(A, B)

pytestmark = pytest.mark.skipif(_core.serving_byte_kernel() is None, reason="this CPU has no INT8 unit")


@pytest.fixture(autouse=True)
def by_planes() -> Iterator[None]:
    """Products here are small, and are to be made by the kernels that larger ones take."""
    with forced_on_cpu(words=False):
        yield


def units_of(*elements: str) -> list[tuple[str, str]]:
    return [(k.name, k.element) for k in cpu_kernels() if k.element in elements and " on packed " in k.name]


@pytest.fixture
def break_unit(cache: Path) -> Iterator[Callable[..., None]]:
    """break_unit("int8"): INT8 units seem to be off by one in the last entry of products of these elements."""
    yield lambda *elements: _core.break_kernels(units_of(*elements))
    _core.break_kernels([])


def test_wrong_units_are_named_and_passed_over(
    break_unit: Callable[..., None], recwarn: pytest.WarningsRecorder
) -> None:
    units = [name for name, _ in units_of("int8")]
    assert units
    break_unit("int8", "fp4")
    warnings.simplefilter("always")
    c, report = ozfp4.matmul(A, B, report=True, accuracy="scaled")
    told = [str(warning.message) for warning in recwarn.list]
    assert len(told) == len(units)
    for unit, text in zip(units, told, strict=True):
        assert re.search(rf"the kernel '{re.escape(unit)}' \(int8\) on cpu .* is disabled", text)
    assert_same_bits(c, EXACT)
    assert report.backend == "fp64"  # what "auto" takes without a unit
    assert _core.serving_byte_kernel() is None
    for backend in ("int8", "fp4"):
        c, report = ozfp4.matmul(A, B, report=True, backend=backend, accuracy="scaled")
        assert_same_bits(c, EXACT)
        assert report.kernel.startswith("FP32 on ")


def test_a_corrected_unit_serves_again(break_unit: Callable[..., None]) -> None:
    unit = _core.serving_byte_kernel()
    break_unit("fp4")
    with pytest.warns(RuntimeWarning, match=r"\(fp4\) on cpu .* is disabled"):
        ozfp4.matmul(A, B, backend="fp4", accuracy="scaled")
    assert _core.serving_byte_kernel() != unit
    break_unit()
    for kernel in cpu_kernels():
        assert guard.test(kernel, short=True).passed
    assert _core.serving_byte_kernel() == unit
    assert ozfp4.matmul(A, B, report=True, accuracy="scaled")[1].backend == "int8"


def test_a_failed_unit_asked_for_by_name_is_refused(
    break_unit: Callable[..., None], variables: Callable[..., None]
) -> None:
    unit = _core.serving_byte_kernel()
    assert unit is not None
    variables(OZFP4_CPU_KERNEL=unit[1])
    break_unit("int8")
    with (
        pytest.warns(RuntimeWarning, match="is disabled"),
        pytest.raises(RuntimeError, match=rf"every kernel of 'int8' failed its self-test: '{unit[0]}"),
    ):
        ozfp4.matmul(A, B, backend="int8", accuracy="scaled")
    assert cpu_kernel("int8").name.startswith(unit[0])
