"""What the core and the extension refuse, as the exception that a user of NumPy expects."""

from __future__ import annotations


def memory_error(error: ValueError) -> Exception:
    """A MemoryError for a refusal of the workspace limit; any other refusal as it is."""
    text = str(error)
    return MemoryError(text) if text.startswith("workspace_limit") else error


OVER_LIMIT = "ozfp4 needs more than workspace_limit"


def is_over_limit(error: Exception) -> bool:
    """Whether a product was refused for its workspace limit, before anything was written."""
    return type(error) is MemoryError and str(error).startswith("workspace_limit")
