"""Products over several GPUs or processes, with the bits of one device.

Every rank of a torch.distributed group has parts of the operands and of the result.

>>> import ozfp4.distributed
>>> # on each rank, for example under torchrun: c = ozfp4.distributed.matmul(a, b, layout=("rows", "replicated"))
"""

import torch.distributed  # noqa: F401 - what all modules here take from torch that is imported

from ._matmul import matmul

__all__ = ["matmul"]
