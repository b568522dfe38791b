"""How a refusal is checked: the exception's type, its message, and all that was passed in, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest


def _arrays(arguments: Iterable[object]) -> list[np.ndarray]:
    return [x for x in arguments if isinstance(x, np.ndarray)]


def _check(error: type[Exception], pattern: str, function: Callable, *args: object, **names: object) -> None:
    arrays = _arrays(args) + _arrays(names.values())
    before = [x.tobytes() for x in arrays]
    with pytest.raises(error, match=pattern) as caught:
        function(*args, **names)
    assert caught.type is error
    assert "incompatible function arguments" not in str(caught.value)  # the binding's words, not ours
    assert [x.tobytes() for x in arrays] == before


@pytest.fixture
def check_refused() -> Callable[..., None]:
    """check_refused(error, pattern, function, *arguments, **names)"""
    return _check
