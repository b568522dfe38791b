"""What a product on a GPU promises of its result, and what it leaves beside it."""

from __future__ import annotations

from typing import NamedTuple

from ...request.arguments import Arguments


class Promise(NamedTuple):
    """The names of an accuracy and a rounding; `second` is "none", "bound" (float64 bounds of the errors) or "upper" (the
    same product rounded up, beside one that is rounded down); `precision` that of the result's dtype; `updates`: the product is
    scaled, and added to a matrix. Integers have the accuracy "exact", as `second` "none" or "overflows" (a count of the entries
    that the dtype does not hold), and a modulus or 0."""

    accuracy: str = "scaled"
    rounding: str = "nearest"
    second: str = "none"
    precision: int = 53
    updates: bool = False
    modulus: int = 0


PLAIN = Promise()


def promise_of(asked: Arguments, single: bool, encloses: bool = False, updates: bool = False) -> Promise:
    """What is asked for; `single`: of a float32 result, `encloses`: rounded down and up, `updates`: alpha A B + beta C."""
    if encloses:
        return Promise("correct", "down", "upper", 24 if single else 53)
    if asked.accuracy == "scaled" and not asked.return_bound and not updates:
        return PLAIN  # one plan for results of either dtype
    second = "bound" if asked.return_bound else "none"
    return Promise(asked.accuracy, asked.rounding, second, 24 if single else 53, updates)
