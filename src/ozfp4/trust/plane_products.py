"""Runs one kernel alone on chosen entries: the plane products of a case, and whole products with what every stage left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .. import _core
from ..backends import cpu
from ..backends.cuda import extension, launch
from ..backends.cuda.promise import PLAIN, Promise, promise_of
from ..backends.cuda.variant import Variant
from ..backends.kernels import LIMBS, NUMBERS, WORDS, DeviceKernel, gpu_kernels
from ..plans.plan import Plan, make_plan
from ..request import library
from ..request.operands import matmul_shape
from ..request.update import Update
from .stage_search import StageResults, digits_to_integers

if TYPE_CHECKING:
    from .exact_cases import Case

# Residues modulo all of them tell any two sums below 2^39 apart: pairwise coprime, each in a byte.
MODULI = (256, 255, 253, 251, 247)


def most_inner_in_words() -> int:
    """The longest K of products that a GPU makes in one launch."""
    return int(extension.require_cuda().most_direct_inner)


def most_inner_of_tiles() -> int:
    """The longest K of products that a GPU makes tile by tile."""
    return int(extension.require_cuda().most_tile_inner)


def has_thin_kernels(kernel: DeviceKernel) -> bool:
    """Whether a GPU makes products of few columns or rows in one pass over the other operand."""
    return bool(extension.require_cuda().has_thin_kernels(kernel.index))


def multiply(kernel: DeviceKernel, case: Case) -> list[tuple[int, npt.NDArray[Any]]]:
    """The kernel's product of the matrices of a case: (modulus, m × n matrix), the modulus 0 for the sums themselves.

    Raises
    ------
    RuntimeError
        What the device says if the kernel cannot run.
    """
    if kernel == WORDS:
        return _in_words(case)
    return _on_cpu(kernel, case) if kernel.device == "cpu" else _on_gpu(kernel, case)


def _in_words(case: Case) -> list[tuple[int, npt.NDArray[Any]]]:
    # A result of 64 bits takes words of as many where the norms do not fit fewer, one of 32 bits always takes those of 32.
    a, b = case.rows_of_a(case.a), case.rows_of_b(case.b).T
    found: list[tuple[int, npt.NDArray[Any]]] = []
    for modulus, dtype in ((0, np.int64), (2**32, np.uint32)):
        out = np.full((a.shape[0], b.shape[1]), 0x5A, dtype)
        _core.direct_matmul(a, b, out, cpu.DEFAULT_WORKSPACE, None)
        found.append((modulus, out))
    return found


def _on_cpu(kernel: DeviceKernel, case: Case) -> list[tuple[int, npt.NDArray[Any]]]:
    # A plan of one digit: its only output are the sums of products.
    plan = make_plan("I", kernel.element, "least", 2, 1)
    dtype = np.float64 if kernel.element == "fp64" else np.int8
    a, b = case.rows_of_a(case.a.astype(dtype)), case.rows_of_b(case.b.astype(dtype))
    return [(0, _core.multiply(plan._core, 1, a[np.newaxis], b[np.newaxis])[0])]


def _codes(limbs: npt.NDArray[np.int64], minus_zero: bool) -> npt.NDArray[np.uint8]:
    """E2M1 codes of limbs of S; zeros become minus zero, code 8, on request."""
    from . import exact_cases

    table = np.zeros(25, np.uint8)
    for limb in exact_cases.ALPHABETS["e2m1"].limbs:
        table[limb] = _core.e2m1_encode(limb)  # negative limbs from the end
    if minus_zero:
        table[0] = 8
    codes: npt.NDArray[np.uint8] = table[limbs]
    return codes


def _plane(rows: npt.NDArray[np.uint8], element: str) -> npt.NDArray[np.uint8]:
    """A plane as the kernels read it: packed codes or bytes, rows at a multiple of 16 bytes with noise behind them."""
    if element == "e2m1":
        even, odd = rows[:, ::2], rows[:, 1::2]
        packed = even.copy()
        packed[:, : odd.shape[1]] |= odd << 4
        rows = packed
    plane = np.full((rows.shape[0], -(-rows.shape[1] // 16) * 16), 0x5A, np.uint8)
    plane[:, : rows.shape[1]] = rows
    return plane


def _on_gpu(kernel: DeviceKernel, case: Case) -> list[tuple[int, npt.NDArray[Any]]]:
    torch, cuda = library.require_torch(), extension.require_cuda()
    m, n, k = case.shape
    small = [
        _codes(x, case.minus_zero) if kernel.element == "e2m1" else x.astype(np.uint8)
        for x in (case.a, case.b)
    ]
    planes = [_plane(rows, kernel.element) for rows in (case.rows_of_a(small[0]), case.rows_of_b(small[1]))]
    a, b = (torch.from_numpy(plane).to(kernel.device) for plane in planes)
    moduli = MODULI * case.repeats
    pitch = -(-n // 16) * 16
    behind = 256  # bytes after the output, which must stay as they are
    out = torch.full((len(moduli) * m * pitch + behind,), 0x5A, dtype=torch.uint8, device=kernel.device)
    stream = torch.cuda.current_stream(kernel.index).cuda_stream
    cuda.multiply(
        kernel.number, kernel.element, m, n, k, a.data_ptr(), a.shape[1], b.data_ptr(), b.shape[1], moduli,
        out.data_ptr(), pitch, stream, kernel.index,
    )  # fmt: skip
    host = out.cpu().numpy()
    if (host[-behind:] != 0x5A).any():
        raise RuntimeError("the kernel wrote behind its output")
    return list(zip(moduli, host[:-behind].reshape(len(moduli), m, pitch)[:, :, :n], strict=True))


def _alphabet(kernel: DeviceKernel) -> str:
    return {"u8": "int8", "s8": "fp4", "e2m1": "fp4"}.get(kernel.element, kernel.element)


def plan_of(kernel: DeviceKernel, accuracy: str, k: int) -> Plan:
    """The plan of a kernel's products that promise "standard" or "correct"."""
    return make_plan("II", _alphabet(kernel), "least", _core.accuracy_bits(accuracy, 53), k)


