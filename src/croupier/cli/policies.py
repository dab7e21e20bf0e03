"""croupier policies: the policies, with their parameters and defaults."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from croupier.cli.terminal import table_of

if TYPE_CHECKING:
    from croupier.policies import Policy

__all__ = ["policies"]


def policies() -> None:
    """List the policies, with their parameters and defaults."""
    from croupier.policies import REGISTRY, as_policy
    from croupier.policies.bounded import Bandit

    default = as_policy("auto").name
    table = table_of("policy", "parameters", "what it does")
    for name, policy in sorted(REGISTRY.items(), key=lambda item: item[0] != default):
        style = "bold" if name == default else ""
        table.add_row(Text(name, style), _parameters(policy), _first_line(policy))
    console = Console(highlight=False)
    console.print(table)
    shared = ", ".join(field.name for field in dataclasses.fields(Bandit))
    console.print(f"† and the parameters of its payoffs: {shared}", style="dim")


def _parameters(policy: type[Policy]) -> str:
    """Return the parameters of a policy with their defaults; a dagger marks a bandit policy.

    >>> from croupier.policies import UCB1, ExploreThenCommit
    >>> _parameters(ExploreThenCommit), _parameters(UCB1)
    ('explore=30', "scale=2.0, time='played' †")
    """
    fields: Any = dataclasses.fields(policy) if dataclasses.is_dataclass(policy) else ()
    own = ", ".join(
        field.name if field.default is dataclasses.MISSING else f"{field.name}={field.default!r}"
        for field in fields
        if not field.kw_only
    )
    return f"{own} †" if any(field.kw_only for field in fields) else own


def _first_line(policy: type[Policy]) -> str:
    return (policy.__doc__ or "").strip().partition("\n")[0]
