"""For whoever hunts a wrong bit on a GPU: kernel, tile, splits, overlap and products without planes, in place of the
package's choices."""

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
    """CUDA products within the block run on this kernel, tile, number of splits of K, with or without overlap of launches.

    What is None stays the package's own choice. It applies to the whole process, to products alone: self-tests run as
    always, but a forced kernel serves without one. A product that the kernel does not take is refused.

    Parameters
    ----------
    kernel, tile : str, optional
        A name as in a Report, and a tile as shown there beside it, e.g. "128x256".
    splits : int, optional
        Ranges of K that are summed apart.
    overlap : bool, optional
        Whether a launch may begin before the one before it has ended.
    direct, thin, tiles : bool, optional
        Whether products are made without planes wherever there is a kernel for them; else none is. These are made in one launch,
        of few columns or rows in one pass over the other operand, or of short K tile by tile. With direct=True those that are
        reported have their stages always.

    Raises
    ------
    ValueError
        For a kernel that the extension does not have, splits below 1, choices of a stage beside direct=True, thin=True or
        tiles=True, and two of these.
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
    """Products of floating-point numbers on the CPU within the block run in machine words or by limbs of eight bits, whatever
    their size, or by planes.

    It applies to the whole process, to products for which no plan, scheme, backend or family is asked. Products that limbs
    do not serve run in words, and by planes where words do not serve either; a Report says which. Limbs are multiplied in plain
    loops where the CPU has no unit for them. ValueError where both are true.

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
