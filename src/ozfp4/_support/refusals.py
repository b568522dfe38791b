"""The words about a product that needs more workspace than its limit."""

from __future__ import annotations

from .. import _core

OVER_LIMIT = "ozfp4 needs more than workspace_limit"


def is_over_limit(error: Exception) -> bool:
    """Whether a product was refused for its workspace limit, before anything was written."""
    return isinstance(error, _core.WorkspaceError)
