"""Ways to one product: each takes a device, operands, the mode and further options, and returns an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

import ozfp4
from bits.corpus import Array, Mode, Problem
from ozfp4 import _core, stages
from ozfp4.testing import forced_on_cpu, integer_product
from ozfp4.testing._oracle import with_specials
from support import ACCURACIES, LEAST, PATHS, Path, chosen
from support.devices import Device


class Way(NamedTuple):
    """How a product is made, and what it is made of: `backend` "" for whatever the package chooses.

    `numbers` are kinds of dtypes. `turn`, (i, n): of every n problems the one of number i, where n ways take turns.
    """

    multiply: Callable[..., Array]
    backend: str = ""
    most_bits: int = 200
    accuracies: tuple[str, ...] = ACCURACIES
    numbers: str = "fciu"
    turn: tuple[int, int] = (0, 1)
    has_gpu: bool = False

    def takes(self, problem: Problem, mode: Mode) -> bool:
        number, of = self.turn
        if problem.numbers not in self.numbers or problem.number % of != number:
            return False
        return mode.accuracy in self.accuracies and (mode.bits or 0) <= self.most_bits


def _most_bits(path: Path) -> int:
    """The bits that all moduli of an alphabet together hold, with room for K; scheme I has no such limit."""
    if path.family != "least":
        return 53
    return 200 if path.scheme == "I" else {"fp4": 104, "int8": 165, "fp64": 200}[path.backend]


def _by(context: Callable[[], AbstractContextManager[Any]], **chosen_by: Any) -> Callable[..., Array]:
    def multiply(device: Device, a: Array, b: Array, **options: Any) -> Array:
        with context():
            return device(chosen.matmul, a, b, **chosen_by, **options)

    return multiply


@contextmanager
def _kernel(setting: str) -> Iterator[None]:
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OZFP4_CPU_KERNEL", setting)
            ozfp4.read_environment()
            yield
    finally:
        ozfp4.read_environment()


def _by_stages(
    path: Path, device: Device, a: Array, b: Array, *, accuracy: str, bits: int | None = None, **_: Any
) -> Array:
    """The integers in between are the reference's."""
    dtype = np.result_type(a, b)
    bits = bits or np.finfo(dtype).nmant + 1
    plan = ozfp4.plan(
        a.shape[0], b.shape[1], max(a.shape[1], 1), bits=bits, accuracy=accuracy, **path._asdict()
    )
    scaled = stages.scale(a, "a", bits), stages.scale(b, "b", bits)
    planes = [stages.encode(x.integers, plan, side) for x, side in zip(scaled, "ab", strict=True)]
    output = stages.multiply(*planes, plan)
    integers, *exponents = integer_product(a, b, bits)
    assert (stages.integers(output, plan) == integers).all()
    assert all((x.exponents == s).all() for x, s in zip(scaled, exponents, strict=True))
    c = stages.reconstruct(output, plan, *(x.exponents for x in scaled), dtype=dtype)
    return with_specials(c, a, b)


def _path(path: Path) -> Way:
    """Families of the paper are of real products in "scaled" alone."""
    multiply = _by(nullcontext, **path._asdict())
    serves = (ACCURACIES, "fciu") if path.family == "least" else (("scaled",), "f")
    return Way(multiply, path.backend, _most_bits(path), *serves, has_gpu=True)


KERNELS = (*(setting for _, setting in _core.byte_kernels()), "sgemm")
#: Without scheme I on fp4: its 441 products take long by plain loops.
BYTE_PATHS = [path for path in LEAST if path.backend != "fp64" and path[:2] != ("I", "fp4")]

#: These multiply the whole corpus.
WAYS: dict[str, Way] = {
    **{str(path): _path(path) for path in PATHS},
    **{name: Way(_by(partial(forced_on_cpu, **{name: True})), numbers="fc") for name in ("words", "limbs")},
    **{
        f"{setting}-{path}": _path(path)._replace(
            multiply=_by(partial(_kernel, setting), **path._asdict()),
            turn=(i, len(BYTE_PATHS)),
            has_gpu=False,
        )
        for setting in KERNELS
        for i, path in enumerate(BYTE_PATHS)
    },
    **{
        f"stages-{path}": Way(
            partial(_by_stages, path), path.backend, _most_bits(path), ("scaled",), "f", (i, len(LEAST))
        )
        for i, path in enumerate(LEAST)
    },
}


def _prepared(sides: str, device: Device, a: Array, b: Array, **options: Any) -> Array:
    made = {"rounding", "out", "workspace_limit"}
    asked = {name: value for name, value in options.items() if name not in made}
    x = device.prepare(a, "left", **asked) if "a" in sides else a
    y = device.prepare(b, "right", **asked) if "b" in sides else b
    return device.matmul(x, y, **{name: value for name, value in options.items() if name in made})


def _streamed(
    device: Device, a: Array, b: Array, workspace_limit: int = 2**20 + 200_000, **options: Any
) -> Array:
    found: Array = ozfp4.matmul(
        a, b, device="cpu", workspace_limit=max(workspace_limit, 2**20 + 200_000), **options
    )
    return found


def _called(function: Callable[..., Any]) -> Way:
    """`function` of a device, operands and options."""
    return Way(function, most_bits=0, has_gpu=True)


#: To which arguments have to arrive.
WIRED: dict[str, Way] = {
    "matmul": _called(lambda device, a, b, **given: device.matmul(a, b, **given)),
    "scheme-I": _called(lambda device, a, b, **given: device.matmul(a, b, scheme="I", **given)),
    "turned": _called(lambda device, a, b, out, **given: device.matmul(b.T, a.T, out=out.T, **given).T),
    "gemm": _called(lambda device, a, b, **given: device.gemm(1, a, b, 0, **given)),
    "einsum": _called(lambda device, a, b, **given: device.einsum("ij,jk", a, b, **given)),
    "tensordot": _called(lambda device, a, b, **given: device.tensordot(a, b, 1, **given)),
    "prepared-left": _called(partial(_prepared, "a")),
    "prepared-right": _called(partial(_prepared, "b")),
    "prepared-both": _called(partial(_prepared, "ab")),
    "streamed": Way(_streamed, most_bits=0),
}
