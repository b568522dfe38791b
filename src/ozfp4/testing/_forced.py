"""To search for a wrong bit: force kernel, tile, splits, overlap, and products without planes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _core
from .._backends.cuda import extension
from .._options import check_integer


@contextmanager
def forced(
    kernel: str | None = None,
    tile: str | None = None,
    splits: int | None = None,
    overlap: bool | None = None,
    direct: bool | None = None,
    thin: bool | None = None,
    tiles: bool | None = None,
) -> Iterator[None]:
    """CUDA products within the block use this kernel, tile, number of splits of K.

    The package chooses for arguments that are None. This applies to all products of the process,
    not to self-tests; a forced kernel is used without a self-test. A product that the kernel
    cannot compute is refused.

    Parameters
    ----------
    kernel, tile : str, optional
        A name as in a Report, and a tile as shown there, e.g. "128x256".
    splits : int, optional
        Ranges of K that are summed apart.
    overlap : bool, optional
        Whether a launch may begin before the one before it has ended.
    direct, thin, tiles : bool, optional
        Whether products are made without planes if there is a kernel for them; False: none is.
        "direct" is one launch, "thin" one pass over the other operand for few columns or rows,
        "tiles" one product of short K tile by tile. With direct=True reported products always
        have their stages.

    Raises
    ------
    ValueError
        For a kernel that the extension does not have, splits below 1, choices of a stage together
        with direct=True, thin=True or tiles=True, and two of these.
    """
    cuda = extension.extension()
    kernels = () if cuda is None else tuple(cuda.kernels)
    if kernel is not None and kernel not in kernels:
        raise ValueError(
            f"kernel: {kernel!r} is none of {', '.join(kernels) or 'this build, which has none'}"
        )
    if splits is not None:
        splits = check_integer("splits", splits, 1, 2**31 - 1)
    if tile is not None and not isinstance(tile, str):
        raise TypeError(f"tile: {tile!r} is not a string")
    without_planes = {"direct": direct, "thin": thin, "tiles": tiles}
    for name, value in {"overlap": overlap, **without_planes}.items():
        if value is not None and not isinstance(value, bool):
            raise TypeError(f"{name}: {value!r} is not a bool")
    ways = [name for name, value in without_planes.items() if value]
    if ways and not (tile is None and splits is None):
        raise ValueError(f"{ways[0]}: True leaves no stage that tile or splits could be of")
    if len(ways) > 1:
        raise ValueError(f"{ways[1]}: True and {ways[0]}=True are two ways to make a product")
    unforced = "never" if False in without_planes.values() else None
    way = "always" if direct else ways[0] if ways else unforced
    number = None if kernel is None else kernels.index(kernel)
    before = _FORCED[0]
    _force(cuda, (number, tile, splits, overlap, way))
    try:
        yield
    finally:
        _force(cuda, before)


_FORCED: list[tuple[Any, ...]] = [(None,) * 5]  # the arguments of the extension's force()


def _force(cuda: Any, choices: tuple[Any, ...]) -> None:
    _FORCED[0] = choices
    if cuda is not None:
        cuda.force(*choices)


@contextmanager
def forced_on_cpu(*, words: bool = False, limbs: bool = False) -> Iterator[None]:
    """Floating-point products on the CPU run in words, by limbs, or by planes.

    This applies to all sizes and to the whole process, to products without plan, scheme, backend
    or family. A product that limbs cannot compute runs in words, and by planes if words cannot
    compute it either; a Report has the method. Limbs are multiplied in plain loops if the CPU has
    no unit for them. ValueError if both arguments are true.

    Examples
    --------
    >>> import numpy as np
    >>> import ozfp4
    >>> a = np.eye(3)
    >>> with forced_on_cpu(words=True):
    ...     ozfp4.matmul(a, a, report=True)[1].backend
    'direct'
    """
    if words and limbs:
        raise ValueError("limbs: True and words=True are two ways to make a product")
    before = _core.force_way("words" if words else "limbs" if limbs else "planes")
    try:
        yield
    finally:
        _core.force_way(before)
