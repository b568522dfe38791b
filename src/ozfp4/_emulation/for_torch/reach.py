"""How a scope reaches torch's products."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from ..entered import Entered
from . import names
from .mode import make_mode


def reached(entered: Entered) -> AbstractContextManager[Any]:
    """While one entry of a scope lasts."""
    return names.EXCHANGE.entered() if entered.by_name else make_mode(entered)
