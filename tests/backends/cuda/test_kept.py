"""What a product on a GPU hands to the extension of an operand that is kept, without a GPU: a fake extension takes it down."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4.backends.cuda import extension, keep, launch
from ozfp4.backends.cuda.kept import Kept, KeptSides
from ozfp4.backends.cuda.variant import Variant
from ozfp4.backends.cuda.views import prepare
from ozfp4.request.operands import matmul_shape

torch = pytest.importorskip("torch")

LAUNCHES: list[tuple[tuple[Any, ...], dict[str, Any]]] = []


class Fake:
    """A Problem or a Store: keeps what it is made with and launched with."""

    bytes, turns = 64, 1

    def __init__(self, *arguments: Any, **choices: Any) -> None:
        self.arguments, self.choices = arguments, choices

    def launch(self, *arguments: Any, **further: Any) -> None:
        LAUNCHES.append((arguments, further))

    def describe(self) -> dict[str, int]:
        extents = self.arguments[2]
        return {
            "bytes": 4096,
            "scratch": 256,
            "matrices": int(np.prod(extents)),
            "lines": self.arguments[1][2],
        }


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Any:
    """torch's CPU as a device with an index."""
    types = SimpleNamespace(float64="float64", float32="float32", int8="int8")
    fake = SimpleNamespace(
        pointer_alignment=16, Operand=lambda *about: about, Result=lambda *about: about, Problem=Fake, Store=Fake,
        ElementType=types, CudaPlan=lambda *_: SimpleNamespace(device_steps=b"", element="u8"),
        kernels=("one",), stream_id=lambda *_: -1,
    )  # fmt: skip
    for name in ("require_cuda", "extension"):
        monkeypatch.setattr(extension, name, lambda: fake)
    for module in (keep, launch):
        monkeypatch.setattr(module, "stream_handle", lambda _: 5)
    monkeypatch.setattr(launch, "memory_of", lambda *_: None)
    prepare.cache_clear()
    LAUNCHES.clear()
    yield fake
    prepare.cache_clear()


def kept(x: Any, side: str) -> Kept:
    return keep.keep(
        x, side, ozfp4.plan(1, 1, 1000, backend="int8", accuracy="scaled"), Variant(0), "standard", False
    )


def test_matrices_that_are_the_same_are_kept_once(device: Any) -> None:
    b = torch.zeros(4, 6, 30, 20, dtype=torch.float64)
    for x, matrices in (
        (b, 24),
        (b[:, ::2], 12),
        (b[:1].expand(4, 6, 30, 20), 6),
        (b[:, :1].expand(4, 6, 30, 20), 4),
        (b[0, 0], 1),
    ):
        found = kept(x, "right")
        assert found.about["matrices"] == matrices
        assert (found.first, found.count, found.element, found.stream) == (0, 20, "u8", 5)
        (data, memory, *_), _ = LAUNCHES[-1]
        assert (data, memory) == (x.data_ptr(), found.memory.data_ptr())
    assert kept(b, "left").count == 30


def test_a_product_takes_its_lines(device: Any) -> None:
    plan, variant = ozfp4.plan(1, 1, 30, backend="int8", accuracy="scaled"), Variant(0)
    a, b = torch.zeros(128, 30, dtype=torch.float64), torch.zeros(30, 192, dtype=torch.float64)
    left, right = kept(a, "left"), kept(b, "right")
    c = torch.zeros(64, 64, dtype=torch.float64)
    sides = KeptSides(left.part(64, 128), right.part(64, 192).part(64, 128))
    x, y = a[64:], b[:, 128:]
    made = launch.run(plan, variant, x, y, c, matmul_shape(x.shape, y.shape), 2**40, kept=sides)
    assert made.problem.choices == {"kept_a": (128, 1), "kept_b": (192, 1)}
    _, further = LAUNCHES[-1]
    assert further == {
        "kept_a": left.memory.data_ptr(), "first_line_a": 64, "kept_b": right.memory.data_ptr(), "first_line_b": 128,
    }  # fmt: skip
    made = launch.run(
        plan, variant, x, y, c, matmul_shape(x.shape, y.shape), 2**40, kept=KeptSides(b=sides.b)
    )
    assert made.problem.choices == {"kept_b": (192, 1)}
    assert set(LAUNCHES[-1][1]) == {"kept_b", "first_line_b"}


def test_planes_of_another_kind_are_refused(device: Any) -> None:
    plan = ozfp4.plan(1, 1, 31, backend="int8", accuracy="scaled")
    b = torch.zeros(31, 8, dtype=torch.float64)
    right = kept(b, "right")
    device.CudaPlan = lambda *_: SimpleNamespace(device_steps=b"", element="s8")
    with pytest.raises(
        RuntimeError,
        match=r"^b: it was prepared as planes of 'u8', and the kernel that serves now takes 's8'",
    ):
        launch.run(
            plan,
            Variant(0),
            b.mT,
            b,
            torch.zeros(8, 8),
            matmul_shape((8, 31), (31, 8)),
            2**40,
            kept=KeptSides(b=right),
        )
