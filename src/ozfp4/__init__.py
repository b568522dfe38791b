"""FP64 matrix multiplication by exact integer products on low-precision matrix units: Ozaki schemes I and II on FP4, INT8, FP64.

>>> import numpy as np, ozfp4
>>> a, b = np.random.randn(30, 40), np.random.randn(40, 20)
>>> c = ozfp4.matmul(a, b)                        # NumPy arrays or torch tensors
>>> c, report = ozfp4.matmul(a, b, backend="fp4", report=True)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from ._support import (
    built,  # noqa: F401 - first: where _core is missing, all else fails with less to say
    environment,  # noqa: F401
)

if TYPE_CHECKING:
    from . import linalg, stages
    from ._api.contraction import einsum, tensordot
    from ._api.enclose import enclose
    from ._api.gemm import gemm
    from ._api.gram import gram
    from ._api.int8_matmul import int8_matmul
    from ._api.integers import matmul_mod
    from ._api.machine import SelfTest, info, selftest
    from ._api.matmul import matmul
    from ._api.plan import plan, plan_for
    from ._api.prepare import prepare
    from ._api.settings import (
        default_accuracy,
        get_default_accuracy,
        get_num_threads,
        progress,
        read_environment,
        set_default_accuracy,
        set_num_threads,
    )
    from ._emulation.scope import emulate
    from ._plans.plan import Plan, Term
    from ._report import Report
    from ._request.prepared import Prepared
    from ._support.version import __version__

__all__ = [
    "Plan",
    "Prepared",
    "Report",
    "SelfTest",
    "Term",
    "__version__",
    "default_accuracy",
    "einsum",
    "emulate",
    "enclose",
    "gemm",
    "get_default_accuracy",
    "get_num_threads",
    "gram",
    "info",
    "int8_matmul",
    "linalg",
    "matmul",
    "matmul_mod",
    "plan",
    "plan_for",
    "prepare",
    "progress",
    "read_environment",
    "selftest",
    "set_default_accuracy",
    "set_num_threads",
    "stages",
    "tensordot",
]

_HOMES = {
    "_api.contraction": ("einsum", "tensordot"),
    "_api.integers": ("matmul_mod",),
    "_api.machine": ("SelfTest", "info", "selftest"),
    "_api.plan": ("plan_for",),
    "_api.settings": (
        "default_accuracy",
        "get_default_accuracy",
        "get_num_threads",
        "progress",
        "read_environment",
        "set_default_accuracy",
        "set_num_threads",
    ),
    "_emulation.scope": ("emulate",),
    "_plans.plan": ("Plan", "Term"),
    "_report": ("Report",),
    "_request.prepared": ("Prepared",),
    "_support.version": ("__version__",),
    "linalg": ("linalg",),
    "stages": ("stages",),
}  # fmt: skip - of what is not in the module of its own name in `_api`

if not TYPE_CHECKING:  # to checkers it would say that the package has all names

    def __getattr__(name: str) -> object:
        """Imports what is asked for the first time: ``ozfp4 exec`` becomes another program, and needs none of it (PEP 562)."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home = next((home for home, names in _HOMES.items() if name in names), f"_api.{name}")
        module = _import_module(f"{__name__}.{home}")
        globals()[name] = found = module if home == name else getattr(module, name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
