"""The self-test of one kernel: every case, until one is wrong. It neither looks at nor changes what is known of the kernel."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..backends.kernels import LIMBS, NUMBERS, WORDS, DeviceKernel, cpu_setting
from ..plans.plan import Plan, make_plan
from ..request import library
from . import plane_products
from .verdict import Failure, Verdict

if TYPE_CHECKING:
    from .exact_cases import Case, WholeProduct


def _first_wrong(
    name: str, extents: tuple[int, ...], found: npt.NDArray[Any], expected: npt.NDArray[Any], modulus: int = 0
) -> Failure | None:
    """The first entry that differs; None if none does. NaN is no entry of `expected`."""
    wrong = found != expected
    if not wrong.any():
        return None
    i, j = (int(x) for x in np.unravel_index(int(np.argmax(wrong)), wrong.shape))
    where = f"modulo {modulus} " if modulus else ""
    return Failure(
        name,
        extents,
        f"{where}entry ({i}, {j}) is {found[i, j]}, exact is {expected[i, j]}, {int(wrong.sum())} of {wrong.size} entries wrong",
        modulus=modulus or None,
        entry=(i, j),
        found=str(found[i, j]),
        expected=str(expected[i, j]),
    )


def _wrong_sum(kernel: DeviceKernel, case: Case) -> Failure | None:
    """What is wrong with the kernel's product of a case, or None."""
    expected = case.expected()
    residues: dict[int, npt.NDArray[Any]] = {0: expected}
    for modulus, found in plane_products.multiply(kernel, case):
        if modulus not in residues:
            residues[modulus] = (expected % modulus).astype(found.dtype)
        wrong = _first_wrong(case.name, case.shape, found, residues[modulus], modulus)
        if wrong is not None:
            return wrong
    return None


def _with_stage(kernel: DeviceKernel, plan: Plan, product: WholeProduct, failure: Failure) -> Failure:
    """The failure of a whole product with the first wrong stage, for which the product is made once more."""
    from . import stage_search

    try:
        found = plane_products.stage_results(kernel, plan, product.a, product.b)
    except (RuntimeError, ValueError) as error:
        return replace(failure, text=f"{failure.text}; its stages could not be looked at: {error}")
    if found is None:
        return failure
    stage = stage_search.first_wrong_stage(plan, product.a, product.b, product.expected, found)
    more = f"first wrong in {stage}" if stage is not None else "made once more, it was right in every stage"
    return replace(
        failure, text=f"{failure.text}; {more}", stage=stage, tile=found.launch.get("tile"),
        splits=found.launch.get("splits"),
    )  # fmt: skip


def _wrong_product(
    kernel: DeviceKernel, plan: Plan, product: WholeProduct, direct: str = "always"
) -> tuple[str, Failure | None]:
    """The name of a whole product by a plan, and what is wrong with it or None."""
    name = f"{product.name}, scheme {plan.scheme} {plan.backend} {plan.family}{', as an update' * product.updates}"
    extents = (*product.expected.shape, product.a.shape[1])
    found = plane_products.whole_product(
        kernel, plan, product.a, product.b, product.accuracy, direct, product.updates
    )
    wrong = _first_wrong(name, extents, found, product.expected)
    if wrong is None:
        return name, None
    about = f"scheme {plan.scheme}, {plan.backend}, {plan.family}, {plan.bits} bits"
    wrong = replace(wrong, plan=about)
    has_stages = product.accuracy == "scaled" and kernel.element not in (
        WORDS.element,
        NUMBERS.element,
        LIMBS.element,
    )
    return name, wrong if not has_stages else _with_stage(kernel, plan, product, wrong)


def _wrong_without_planes(
    kernel: DeviceKernel,
    products: Iterable[WholeProduct],
    direct: str,
    asked: Iterable[tuple[str, int]],
    single: bool = False,
) -> Iterator[tuple[str, Failure | None]]:
    """Products that need no planes in memory, in accuracies and bits; the last is left to chains. In machine words and by limbs
    all of them also as updates. `single`: they are of float32."""
    from . import exact_cases

    kinds = (False, True) if direct == "always" else (False,)
    for product in products:
        for accuracy, bits in asked:
            plan = make_plan("II", "int8", "least", bits, product.a.shape[1])
            for updates in kinds:
                yield _wrong_product(
                    kernel, plan, replace(product, accuracy=accuracy, updates=updates), direct
                )
    if kernel == LIMBS and not single:  # which do not hold the integers of what follows
        return
    whole = exact_cases.chained_product(single=single)
    product = replace(whole, b=whole.b[:, :5], expected=whole.expected[:, :5])
    plan = make_plan(
        "II", "int8", "least", _core.accuracy_bits("standard", 24 if single else 53), product.a.shape[1]
    )
    for updates in kinds:
        yield _wrong_product(kernel, plan, replace(product, updates=updates), direct)