def plans(kernel: DeviceKernel, k: int, *, short: bool) -> Iterator[Plan]:
    """Plans for whole products on a kernel: one in the short form, else one of every kind that its planes serve."""
    alphabet = _alphabet(kernel)
    yield make_plan("II", alphabet, "least", 53, k)
    if short:
        return
    if alphabet == "fp4":
        yield make_plan("II", alphabet, "paper", 53, k)
        yield make_plan("II", alphabet, "paper-karatsuba", 53, k)
    if kernel.element != "u8" and not kernel.stores_residues_only:
        yield make_plan("I", alphabet, "least", 53, k)
    if kernel.element == "s8":
        yield make_plan("I", "int8", "least", 53, k)


def _decoded(codes: npt.NDArray[np.uint8]) -> npt.NDArray[np.int8]:
    """Limbs of packed E2M1 codes, two for each byte of the last axis."""
    from . import exact_cases

    table = np.zeros(16, np.int8)
    for limb in exact_cases.ALPHABETS["e2m1"].limbs:
        table[_core.e2m1_encode(limb)] = limb
    limbs: npt.NDArray[np.int8] = table[np.stack([codes & 15, codes >> 4], axis=-1)]
    return limbs.reshape(*codes.shape[:-1], 2 * codes.shape[-1])


def read_stages(
    plan: Plan,
    about: Mapping[str, Any],
    memory: npt.NDArray[np.uint8],
    shape: tuple[int, int, int],
    c: npt.NDArray[np.float64],
) -> StageResults:
    """What the stages of one product (m, n, K) left in its workspace, which lies as Problem.describe says."""
    m, n, k = shape

    def part(name: str, *extents: int) -> npt.NDArray[np.uint8]:
        begin = int(about[name])
        return memory[begin : begin + int(np.prod(extents))].reshape(extents)

    planes = []
    for name, lines in (("planes_a", m), ("planes_b", n)):
        raw = part(name, about["plane_count"], lines, about["k_pitch"])
        entries = {"u8": raw, "s8": raw.view(np.int8)}.get(about["element"])
        planes.append((_decoded(raw) if entries is None else entries)[:, :, :k])
    output = part("outputs", about["output_planes"], about["splits"], m, about["out_pitch"])[..., :n]
    if plan.moduli:
        moduli = int(part("units_used", 4).view(np.int32)[0])
        of_groups = np.repeat(plan.moduli, plan._core.parts)[:, np.newaxis, np.newaxis]
        residues = output.sum(axis=1, dtype=np.int64) % of_groups
    else:
        moduli = plan._core.count
        assert plan.base is not None
        splits = [digits_to_integers(output[:, split], plan.base) for split in range(output.shape[1])]
        residues = np.sum(splits, axis=0)[np.newaxis]
    exponents = part("shift_a", 4 * m).view(np.int32), part("shift_b", 4 * n).view(np.int32)
    ran_with = {name: str(about[name]) for name in ("tile", "splits") if name in about}
    return StageResults(moduli, exponents, (planes[0], planes[1]), residues, c, ran_with)


