"""What a product on a GPU promises of its result, and what it leaves beside it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class Promise(NamedTuple):
    """The names of an accuracy and a rounding; `second` is "none", "bound" (float64 bounds of the errors) or "upper" (the
    same product rounded up, beside one that is rounded down); `precision` that of the result's dtype; `updates`: the product is
    scaled, and added to a matrix. Integers have the accuracy "exact", as `second` "none" or "overflows" (a count of the entries
    that the dtype does not hold), and a modulus or 0. `may_lengthen`: a plan may get more moduli, because no caller keeps
    its planes; the operands are float64."""

    accuracy: str = "scaled"
    rounding: str = "nearest"
    second: str = "none"
    precision: int = 53
    updates: bool = False
    modulus: int = 0
    may_lengthen: bool = False


PLAIN = Promise()


@lru_cache(maxsize=64)
def promise_of(
    accuracy: str,
    single: bool,
    rounding: str = "nearest",
    return_bound: bool = False,
    encloses: bool = False,
    updates: bool = False,
) -> Promise:
    """What is asked for; `single`: of a float32 result, `encloses`: rounded down and up, `updates`: alpha A B + beta C."""
    if encloses:
        return Promise("correct", "down", "upper", 24 if single else 53)
    if accuracy == "scaled" and not return_bound and not updates:
        return PLAIN  # one plan for results of either dtype
    promise = Promise(accuracy, rounding, "bound" if return_bound else "none", 24 if single else 53, updates)
    return promise._replace(may_lengthen=accuracy == "correct" and not (single or return_bound or updates))
