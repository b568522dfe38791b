"""Products over several GPUs or processes: every rank of a torch.distributed group has parts of the operands and of the result,
and the bits are those of one device.

>>> import ozfp4.distributed
>>> # on each rank, of torchrun say: c = ozfp4.distributed.matmul(a, b, layout=("rows", "replicated"))
"""

import torch.distributed  # noqa: F401 - what all modules here take from torch that is imported

from ._matmul import matmul

__all__ = ["matmul"]
