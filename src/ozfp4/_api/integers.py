"""Products of integers, exact: what ``ozfp4.matmul`` and ``ozfp4.matmul_mod`` have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._dispatch.product import multiply_integers
from .._options import Options
from .._report import Report
from .._request import library
from .._request.library import Operands
from .._request.operands import MatmulRequest, Update, matmul_request


def integer_product(
    operands: Operands,
    asked: Options,
    dtype: Any,
    bits: int,
    modulus: int = 0,
    update: Update | None = None,
) -> tuple[Any, Report | None]:
    """The product of integers of less than `bits` bits, modulo 2^w of `dtype` or modulo `modulus`, or their `update`; and a
    report where one is asked for. Raises as :func:`ozfp4.matmul`; ValueError for a plan of too few bits."""
    request = integer_request(operands, asked, dtype, bits)
    if update is not None:
        request = replace(request, update=update)
    return multiply_integers(request, bits, modulus)


def integer_request(operands: Operands, asked: Options, dtype: Any, bits: int) -> MatmulRequest:
    """The request for such a product. Raises as :func:`integer_product`."""
    plan = asked.plan
    if plan is not None and plan.bits < bits:
        raise ValueError(f"plan: its bits are {plan.bits}, these integers need {bits}")
    asked = asked._replace(bits=bits if plan is None else None, accuracy="scaled")
    if not isinstance(dtype, np.dtype):  # one of torch
        dtype = np.dtype(library.name_of(dtype))
    return matmul_request(operands, asked, dtype)
