"""torch: its own operations on a device, those of NumPy and SciPy for what lies on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...request.library import array_of_tensor, require_torch
from .contract import Host
from .on_numpy import OnNumpy


class OnTorch:
    """See `contract.Native`."""

    def __init__(self) -> None:
        self._torch = require_torch()
        self.error: type[Exception] = self._torch.linalg.LinAlgError

    def common(self, *arrays: Any) -> Any:
        dtype = arrays[0].dtype
        for x in arrays[1:]:
            dtype = self._torch.promote_types(dtype, x.dtype)
        return dtype

    def roundoff(self, dtype: Any) -> float:
        return float(self._torch.finfo(dtype).eps) / 2

    def copy(self, x: Any, dtype: Any) -> Any:
        return x.detach().to(dtype=dtype, copy=True, memory_format=self._torch.contiguous_format)

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return x.expand(shape)

    def eye(self, rows: int, columns: int, like: Any) -> Any:
        return self._torch.eye(rows, columns, dtype=like.dtype, device=like.device)

    def join(self, arrays: list[Any], axis: int) -> Any:
        return self._torch.cat(arrays, axis)

    def stack(self, arrays: list[Any]) -> Any:
        return self._torch.stack(arrays)

    def triangle(self, x: Any, lower: bool, offset: int = 0) -> Any:
        return x.tril(offset) if lower else x.triu(offset)

    def is_finite(self, x: Any) -> bool:
        return bool(self._torch.isfinite(x).all())

    def entries(self, name: str, x: Any) -> Any:
        return x

    def result(self, x: Any) -> Any:
        return x

    def to_host(self, x: Any) -> Host:
        return array_of_tensor("x", x.detach().cpu())

    def from_host(self, x: Host, like: Any) -> Any:
        return self._torch.tensor(x, device=like.device)

    def column_sizes(self, x: Any) -> npt.NDArray[np.float64]:
        if x.shape[0] == 0:
            return np.zeros(x.shape[1])
        return self.to_host(x.abs().amax(0)).astype(np.float64)

    def cholesky(self, block: Any) -> tuple[Any, int]:
        factor, info = self._torch.linalg.cholesky_ex(block)
        return factor, int(info)

    def lu(self, panel: Any) -> tuple[Any, Host]:
        packed, pivots, _ = self._torch.linalg.lu_factor_ex(panel)
        return packed, self.to_host(pivots) - 1

    def qr(self, panel: Any) -> tuple[Any, Any]:
        packed, tau = self._torch.geqrf(panel)
        return packed, tau

    def triangular(self, t: Any, b: Any, *, lower: bool, unit: bool = False) -> Any:
        return self._torch.linalg.solve_triangular(t, b, upper=not lower, unitriangular=unit)


class OnHost(OnNumpy):
    """Arrays that tensors on the CPU were: threads of torch have floating-point modes of their own."""

    def __init__(self) -> None:
        self._torch = require_torch()
        self.error = self._torch.linalg.LinAlgError

    def entries(self, name: str, x: Any) -> Any:
        return array_of_tensor(name, x)

    def result(self, x: Any) -> Any:
        return self._torch.tensor(x, device="cpu")
