"""What NumPy with SciPy, or torch, does for a factorisation: arrays, and the panels of a few columns."""

from .choice import native_of
from .contract import Native

__all__ = ["Native", "native_of"]
