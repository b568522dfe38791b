"""A Plan is a value: immutable, comparable, hashable, picklable, printable."""

from __future__ import annotations

import copy
import pickle

import pytest

import ozfp4
from ozfp4._plans.plan import make_int8_plan
from support import PATHS

PLANS = [ozfp4.plan(1, 1, 1024, **path._asdict(), accuracy="scaled") for path in PATHS] + [
    make_int8_plan(6),
    make_int8_plan(9),
]
every_plan = pytest.mark.parametrize("plan", PLANS, ids=[*map(str, PATHS), "int8-6", "int8-9"])

READ_ONLY = (
    "scheme",
    "alphabet",
    "backend",
    "family",
    "bits",
    "k_max",
    "base",
    "moduli",
    "products",
    "planes_a",
    "planes_b",
    "terms",
    "modulus_product",
)


@every_plan
@pytest.mark.parametrize("name", [*READ_ONLY, "_core", "_terms", "anything"])
def test_nothing_can_be_set_or_deleted(plan: ozfp4.Plan, name: str) -> None:
    before = str(plan)
    with pytest.raises(AttributeError, match=name):
        setattr(plan, name, 1)
    with pytest.raises(AttributeError, match=name):
        delattr(plan, name)
    assert str(plan) == before


@every_plan
def test_terms_are_immutable(plan: ozfp4.Plan) -> None:
    assert isinstance(plan.terms, tuple)
    assert isinstance(plan.moduli, tuple)
    with pytest.raises(AttributeError):
        plan.terms[0].weight = 5


def test_equality_is_by_value() -> None:
    for i, x in enumerate(PLANS):
        assert x == x
        assert x != "plan"
        for y in PLANS[:i]:
            same_terms = {x.family, y.family} == {"least", "paper"} and x.scheme == y.scheme == "I"
            assert (x == y) == (same_terms and x.family == y.family)
    assert ozfp4.plan(1, 1, 1000, accuracy="scaled") == ozfp4.plan(5, 6, 1001, accuracy="scaled")
    assert ozfp4.plan(1, 1, 1000, accuracy="scaled") != ozfp4.plan(1, 1, 1000, bits=52, accuracy="scaled")
    assert ozfp4.plan(1, 1, 1000, family="paper", accuracy="scaled") != ozfp4.plan(
        1, 1, 1000, family="paper", bits=52, accuracy="scaled"
    )
    assert ozfp4.plan(1, 1, 16, backend="fp4", accuracy="scaled") != ozfp4.plan(
        1, 1, 16384, backend="fp4", accuracy="scaled"
    )


def test_equal_plans_have_equal_hashes() -> None:
    assert hash(ozfp4.plan(1, 1, 1000, accuracy="scaled")) == hash(ozfp4.plan(5, 6, 1001, accuracy="scaled"))
    assert len(set(PLANS)) == len(PLANS)
    assert {plan: i for i, plan in enumerate(PLANS)}[pickle.loads(pickle.dumps(PLANS[3]))] == 3


@every_plan
def test_pickle_and_copy(plan: ozfp4.Plan) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(plan, protocol))
        assert again == plan
        assert str(again) == str(plan)
        assert again.k_max == plan.k_max
    assert copy.copy(plan) == copy.deepcopy(plan) == plan


@every_plan
def test_printing(plan: ozfp4.Plan) -> None:
    table = str(plan)
    for value in (plan.scheme, plan.backend, plan.family, plan.bits, plan.products, plan.k_max):
        assert str(value) in table
    for m in plan.moduli:
        assert any(line.split()[:1] == [str(m)] for line in table.splitlines())
        assert f'<td style="text-align: left">{m}</td>' in plan._repr_html_()
    assert repr(plan) == table  # what a REPL shows
