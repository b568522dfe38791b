"""``torch.ops.ozfp4``: matmul, gemm and gram as operators of torch, with shapes, derivatives, mapped axes. Imports torch."""

import torch  # noqa: F401 - the caller need not have

from .._request.library import dtensor_class
from . import definitions  # noqa: F401 - registers the operators
from .dtensors import register

if dtensor_class() is not None:
    register()
