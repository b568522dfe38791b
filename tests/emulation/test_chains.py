"""``ozfp4.emulate(mode="fastest")`` after a product that left many entries to repair."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4._emulation import chains, choice
from ozfp4._emulation.choice import check_options
from ozfp4._emulation.summary import Decision, Problem
from ozfp4._trust import guard
from ozfp4.testing import assert_same_bits

torch = pytest.importorskip("torch")

POINTS = np.random.default_rng(1).random((96, 1))
COVARIANCE = np.exp(-((POINTS - POINTS.T) ** 2) / (2 * 0.05**2))
NORMAL = np.random.default_rng(2).standard_normal((96, 96))
LAYER = torch.nn.Linear(96, 96, bias=False, dtype=torch.float64).requires_grad_(False)


@pytest.fixture(autouse=True)
def faster(monkeypatch: pytest.MonkeyPatch) -> None:
    """ozfp4 is faster, but for products with many chains; no place is known."""
    monkeypatch.setattr(choice, "_fastest", lambda problem, options: Decision(True, "told"))
    monkeypatch.setattr(chains, "_places", {})
    monkeypatch.setattr(chains, "_counts", [])
    ozfp4.matmul(NORMAL, NORMAL)  # tests its kernel


def by_numpy(x: Any) -> Any:
    return np.matmul(x, x)


def by_torch(x: Any) -> Any:
    x = torch.from_numpy(x)
    return (x @ x).numpy()


def by_layer(x: Any) -> Any:
    """A product in torch's own code."""
    layer = torch.nn.Linear(96, 96, bias=False, dtype=torch.float64)
    layer.weight.data = torch.from_numpy(x)
    with torch.no_grad():
        return layer(torch.from_numpy(x)).numpy()


def counts(scope: Any) -> tuple[int, int]:
    return scope.summary.caught, scope.summary.left


@pytest.mark.parametrize("product", [by_numpy, by_torch, by_layer])
@pytest.mark.parametrize("around", [contextlib.nullcontext, partial(ozfp4.emulate, mode="always")])
def test_after_many_repairs_all_others_are_the_librarys(
    product: Callable[[Any], Any], around: Callable[[], Any]
) -> None:
    with around(), ozfp4.emulate() as scope:
        found = [product(COVARIANCE) for _ in range(40)]
    assert counts(scope) == (1, 39)
    assert {row.reason for row in scope.summary.rows} == {"told", chains.MANY.reason}
    native = product(COVARIANCE)
    ours = ozfp4.matmul(COVARIANCE, COVARIANCE.T if product is by_layer else COVARIANCE)
    for i, c in enumerate(found):
        assert_same_bits(c, native if i else ours)
    with around(), ozfp4.emulate() as later:  # another entry, the same place
        for _ in range(2):
            product(COVARIANCE)
    assert counts(later) == (0, 2)


@pytest.mark.parametrize("product", [by_numpy, by_torch])
def test_products_with_few_chains_stay(product: Callable[[Any], Any]) -> None:
    with ozfp4.emulate() as scope:
        for _ in range(4):
            product(NORMAL)
    assert counts(scope) == (4, 0)


def test_the_test_of_a_kernel_counts_for_no_place() -> None:
    with ozfp4.emulate() as scope:
        for _ in range(3):
            guard.forget()
            np.matmul(NORMAL, NORMAL)
    assert counts(scope) == (3, 0)


def test_each_call_in_the_program_is_a_place() -> None:
    with ozfp4.emulate() as scope:
        for _ in range(3):
            np.matmul(COVARIANCE, COVARIANCE), np.matmul(NORMAL, NORMAL)
    assert counts(scope) == (4, 2)
    with ozfp4.emulate() as scope:  # not the line in torch's own code
        for _ in range(3):
            by_layer(COVARIANCE)
            LAYER(torch.from_numpy(NORMAL))
    assert counts(scope) == (4, 2)


