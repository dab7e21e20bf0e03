"""Figure 3, the picture: regret against the budget, a row per model and a column per clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier.data.draws import Floats
from croupier.paper.fig1_picture import COLOURS, NAMES
from croupier.paper.fig3_files import Fig3CurveRow
from croupier.paper.fig3_study import CLOCKS, COMBINED, DEFAULT, Annealing
from croupier.views import formats
from croupier.views.plots import FAINT, INK, STYLE, plotting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

_LINES: Final[dict[str, Any]] = {
    "mean": "-",
    "inverse-variance": (0, (5, 2)),
    "guarded": (0, (1, 1.3)),
}
_WORDS: Final = {
    "mean": "all draws alike",
    "inverse-variance": "inverse variance",
    "guarded": "guarded",
}
_CLOCK: Final = {
    "evaluations": "likelihood evaluations",
    "cpu-seconds": "CPU seconds",
}
_SHORT: Final = {**NAMES, "variance-thompson": "default"}

#: A close look at regrets ends at this many times t (delta V)*.
_FAR: Final = 0.6

#: Labels at the ends of lines are at least this part of the axis apart.
_APART: Final = 0.042


def draw(study: Annealing, curves: Sequence[Fig3CurveRow], figure: Figure | None = None) -> Figure:
    """Draw the regret of every policy, combined in three ways, and of each arm alone."""
    matplotlib, create = plotting()
    models = [rows for rows in study.rows if any(row.rows == rows for row in curves)]
    with matplotlib.rc_context(STYLE):
        if figure is None:
            figure = create(16, 4.4 * len(models) + 1.3)
        axes = figure.subplots(len(models), len(CLOCKS) + 1, squeeze=False)
        for line, rows in zip(axes, models, strict=True):
            for panel, clock in zip(line, CLOCKS, strict=False):
                own = [row for row in curves if (row.rows, row.clock) == (rows, clock)]
                _regret(panel, own, f"The first {rows} rows, by {_CLOCK[clock]}")
            own = [row for row in curves if (row.rows, row.clock) == (rows, CLOCKS[0])]
            _close(line[-1], own, f"The first {rows} rows: close to the best arm")
        _legend(figure, study)
    return figure


def _lines_of(rows: Sequence[Fig3CurveRow]) -> dict[tuple[str, str], list[Fig3CurveRow]]:
    """Return the rows of every line, by policy and combination."""
    found: dict[tuple[str, str], list[Fig3CurveRow]] = {}
    for row in rows:
        found.setdefault((row.policy, row.combine), []).append(row)
    return found


def _is_best(own: Sequence[Fig3CurveRow]) -> bool:
    """Is it the best arm alone? It is compared with itself: its regret is zero."""
    return not any(row.stderr for row in own)


def _regret(axes: Axes, rows: Sequence[Fig3CurveRow], title: str) -> None:
    """Regret against the budget, on an axis that is linear near zero and logarithmic beyond.

    It is linear up to the typical standard error: what lies there cannot be told from zero.
    """
    ends: list[tuple[float, str, str]] = []
    lines = _lines_of(rows)
    for (policy, combine), own in lines.items():
        t, regret = np.array([(row.time, row.regret) for row in own]).T
        colour = COLOURS.get(policy, FAINT)
        _line(axes, t, regret, policy, combine)
        if combine == "mean":
            ends.append((float(regret[-1]), _SHORT.get(policy, policy), colour))
    errors = [row.stderr for row in rows if row.stderr]
    near = float(np.median(errors)) if errors else 1.0
    axes.set_yscale("symlog", linthresh=near)
    axes.axhspan(-near, near, color=FAINT, alpha=0.08, linewidth=0)
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    _budget(axes, rows)
    axes.set_ylabel("regret, t² (L(t) − L*(t))")
    axes.set_title(title)
    if best := [own for own in _lines_of(rows).values() if _is_best(own)]:
        _note(axes, f"best arm: {best[0][0].policy}")
    _labels(axes, ends)


def _close(axes: Axes, rows: Sequence[Fig3CurveRow], title: str) -> None:
    """The regret in units of t (delta V)*, near zero; the plain averages are mostly far above."""
    ends: list[tuple[float, str, str]] = []
    for (policy, combine), own in _lines_of(rows).items():
        t = np.array([row.time for row in own])
        unit = np.array([row.time**2 * row.loss / row.ratio for row in own])
        regret, error = np.array([(row.regret, row.stderr) for row in own]).T / unit
        _line(axes, t, regret, policy, combine)
        if (policy, combine) == (DEFAULT, "guarded"):
            band = regret - 2 * error, regret + 2 * error
            axes.fill_between(t, *band, color=COLOURS[policy], alpha=0.1, linewidth=0)
        if policy not in COLOURS and regret[-1] < _FAR:
            ends.append((float(regret[-1]), policy, FAINT))
    axes.axhline(0.0, color=FAINT, linewidth=0.8, zorder=0)
    axes.set_ylim(-_FAR / 4, _FAR)
    _budget(axes, rows)
    axes.set_ylabel("regret over t (δV)*")
    axes.set_title(title)
    _note(axes, "shaded: the default, guarded, ± 2 standard errors")
    _labels(axes, ends)


def _line(axes: Axes, t: Floats, y: Floats, policy: str, combine: str) -> None:
    width = 2.0 if policy in COLOURS else 1.4
    colour = COLOURS.get(policy, FAINT)
    axes.plot(t, y, color=colour, linestyle=_LINES[combine], linewidth=width)


def _budget(axes: Axes, rows: Sequence[Fig3CurveRow]) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlim(rows[0].time, rows[-1].time)
    axes.set_xlabel(f"{_CLOCK[rows[0].clock]}, t")


def _note(axes: Axes, text: str) -> None:
    axes.annotate(text, (0.02, 0.98), xycoords="axes fraction", va="top", fontsize=8, color=INK)


def _labels(axes: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Name the solid lines at their right ends, moved apart where they would overlap."""
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
        Line2D([], [], color=INK, linewidth=1.8, linestyle=_LINES[one], label=_WORDS[one])
        for one in COMBINED
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=9, frameon=False, fontsize=9.5)
