"""What the ranks of a product say where some of them refuse it or fail: the same words wherever they tell each other."""

from __future__ import annotations

LONGEST = 4096  # characters of what a rank says


def text_of(error: Exception | None) -> str:
    """
    >>> text_of(ValueError("bits: 1 is outside 2..200"))
    'ValueError: bits: 1 is outside 2..200'
    """
    return f"{type(error).__name__}: {error}"[:LONGEST]


def check_refusals(refused: dict[int, str]) -> None:
    """Returns where no rank has refused; else raises, on those that did not, who did and what each said by :func:`text_of`: an
    OverflowError where all of these are, else a RuntimeError."""
    if not refused:
        return
    text = "; ".join(f"rank {rank} refused: {why}" for rank, why in refused.items())
    overflows = all(why.startswith("OverflowError:") for why in refused.values())
    error = (OverflowError if overflows else RuntimeError)(text)
    error.is_told = True  # type: ignore[union-attr]
    raise error


def is_told(error: Exception | None) -> bool:
    """Whether an error says what another rank has refused, and so is no cause of its own."""
    return bool(getattr(error, "is_told", False))
