"""Where the demo multiplies: the GPU where there is one that this build has kernels for, else the CPU."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from ozfp4.cli.devices import gpus
from ozfp4.cli.errors import InputError


def add_device_argument(parser: argparse.ArgumentParser) -> None:
    """``--device``."""
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        help="where to multiply; default auto: the first GPU that torch sees and this build has kernels for, else the CPU",
    )


def take_device(asked: str) -> str:
    """The device of an answer to ``--device``, "cpu" or "cuda:" and a number. InputError for a GPU that is not there."""
    if asked == "cpu":
        return "cpu"
    found = gpus()
    if found:
        return f"cuda:{found[0]}"
    if asked == "cuda":
        raise InputError(
            "--device: there is no GPU that torch sees and this build has kernels for; `ozfp4 info` says why"
        )
    return "cpu"


def to_device(x: Any, device: str) -> Any:
    """An array as products on the device take it: itself, or a tensor on that GPU."""
    if device == "cpu":
        return x
    import torch

    native = np.ascontiguousarray(x, x.dtype.newbyteorder("=")).reshape(x.shape)
    return torch.from_numpy(native if native.flags.writeable else native.copy()).to(device)


def to_host(x: Any) -> Any:
    """An array or a tensor as an array."""
    return x if not hasattr(x, "cpu") else x.cpu().numpy()
