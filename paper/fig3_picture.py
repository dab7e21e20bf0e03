"""Figure 3, the picture: what is lost to the best arm, in units of its own squared error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from croupier.views import formats
from croupier.views.plots import FAINT, INK, STYLE, plotting
from paper.fig3_files import Fig3CurveRow
from paper.fig3_study import Annealing, Clock
from paper.picture import COLOURS, NAMES, entitle
from paper.study import DEFAULT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

#: The columns: a clock, how draws are combined, and what the axis shows of it.
_COLUMNS: Final[tuple[tuple[Clock, tuple[str, ...], tuple[float, float] | None], ...]] = (
    ("evaluations", ("mean",), None),
    ("evaluations", ("guarded", "inverse-variance"), (-0.15, 0.6)),
    ("cpu-seconds", ("guarded", "inverse-variance"), (-0.15, 0.6)),
)
_CLOCK: Final = {
    "evaluations": "likelihood evaluations",
    "cpu-seconds": "CPU seconds",
}
_SHORT: Final = {**NAMES, DEFAULT: "default"}

_DASHED: Final = (0, (4, 2))

#: Labels at the ends of lines are at least this part of the axis apart.
_APART: Final = 0.042


def draw(study: Annealing, curves: Sequence[Fig3CurveRow], figure: Figure | None = None) -> Figure:
    """Draw a row per model: plain means on the left, weighted ones by either clock beside them."""
    matplotlib, create = plotting()
    models = [rows for rows in study.rows if any(row.rows == rows for row in curves)]
    with matplotlib.rc_context(STYLE):
        if figure is None:
            figure = create(15, 3.9 * len(models) + 1.3)
        axes = figure.subplots(len(models), len(_COLUMNS), squeeze=False)
        for line, rows in zip(axes, models, strict=True):
            for panel, (clock, combined, ends) in zip(line, _COLUMNS, strict=True):
                own = [row for row in curves if (row.rows, row.clock) == (rows, clock)]
                _panel(panel, own, combined, ends)
                if ends is None:
                    said = "all draws have the same weight"
                else:
                    said = "weighted; shaded: the default, guarded, ± 2 standard errors"
                entitle(panel, f"The first {rows} rows, by {_CLOCK[clock]}", said)
            line[0].set_ylabel("error above that of the best arm,\nin units of the latter")
        _legend(figure, study)
    return figure


def _panel(
    axes: Axes,
    rows: Sequence[Fig3CurveRow],
    combined: Sequence[str],
    ends: tuple[float, float] | None,
) -> None:
    """Draw the regret over t (delta V)*: 1 is twice the squared error of the best arm alone."""
    labels: list[tuple[float, str, str]] = []
    for (policy, combine), own in _lines_of(rows).items():
        if policy in COLOURS and combine not in combined:
            continue
        t = np.array([row.time for row in own])
        unit = np.array([row.time**2 * row.loss / row.ratio for row in own])
        above, error = np.array([(row.regret, row.stderr) for row in own]).T / unit
        colour = COLOURS.get(policy, FAINT)
        main = combine == combined[0] or policy not in COLOURS
        axes.plot(
            t, above, color=colour, linestyle="-" if main else _DASHED,
            linewidth=1.9 if main and policy in COLOURS else 1.1,
        )  # fmt: skip
        if (policy, combine) == (DEFAULT, "guarded"):
            band = above - 2 * error, above + 2 * error
            axes.fill_between(t, *band, color=colour, alpha=0.1, linewidth=0)
        if main and (ends is None or (policy not in COLOURS and above[-1] < ends[1])):
            labels.append((float(above[-1]), _SHORT.get(policy, policy), colour))
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    if ends is not None:
        axes.set_ylim(*ends)
    _budget(axes, rows)
    _labels(axes, labels)


def _lines_of(rows: Sequence[Fig3CurveRow]) -> dict[tuple[str, str], list[Fig3CurveRow]]:
    """Return the rows of every line, by policy and combination."""
    found: dict[tuple[str, str], list[Fig3CurveRow]] = {}
    for row in rows:
        found.setdefault((row.policy, row.combine), []).append(row)
    return found


def _budget(axes: Axes, rows: Sequence[Fig3CurveRow]) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(rows[0].time, rows[-1].time)
    axes.set_xlabel(f"{_CLOCK[rows[0].clock]}, t")


def _labels(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Name lines at their right ends, moved apart where they would overlap."""
    to_axes = axes.transData + axes.transAxes.inverted()
    places = [float(to_axes.transform((axes.get_xlim()[1], y))[1]) for y, _, _ in ends]
    order = np.argsort(places)
    below = -1.0
    for i in order:
        places[i] = below = max(places[i], below + _APART)
    above = 1.0 + _APART
    for i in reversed(order):
        places[i] = above = min(places[i], above - _APART)
    for place, (_, name, colour) in zip(places, ends, strict=True):
        axes.annotate(
            name, (1.02, place), xycoords="axes fraction", va="center", fontsize=8,
            color=INK if colour == FAINT else colour, annotation_clip=False,
        )  # fmt: skip


def _legend(figure: Figure, study: Annealing) -> None:
    from matplotlib.lines import Line2D

    figure.suptitle(
        f"Evidence of logistic models on Pima, {study.features} features: "
        f"{formats.count(study.runs, 'run')} of {len(study.temperatures)} arms, "
        f"{', '.join(map(str, study.temperatures))} temperatures",
        fontsize=13,
        fontweight="bold",
    )
    handles = [
        Line2D([], [], color=COLOURS[policy], linewidth=2.5, label=NAMES[policy])
        for policy in study.policies
    ]
    handles.append(Line2D([], [], color=FAINT, linewidth=1.5, label="one arm alone"))
    handles += [
        Line2D([], [], color=INK, linewidth=1.9, label="guarded, or all draws alike"),
        Line2D([], [], color=INK, linewidth=1.1, linestyle=_DASHED, label="inverse variance"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=8, frameon=False, fontsize=9.5)