def stage_results(
    kernel: DeviceKernel, plan: Plan, a: npt.NDArray[np.float64], b: npt.NDArray[np.float64]
) -> StageResults | None:
    """As :func:`whole_product`, with what every stage left; None on the CPU, whose stages are what others are compared with."""
    if kernel.device == "cpu":
        return None
    made, c = _product_on_gpu(kernel, plan, a, b)
    shape = (a.shape[0], b.shape[1], a.shape[1])
    return read_stages(plan, made.problem.describe(), made.workspace.cpu().numpy(), shape, c)


def whole_product(
    kernel: DeviceKernel,
    plan: Plan,
    a: npt.NDArray[Any],
    b: npt.NDArray[Any],
    accuracy: str = "scaled",
    direct: str = "always",
    updates: bool = False,
) -> npt.NDArray[Any]:
    """`a` times `b`, of float64 or float32 as the result is, by all four stages of a plan, whose planes the kernel multiplies;
    `direct`: by which of the kernels that have none, of machine words on a GPU; `updates`: by the one for alpha A B + beta C,
    which adds nothing. Raises as :func:`multiply`."""
    if kernel in (NUMBERS, LIMBS):
        return _numbers_in_words(plan, a, b, accuracy, updates, "words" if kernel == NUMBERS else "limbs")
    if kernel.device == "cpu":
        c = np.full((a.shape[0], b.shape[1]), np.nan, a.dtype)
        _core.matmul(plan._core, a, b, [c], cpu.DEFAULT_WORKSPACE, None, accuracy)
        return c
    promise = promise_of(accuracy, single=a.dtype == np.float32, updates=updates)
    return _product_on_gpu(kernel, plan, a, b, promise, direct)[1]


def _numbers_in_words(
    plan: Plan, a: npt.NDArray[Any], b: npt.NDArray[Any], accuracy: str, updates: bool, way: str
) -> npt.NDArray[Any]:
    c = np.full((a.shape[0], b.shape[1]), np.nan, a.dtype)
    adds: dict[str, Any] = {"beta": 1.0, "c": np.zeros_like(c)} if updates else {}
    about = _core.matmul(plan._core, a, b, [c], cpu.DEFAULT_WORKSPACE, None, accuracy, way=way, **adds)
    if not about["by_limbs" if way == "limbs" else "in_words"]:
        raise RuntimeError(f"the product {a.shape} by {b.shape} was not made in words or by limbs")
    return c


def integers_in_one_launch(
    kernel: DeviceKernel, plan: Plan, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """`a` times `b` modulo 2^64, on a GPU. Raises as :func:`multiply`."""
    torch = library.require_torch()
    x, y = (torch.from_numpy(z).to(kernel.device) for z in (a, b))
    out = torch.full((a.shape[0], b.shape[1]), 0x5A, dtype=torch.int64, device=kernel.device)
    variant = _direct_variant(kernel.index, "always")
    made = launch.run(
        plan, variant, x, y, out, matmul_shape(a.shape, b.shape), launch.UNLIMITED, promise=Promise("exact")
    )
    _check_direct(made, a, b, "always")
    result: npt.NDArray[np.int64] = out.cpu().numpy()
    return result


def _check_direct(made: launch.Launch, a: npt.NDArray[Any], b: npt.NDArray[Any], direct: str) -> None:
    if not made.problem.describe()["direct" if direct == "always" else direct]:
        raise RuntimeError(f"the product {a.shape} by {b.shape} was not made without planes")


def _direct_variant(index: int, direct: str) -> Variant:
    """Without planes, whose plans are those of residues."""
    kernels = gpu_kernels(("u8",), index)
    if not kernels:
        raise RuntimeError(f"no kernel on cuda:{index} multiplies residues")
    return Variant(kernels[0].number, direct=direct)


def _product_on_gpu(
    kernel: DeviceKernel,
    plan: Plan,
    a: npt.NDArray[Any],
    b: npt.NDArray[Any],
    promise: Promise = PLAIN,
    direct: str = "always",
) -> tuple[Any, npt.NDArray[Any]]:
    """The launch of a whole product, which is over, and the product."""

    torch = library.require_torch()
    x, y = (torch.from_numpy(z).to(kernel.device) for z in (a, b))
    out = torch.full((a.shape[0], b.shape[1]), float("nan"), dtype=x.dtype, device=kernel.device)
    shape = matmul_shape(a.shape, b.shape)
    is_direct = kernel.element == WORDS.element
    variant = _direct_variant(kernel.index, direct) if is_direct else Variant(kernel.number)
    update = Update(1.0, 0.0, None) if promise.updates else None
    made = launch.run(plan, variant, x, y, out, shape, launch.UNLIMITED, promise=promise, update=update)
    if is_direct:
        _check_direct(made, a, b, direct)
    result: npt.NDArray[Any] = out.cpu().numpy()
    return made, result
