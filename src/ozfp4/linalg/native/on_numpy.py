"""NumPy and SciPy. SciPy's linear algebra is imported when it is first needed, as importing it takes a quarter of a second."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .contract import Host


class OnNumpy:
    """See `contract.Native`."""

    error: type[Exception] = np.linalg.LinAlgError

    def common(self, *arrays: Any) -> Any:
        return np.result_type(*(x.dtype for x in arrays))

    def roundoff(self, dtype: Any) -> float:
        return float(np.finfo(dtype).eps) / 2

    def copy(self, x: Any, dtype: Any) -> Any:
        return np.array(x, dtype=dtype, order="C")

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        return np.broadcast_to(x, shape)

    def eye(self, rows: int, columns: int, like: Any) -> Any:
        return np.eye(rows, columns, dtype=like.dtype)

    def join(self, arrays: list[Any], axis: int) -> Any:
        return np.concatenate(arrays, axis)

    def stack(self, arrays: list[Any]) -> Any:
        return np.stack(arrays)

    def triangle(self, x: Any, lower: bool, offset: int = 0) -> Any:
        return np.tril(x, offset) if lower else np.triu(x, offset)

    def is_finite(self, x: Any) -> bool:
        return bool(np.isfinite(x).all())

    def entries(self, name: str, x: Any) -> Any:
        return x

    def result(self, x: Any) -> Any:
        return x

    def to_host(self, x: Any) -> Host:
        return np.asarray(x)

    def from_host(self, x: Host, like: Any) -> Any:
        return x

    def column_sizes(self, x: Any) -> npt.NDArray[np.float64]:
        return np.asarray(np.abs(x).max(0, initial=0.0), dtype=np.float64)

    def cholesky(self, block: Any) -> tuple[Any, int]:
        (potrf,) = _routines("potrf", block)
        factor, info = potrf(block, lower=1, clean=1)
        return factor, int(info)

    def lu(self, panel: Any) -> tuple[Any, Host]:
        (getrf,) = _routines("getrf", panel)
        packed, pivots, _ = getrf(panel)
        return packed, pivots

    def qr(self, panel: Any) -> tuple[Any, Any]:
        (geqrf,) = _routines("geqrf", panel)
        packed, tau, _, _ = geqrf(panel)
        return packed, tau

    def triangular(self, t: Any, b: Any, *, lower: bool, unit: bool = False) -> Any:
        if b.shape[1] == 0:
            return b.copy()
        from scipy.linalg import solve_triangular

        return solve_triangular(t, b, lower=lower, unit_diagonal=unit, check_finite=False)


def _routines(name: str, x: Any) -> Any:
    """LAPACK's routine for the dtype of x."""
    from scipy.linalg import get_lapack_funcs

    return get_lapack_funcs((name,), (x,))
