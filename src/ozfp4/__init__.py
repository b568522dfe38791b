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

if TYPE_CHECKING:  # `as` makes a name public to checkers
    from . import linalg as linalg
    from . import stages as stages
    from ._api.contraction import einsum as einsum
    from ._api.contraction import tensordot as tensordot
    from ._api.gemm import gemm as gemm
    from ._api.gram import gram as gram
    from ._api.integers import int8_matmul as int8_matmul
    from ._api.integers import matmul_mod as matmul_mod
    from ._api.machine import SelfTest as SelfTest
    from ._api.machine import info as info
    from ._api.machine import selftest as selftest
    from ._api.matmul import enclose as enclose
    from ._api.matmul import matmul as matmul
    from ._api.plan import plan as plan
    from ._api.plan import plan_for as plan_for
    from ._api.prepare import prepare as prepare
    from ._api.settings import default_accuracy as default_accuracy
    from ._api.settings import get_default_accuracy as get_default_accuracy
    from ._api.settings import get_num_threads as get_num_threads
    from ._api.settings import progress as progress
    from ._api.settings import read_environment as read_environment
    from ._api.settings import set_default_accuracy as set_default_accuracy
    from ._api.settings import set_num_threads as set_num_threads
    from ._emulation.scope import emulate as emulate
    from ._plans.plan import Plan as Plan
    from ._plans.plan import Term as Term
    from ._report import Report as Report
    from ._request.prepared import Prepared as Prepared
    from ._support.version import __version__ as __version__

_HOMES = {
    "_api.contraction": "einsum tensordot",
    "_api.gemm": "gemm",
    "_api.gram": "gram",
    "_api.integers": "int8_matmul matmul_mod",
    "_api.machine": "SelfTest info selftest",
    "_api.matmul": "enclose matmul",
    "_api.plan": "plan plan_for",
    "_api.prepare": "prepare",
    "_api.settings": "default_accuracy get_default_accuracy get_num_threads progress read_environment set_default_accuracy "
    "set_num_threads",
    "_emulation.scope": "emulate",
    "_plans.plan": "Plan Term",
    "_report": "Report",
    "_request.prepared": "Prepared",
    "_support.version": "__version__",
    "linalg": "linalg",
    "stages": "stages",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME_OF)

if not TYPE_CHECKING:  # to checkers it would say that the package has all names

    def __getattr__(name: str) -> object:
        """Imports what is asked for the first time: ``ozfp4 exec`` becomes another program, and needs none of it (PEP 562)."""
        if (home := _HOME_OF.get(name)) is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = _import_module(f"{__name__}.{home}")
        globals()[name] = found = module if home == name else getattr(module, name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
