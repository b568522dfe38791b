"""A wrong whole product is traced to its first wrong stage, on a device that is played here by the CPU."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ozfp4
from ozfp4 import _core
from ozfp4.backends import kernels
from ozfp4.plans import Plan
from ozfp4.stages import integers
from ozfp4.trust import exact_cases, examine, guard, plane_products, stage_search
from ozfp4.trust.stage_search import StageResults
from ozfp4.trust.verdict import Failure

DEVICE = kernels.DeviceKernel("cuda:0", "a kernel", "u8")
(PRODUCT,) = exact_cases.whole_products(short=True)
M, K = PRODUCT.a.shape
N = PRODUCT.b.shape[1]
PLANS = [("II", "int8", "least", "u8"), ("II", "fp4", "least", "s8"), ("II", "fp4", "paper", "e2m1"),
         ("I", "fp4", "least", "e2m1"), ("I", "fp4", "least", "s8"), ("I", "int8", "least", "s8")]  # fmt: skip
Change = Callable[[StageResults], StageResults]


def make(path: tuple[str, str, str, str]) -> Plan:
    return ozfp4.plan(M, N, K, scheme=path[0], backend=path[1], family=path[2], accuracy="scaled")


def right(plan: Plan) -> StageResults:
    return stage_search.on_cpu(plan, PRODUCT.a, PRODUCT.b, plan._core.count)


def off_by_one(x: np.ndarray, place: tuple[int, ...]) -> np.ndarray:
    y = x.copy()
    y[place] += 1
    return y


WRONG: dict[str, Change] = {
    r"scale: exponent of a \(18,\) is -?\d+, not -?\d+, 1 of 19 wrong": lambda r: replace(
        r, exponents=(off_by_one(r.exponents[0], (18,)), r.exponents[1])
    ),
    r"scale: exponent of b \(3,\) is": lambda r: replace(
        r, exponents=(r.exponents[0], off_by_one(r.exponents[1], (3,)))
    ),
    r"scale: 0 of \d+ moduli": lambda r: replace(r, moduli=0),
    r"encode: plane 0 of a \(2, 699\) is": lambda r: replace(
        r, planes=(off_by_one(r.planes[0], (0, 2, 699)), r.planes[1])
    ),
    r"encode: plane 1 of b \(22, 0\) is": lambda r: replace(
        r, planes=(r.planes[0], off_by_one(r.planes[1], (1, 22, 0)))
    ),
    r"multiply: output \(0, 4, 5\) is": lambda r: replace(r, output=off_by_one(r.output, (0, 4, 5))),
    r"reconstruct: entry \(0, 0\) is nan": lambda r: replace(r, c=np.full_like(r.c, np.nan)),
}


@pytest.mark.parametrize("path", PLANS, ids="-".join)
def test_right_stages(path: tuple[str, str, str, str]) -> None:
    plan = make(path)
    found = stage_search.first_wrong_stage(plan, PRODUCT.a, PRODUCT.b, PRODUCT.expected, right(plan))
    assert found is None


@pytest.mark.slow
@pytest.mark.parametrize("message", WRONG)
@pytest.mark.parametrize("path", PLANS, ids="-".join)
def test_the_first_wrong_stage_is_named(
    path: tuple[str, str, str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make(path)
    wrong = WRONG[message](right(plan))
    if "of " in message and "moduli" in message and not plan.moduli:
        pytest.skip("a plan without moduli asks for none")
    # Every later stage goes wrong as well: the first is what counts.
    wrong = replace(wrong, c=np.full_like(wrong.c, np.nan))
    case_name = "whole product 19 x 700 x 23"
    monkeypatch.setattr(plane_products, "multiply", lambda pair, case: [(0, case.expected())])
    monkeypatch.setattr(plane_products, "plans", lambda pair, k, short: iter([plan]))
    monkeypatch.setattr(plane_products, "whole_product", lambda *_: wrong.c)
    monkeypatch.setattr(plane_products, "stage_results", lambda *_: wrong)
    verdict = guard.examine(DEVICE, short=True)
    assert not verdict.passed
    assert verdict.reason is not None
    assert verdict.reason.startswith(
        f"{case_name}, scheme {path[0]} {path[1]} {path[2]}: entry (0, 0) is nan"
    )
    assert re.search(f"first wrong in {message}", verdict.reason), verdict.reason
    failure = verdict.failure
    assert failure is not None
    assert failure.stage is not None
    assert re.match(message, failure.stage)
    assert (failure.entry, failure.found, failure.extents) == ((0, 0), "nan", (19, 23, 700))
    again = exact_cases.whole_product_named(failure.case)
    assert failure.expected == str(again.expected[0, 0])


def test_what_is_right_the_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make(PLANS[0])
    monkeypatch.setattr(plane_products, "stage_results", lambda *_: right(plan))
    found = examine._with_stage(DEVICE, plan, PRODUCT, Failure("case", (1, 1, 1), "wrong"))
    assert found.text == "wrong; made once more, it was right in every stage"
    assert found.stage is None


def test_stages_that_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> StageResults:
        raise RuntimeError("ozfp4: launching encode: invalid argument")

    monkeypatch.setattr(plane_products, "stage_results", fail)
    found = examine._with_stage(DEVICE, make(PLANS[0]), PRODUCT, Failure("case", (1, 1, 1), "wrong"))
    assert found.text == "wrong; its stages could not be looked at: ozfp4: launching encode: invalid argument"


def test_too_few_moduli_are_the_fault_of_scale() -> None:
    plan = make(PLANS[0])
    few = stage_search.on_cpu(plan, PRODUCT.a, PRODUCT.b, 3)
    found = stage_search.first_wrong_stage(plan, PRODUCT.a, PRODUCT.b, PRODUCT.expected, few)
    assert found is not None
    assert found.startswith("scale: too few moduli, 3 of ")


# ---- A workspace as a GPU leaves it -----------------------------------------------------------------------------------


def packed(limbs: np.ndarray) -> np.ndarray:
    codes = np.zeros(limbs.shape, np.uint8)
    for limb in np.unique(limbs):
        codes[limbs == limb] = _core.e2m1_encode(int(limb))
    if codes.shape[-1] % 2:
        codes = np.concatenate([codes, np.zeros_like(codes[..., :1])], axis=-1)
    return codes[..., ::2] | codes[..., 1::2] << 4


def digits_of(whole: np.ndarray, base: int, count: int) -> np.ndarray:
    digits = np.zeros((count, *whole.shape), np.uint8)
    rest = whole.copy()
    for plane in range(count - 1):
        digits[plane] = (rest % base).astype(np.uint8)
        rest = rest // base
    digits[-1] = rest.astype(np.int8).view(np.uint8)
    return digits


def workspace_of(plan: Plan, element: str, results: StageResults) -> tuple[dict[str, Any], np.ndarray]:
    """The layout and the bytes of a workspace whose stages left these results, noise in between; K in two splits."""
    parts: dict[str, np.ndarray] = {
        "units_used": np.array([results.moduli], np.int32),
        "shift_a": results.exponents[0],
        "shift_b": results.exponents[1],
    }
    about: dict[str, Any] = {"element": element, "plane_count": results.planes[0].shape[0], "splits": 2}
    for name, planes in zip(("planes_a", "planes_b"), results.planes, strict=True):
        if element == "u8":
            planes = (planes.astype(np.int64) % np.array(plan.moduli)[:, None, None]).astype(np.uint8)
        raw = packed(planes) if element == "e2m1" else planes.view(np.uint8)
        about["k_pitch"] = (raw.shape[2] + 127) // 128 * 128
        parts[name] = np.full((*raw.shape[:2], about["k_pitch"]), 0xA5, np.uint8)
        parts[name][:, :, : raw.shape[2]] = raw
    if plan.moduli:
        moduli = np.array(plan.moduli)[:, None, None]
        first = np.arange(results.output.size).reshape(results.output.shape) % moduli
        halves = [first, (results.output - first) % moduli]
    else:
        assert plan.base is not None
        half = results.output[0] // 3
        halves = [digits_of(x, plan.base, 34) for x in (half, results.output[0] - half)]
    about["output_planes"], about["out_pitch"] = halves[0].shape[0], 32
    parts["outputs"] = np.full((halves[0].shape[0], 2, M, 32), 0xA5, np.uint8)
    for split, x in enumerate(halves):
        parts["outputs"][:, split, :, :N] = x
    memory = np.zeros(0, np.uint8)
    for name, part in parts.items():
        about[name] = -(-memory.size // 256) * 256
        gap = np.full(about[name] - memory.size, 0x5A, np.uint8)
        memory = np.concatenate([memory, gap, np.ascontiguousarray(part).view(np.uint8).reshape(-1)])
    return about, memory


@pytest.mark.parametrize("path", PLANS, ids="-".join)
def test_a_workspace_is_read_as_it_lies(path: tuple[str, str, str, str]) -> None:
    plan = make(path)
    if plan.base == 256:
        pytest.skip("as base 13")
    results = right(plan)
    about, memory = workspace_of(plan, path[3], results)
    found = plane_products.read_stages(plan, about, memory, (M, N, K), results.c)
    wrong = stage_search.first_wrong_stage(plan, PRODUCT.a, PRODUCT.b, PRODUCT.expected, found)
    assert wrong is None
    memory[about["planes_b"] + about["k_pitch"] * 7 + 5] ^= 1
    found = plane_products.read_stages(plan, about, memory, (M, N, K), results.c)
    wrong = stage_search.first_wrong_stage(plan, PRODUCT.a, PRODUCT.b, PRODUCT.expected, found)
    assert wrong is not None
    assert wrong.startswith("encode: plane 0 of b (7, ")


def test_digits_stand_for_integers() -> None:
    plan = make(("I", "int8", "least", "s8"))
    whole = integers(_core.multiply(plan._core, plan._core.count, *right(plan).planes), plan)
    for base, count in ((256, 20), (13, 34)):
        assert (stage_search.digits_to_integers(digits_of(whole, base, count), base) == whole).all()
