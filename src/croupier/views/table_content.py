"""What the table of a run says, for every renderer: lines, columns of strings, warnings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from croupier.views import formats
from croupier.views.summary import ArmSummary, Summary, components, shown_arms

__all__ = ["Column", "Content", "agreements", "content", "fit", "fit_all", "line", "unnoticed"]

MOST_ARMS = 20
MOST_COMPONENTS = 10
MOST_IN_A_LINE = 3
WAYS = {
    "fixed-size": "",
    "many-looks": "valid over many looks",
    "anytime": "valid at any time",
    "guaranteed": "guaranteed at any time",
    "clopper-pearson": "exact for draws of 0 and 1",
    "never-varied": "from the bounds alone",
}


@dataclass(frozen=True)
class Column:
    """A title over one string per row; columns with a high ``optional`` are left out first."""

    title: str
    cells: list[str]
    right: bool = True
    optional: int = 0
    rest: bool = False  # the last row sums up many arms

    @property
    def width(self) -> int:
        """The width of the widest cell or the title."""
        return max(len(text) for text in [self.title, *self.cells])


@dataclass(frozen=True)
class Content:
    """The table of a run, in reading order."""

    estimate: str
    interval: str
    took: str
    components: list[Column]
    arms: list[Column]
    shares: list[float]  # one per row of arms
    notes: list[str]
    warnings: list[str]


def content(summary: Summary, most_components: int = MOST_COMPONENTS) -> Content:
    """Return all texts of the table; for a vector, at most `most_components` components."""
    vector = np.ndim(summary["value"]) > 0
    arms, shares = _arms(summary, vector)
    interval = _interval(summary)
    way = WAYS.get(summary["interval_kind"], summary["interval_kind"])
    if vector:
        estimate = formats.count(len(components(summary["value"])), "component")
        estimate += ", as logs" * ("log" in summary)
        interval = f"each with its {interval}"
    else:
        estimate, ends = _estimates(summary)[0]
        estimate = _prefix(summary) + estimate
        interval += f" {ends}"
    return Content(
        estimate=estimate,
        interval=formats.printable(f"{interval}, {way}" if way else interval),
        took=formats.printable(_took(summary)),
        components=_components(summary, most_components) if vector else [],
        arms=arms,
        shares=shares,
        notes=[formats.printable(note) for note in _notes(summary)],
        warnings=[formats.printable(warning) for warning in summary["warnings"]],
    )


def line(summary: Summary) -> str:
    """Return the answer in one line; for a vector, the first components.

    >>> from croupier.views.summary import example
    >>> line(example())
    '0.5026 ± 0.0033, 95% interval [0.4961, 0.5091], 1,000 draws'
    """
    pairs = _estimates(summary)
    if np.ndim(summary["value"]) == 0:
        estimate, ends = pairs[0]
        answer = f"{_prefix(summary)}{estimate}, {_interval(summary)} {ends}"
    else:
        shown = [estimate for estimate, _ in pairs[:MOST_IN_A_LINE]]
        if more := len(pairs) - len(shown):
            shown.append(f"... {more:,} more")
        answer = f"{_prefix(summary)}[{', '.join(shown)}], each with its {_interval(summary)}"
    return f"{answer}, {formats.count(summary['draws'], 'draw')}"


def fit(columns: Sequence[Column], width: int, gap: int = 2) -> list[Column]:
    """Return the columns that fit: long names are shortened, then optional columns are left out.

    >>> columns = [
    ...     Column("arm", ["a" * 30]),
    ...     Column("draws", ["1"]),
    ...     Column("x", ["2"], optional=1),
    ... ]
    >>> [(c.title, c.width) for c in fit(columns, 40)], [c.title for c in fit(columns, 28)]
    ([('arm', 30), ('draws', 5), ('x', 1)], ['arm', 'draws'])
    """
    kept = list(columns)
    while True:
        room = width - sum(c.width + gap for c in kept[1:])
        least = min(kept[0].width, 20)
        given_up = max(kept, key=lambda c: c.optional)
        if room >= least or not given_up.optional:
            room = max(room, min(least, 8))
            names = [formats.shorten(name, room) for name in kept[0].cells]
            return [replace(kept[0], cells=names), *kept[1:]]
        kept.remove(given_up)


def fit_all(columns: Sequence[Column], width: int) -> list[list[Column]]:
    """Return the columns in one table or two: what does not fit comes below, with the names.

    >>> columns = [Column("arm", ["a"]), Column("x", ["2" * 9], optional=1)]
    >>> [[column.title for column in part] for part in fit_all(columns, 8)]
    [['arm'], ['arm', 'x']]
    """
    first = fit(columns, width)
    shown = {column.title for column in first}
    rest = [replace(column, optional=0) for column in columns if column.title not in shown]
    return [first, fit([columns[0], *rest], width)] if rest else [first]


def _took(summary: Summary) -> str:
    """Return what the run used, and what stopped it."""
    text = formats.count(summary["draws"], "draw")
    if summary["unit"] == "cost":
        text += f" at a cost of {formats.compact(summary['cost'])}"
    if summary["stopped"] is None and not summary["seconds"] and "runs" not in summary:
        return f"{text} so far, told by hand"  # nobody knows when the draws were made
    text += f" in {formats.duration(summary['seconds'])}"
    if summary["unit"] == "seconds":
        text += f" ({formats.duration(summary['cost'])} inside the arms)"
    stopped = summary["stopped"]
    if "runs" in summary:
        return f"{text}, merged from {len(summary['runs']['seeds'])} runs"
    if stopped is None:
        return f"{text}, and going on"
    return f"{text}, {stopped if stopped == 'interrupted' else f'stopped by {stopped}'}"


def _notes(summary: Summary) -> list[str]:
    """Return the lines about the agreement of the arms and about the settings."""
    notes = [f"agreement of the {who}: {p}" for who, p in agreements(summary).items()]
    notes += [f"{label}: {text}" for label, text in summary.get("facts", [])]
    if bias := unnoticed(summary):
        notes.append(bias)
    seed = f"seed {summary['seed']}"
    if "runs" in summary:
        seed = f"seeds {', '.join(map(str, summary['runs']['seeds']))}"
    notes.append(f"policy {summary['policy']}, combine {summary['combine']}, {seed}")
    return notes


def agreements(summary: Summary) -> dict[str, str]:
    """Return the p-values for the groups that share one mean: the arms, the merged runs.

    >>> from croupier.views.summary import example
    >>> agreements(example())
    {'arms': 'p = 0.64'}
    """
    tested, names = {}, summary.get("components")
    if len(summary["arms"]) > 1 and summary["rows"]["untested"] is None:
        tested["arms"] = _agreement("arms", summary["agreement"], names)
    if "runs" in summary:
        tested["runs"] = _agreement("runs", summary["runs"]["agreement"], names)
    return tested


def unnoticed(summary: Summary) -> str:
    """Return the bias that the test of agreement would not have seen, in words; "" if unknown.

    For vectors, it is the component with the largest bias compared with its value.

    >>> from croupier.views.summary import example
    >>> unnoticed(example())
    "a bias of 28 % in 'tilted' would not have been noticed"
    """
    if "runs" in summary or len(summary["arms"]) < 2:
        return ""
    values = [1.0] if "log" in summary else components(summary["value"])
    biases = components(summary["unnoticed"])
    if len(values) < len(biases):
        values = values * len(biases)
    known = [
        (bias / abs(value) if value else math.inf, bias, i)
        for i, (bias, value) in enumerate(zip(biases, values, strict=True))
        if not math.isnan(bias)
    ]
    if not known:
        return ""
    relative, bias, i = max(known)
    size = f"{formats.compact(100 * relative, 2)} %" if relative < 1 else formats.compact(bias, 2)
    names = summary.get("components")
    which = f"component {i}" if names is None else formats.shorten(names[i], 60)
    where = f" ({which})" if len(biases) > 1 else ""
    return f"a bias of {size} in {summary['leader']!r}{where} would not have been noticed"


def _agreement(group: str, agreement: float | list[float] | None, names: list[str] | None) -> str:
    values = components(agreement)  # None becomes NaN
    tested = [(p, i) for i, p in enumerate(values) if not math.isnan(p)]
    if not tested:
        return f"not testable: fewer than two {group} are known well enough"
    p, i = min(tested)
    if len(values) == 1:
        return formats.p_value(p)
    which = f"component {i} of {len(values)}" if names is None else formats.shorten(names[i], 60)
    return f"smallest {formats.p_value(p)} ({which})"


def _component_names(summary: Summary, d: int) -> list[str]:
    names = summary.get("components") or list(map(str, range(d)))
    return [formats.shorten(name, 60) for name in names]


def _prefix(summary: Summary) -> str:
    return "log: " if "log" in summary else ""


def _interval(summary: Summary) -> str:
    return f"{formats.level(summary['confidence'])} interval"


def _estimates(summary: Summary) -> list[tuple[str, str]]:
    """Return the estimate and the interval of each component; for logs, on the scale of logs."""
    said = summary.get("log", summary)
    keys = said["value"], said["stderr"], said["low"], said["high"]
    rows = zip(*(components(x) for x in keys), strict=True)
    how = formats.log_rounding if "log" in summary else formats.rounding
    return [
        (formats.number(v, e, how), formats.bracket(low, high, v, _error(e, low, high), how))
        for v, e, low, high in rows
    ]


def _error(error: float, low: float, high: float) -> float:
    """Return the error that an interval is rounded to; if it is not known, a quarter of it."""
    return (high - low) / 4 if math.isnan(error) and math.isfinite(high - low) else error


def _components(summary: Summary, most: int) -> list[Column]:
    """Return the first components of a vector, one per row."""
    rows = _estimates(summary)
    shown, more = rows[:most], len(rows) - most
    names = _component_names(summary, len(rows))
    end = [f"... {more:,} more"] if more > 0 else []
    blank = [""] * len(end)
    return [
        Column("component", [*names[: len(shown)], *end], right=False, rest=more > 0),
        Column(
            "log of estimate" if "log" in summary else "estimate",
            [estimate for estimate, _ in shown] + blank,
        ),
        Column(_interval(summary), [ends for _, ends in shown] + blank),
    ]


def _arms(summary: Summary, vector: bool) -> tuple[list[Column], list[float]]:
    """Return the arms, largest share of the cost first, and the sum of the arms left out."""
    # Equal shares stay in order.
    ranked = sorted(shown_arms(summary), key=lambda arm: -arm["share"])
    shown, rest = ranked[:MOST_ARMS], ranked[MOST_ARMS:]
    shares = [arm["share"] for arm in shown]
    names = [formats.shorten(arm["name"], 60) for arm in shown]
    draws = [arm["draws"] for arm in shown]
    weights = [arm["weight"] for arm in shown]
    if rest:
        shares.append(math.fsum(arm["share"] for arm in rest))
        names.append(f"... {len(rest):,} more arm{'s' if len(rest) > 1 else ''}")
        draws.append(sum(arm["draws"] for arm in rest))
        weights.append(math.fsum(arm["weight"] for arm in rest))
    blank = [""] * (len(shares) - len(shown))
    unit = summary["unit"]
    columns = [
        Column("arm", names, right=False, rest=bool(rest)),
        Column("share", [formats.percent(x) for x in shares]),
        Column("draws", [formats.count(n) for n in draws]),
    ]
    if not vector:
        log = "log" in summary
        means = [_log_mean(arm) if log else _mean(arm) for arm in shown]
        spreads = [arm.get("relative_deviation") if log else arm["variance"] for arm in shown]
        columns += [
            Column("log mean" if log else "mean", means + blank),
            Column(
                "rel. deviation" if log else "variance",
                [formats.compact(_scalar(spread)) for spread in spreads] + blank,
                optional=2,
            ),
        ]
    if unit != "draws":  # else every draw costs 1
        per_draw = [formats.cost(arm["cost_per_draw"], unit) for arm in shown]
        columns.append(Column("cost/draw", per_draw + blank, optional=1))
    efficiency = [formats.compact(arm["efficiency"], 2) for arm in shown]
    columns += [
        Column("efficiency", efficiency + blank),
        Column("weight", [formats.percent(x) for x in weights], optional=3),
    ]
    return columns, shares


def _mean(arm: ArmSummary) -> str:
    """Return an arm's own estimate, with its own error if it has one."""
    mean, variance = _scalar(arm["mean"]), _scalar(arm["variance"])
    error = _scalar(arm.get("stderr"))
    if mean is None:
        return formats.MISSING
    if error is None and variance is not None and variance >= 0 and arm["draws"] > 0:
        error = math.sqrt(variance / arm["draws"])
    return formats.number(mean, error)


def _log_mean(arm: ArmSummary) -> str:
    """Return the log of an arm's own estimate, with its own error if it has one."""
    mean = _scalar(arm.get("log_mean"))
    if mean is None:
        return formats.MISSING
    return formats.number(mean, _scalar(arm.get("log_stderr")), formats.log_rounding)


def _scalar(x: float | list[float] | None) -> float | None:
    return None if x is None else components(x)[0]
