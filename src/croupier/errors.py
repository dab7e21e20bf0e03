"""What can go wrong, by name: every error says what, where, and the way out."""

from __future__ import annotations

from typing import Any

__all__ = ["ArmError", "CroupierError", "CroupierWarning", "PlanError", "StoreError"]


class CroupierError(Exception):
    """Base of every error that croupier raises on purpose."""


class PlanError(CroupierError, ValueError):
    """An argument that cannot be played: a budget, a policy, a name, a ticket."""


class ArmError(CroupierError):
    """An arm that raised, or that returned something which cannot be averaged.

    The run ends here: to drop the draw and go on would bias the answer.
    ``arm``, ``ticket`` and ``value`` say which arm, in which batch, returned what.
    """

    def __init__(
        self, message: str, *, arm: str, ticket: int | None = None, value: Any = None
    ) -> None:
        where = f"arm {arm!r}" if ticket is None else f"arm {arm!r}, ticket {ticket}"
        super().__init__(f"{where}: {message}")
        self.arm = arm
        self.ticket = ticket
        self.value = value


class StoreError(CroupierError):
    """A store that cannot be used: another plan, another format, another owner."""


class CroupierWarning(UserWarning):
    """The run went on, and its answer deserves a second look."""
