"""Decisions before the core of a GPU is called, without a GPU: tensors lie on torch's CPU."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ozfp4._dispatch import on_cuda
from ozfp4._options import Options

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["m", "n", "k"])
def test_the_longest_extent(name: str) -> None:
    extents = {"m": 3, "n": 5, "k": 4}
    on_cuda.check_extents(**{**extents, name: 2**31 - 4096})
    with pytest.raises(ValueError, match=rf"^{name}: 2147479553 exceeds 2\*\*31 - 4096"):
        on_cuda.check_extents(**{**extents, name: 2**31 - 4095})


@pytest.mark.parametrize(
    ("capability", "is_measured", "is_calibrating", "advises"),
    [
        ((12, 0), False, False, True),
        ((12, 1), False, False, True),
        ((8, 6), False, False, True),
        ((12, 0), True, False, False),
        ((12, 0), False, True, False),
        ((9, 0), False, False, False),
    ],
)
def test_the_first_product_says_how_a_gpu_is_measured(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capability: tuple[int, int],
    is_measured: bool,
    is_calibrating: bool,
    advises: bool,
) -> None:
    """Once in a process, and only where the choice rests on another GPU's times."""
    core = SimpleNamespace(mark_ready=lambda index: None, has_measured_ways=lambda index: is_measured)
    monkeypatch.setattr(on_cuda, "_ready", set())
    monkeypatch.setattr(on_cuda, "CALIBRATING", {0} if is_calibrating else set())
    monkeypatch.setattr(on_cuda, "connected", lambda: core)
    monkeypatch.setattr(on_cuda.extension, "why_unavailable", lambda device: None)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    for _ in range(2):
        on_cuda.check_device(torch.device("cuda", 0))
    told = [record.getMessage() for record in caplog.records if "ozfp4 calibrate" in record.getMessage()]
    assert [text.startswith("Some GPU: ") for text in told] == [True] * advises


def test_a_gpu_without_kernels_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one of a later generation than the build has code for."""
    core = SimpleNamespace(find_kernel=lambda *of: None, compute_capabilities=((9, 0), (12, 0)))
    monkeypatch.setattr(on_cuda, "_ready", set())
    monkeypatch.setattr(on_cuda.extension, "extension", lambda: core)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (13, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Some GPU")
    text = "Some GPU has compute capability 13.0; this build holds kernels for 9.0, 12.0 only"
    with pytest.raises(RuntimeError, match=f"^a: device cuda:0: {text}"):
        on_cuda.check_device(torch.device("cuda", 0))


COMPLEX = torch.complex(torch.arange(12.0).view(3, 4), torch.ones(3, 4))
REAL = COMPLEX.real.contiguous()


@pytest.mark.parametrize(
    ("x", "side", "other", "is_read"),
    [
        (REAL, "left", "complex", True),
        (REAL.mT, "right", "complex", True),
        (COMPLEX, "left", "complex", True),
        (COMPLEX, "left", "real", False),
        (COMPLEX, "right", "complex", False),
        (COMPLEX.mT, "left", "complex", False),
        (COMPLEX.conj(), "left", "complex", False),
        (COMPLEX.conj(), "left", "real", False),
    ],
)
@pytest.mark.parametrize("stays", [False, True])
def test_entries_of_a_prepared_tensor_are_copied_unless_they_stay(
    x: Any, side: str, other: str, is_read: bool, stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads the entries again, unless it copies them; those that do not stay may be changed by whoever passed them."""

    def prepare(x: Any, is_right: bool, is_for_real: bool, precision: int, reads: bool, asked: Any) -> Any:
        about = (is_right, is_for_real, precision, reads)
        return SimpleNamespace(x=x, about=about, plan=("II", "int8", "least", 57, 8, False), nbytes=100)

    monkeypatch.setattr(on_cuda, "ready", lambda device: SimpleNamespace(prepare=prepare))
    held, plan, nbytes, kept = on_cuda.prepare(x, side, other, Options(), single=False, stays=stays)
    assert held.about == (side == "right", other == "real", 53, is_read)
    is_cloned = is_read and not stays
    assert (held.x.data_ptr() == x.data_ptr()) == (not is_cloned and not (other == "real" and x.is_conj()))
    assert torch.equal(held.x, x)
    assert nbytes == 100 + (x.nbytes if is_cloned else 0)
    assert kept is (held.x if is_read else None)
    assert (plan.backend, plan.bits) == ("int8", 57)
