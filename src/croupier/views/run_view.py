"""A run that another process makes, as it is now: plain data, and its view in a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from croupier.views import formats
from croupier.views.result_table import rich_table
from croupier.views.summary import ArmSummary, Summary, components
from croupier.views.table_content import MOST_ARMS, content

if TYPE_CHECKING:
    from rich.console import RenderableType

__all__ = ["Snapshot", "shown", "sparkline", "view"]

#: Eight heights of a bar, for the line of the estimate.
_HEIGHTS = "▁▂▃▄▅▆▇█"
_WIDE = 40


class Snapshot(TypedDict):
    """A stored run at one moment. `summary` is None before the first outcome.

    `cost`, `value` and `half_width` are the estimate at up to 100 costs (of the first component,
    and on the scale of logs in a run of logs).
    """

    path: str
    state: str  # how far it is, in words
    running: bool
    over: bool
    spent: float | None  # share of the budget
    left: float | None  # seconds until the budget is used up or the tolerance is reached
    workers: int | None
    busy: float | None
    batches: int
    summary: Summary | None
    cost: list[float]
    value: list[float]
    half_width: list[float]


def sparkline(values: Sequence[float], width: int = 48) -> str:
    """Return numbers as a line of bars; a space stands for a number that is not known.

    >>> sparkline([0.0, 1.0, 2.0, float("nan"), 3.5], 5)
    '▁▃▅ █'
    """
    if not values:
        return ""
    step = max(len(values) / width, 1.0)
    shown = [values[int(i * step)] for i in range(min(width, len(values)))]
    shown[-1] = values[-1]
    known = [x for x in shown if math.isfinite(x)]
    if not known:
        return " " * len(shown)
    low, high = min(known), max(known)
    span = high - low or 1.0
    top = len(_HEIGHTS) - 1
    return "".join(
        _HEIGHTS[round(top * (x - low) / span)] if math.isfinite(x) else " " for x in shown
    )


def view(run: Snapshot) -> RenderableType:
    """Return the live view of one run."""
    from rich.console import Group
    from rich.text import Text

    dim = "dim"
    lines: list[RenderableType] = [Text(formats.printable_lines(run["state"]))]
    if (spent := _spent(run)) is not None:
        lines.append(spent)
    summary = run["summary"]
    if summary is None:
        return Group(*lines, Text("no outcome yet", dim))
    lines.append(Text(""))
    if len(run["cost"]) > 1:
        steady = len(run["value"]) // 3  # the first estimates would hide all others
        lines.append(Text.assemble(("estimate  ", dim), (sparkline(run["value"][steady:]), "blue")))
        errors = [math.log(x) if 0 < x < math.inf else math.nan for x in run["half_width"]]
        lines.append(
            Text.assemble(("log error ", dim), (sparkline(errors), "blue"), ("  over cost", dim))
        )
        lines.append(Text(""))
    return Group(*lines, rich_table(summary))


def _spent(run: Snapshot) -> RenderableType | None:
    """Return the bar of the budget, the time left and the workers."""
    from rich.text import Text

    parts = _facts(run)
    if run["spent"] is not None:
        filled = round(_WIDE * run["spent"])
        parts.insert(0, f"{'━' * filled}{'─' * (_WIDE - filled)} {100 * run['spent']:3.0f}%")
    return Text("   ".join(parts), "cyan") if parts else None


def _facts(run: Snapshot) -> list[str]:
    """Return the time that is left, and how many workers are busy."""
    parts = []
    if run["left"] is not None and run["running"]:
        parts.append(f"about {formats.duration(round(run['left'], 1))} left")
    if run["workers"] is not None:
        busy = "" if run["busy"] is None else f"{min(run['busy'], run['workers']):.1f} of "
        parts.append(f"{busy}{formats.count(run['workers'], 'worker')}{' busy' * bool(busy)}")
    return parts


def _loss(arm: ArmSummary) -> float | None:
    """Return the cost of a draw times its variance, of the first component: smallest is best."""
    cost, variance = arm["cost_per_draw"], arm["variance"]
    return None if cost is None or variance is None else cost * components(variance)[0]


def shown(run: Snapshot) -> dict[str, Any]:
    """Return a run as the texts and numbers that a page shows."""
    names = ("path", "state", "spent", "cost", "value", "half_width")
    words: dict[str, Any] = {name: run[name] for name in names}  # type: ignore[literal-required]
    state = run["state"].removeprefix(f"{formats.printable(run['path'])}: ")  # it is in the title
    words["state"] = formats.printable_lines(state)
    words["facts"] = ", ".join(_facts(run))
    summary = run["summary"]
    if summary is None:
        return words
    texts = content(summary)
    ranked = sorted(summary["arms"], key=lambda arm: -arm["share"])[:MOST_ARMS]
    return {
        **words,
        "answer": texts.estimate,
        "interval": f"{texts.interval}; {texts.took}",
        "warnings": texts.warnings,
        "unit": summary["unit"],
        "arms": [
            {
                "name": formats.shorten(arm["name"], 60),
                "draws": formats.count(arm["draws"]),
                "share": arm["share"],
                "share_text": formats.percent(arm["share"]),
                "loss": formats.compact(_loss(arm)),
                "efficiency": arm["efficiency"],
                "efficiency_text": formats.compact(arm["efficiency"], 2),
            }
            for arm in ranked
        ],
    }
