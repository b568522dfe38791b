"""Products of integers, exact: what ``ozfp4.matmul`` and ``ozfp4.matmul_mod`` have in common."""

from __future__ import annotations

from dataclasses import replace
from logging import DEBUG
from typing import Any

import numpy as np

from .._options import Options
from ..backends.cuda import integers as cuda_integers
from ..backends.cuda.launch import Launch
from ..dispatch import on_cpu, on_cuda, told
from ..report import Report
from ..request import library
from ..request.library import Operands
from ..request.operands import MatmulRequest, matmul_request
from ..request.update import Update
from ..support.logger import LOGGER


def integer_product(
    operands: Operands,
    asked: Options,
    dtype: Any,
    bits: int,
    modulus: int = 0,
    update: Update | None = None,
) -> tuple[Any, Report | None, Launch | None]:
    """The product of integers of less than `bits` bits, modulo 2^w of `dtype` or modulo `modulus`; a report where one is
    asked for; and the launch that a product of other data may repeat, if one made the result. `update`: of a CPU's product.

    Raises
    ------
    ValueError
        A plan of too few bits; and what :func:`ozfp4.matmul` says of shapes, `out` and inner dimensions.
    OverflowError
        Where that is asked for, and an entry does not fit the dtype; `out` is as it was.
    """
    request = integer_request(operands, asked, dtype, bits)
    if operands.on_device:
        return _on_cuda(request, modulus)
    if update is not None:
        request = replace(request, update=update)
    return *on_cpu.multiply_integers(request, bits, modulus), None


def integer_request(operands: Operands, asked: Options, dtype: Any, bits: int) -> MatmulRequest:
    """The request for such a product. Raises as :func:`integer_product`."""
    plan = asked.plan
    if plan is not None and plan.bits < bits:
        raise ValueError(f"plan: its bits are {plan.bits}, these integers need {bits}")
    asked = asked._replace(bits=bits if plan is None else None, accuracy="scaled")
    if not isinstance(dtype, np.dtype):  # one of torch
        dtype = np.dtype(library.name_of(dtype))
    return matmul_request(operands, asked, dtype)


def refuse_overflow(overflows: int, dtype: Any) -> None:
    """OverflowError unless there are none."""
    if overflows:
        entries = "entry of the product does" if overflows == 1 else "entries of the product do"
        raise OverflowError(f"overflow: {overflows} {entries} not fit {dtype}; nothing was written")


def _on_cuda(request: MatmulRequest, modulus: int) -> tuple[Any, Report | None, Launch | None]:
    raises, report = request.asked.raises, request.asked.report
    decision = on_cuda.decide(request)
    findings = cuda_integers.IntegerFindings(decision.plan) if report else None
    began = told.begin(request) if LOGGER.isEnabledFor(DEBUG) else None
    chosen = decision.variant
    if chosen is not None and (report or began is not None):  # what is told of a product is of its stages
        chosen = chosen._replace(direct=None)
    product = cuda_integers.matmul(
        request, decision.plan, chosen, modulus,
        counts=raises or report, keeps_out=raises, findings=findings,
    )  # fmt: skip
    if raises:
        refuse_overflow(product.overflows(), request.dtype)
    c = product.store()
    if began is not None:
        told.tell(request, decision, began)
    if findings is None:
        return c, None, product.made
    return c, product.report(decision.plan, findings, decision.reason, decision.fallback), None
