"""Convolutions as products of matrices: each patch of the input a column, of as many entries as an output channel has weights.

The result of torch's `convolution` with the same arguments, and its gradients. A transposed one, the gradient of another, is one
over the input with zeros between its entries. torch makes those of complex numbers of real ones before.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...api.matmul import matmul
from ...request.library import name_of, require_torch
from ..problem import Problem

torch: Any = require_torch()
Keywords = dict[str, Any]
Extents = Sequence[int]


def forward(
    keywords: Keywords, x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """``aten.convolution``. Without a batch the input has one axis less."""
    axes = weight.ndim - 2
    if x.ndim == axes + 1:
        one = x.unsqueeze(0)
        return forward(
            keywords, one, weight, bias, stride, padding, dilation, transposed, output_padding, groups
        ).squeeze(0)
    stride, padding, dilation = (_each(value, axes) for value in (stride, padding, dilation))
    if transposed:
        y = _spread(keywords, x, weight, stride, padding, dilation, _each(output_padding, axes), groups)
    else:
        y = _gathered(keywords, x, weight, stride, padding, dilation, groups)
    return y if bias is None else y + bias.reshape(-1, *[1] * axes)


def backward(
    keywords: Keywords, grad: Any, x: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, mask: Sequence[bool],
) -> tuple[Any, Any, Any]:  # fmt: skip
    """``aten.convolution_backward``: of the input, the weights and the bias, None where `mask` says so."""
    axes = weight.ndim - 2
    stride, padding, dilation = (_each(value, axes) for value in (stride, padding, dilation))
    of_input = of_weight = None
    if mask[0] and transposed:
        of_input = _gathered(keywords, grad, weight, stride, padding, dilation, groups, x.shape[2:])
    elif mask[0]:
        reached = _extents(x.shape[2:], weight.shape[2:], stride, padding, dilation)
        missing = [
            have - ((out - 1) * s - 2 * p + d * (w - 1) + 1)
            for have, out, s, p, d, w in zip(
                x.shape[2:], reached, stride, padding, dilation, weight.shape[2:], strict=True
            )
        ]
        of_input = _spread(keywords, grad, weight, stride, padding, dilation, missing, groups)
    if mask[1]:
        sides = (grad, x) if transposed else (x, grad)
        of_weight = _of_weight(keywords, *sides, weight.shape[2:], stride, padding, dilation, groups)
    of_bias = grad.sum([0, *range(2, 2 + axes)]) if mask[2] else None
    return of_input, of_weight, of_bias


def _gathered(
    keywords: Keywords, x: Any, weight: Any, stride: Extents, padding: Extents, dilation: Extents, groups: int,
    extents: Extents | None = None,
) -> Any:  # fmt: skip
    """The convolution: (groups, channels out, entries of a patch) times (batch, groups, entries of a patch, patches)."""
    window = weight.shape[2:]
    extents = extents or _extents(x.shape[2:], window, stride, padding, dilation)
    columns = _columns(x, window, stride, padding, dilation, groups, extents)
    rows = weight.reshape(groups, weight.shape[0] // groups, math.prod(weight.shape[1:]))
    return matmul(rows, columns, **keywords).reshape(x.shape[0], weight.shape[0], *extents)


def _spread(
    keywords: Keywords, x: Any, weight: Any, stride: Extents, padding: Extents, dilation: Extents, more: Extents,
    groups: int,
) -> Any:  # fmt: skip
    """The transposed convolution, `more` entries longer: one of step 1 over x with zeros between, by the weights turned round."""
    apart = [(n - 1) * s + 1 if n else 0 for n, s in zip(x.shape[2:], stride, strict=True)]
    wide = x.new_zeros((*x.shape[:2], *apart))
    apart_by = (slice(None), slice(None), *(slice(None, None, s) for s in stride))
    wide[apart_by] = x
    reach = [d * (w - 1) - p for d, w, p in zip(dilation, weight.shape[2:], padding, strict=True)]
    sides = [
        side for r, extra in zip(reversed(reach), reversed(more), strict=True) for side in (r, r + extra)
    ]
    wide = torch.constant_pad_nd(wide, sides)
    channels = weight.shape[1]
    turned = weight.flip(list(range(2, weight.ndim))).reshape(groups, -1, channels, *weight.shape[2:])
    turned = turned.transpose(1, 2).reshape(groups * channels, -1, *weight.shape[2:])
    return _gathered(keywords, wide, turned, [1] * len(stride), [0] * len(stride), dilation, groups)


def _of_weight(
    keywords: Keywords, x: Any, grad: Any, window: Extents, stride: Extents, padding: Extents, dilation: Extents,
    groups: int,
) -> Any:  # fmt: skip
    """One product a group, whose inner dimension is all patches of all inputs."""
    columns = _columns(x, window, stride, padding, dilation, groups, grad.shape[2:])
    batch, patches, inner = x.shape[0], columns.shape[3], columns.shape[2]
    rows = grad.reshape(batch, groups, grad.shape[1] // groups, patches)
    left = rows.permute(1, 2, 0, 3).reshape(groups, grad.shape[1] // groups, batch * patches)
    right = columns.permute(1, 0, 3, 2).reshape(groups, batch * patches, inner)
    return matmul(left, right, **keywords).reshape(grad.shape[1], x.shape[1] // groups, *window)


def _columns(
    x: Any,
    window: Extents,
    stride: Extents,
    padding: Extents,
    dilation: Extents,
    groups: int,
    extents: Extents,
) -> Any:
    """(batch, groups, entries of a patch, patches), of the first patches of each axis."""
    x = torch.constant_pad_nd(x, [p for p in reversed(padding) for _ in range(2)]) if any(padding) else x
    batch, channels = x.shape[:2]
    x = x.reshape(batch, groups, channels // groups, *x.shape[2:])
    steps = x.stride()
    view = x.as_strided(
        (*x.shape[:3], *window, *extents),
        (*steps[:3], *(a * d for a, d in zip(steps[3:], dilation, strict=True)),
         *(a * s for a, s in zip(steps[3:], stride, strict=True))),
    )  # fmt: skip
    patches = math.prod(extents)
    return view.reshape(batch, groups, channels // groups * math.prod(window), patches)


def _extents(
    given: Extents, window: Extents, stride: Extents, padding: Extents, dilation: Extents
) -> list[int]:
    """Of the result of a convolution."""
    return [
        (n + 2 * p - d * (w - 1) - 1) // s + 1
        for n, w, s, p, d in zip(given, window, stride, padding, dilation, strict=True)
    ]


def _each(value: Any, axes: int) -> list[int]:
    """A number for each axis; torch takes one for all."""
    return [int(value[0])] * axes if len(value) == 1 else [int(n) for n in value]


def _reached(x: Any, weight: Any, settings: Sequence[Any]) -> list[int] | None:
    """Channels and extents of the result; None where torch refuses x, the weights or the settings."""
    axes, transposed, groups = weight.ndim - 2, settings[3], settings[5]
    given = (*settings[:3], settings[4])
    if groups < 1 or any(len(value) not in (1, axes) for value in given):
        return None
    stride, padding, dilation, more = (_each(value, axes) for value in given)
    if min(*stride, *dilation) < 1 or min(*padding, *more) < 0 or weight.shape[0] % groups:
        return None
    spatial, window = x.shape[-axes:], weight.shape[2:]
    if x.shape[-axes - 1] != (weight.shape[0] if transposed else weight.shape[1] * groups):
        return None
    if not transposed:
        reached = [weight.shape[0], *_extents(spatial, window, stride, padding, dilation)]
    else:
        if any(o >= max(s, d) for o, s, d in zip(more, stride, dilation, strict=True)):
            return None
        reached = [weight.shape[1] * groups] + [
            (n - 1) * s - 2 * p + d * (w - 1) + o + 1
            for n, s, p, d, w, o in zip(spatial, stride, padding, dilation, window, more, strict=True)
        ]
    return reached if min(reached) >= 1 else None


def problem(func: Any, args: Sequence[Any]) -> Problem | None:
    """The product that a convolution is, or its gradient by the weights; None for what torch has to look at."""
    is_forward = func is torch.ops.aten.convolution.default
    x, weight = (args[0], args[1]) if is_forward else (args[1], args[2])
    tensors = [y for y in args[:3] if isinstance(y, torch.Tensor)]
    if any(y.layout != torch.strided or y.dtype != x.dtype or y.device != x.device for y in tensors):
        return None
    if x.device.type not in ("cpu", "cuda") or x.is_complex() or weight.ndim < 3:
        return None
    if x.numel() == 0 or weight.numel() == 0:
        return None
    # stride, padding, dilation, transposed, output_padding, groups
    settings = args[3:] if is_forward else args[4:]
    axes, transposed, groups = weight.ndim - 2, settings[3], settings[5]
    if x.ndim not in ((axes + 1, axes + 2) if is_forward else (axes + 2,)):
        return None
    reached = _reached(x, weight, settings)
    if reached is None:
        return None
    channels, extents = reached[0], reached[1:]
    if is_forward and args[2] is not None and tuple(args[2].shape) != (channels,):
        return None
    if not is_forward and tuple(args[0].shape) != (x.shape[0], *reached):
        return None
    if transposed:
        extents = list(x.shape[-axes:])
    batch = x.shape[0] if x.ndim == axes + 2 else 1
    inner, out = math.prod(weight.shape[1:]), weight.shape[0] // groups
    device = str(x.device)
    return Problem("torch", device, name_of(x.dtype), batch * groups, out, math.prod(extents), inner)


OPERATORS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten.convolution.default: forward,
    torch.ops.aten.convolution_backward.default: backward,
}
