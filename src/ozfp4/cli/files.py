"""Matrices in files: .npy, members of .npz, Matrix Market; read with checks, written by replacing files.

Every problem becomes a InputError whose message starts with the argument's name.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import stat
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .errors import InputError

Array = npt.NDArray[Any]

FORMATS = ".npy, .npz:member, .mtx or .mtx.gz"
_UNREADABLE = (OSError, ValueError, EOFError, OverflowError, KeyError, zlib.error, zipfile.BadZipFile)
_LARGEST_EXACT = 2**53


@dataclass(frozen=True)
class MatrixFile:
    """Where a matrix lies. `name`: the argument, for messages; `format`: the suffix, ".npy" to ".mtx.gz"."""

    name: str
    path: Path
    format: str
    member: str | None = None

    def __str__(self) -> str:
        return f"{self.path}:{self.member}" if self.member else str(self.path)

    def bad(self, problem: object) -> InputError:
        return InputError(f"{self.name}: {self}: {problem}")


def locate(name: str, text: str) -> MatrixFile:
    """Take ``path`` or ``path.npz:member`` apart.

    Parameters
    ----------
    name : str
        The argument, as messages shall call it.
    text : str
        What the user typed.
    """
    member = re.fullmatch(r"(.+\.npz):(.+)", text, re.DOTALL | re.IGNORECASE)
    if member:
        return MatrixFile(name, Path(member[1]), ".npz", member[2])
    for suffix in (".npy", ".npz", ".mtx", ".mtx.gz"):
        if text.lower().endswith(suffix):
            return MatrixFile(name, Path(text), suffix)
    raise InputError(f"{name}: {text!r} is not a file name that ends in {FORMATS}")


# ---- Reading -----------------------------------------------------------------------------------------------


def read(file: MatrixFile) -> Array:
    """The float64 or float32 array in `file`.

    Matrix Market matrices come back dense; their integers as float64, refused where that would round.
    """
    readers = {".npy": _read_npy, ".npz": _read_npz, ".mtx": _read_mtx, ".mtx.gz": _read_mtx}
    if not file.path.exists():
        raise file.bad("no such file") from None
    try:
        array = readers[file.format](file)
    except MemoryError as error:
        raise file.bad(f"not enough memory: {error}") from None
    except _UNREADABLE as error:
        raise file.bad(f"cannot be read as {file.format}: {_one_line(error)}") from None
    if array.dtype.newbyteorder("=") not in (np.dtype(np.float64), np.dtype(np.float32)):
        raise file.bad(f"dtype {array.dtype} is not supported; allowed is float64 or float32")
    return array


def _one_line(error: BaseException) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split()) or type(error).__name__


def _read_npy(file: MatrixFile) -> Array:
    with file.path.open("rb") as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _read_npz(file: MatrixFile) -> Array:
    with file.path.open("rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise ValueError("it is not an archive")
        members = archive.files
        member = file.member or (members[0] if len(members) == 1 else None)
        if member is None:
            raise file.bad(f"which member? {file.path}:NAME with NAME one of {_listed(members)}")
        if member not in archive:
            raise file.bad(f"no such member; the file holds {_listed(members)}")
        array = archive[member]
    if not isinstance(array, np.ndarray):
        raise ValueError("the member is not an array")
    return array


def _listed(members: list[str]) -> str:
    return ", ".join(members) or "no members"


def _read_mtx(file: MatrixFile) -> Array:
    from scipy.io import mminfo, mmread

    # SciPy 1.17 aborts the process on open files; names and BytesIO are safe.
    def source() -> str | io.BytesIO:
        if file.format == ".mtx":
            return str(file.path)
        with gzip.open(file.path, "rb") as stream:
            return io.BytesIO(stream.read())

    rows, columns = mminfo(source())[:2]
    if rows == 0 or columns == 0:  # and its mmread divides by the number of rows
        return np.zeros((rows, columns))
    with warnings.catch_warnings():
        # Newer SciPy announces another sparse type; both have toarray, and older SciPy has no argument to choose.
        warnings.simplefilter("ignore", DeprecationWarning)
        matrix = mmread(source())
    array: Array = np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix.toarray())
    if array.dtype.kind in "iu":
        if array.size and max(abs(int(array.min())), abs(int(array.max()))) > _LARGEST_EXACT:
            raise file.bad("integers beyond 2^53, which float64 cannot hold exactly")
        array = array.astype(np.float64)
    return array


# ---- Writing -----------------------------------------------------------------------------------------------


def check_writable(file: MatrixFile, dimensions: int) -> None:
    """Refuse what :func:`write` could not write, before any time is spent on the product.

    Parameters
    ----------
    file : MatrixFile
    dimensions : int
        Of the array to be written.
    """
    folder = file.path.resolve().parent
    if file.format == ".npz" and file.member is None:
        raise file.bad(f"name the member to write, e.g. {file.path}:C")
    if file.format.startswith(".mtx") and dimensions != 2:
        raise file.bad(f"Matrix Market files hold matrices, the result has {dimensions} dimensions; use .npy")
    if not folder.is_dir():
        raise file.bad(f"no such folder: {folder}")
    if file.path.exists() and not file.path.is_file():
        raise file.bad("exists and is not a regular file")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise file.bad(f"no permission to write in {folder}")
    try:
        tempfile.TemporaryFile(dir=folder).close()  # which permissions do not promise: /proc takes no file
    except OSError as error:
        raise file.bad(f"cannot be written: {_one_line(error)}") from None
    if file.format == ".npz" and file.path.exists() and not zipfile.is_zipfile(file.path):
        raise file.bad("exists and is not an .npz file, so no member can be put into it")


def write(file: MatrixFile, array: Array) -> None:
    """Write `array`; what was there before is replaced in one step, or left alone if anything fails.

    Other members of an existing .npz file are kept.
    """
    writers = {".npy": _write_npy, ".npz": _write_npz, ".mtx": _write_mtx, ".mtx.gz": _write_mtx}
    try:
        with _replacing(file.path.resolve()) as stream:
            writers[file.format](file, stream, array)
    except (OSError, zipfile.BadZipFile) as error:
        raise file.bad(f"cannot be written: {_one_line(error)}") from None


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A new file beside `path` that takes its place when the block ends well, and vanishes otherwise."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _mode(path))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """Permissions of the file that is replaced, or those that a new file gets."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _write_npy(file: MatrixFile, stream: IO[bytes], array: Array) -> None:
    np.lib.format.write_array(stream, array, allow_pickle=False)


def _write_npz(file: MatrixFile, stream: IO[bytes], array: Array) -> None:
    entry = f"{str(file.member).removesuffix('.npy')}.npy"
    compression = zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", allowZip64=True) as archive:
        if file.path.exists():
            with zipfile.ZipFile(file.path) as old:
                for info in old.infolist():
                    compression = info.compress_type
                    if info.filename not in (entry, file.member):
                        archive.writestr(info, old.read(info))
        target = zipfile.ZipInfo(entry)
        target.compress_type = compression  # as np.savez or np.savez_compressed wrote the others
        with archive.open(target, "w", force_zip64=True) as member:
            np.lib.format.write_array(member, array, allow_pickle=False)


def _write_mtx(file: MatrixFile, stream: IO[bytes], array: Array) -> None:
    packed = (
        gzip.GzipFile("", "wb", fileobj=stream, mtime=0)
        if file.format.endswith(".gz")
        else nullcontext(stream)
    )
    with packed as target:
        rows, columns = array.shape
        target.write(f"%%MatrixMarket matrix array real general\n{rows} {columns}\n".encode())
        for column in array.T:  # column-major; repr gives every bit back
            target.write("".join(f"{x!r}\n" for x in column.tolist()).encode())
