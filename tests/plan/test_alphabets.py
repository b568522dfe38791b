"""csrc/plan/alphabet: which alphabets there are."""

from __future__ import annotations

import pytest

from ozfp4 import _core


def test_the_names() -> None:
    assert _core.ALPHABETS == ("fp4", "int8", "fp64")
    with pytest.raises(ValueError, match=r"alphabet: 'fp8' is unknown; allowed are 'fp4', 'int8', 'fp64'"):
        _core.make_plan(_core.Scheme.II, "fp8", "least", 53, 1, False)
    with pytest.raises(ValueError, match="'paper' exists for the fp4 alphabet only"):
        _core.make_plan(_core.Scheme.II, "int8", "paper", 53, 1, False)
