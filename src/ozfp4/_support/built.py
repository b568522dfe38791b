"""Says in a sentence that the extension module _core is not there; importing it is all that this module does."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

try:
    import_module("ozfp4._core")
except ModuleNotFoundError as error:
    if error.name != "ozfp4._core":
        raise
    import platform

    raise ImportError(
        f"ozfp4 is not built: {Path(__file__).parents[1]} holds no extension module _core for "
        f"{platform.python_implementation()} {platform.python_version()}. Run `pip install .` in the source tree and leave its "
        "src folder out of PYTHONPATH, or copy the _core of a CMake build there"
    ) from None
