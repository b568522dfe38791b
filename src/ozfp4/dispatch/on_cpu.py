"""Which plan serves a product on the CPU: the cheapest that can be trusted."""

from __future__ import annotations

from functools import lru_cache

from .. import _core
from .._options import Options
from ..backends import cpu
from ..cost.peaks import CPU_BACKENDS
from ..plans.plan import Plan
from ..request.operands import MatmulRequest
from ..trust import guard
from . import this_machine
from .decision import ASKED_FOR, Decision, capacity, plan_asked_for


def decide(request: MatmulRequest) -> Decision:
    """The decision about a request.

    Raises
    ------
    ValueError
        An inner dimension that the plan does not serve exactly.
    RuntimeError
        If no kernel that may serve passed its self-test.
    """
    asked = request.asked
    return _decide(
        request.shape.k, request.single, request.is_paired, asked.scheme, asked.backend, asked.bits, asked.family, asked.plan,
        asked.accuracy, guard.generation, this_machine.generation, _core.serving_byte_kernel(), cpu.forced_way,
        _core.thread_count(),
    )  # fmt: skip


def decide_piece(asked: Options, k: int, single: bool) -> Plan:
    """The plan of a product of which this process has a piece of K: where no backend is asked for, the same one on every machine,
    whatever was measured there. Raises as :func:`decide`."""
    chosen = asked._replace(backend="fp64") if asked.backend == "auto" and asked.plan is None else asked
    plan = plan_asked_for(chosen, chosen.backend, k, single)
    check_trusted(plan)
    return plan


WORDS_SERVE = "the norms of rows and columns say that the product fits machine words"
WORDS_WRAP = "integers are multiplied as they are"  # where no norm is asked whether an entry wraps


def may_go_direct(asked: Options) -> bool:
    """Whether a product may be made in machine words: nothing was asked for that only plans have."""
    return asked.plan is None and (asked.scheme, asked.backend, asked.family) == ("II", "auto", "least")


@lru_cache(maxsize=8)
def words_refusal(verdicts: int) -> str | None:
    """None if machine words can be trusted, else why not, by the number of changes of what is known (``guard.generation``)."""
    return guard.words_refusal()


@lru_cache(maxsize=512)
def _decide(
    k: int,
    single: bool,
    is_paired: bool,
    scheme: str,
    backend: str,
    bits: int | None,
    family: str,
    plan: Plan | None,
    accuracy: str,
    verdicts: int,
    figures: int,
    unit: tuple[str, str] | None,
    forced: str | None,
    threads: int,
) -> Decision:
    """The same by what it depends on: `verdicts` and `figures` count changes of what is known, `unit` multiplies bytes, and rates
    are those of so many threads."""
    asked = Options(scheme, backend, bits, family, plan, accuracy=accuracy)
    is_auto = plan is None and backend == "auto"
    taken, reason = backend, ASKED_FOR
    if is_auto:
        choice = this_machine.cpu_choice(scheme, family, capacity(asked, single), max(k, 1))
        taken, reason = choice.backend, choice.reason
    chosen = plan_asked_for(asked, taken, k, single, is_paired)
    refusal = guard.cpu_refusal(chosen.backend)
    if (
        left := _core.serving_byte_kernel()
    ) != unit:  # the unit failed its test just now: another choice may be better
        return _decide(
            k, single, is_paired, scheme, backend, bits, family, plan, accuracy, guard.generation, figures, left, forced,
            threads,
        )  # fmt: skip
    way = "cheaper" if may_go_direct(asked) and forced != "planes" and guard.serves_numbers() else "planes"
    if refusal is None:
        return Decision(chosen, reason, way=way)
    if is_auto and family == "least":
        for other in CPU_BACKENDS:
            if other != chosen.backend and guard.cpu_refusal(other) is None:
                return Decision(plan_asked_for(asked, other, k, single, is_paired), reason, refusal, way=way)
    raise RuntimeError(refusal)


def check_trusted(plan: Plan) -> None:
    """RuntimeError unless the kernel that multiplies this plan's planes passed its self-test."""
    if (refusal := guard.cpu_refusal(plan.alphabet)) is not None:
        raise RuntimeError(refusal)
