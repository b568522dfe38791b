"""``torch.ops.ozfp4.matmul``, ``gemm`` and ``gram``: a program that loads an exported one imports this. It imports torch."""

from . import _torch_ops  # noqa: F401 - which registers them
