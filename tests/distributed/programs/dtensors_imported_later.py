# ruff: noqa: E402
"""DTensors that are imported after the operators have them."""

import sys

import torch

import ozfp4

assert "torch.distributed.tensor" not in sys.modules
ozfp4.matmul(
    torch.ones(2, 2), torch.ones(2, 2, requires_grad=True)
)  # the operators are there before DTensors are
import ozfp4._torch_ops

assert "torch.distributed.tensor" not in sys.modules
import torch.distributed as dist
from torch.distributed.tensor import Shard, distribute_tensor, init_device_mesh

dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
x = distribute_tensor(torch.ones(2, 2), init_device_mesh("cpu", (1,)), [Shard(0)])
assert torch.ops.ozfp4.matmul(x, x).placements == (Shard(0),)
with torch.inference_mode():
    assert ozfp4.matmul(x, x).to_local().tolist() == [[2.0, 2.0], [2.0, 2.0]]
dist.destroy_process_group()
