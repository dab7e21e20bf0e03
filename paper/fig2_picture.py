"""Figure 2, the picture: the loss to that of the best arm against the number of draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from croupier.views import formats
from croupier.views.plots import FAINT, PALETTE, STYLE, plotting
from paper import picture
from paper.fig2_contest import ALL_PROPOSALS, BEST
from paper.fig2_study import Fig2Row, OptionPrice, Part, by_part
from paper.study import DEFAULT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["NAMES", "draw"]

#: Those of the other figures, and more.
COLOURS: Final = {
    **picture.COLOURS,
    "uniform": FAINT,
    "pmc-100": PALETTE[4],
    "pmc-1000": PALETTE[4],
    "pmc-printed-100": "#8c6d46",
    "pmc-printed-1000": "#8c6d46",
    ALL_PROPOSALS: "#b2182b",
    BEST: PALETTE[5],
}
NAMES: Final = {
    "uniform": "uniform",
    **picture.NAMES,
    "pmc-100": "PMC, 100",
    "pmc-1000": "PMC, 1000",
    "pmc-printed-100": "printed PMC, 100",
    "pmc-printed-1000": "printed PMC, 1000",
    ALL_PROPOSALS: "croupier's mixture",
    BEST: "best arm in hindsight",
}

_DASHES: Final = {
    BEST: (0, (2, 1.5)),
    "pmc-100": (0, (5, 1.5)),
    "pmc-printed-100": (0, (5, 1.5)),
}

_KEY: Final = (
    "dots: squared errors of the runs, ± 1 standard error; lines: as the draws of each arm imply, "
    "where the estimate is their mean; PMC: population Monte Carlo"
)


def draw(study: OptionPrice, rows: Sequence[Fig2Row], figure: Figure | None = None) -> Figure:
    """Draw a panel for each strike."""
    matplotlib, create = plotting()
    parts = by_part(rows)
    strikes = [k for k in study.strikes if any(part.strike == k for part in parts)]
    with matplotlib.rc_context(STYLE):
        if figure is None:
            figure = create(4.6 * len(strikes) + 0.4, 5.4)
        axes = figure.subplots(1, len(strikes), squeeze=False)[0]
        for panel, strike in zip(axes, strikes, strict=True):
            _panel(panel, study, strike, parts)
        axes[0].set_ylabel("n · mean squared error / variance of the best arm")
        least = min((row.runs for row in rows), default=study.runs)
        fewer = f"{least} to " if least < study.runs else ""
        figure.suptitle(
            f"The price of a caplet: 16 arms, {fewer}{formats.count(study.runs, 'run')}",
            fontsize=13, fontweight="bold",
        )  # fmt: skip
        lines = {line.get_label(): line for panel in axes for line in panel.get_lines()}
        shown = {label: line for label, line in lines.items() if not str(label).startswith("_")}
        figure.legend(
            shown.values(), [str(label) for label in shown], loc="outside lower center",
            ncols=2 * len(strikes), frameon=False, fontsize=10, title=_KEY, title_fontsize=8.5,
        )  # fmt: skip
    return figure


def _panel(
    axes: Axes, study: OptionPrice, strike: float, parts: Mapping[Part, Sequence[Fig2Row]]
) -> None:
    """One strike: dots from the squared errors, lines from the draws of every arm."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    best = price = 1.0
    for number, name in enumerate(study.contestants):
        own = parts.get(Part(strike, name))
        if own is None:
            continue
        best, price = own[0].best, own[0].price
        colour = COLOURS.get(name, PALETTE[number % len(PALETTE)])
        n = np.array([row.draws for row in own], float) * 1.03 ** (number - 3)
        ratio, error = (
            np.array([getattr(row, field) for row in own]) for field in ("ratio", "ratio_stderr")
        )
        implied = np.array([row.allocation for row in own])
        mean = np.isfinite(implied).all() and name != DEFAULT
        axes.errorbar(
            n, ratio, error, color=colour, linestyle="none", marker="o", markersize=3.4,
            linewidth=1, zorder=3,
        )  # fmt: skip
        axes.plot(
            n, implied if mean else ratio, color=colour, zorder=2,
            linewidth=2.4 if name in (DEFAULT, ALL_PROPOSALS) else 1.6, label=NAMES.get(name, name),
            linestyle=_DASHES.get(name, "-"),
        )  # fmt: skip
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(
        LogLocator(subs=(1, 2, 5) if high > 20 * low else (1, 1.5, 2, 3, 5))
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel("draws, n")
    picture.entitle(
        axes, f"strike {strike:g}", f"price {price:.4f}, variance of the best arm {best:.3f}"
    )
