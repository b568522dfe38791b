"""ozfp4.int8_matmul: INT8 x INT8 -> INT32 bit for bit, against int64."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ozfp4
from ozfp4._api import integers
from ozfp4._dispatch import on_cuda
from ozfp4._options import Options
from ozfp4._plans.plan import make_int8_plan
from ozfp4._request.library import Operands
from ozfp4._request.operands import matmul_request
from ozfp4.testing import assert_same_bits
from support import STACKS, VIEWS, constant_columns, constant_rows
from support.devices import Device
from support.integer_core import IntegerCore

both = pytest.mark.parametrize("products", [6, 9])


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    product = np.matmul(a.astype(np.int64), b.astype(np.int64))
    result = np.asarray(product).astype(np.int32)
    assert (result == product).all()
    return result


def random(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).integers(-128, 128, shape, np.int8)


@both
def test_all_pairs(products: int, device: Device) -> None:
    v = np.arange(-128, 128, dtype=np.int8)
    c = device.int8_matmul(v[:, np.newaxis], v[np.newaxis, :], products=products)
    assert c.dtype == np.int32
    assert_same_bits(c, np.multiply.outer(v.astype(np.int32), v.astype(np.int32)))


@both
@pytest.mark.parametrize(
    "shape",
    [(1, 1, 1), (0, 3, 4), (3, 0, 4), (3, 4, 0), (7, 513, 5), (64, 65, 66), (17, 1025, 16), (200, 3, 190)],
    ids=str,
)
def test_random(shape: tuple[int, int, int], products: int, device: Device) -> None:
    m, k, n = shape
    a, b = random(1, m, k), random(2, k, n)
    before = a.tobytes(), b.tobytes()
    assert_same_bits(device.int8_matmul(a, b, products=products), exact(a, b))
    assert (a.tobytes(), b.tobytes()) == before


@pytest.mark.slow
@both
def test_the_longest_inner_dimension(products: int) -> None:
    k = 131_071
    a = np.full((2, k), -128, np.int8)
    a[1] = 127
    b = np.full((k, 2), -128, np.int8)
    b[::2, 1] = 127
    c = ozfp4.int8_matmul(a, b, products=products)
    assert c[0, 0] == 131_071 * 16384
    assert_same_bits(c, exact(a, b))


@both
@pytest.mark.parametrize("k", [131_072, 300_001])
def test_longer_inner_dimensions_come_in_pieces(k: int, products: int) -> None:
    a, b = random(10, 3, k), random(11, k, 2)
    out = np.full((3, 2), -7, np.int32)
    c, report = ozfp4.int8_matmul(a, b, products=products, out=out, report=True)
    assert c is out
    assert_same_bits(out, exact(a, b))
    assert (report.overflows, report.products, report.kind) == (0, products, "integer")
    x, y = random(12, k), random(13, k)
    assert_same_bits(ozfp4.int8_matmul(x, y, products=products), exact(x, y))


def test_overflow_of_long_inner_dimensions() -> None:
    k = 131_072
    least, most = np.full((2, k), -128, np.int8), np.full((k, 1), -128, np.int8)
    least[1, 0] = 127  # 2^31 - 128 * 255, which fits
    out = np.full((2, 1), -7, np.int32)
    with pytest.raises(OverflowError, match=r"^overflow: 1 entry of the product does not fit int32; nothing"):
        ozfp4.int8_matmul(least, most, out=out, overflow="raise")
    assert (out == -7).all()
    c, report = ozfp4.int8_matmul(least, most, report=True)
    assert_same_bits(c, np.array([[-(2**31)], [2**31 - 128 * 255]], np.int32))
    assert report.overflows == 1


@both
def test_out_plan_and_report(products: int) -> None:
    a, b = random(14, 9, 50), random(15, 50, 8)
    c, report = ozfp4.int8_matmul(a, b, products=products, report=True)
    assert_same_bits(c, exact(a, b))
    assert (report.plan.products, report.backend, report.accuracy) == (products, "fp4", "exact")
    assert report.workspace > 0
    assert report.exponents == (6, 7)
    wide = np.full((16, 9), -7, np.int32)
    assert ozfp4.int8_matmul(a, b, plan=report.plan, out=wide[::2].T).base is not None
    assert_same_bits(np.ascontiguousarray(wide[::2].T), exact(a, b))
    assert (wide[1::2] == -7).all()


@both
@pytest.mark.parametrize("shapes", STACKS, ids=str)
def test_stacks(shapes, products: int) -> None:
    a, b = random(5, *shapes[0]), random(6, *shapes[1])
    c = ozfp4.int8_matmul(a, b, products=products)
    assert isinstance(c, np.ndarray) == isinstance(np.matmul(a, b), np.ndarray)
    assert_same_bits(c, exact(a, b))


@both
@pytest.mark.parametrize("view", [*VIEWS.values(), constant_rows, constant_columns], ids=lambda f: f.__name__)
def test_layouts(view, products: int) -> None:
    a, b = random(7, 19, 40), random(8, 40, 17)
    x, y = view(a), view(b)
    assert_same_bits(ozfp4.int8_matmul(x, y, products=products), exact(x, y))
    assert_same_bits(ozfp4.int8_matmul(y.T, x.T, products=products), exact(y.T, x.T))


@given(st.data(), st.sampled_from([6, 9]))
def test_any_operands(data: st.DataObject, products: int) -> None:
    m, k, n = (data.draw(st.integers(0, 8)) for _ in range(3))
    a = data.draw(hnp.arrays(np.int8, (m, k)))
    b = data.draw(hnp.arrays(np.int8, (k, n)))
    assert_same_bits(ozfp4.int8_matmul(a, b, products=products), exact(a, b))


@both
@pytest.mark.parametrize("shape", [(0, 5, 3), (4, 0, 3), (4, 5, 0)], ids=str)
def test_the_report_of_an_empty_product_counts_none(shape, products: int) -> None:
    m, k, n = shape
    c, report = ozfp4.int8_matmul(random(1, m, k), random(2, k, n), products=products, report=True)
    assert_same_bits(c, np.zeros((m, n), np.int32))
    assert (report.products, report.plan.products) == (0, products)


@pytest.mark.parametrize(
    "shapes", [((3, 5), (5, 4)), ((2, 3, 70), (70, 5)), ((2, 131_200), (131_200, 3))], ids=str
)
def test_pieces_on_a_device(shapes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a GPU: tensors lie on torch's CPU; a core of the tests multiplies them."""
    torch = pytest.importorskip("torch")
    core, asked = IntegerCore(), Options(accuracy="scaled", overflow="raise")
    monkeypatch.setattr(on_cuda, "core_for", lambda request: core)
    monkeypatch.setattr(on_cuda, "check_device", lambda device: None)
    a, b = random(1, *shapes[0]), random(2, *shapes[1])
    given = Operands(torch.from_numpy(a), torch.from_numpy(b), None, torch, on_device=True)
    c, about = integers._on_device(matmul_request(given, asked, np.int32), make_int8_plan(6))
    assert about is None
    assert_same_bits(c.numpy(), exact(a, b))
    extents = [call["a"].shape[-1] for call in core.calls]
    assert extents == ([131_008, 192] if a.shape[-1] > 131_071 else [a.shape[-1]])
