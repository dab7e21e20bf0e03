"""What is not installed with croupier itself: one line says what is missing and how to get it."""

from __future__ import annotations

from croupier.errors import CroupierError

__all__ = ["MissingExtraError"]


class MissingExtraError(CroupierError, ImportError):
    """A package of one of croupier's extras is not installed.

    >>> raise MissingExtraError("a plot needs", "matplotlib", "plot")
    Traceback (most recent call last):
    croupier.extras.MissingExtraError: a plot needs matplotlib: pip install "croupier[plot]"
    """

    def __init__(self, who_needs: str, package: str, extra: str) -> None:
        super().__init__(f'{who_needs} {package}: pip install "croupier[{extra}]"', name=package)
