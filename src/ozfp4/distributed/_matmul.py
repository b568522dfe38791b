"""``ozfp4.distributed.matmul``: the way of one product over a group, from the parts of a rank to its part of the result."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._options import DEFAULTS, ProductOptions, check_taken, current_accuracy, takes
from .._request.library import is_dtensor
from .._torch_ops.agree import device_of, take_group
from .._torch_ops.calls import are_integers
from . import _dtensor as dtensor
from . import _gradients as gradients
from ._request import Asked, take
from ._run import run

if TYPE_CHECKING:
    from typing_extensions import Unpack


class GroupOptions(ProductOptions, total=False):
    """The options that :func:`matmul` takes."""

    return_bound: bool


# Options of each product of a rank; all of them in this order, so that ranks can compare them.
_SHARED = tuple(ProductOptions.__annotations__)


@takes(GroupOptions)
def matmul(
    a: Any,
    b: Any,
    *,
    group: Any = None,
    layout: tuple[str, str] = ("rows", "replicated"),
    result: str | None = None,
    out: Any = None,
    method: str = "auto",
    whole: Any = None,
    check: str = "always",
    placements: Any = None,
    **options: Unpack[GroupOptions],
) -> Any:
    """Matrix product over the ranks of a torch.distributed group.

    Every rank passes its parts of the operands and gets its part of the result. The bits are those
    of ``ozfp4.matmul(a, b)`` on one device, for every number of ranks, every layout and every
    `method`. All ranks of the group call this function with the same keywords.

    Parameters
    ----------
    a, b : torch.Tensor
        Both DTensors, or this rank's parts of matrices of shapes (..., m, k) and (..., k, n), with
        broadcasting of stacks. They are on one device that the backend of the group supports.
        Dtypes as in :func:`ozfp4.matmul`. Parts may have no entries; any strides.
    group : torch.distributed.ProcessGroup, optional
        By default all processes. Processes outside of the group do not call this function.
    layout : (str, str)
        Layouts of `a` and `b`, see Notes. `a` by columns and `b` by rows are cuts of k; one of
        them alone is allowed. "stack" needs all axes of the result's stack, and its first extent.
    result : str, optional
        Layout of the result. The default is "stack" if an operand is cut so. Else it is "rows" if
        `a` is cut by rows, "columns" if `b` is cut by columns, "rows" if k is cut, and
        "replicated" otherwise.
    out : torch.Tensor, optional
        Where to write this rank's part of the result: its exact shape and dtype, no memory shared
        with the inputs. Some ranks may pass one and others none.
    whole : (shape, shape), optional
        The shapes of the whole operands, which are then checked, too.
    method : {"auto", "redistribute", "reduce"}
        For operands that are cut along k: "redistribute" moves entries of the operands until every
        rank has whole rows and columns, "reduce" moves exact partial results. "auto" takes the
        cheaper one by a model of the shapes alone. The bits are the same.
    check : {"always", "first"}
        "first": a call like an earlier one of this rank in this group, with the same `whole`,
        makes no exchange, which takes most of the time of a small product. All ranks must then
        make the same calls in the same order. A call that differs is an error of the backend, or
        waits until the group's timeout.
    placements : sequence of Placement, optional
        For DTensors: placements of the result, ``Replicate`` or ``Shard``, one for each dimension
        of the mesh. By default those that move the fewest bytes. `group`, `layout`, `result`,
        `out`, `whole` and `check` are not for DTensors.
    **options
        As in :func:`ozfp4.matmul`, without `report` and `device`. With overflow="raise" an
        overflow is an error on all ranks.

    Returns
    -------
    c, or (c, bound)
        This rank's part of the result, and of the bounds.

    Raises
    ------
    TypeError, ValueError, OverflowError, MemoryError
        As :func:`ozfp4.matmul`; arrays of other libraries, unknown layouts, parts that are not
        those of ``torch.chunk``.
    RuntimeError
        - torch.distributed is not initialised, this process is not a member of `group`, or its
          backend does not support tensors of this device.
        - Another rank refused its arguments, failed, or did not answer within the timeout of the
          group.
        - `out` or `return_bound` for tensors that require grad.

    Notes
    -----
    **Layouts** are

    - "replicated": each rank has the whole matrix;
    - "rows": axis -2 is cut over the ranks, in rank order;
    - "columns": axis -1 is cut;
    - "stack": the first axis of a stack of matrices is cut.

    Parts are those of ``torch.chunk``: ceil(n / P) of the n rows on each of P ranks, the last ones
    fewer or none.

    **Agreement.** Before any data move, the ranks compare their arguments, versions and builds in
    one small exchange. A difference is an error on each rank that names the rank. A rank that
    refuses raises its own error, and the others raise that it did. The ranks of a mesh do so
    before the first of equal products of DTensors. If a rank fails later, all ranks raise if they
    need its entries; else that rank alone does.

    **Autograd.** Gradients are products over the group in the layouts of the operands. The
    gradient of a replicated operand is whole and the same on each rank; that of a replicated
    result has to be so. The backward pass is a collective call as well.

    **Streams.** On a GPU products are enqueued on the current stream. The host waits for the
    exchange, but not for the device, unless the result moves, as a replicated one does. Then all
    ranks make sure that the products of all could be enqueued.

    Examples
    --------
    With ``torchrun --nproc-per-node 2``, the rows of A over both ranks and B on each:

    >>> a, b = whole_a.chunk(2)[rank], whole_b  # doctest: +SKIP
    >>> c = ozfp4.distributed.matmul(a, b)  # doctest: +SKIP
    >>> bool((c == ozfp4.matmul(whole_a, whole_b).chunk(2)[rank]).all())  # doctest: +SKIP
    True
    """
    check_taken(matmul, options)
    shared = {name: options.get(name, DEFAULTS[name]) for name in _SHARED}
    if shared["accuracy"] is None and current_accuracy() != "standard" and not are_integers((a, b)):
        shared["accuracy"] = current_accuracy()  # that of this rank and thread, for all to compare
    return_bound = options.get("return_bound", False)
    asked = Asked(a, b, out, layout, result, method, whole, check, placements, return_bound, shared)
    if is_dtensor(a) or is_dtensor(b):
        is_usual = {
            "group": group is None, "layout": layout == ("rows", "replicated"), "result": result is None,
            "out": out is None, "whole": whole is None, "check": check == "always",
        }  # fmt: skip
        for name in (name for name, is_so in is_usual.items() if not is_so):
            raise ValueError(
                f"{name}: is not for DTensors, which have placements; placements= sets those of the result"
            )
        return dtensor.matmul(asked)
    if placements is not None:
        raise ValueError(
            f"placements: {placements!r} is for DTensors; layout= and result= are for parts of ranks"
        )
    with device_of(a):
        members = take_group(group)
        problem = take(members, asked)
        if problem.needs_gradient:
            return gradients.product(members, problem, a, b)
        c, bound = run(members, problem, a.detach(), b.detach(), out)
    return (c, bound) if return_bound else c
