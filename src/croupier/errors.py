"""The errors and warnings of croupier: each says what is wrong, where, and the way out."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any, Final

__all__ = [
    "ArmError",
    "CroupierError",
    "CroupierWarning",
    "MissingExtraError",
    "PlanError",
    "StoreError",
    "UnknownArgumentError",
    "callers_level",
    "text_of",
]


#: The most characters of one error in a message: a terminal takes minutes to show 50 MB in lines.
LONGEST_TEXT: Final = 1000


class CroupierError(Exception):
    """Base of every error that croupier raises on purpose."""


class PlanError(CroupierError, ValueError):
    """An argument that cannot be used: a budget, a policy, a name, a ticket."""


class UnknownArgumentError(CroupierError, TypeError):
    """A keyword that a function does not know."""


class ArmError(CroupierError):
    """An arm raised, or returned something that cannot be averaged.

    This ends the run: the answer would be biased if the draw were dropped.
    ``arm`` and ``ticket`` say which arm failed in which batch; ``value`` is what it returned. A
    value that cannot be pickled arrives in another process as its ``repr``.
    """

    def __init__(
        self, message: str, *, arm: str, ticket: int | None = None, value: Any = None
    ) -> None:
        where = f"arm {arm!r}" if ticket is None else f"arm {arm!r}, ticket {ticket}"
        super().__init__(f"{where}: {message}")
        self.arm = arm
        self.ticket = ticket
        self.value = value

    def at(self, ticket: int, arm: str | None = None) -> ArmError:
        """Return the same error, with the ticket of its batch, and the arm's name in the run."""
        message = str(self).removeprefix(f"arm {self.arm!r}: ")
        return ArmError(message, arm=arm or self.arm, ticket=ticket, value=self.value)

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickling calls an exception with its args only, but this one needs keywords.
        state = {**vars(self), "value": _portable(self.value)}
        return _bare, (type(self), *self.args), state


class StoreError(CroupierError):
    """A store that cannot be used: another plan, another format, another owner."""


class MissingExtraError(CroupierError, ImportError):
    """A package of one of croupier's extras is not installed: one line says how to get it.

    >>> raise MissingExtraError("a plot needs", "matplotlib", "plot")
    Traceback (most recent call last):
    croupier.errors.MissingExtraError: a plot needs matplotlib: pip install ".[plot]"
    """

    def __init__(self, who_needs: str, package: str, extra: str) -> None:
        super().__init__(f'{who_needs} {package}: pip install ".[{extra}]"', name=package)
        self.who_needs = who_needs
        self.extra = extra

    def __reduce__(self) -> tuple[Any, ...]:
        # Unpickling calls an exception with its args only, and those are the whole message.
        return type(self), (self.who_needs, self.name, self.extra), vars(self)


class CroupierWarning(UserWarning):
    """The run continued, but check its answer before you use it."""


def callers_level() -> int:
    """Return the stack level of the line that called croupier: a warning points at it."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__package__")):
        frame, level = frame.f_back, level + 1
    return level


def _is_ours(package: str | None) -> bool:
    return package is not None and package.partition(".")[0] == "croupier"


def text_of(thing: object, show: Callable[[Any], object] = str) -> str:
    """Return the text of an error or a value; its class if it raises instead of saying.

    A long text is cut.

    >>> text_of(OSError("disk full")), text_of(StopIteration())
    ('disk full', '(without a message)')
    >>> text_of("x" * 10**6)[-30:]
    'xxxx... (1,000,000 characters)'
    """
    try:
        text = str(show(thing)) or "(without a message)"
    except Exception:  # an object may raise anything when it is printed
        return f"<{type(thing).__name__} without a text>"
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}... ({len(text):,} characters)"


def _bare(kind: type[ArmError], *args: str) -> ArmError:
    return kind.__new__(kind, *args)  # pickle adds the state


def _portable(value: Any) -> Any:
    """Return a value that another process can read: the value itself, or its description."""
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:  # an object may raise anything when it is pickled
        return text_of(value, repr)
    return value
