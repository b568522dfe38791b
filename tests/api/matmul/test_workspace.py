"""Products in blocks: any workspace gives the same bits; progress is reported on the way."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ozfp4
from ozfp4._core import WorkspaceError
from ozfp4.testing import assert_same_bits, exact_matmul
from support import PATHS, Path, chosen, operands

every_path = pytest.mark.parametrize("path", PATHS, ids=str)


@every_path
def test_one_entry_at_a_time(path: Path) -> None:
    a, b = operands("phi8", 3, 4, 2)
    with pytest.raises(MemoryError) as refused:
        chosen.matmul(a, b, workspace_limit=1, **path._asdict(), accuracy="scaled")
    least = int(str(refused.value).split("at least ")[1].split()[0])
    seen: list[float] = []
    with ozfp4.progress(seen.append):
        c = chosen.matmul(a, b, workspace_limit=least, **path._asdict(), accuracy="scaled")
    assert_same_bits(c, exact_matmul(a, b))
    assert len(seen) % (3 * 4 * 2) == 0
    with pytest.raises(MemoryError, match=rf"workspace_limit = {least - 1} bytes .* at least {least} bytes"):
        chosen.matmul(a, b, workspace_limit=least - 1, **path._asdict(), accuracy="scaled")


@pytest.mark.parametrize("products", [6, 9])
def test_int8_products_in_blocks(products: int) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(-128, 128, (33, 70), np.int8), rng.integers(-128, 128, (70, 25), np.int8)
    expected = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    for limit in (500, 2_000, 10_000, 100_000):
        assert_same_bits(ozfp4.int8_matmul(a, b, products=products, workspace_limit=limit), expected, limit)
    with pytest.raises(MemoryError, match="workspace_limit = 8 bytes"):
        ozfp4.int8_matmul(a, b, products=products, workspace_limit=8)


@every_path
def test_progress_rises_to_one(path: Path) -> None:
    a, b = operands("normal", 40, 50, 30)
    seen: list[float] = []
    with ozfp4.progress(seen.append):
        chosen.matmul(a, b, workspace_limit=20_000, **path._asdict(), accuracy="scaled")
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[0] > 0
    assert seen[-1] == 1.0


@every_path
def test_progress_is_told_within_a_block(path: Path) -> None:
    seen: list[float] = []
    x = np.ones((9, 9))
    with ozfp4.progress(seen.append):
        _, report = chosen.matmul(x, x, report=True, **path._asdict(), accuracy="scaled")
    assert len(seen) == (report.moduli_used or len({t.group for t in report.plan.terms}))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


class StopHereError(Exception):
    pass


@every_path
def test_an_exception_in_progress_comes_through(path: Path) -> None:
    a, b = operands("normal", 40, 50, 30)
    before = a.tobytes(), b.tobytes()
    calls: list[float] = []

    def stop(done: float) -> None:
        calls.append(done)
        if len(calls) == 3:
            raise StopHereError(f"at {done}")

    with pytest.raises(StopHereError, match="at "), ozfp4.progress(stop):
        chosen.matmul(a, b, workspace_limit=10_000, **path._asdict(), accuracy="scaled")
    assert len(calls) == 3
    assert (a.tobytes(), b.tobytes()) == before
    assert_same_bits(
        chosen.matmul(a, b, **path._asdict(), accuracy="scaled"), exact_matmul(a, b), "after the exception"
    )


@pytest.mark.parametrize("error", [ValueError, MemoryError])
@pytest.mark.parametrize("dtype", ["float64", "complex128", "int64"])
def test_errors_of_others_are_no_refusals(dtype: str, error: type[Exception]) -> None:
    """Whatever they say: a refusal of the limit has a type."""
    x = np.ones((300, 300), dtype)

    def stop(_: float) -> None:
        raise error("workspace_limit = 5 bytes is my own")

    with pytest.raises(error, match=r"^workspace_limit = 5 bytes is my own$") as caught, ozfp4.progress(stop):
        ozfp4.matmul(x, x)
    assert type(caught.value) is error
    assert not isinstance(caught.value, WorkspaceError)


def test_a_refusal_of_the_limit_has_a_type() -> None:
    x = np.ones((3, 4))
    calls: list[Callable[[], object]] = [
        lambda: ozfp4.matmul(x, x.T, workspace_limit=7),
        lambda: ozfp4.matmul(x + 1j, x.T, workspace_limit=7),
        lambda: ozfp4.matmul(x + 1j, x.T + 1j, workspace_limit=400),
        lambda: ozfp4.matmul(x.astype(int), x.T.astype(int), workspace_limit=7, backend="int8"),
        lambda: ozfp4.int8_matmul(x.astype(np.int8), x.T.astype(np.int8), workspace_limit=2),
        lambda: ozfp4.gram(x, workspace_limit=7),
    ]
    for call in calls:
        with pytest.raises(MemoryError, match=r"^workspace_limit = ") as caught:
            call()
        assert isinstance(caught.value, WorkspaceError)
