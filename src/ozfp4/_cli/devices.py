"""The GPUs that products run on."""

from __future__ import annotations


def gpus() -> list[int]:
    """The numbers of the CUDA devices that products run on; imports torch where it is installed and this build has kernels."""
    from .._backends.cuda.extension import extension, why_unavailable
    from .._measure.machine import have_cuda

    if extension() is None or not have_cuda():
        return []
    import torch

    return [i for i in range(torch.cuda.device_count()) if why_unavailable(torch.device("cuda", i)) is None]