def _wrong_in_words(kernel: DeviceKernel) -> Iterator[tuple[str, Failure | None]]:
    """In one launch, of two, three and four limbs; of few columns or rows; tile by tile, of seven and eight limbs."""
    from . import exact_cases

    longest = plane_products.most_inner_in_words()
    has_thin = plane_products.has_thin_kernels(kernel)
    for single in (False, True):
        certified = ("standard", _core.accuracy_bits("standard", 24 if single else 53))
        words = (
            (("scaled", 24), ("scaled", 76), certified)
            if single
            else (("scaled", 53), ("scaled", 76), certified)
        )
        small = exact_cases.whole_products(short=False, most_inner=longest, single=single)
        yield from _wrong_without_planes(kernel, small, "always", words, single)
        if has_thin:
            few = exact_cases.thin_products(single=single)
            yield from _wrong_without_planes(kernel, few, "thin", words, single)
    yield from _wrong_integers_in_one_launch(kernel)
    short = exact_cases.tile_products(plane_products.most_inner_of_tiles())
    asked = (("scaled", 53), ("scaled", 58), ("standard", _core.accuracy_bits("standard", 53)))
    yield from _wrong_without_planes(kernel, short, "tiles", asked)


def _wrong_numbers(kernel: DeviceKernel, short: bool) -> Iterator[tuple[str, Failure | None]]:
    """Products on the CPU in words, with none, one and two residues, or by four, seven, eight and nine limbs; in all accuracies
    and as updates."""
    from . import exact_cases

    for single in (False,) if short and kernel == NUMBERS else (False, True):
        bits = (24, 40) if single else (53, 62) if kernel == NUMBERS else (53, 62, 70)
        longest = _core.accuracy_bits("correct", 24 if single else 53)
        asked = [*(("scaled", c) for c in bits), ("standard", longest), ("correct", longest)]
        products = exact_cases.number_products(short=short, single=single)
        yield from _wrong_without_planes(kernel, products, "always", asked, single)


def _wrong_integers_in_one_launch(kernel: DeviceKernel) -> Iterator[tuple[str, Failure | None]]:
    """Products of integers of 64 bits, whose sums wrap."""
    from . import exact_cases

    for m, k, n in ((1, 1, 1), (9, 130, 33), (23, plane_products.most_inner_in_words(), 65)):
        a, b = (
            exact_cases.scattered(seed, *shape).view("int64") for seed, shape in ((3, (m, k)), (4, (k, n)))
        )
        name = f"integers {m} x {k} x {n}"
        found = plane_products.integers_in_one_launch(kernel, make_plan("II", "int8", "least", 65, k), a, b)
        yield name, _first_wrong(name, (m, n, k), found, a @ b)


def _findings(kernel: DeviceKernel, short: bool) -> Iterator[tuple[str, Failure | None]]:
    """Every case by name, with what is wrong or None."""
    from . import exact_cases  # importing the package stays quick

    if kernel.element == WORDS.element and kernel.device != "cpu":
        yield from _wrong_in_words(kernel)
        return
    if kernel in (NUMBERS, LIMBS):
        yield from _wrong_numbers(kernel, short)
        return
    for case in exact_cases.cases(exact_cases.ALPHABETS[kernel.element], short=short):
        yield case.name, _wrong_sum(kernel, case)
    if kernel == WORDS:  # which has no plans
        return
    for product in exact_cases.whole_products(short=short):
        for plan in plane_products.plans(kernel, product.a.shape[1], short=short):
            yield _wrong_product(kernel, plan, product)
    if not short:
        certified = (
            exact_cases.repaired_product(),
            exact_cases.chained_product(),
            *exact_cases.long_products(),
        )
        for product in certified:
            plan = plane_products.plan_of(kernel, product.accuracy, product.a.shape[1])
            yield _wrong_product(kernel, plan, product)


def examine(kernel: DeviceKernel, *, short: bool) -> Verdict:
    """Run the self-test of a kernel.

    Raises
    ------
    MemoryError, torch.cuda.OutOfMemoryError
        If there is no memory for the test: that says nothing about the kernel.
    """
    torch = library.torch_module()
    no_memory = (MemoryError,) if torch is None else (MemoryError, torch.cuda.OutOfMemoryError)
    form = "short" if short else "long"
    forced: Any = nullcontext()
    if kernel.device == "cpu" and kernel not in (WORDS, NUMBERS, LIMBS):
        forced = _core.ForcedKernel(cpu_setting(kernel))
    start = time.perf_counter()
    count, name = 0, "first case"

    def verdict(failure: Failure | None, reason: str | None = None, lasting: bool = True) -> Verdict:
        if failure is not None and reason is None:
            reason = f"{failure.case}: {failure.text}"
        seconds = time.perf_counter() - start
        return Verdict(kernel, reason is None, form, count, seconds, reason, lasting, failure)

    try:
        # What is expected is computed in Python, which rounds as the thread was told to.
        with _core.DefaultFpMode(), forced:
            for case, wrong in _findings(kernel, short):
                count, name = count + 1, case
                if wrong is not None:
                    return verdict(wrong)
    except no_memory:
        raise
    except (RuntimeError, ValueError) as error:
        reason = f"after {name}: {error}"
        return verdict(Failure(name, (), reason), reason, lasting=False)
    return verdict(None)
