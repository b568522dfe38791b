"""``torch.ops.ozfp4``: matmul, gemm and gram as operators of torch, which knows their shapes, derivatives and mapped axes. It
imports torch."""

import torch  # noqa: F401 - the caller need not have

from .._request.library import dtensor_class
from . import definitions  # noqa: F401 - torch knows the operators from here on
from .dtensors import register

if dtensor_class() is not None:
    register()