def test_mode_always_ignores_repairs() -> None:
    with ozfp4.emulate(mode="always") as scope:
        for _ in range(3):
            by_numpy(COVARIANCE), by_torch(COVARIANCE)
    assert counts(scope) == (6, 0)


def choice_keywords() -> dict[str, Any]:
    return {
        "scheme": "II", "backend": "auto", "workspace_limit": None,
        "accuracy": None, "rounding": "nearest",
    }  # fmt: skip


def test_places_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "MOST_PLACES", 5)
    with ozfp4.emulate() as scope:
        for i in range(12):
            exec(compile("np.matmul(a, a)", f"<{i}>", "exec"), {"np": np, "a": NORMAL})
            assert len(chains._places) <= 5
            assert {place.number for place in chains._places.values()} <= set(range(5))
    assert counts(scope) == (12, 0)


# ---- What a GPU's products do, with a device that is played


class Device:
    """cuda:1, not the current device, which counts when the test calls finish."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.counts = np.zeros(chains.MOST_PLACES, np.int64)
        self.is_captured, self.tells = False, True
        self.current = "cuda:0"
        self.enqueued: list[int] = []  # where those that are not done count
        self._address = 0
        cuda = SimpleNamespace(count_repaired_at=self._count_repaired_at)
        monkeypatch.setattr(chains.extension, "require_cuda", lambda: cuda)
        monkeypatch.setattr(torch.cuda, "device", self._current)
        monkeypatch.setattr(
            torch.cuda, "is_current_stream_capturing", lambda: self.is_captured and self.current == "cuda:1"
        )
        monkeypatch.setattr(chains, "_counts", [(self.counts, 8)])

    @contextlib.contextmanager
    def _current(self, device: str) -> Iterator[None]:
        before, self.current = self.current, device
        yield
        self.current = before

    def _count_repaired_at(self, address: int) -> bool:
        before, self._address = self._address, address
        return before != 0 and self.tells

    def multiply(self, **keywords: Any) -> str:
        if self.tells and self._address:
            self.enqueued.append(self._address // 8 - 1)
        return "ours"

    def finish(self, count: int) -> None:
        for number in self.enqueued:
            self.counts[number] = count
        self.enqueued.clear()


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    return Device(monkeypatch)


def asked(device: Device, times: int = 1) -> list[Any]:
    """The ways of products of one place."""
    options = check_options(("float64",), 0, "fastest", False, choice_keywords())
    problem = Problem("torch", "cuda:1", "float64", 2, 1024, 1024, 1024)
    return [chains.made(problem, options, device.multiply) for _ in range(times)]


FEW = _core.few_repairs(2 * 1024**2)


def test_nothing_is_enqueued_until_the_first_count_is_there(device: Device) -> None:
    assert asked(device, 3) == ["ours", chains.AWAITED, chains.AWAITED]
    device.finish(FEW)
    assert asked(device, 3) == ["ours"] * 3  # no count is awaited any more
    device.finish(FEW + 1)
    assert asked(device, 100) == [chains.MANY] * 100
    device.finish(0)
    assert asked(device, 2) == [chains.MANY] * 2


def test_graphs_take_what_is_known_of_a_place(device: Device) -> None:
    device.is_captured = True
    assert asked(device, 2) == ["ours"] * 2
    assert device.enqueued == []  # no count is enqueued
    device.is_captured = False
    asked(device)
    device.is_captured = True
    assert asked(device) == ["ours"]
    device.is_captured = False
    device.finish(FEW + 1)
    asked(device)
    device.is_captured = True
    assert asked(device, 2) == [chains.MANY] * 2


def test_products_without_a_count_are_not_awaited(device: Device) -> None:
    device.tells = False
    assert asked(device, 3) == ["ours"] * 3


def test_a_product_that_fails_is_not_awaited(device: Device) -> None:
    device.tells = False
    device.multiply = lambda **keywords: (_ for _ in ()).throw(MemoryError)  # type: ignore[method-assign]
    for _ in range(2):
        with pytest.raises(MemoryError):
            asked(device)
