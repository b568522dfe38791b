"""The operations that a factorisation asks of a library. Matrices are 2-D and not empty unless it says otherwise."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Host = npt.NDArray[Any]


class Native(Protocol):
    """NumPy with SciPy, or torch. Slices and the arithmetic of entries are the arrays' own."""

    error: type[Exception]  # LinAlgError of the library

    def common(self, *arrays: Any) -> Any:
        """The dtype that holds the entries of all arrays."""

    def roundoff(self, dtype: Any) -> float:
        """The unit roundoff u: 2^-53 for float64."""

    def copy(self, x: Any, dtype: Any) -> Any:
        """A new array in C order, of any number of dimensions; also of empty ones."""

    def broadcast(self, x: Any, shape: tuple[int, ...]) -> Any:
        """A view of that shape."""

    def eye(self, rows: int, columns: int, like: Any) -> Any:
        """Ones on the diagonal, zeros elsewhere; of the dtype and on the device of `like`."""

    def join(self, arrays: list[Any], axis: int) -> Any:
        """Arrays side by side."""

    def stack(self, arrays: list[Any]) -> Any:
        """Equal shapes along a new first axis."""

    def triangle(self, x: Any, lower: bool, offset: int = 0) -> Any:
        """A copy with zeros beyond the diagonal `offset`."""

    def is_finite(self, x: Any) -> bool:
        """Whether no entry is a NaN or an infinity."""

    def entries(self, name: str, x: Any) -> Any:
        """The argument `name` as all other operations take it."""

    def result(self, x: Any) -> Any:
        """As the caller gets it: an array, or a tensor."""

    def to_host(self, x: Any) -> Host:
        """The values as a NumPy array."""

    def from_host(self, x: Host, like: Any) -> Any:
        """Values of the host where `like` lies, with the dtype they have."""

    def column_sizes(self, x: Any) -> npt.NDArray[np.float64]:
        """The largest magnitude of each column, on the host; x may be empty."""

    def cholesky(self, block: Any) -> tuple[Any, int]:
        """The lower factor of the Hermitian block whose lower triangle is given, zeros above; the order of the first leading
        minor that is not positive, or 0."""

    def lu(self, panel: Any) -> tuple[Any, Host]:
        """L below the diagonal and U on and above it, in one matrix; the rows, from 0, that each row was exchanged with."""

    def qr(self, panel: Any) -> tuple[Any, Any]:
        """R on and above the diagonal, below it the vectors v of the reflections I - tau v v^H, whose first entry 1 is not
        stored; and their tau."""

    def triangular(self, t: Any, b: Any, *, lower: bool, unit: bool = False) -> Any:
        """X with T X = B; of T one triangle is read, and not its diagonal where that is `unit`. B may have no columns."""
