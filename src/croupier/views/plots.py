"""The picture of a run: the estimate, where the cost went, and what each arm is worth."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from croupier.views import formats
from croupier.views.slice_plot import draw_slice
from croupier.views.summary import Batches, Summary, components, shown_arms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["panels", "plot", "plotting"]

# Okabe and Ito 2008, also for colour-blind readers; the arms with large shares get calm colours.
PALETTE = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#CC79A7",
    "#56B4E9",
    "#D55E00",
    "#F0E442",
    "#000000",
)
OTHERS = "#BBBBBB"
INK = "#333333"
FAINT = "#8C8C8C"
MOST_BARS = 15
MOST_POINTS = 500
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.minor.visible": False,
    "text.usetex": False,
}
UNITS = {"draws": "draws", "seconds": "cost (seconds)", "cost": "cost"}

Floats = NDArray[np.float64]


def plot(
    summary: Summary, history: Batches, *, component: int = 0, figure: Figure | None = None
) -> Figure:
    """Draw a run in three panels, into ``figure`` if one is given, and return the figure.

    The panels show the estimate and its interval against cost, the arms' shares of the cost so
    far, and the arms' efficiencies. For vectors, the estimate is that of ``component``. A surrogate
    has a second row: where it says that a limit state fails, and the calls. No window is opened,
    and no global state of matplotlib is changed: show the figure in a notebook, or call
    ``figure.savefig``.
    """
    size = len(components(summary["value"]))
    if not -size <= component < size:
        raise ValueError(f"component must be below {size}, got {component!r}")
    matplotlib, create = plotting()
    with matplotlib.rc_context(STYLE):
        slices = summary.get("slices", [])
        if figure is None:
            figure = create(12, 7.8 if slices else 3.8)
        rows: Any = figure.subfigures(2, 1) if slices else [figure]
        left, middle, right = rows[0].subplots(1, 3, width_ratios=[1.15, 1.15, 1])
        if slices:
            for axes, found in zip_longest(rows[1].subplots(1, 3), slices):
                draw_slice(axes, found) if found else axes.set_axis_off()
        colours = _colours(summary)
        _estimate(left, summary, history, component)
        _shares(middle, summary, history, colours)
        _efficiencies(right, summary, colours)
    return figure


def panels(summary: Summary, history: Batches) -> list[Figure]:
    """Draw the panels as separate figures, which a page can put below each other."""
    matplotlib, create = plotting()
    with matplotlib.rc_context(STYLE):
        figures = [create(4.1, 3.5) for _ in range(3)]
        left, middle, right = figures
        colours = _colours(summary)
        _estimate(left.subplots(), summary, history, 0)
        _shares(middle.subplots(), summary, history, colours)
        _efficiencies(right.subplots(), summary, colours)
        for found in summary.get("slices", []):
            figures.append(create(4.1, 3.5))
            draw_slice(figures[-1].subplots(), found)
    return figures


def plotting() -> tuple[Any, Callable[[float, float], Figure]]:
    """Return matplotlib, and a function that makes a figure of a size in inches."""
    try:
        import matplotlib

        from croupier.views.notebook_figure import NotebookFigure
    except ImportError as error:
        from croupier.errors import MissingExtraError

        raise MissingExtraError("a plot needs", "matplotlib", "plot") from error
    return matplotlib, NotebookFigure.create


def _colours(summary: Summary) -> dict[str, str]:
    """Return one colour for each of the arms with the largest shares; the others are grey."""
    ranked = sorted(summary["arms"], key=lambda arm: -arm["share"])
    return {arm["name"]: colour for arm, colour in zip(ranked, PALETTE, strict=False)}


def _estimate(axes: Axes, summary: Summary, history: Batches, component: int) -> None:
    """Draw the estimate and its interval over the last two decades of the run."""
    at = np.asarray(history["at"], dtype=int)
    at = np.clip(at, 0, max(len(history["cost"]) - 1, 0))
    x = _floats(history["cost"])[at]
    y = _component(history["value"], component)
    half_width = _component(history["half_width"], component)
    value, error = _pair(summary, component)
    log = "log" in summary
    rounding = formats.log_rounding if log else formats.rounding
    exponent = rounding(value, error).exponent
    y, half_width, value = (_shift(z, exponent) for z in (y, half_width, value))

    known = np.isfinite(y) & (x > 0)
    x, y, half_width = x[known], y[known], half_width[known]
    banded = np.isfinite(half_width)
    low, high = y - np.where(banded, half_width, 0), y + np.where(banded, half_width, 0)
    blue = PALETTE[0]
    axes.fill_between(x, low, high, where=banded.tolist(), color=blue, alpha=0.22, linewidth=0)
    axes.plot(x, y, color=blue, linewidth=1.4, solid_capstyle="round")
    if np.isfinite(value):
        axes.axhline(value, color=FAINT, linewidth=0.7, linestyle=(0, (4, 3)), zorder=0)
    if len(x):
        axes.errorbar(
            x[-1], y[-1], half_width[-1] if banded[-1] else None, color=blue, marker="o",
            markersize=4, capsize=3, linewidth=1.2,
        )  # fmt: skip
        late = x >= x[-1] / 100
        bottom, top = low[late].min(), high[late].max()
        if top > bottom:
            axes.set_ylim(bottom - 0.06 * (top - bottom), top + 0.06 * (top - bottom))
    _cost_axis(axes, x, summary["unit"])
    if len(x) and (first := x[x >= x[-1] / 100][0]) < x[-1]:
        axes.set_xlim(left=first)
    what = f"Log of {_what(summary, component, 'estimate')}" if log else _what(summary, component)
    axes.set_title(f"{what}: {formats.number(*_pair(summary, component), rounding)}")
    scale = f", in units of 1{formats.Rounding(exponent, 0).suffix}" if exponent else ""
    estimate = "log of estimate" if log else "estimate"
    axes.set_ylabel(f"{estimate}, {formats.level(summary['confidence'])} interval{scale}")
    axes.ticklabel_format(axis="y", useOffset=False, style="plain")


def _what(summary: Summary, component: int, scalar: str = "Estimate") -> str:
    """Return what the first panel shows: the estimate, or a component by its name."""
    if not np.ndim(summary["value"]):
        return scalar
    if names := summary.get("components"):
        return formats.shorten(names[component], 20)
    number = component % len(components(summary["value"]))
    return f"component {number}" if "log" in summary else f"Component {number}"


def _pair(summary: Summary, component: int) -> tuple[float, float]:
    texts = summary.get("log", summary)
    return components(texts["value"])[component], components(texts["stderr"])[component]


def _shares(axes: Axes, summary: Summary, history: Batches, colours: dict[str, str]) -> None:
    """Draw the stacked shares of the cost so far, with a name at the right end of each band."""
    names = [name for name in colours if name in history["names"]]
    slots = {name: i for i, name in enumerate(names)}
    slot = np.array([slots.get(name, len(names)) for name in history["names"]])
    arm = slot[np.asarray(history["arm"], dtype=int)]
    batch_cost = _floats(history["batch_cost"])
    rows = _thinned(_floats(history["cost"]))
    spent = np.array([np.cumsum(batch_cost * (arm == k))[rows] for k in range(len(names) + 1)])
    total = spent.sum(axis=0)
    x = _floats(history["cost"])[rows]
    good = (x > 0) & (total > 0)
    x, share = x[good], spent[:, good] / total[good]
    if len(x) == 1:
        x, share = x * [0.2, 5.0], np.repeat(share, 2, axis=1)

    shades = [*(colours[name] for name in names), OTHERS]
    others = sum(1 for arm in summary["arms"] if arm["name"] not in colours)
    labels = [*names, f"{formats.count(others, 'other')}"]
    if not others:
        share, shades, labels = share[:-1], shades[:-1], labels[:-1]
    if len(x):
        # From the bottom: the arm with the largest share.
        axes.stackplot(x, share, colors=shades, edgecolor="white", linewidth=0.4, alpha=0.9)
        _name_bands(axes, share[:, -1], labels, shades)
    _cost_axis(axes, x, summary["unit"])
    if len(x):
        axes.set_xlim(x[0], x[-1])
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    axes.set_title("Where the cost went")
    axes.set_ylabel("share of the cost so far")


def _name_bands(axes: Axes, last: Floats, labels: list[str], shades: list[str]) -> None:
    """Write names to the right of the bands, and move them apart if bands are thin."""
    middles = np.cumsum(last) - last / 2
    heights = _apart(middles, 0.085)
    for middle, height, label, shade in zip(middles, heights, labels, shades, strict=True):
        axes.annotate(
            _label(label, 18),
            xy=(1.0, middle),
            xytext=(1.08, height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            fontsize=8,
            arrowprops={
                "arrowstyle": "-",
                "color": shade,
                "linewidth": 1.4,
                "relpos": (0.0, 0.5),
                "shrinkA": 1,
                "shrinkB": 1,
            },
        )


def _apart(heights: Floats, gap: float) -> Floats:
    """Return rising heights in [0, 1], moved as little as possible to lie ``gap`` apart.

    >>> [float(round(h, 2)) for h in _apart(np.array([0.5, 0.95, 1.0, 1.0]), 0.1)]
    [0.5, 0.8, 0.9, 1.0]
    """
    moved = heights.copy()
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    if len(moved) and moved[-1] > 1:
        moved[-1] = 1.0
        for i in range(len(moved) - 2, -1, -1):
            moved[i] = min(moved[i], moved[i + 1] - gap)
    return moved


def _efficiencies(axes: Axes, summary: Summary, colours: dict[str, str]) -> None:
    """Draw a bar per arm, the best on top; logarithmic if they differ by a factor above 30."""
    known = [
        (arm["efficiency"], arm["name"])
        for arm in shown_arms(summary)
        if arm["efficiency"] is not None and math.isfinite(arm["efficiency"])
    ]
    known.sort(key=lambda pair: -pair[0])
    shown = known[:MOST_BARS]
    positive = [e for e, _ in shown if e > 0]
    wide = bool(positive) and max(positive) > 30 * min(positive)
    least = 10.0 ** math.floor(math.log10(min(positive)) - 0.3) if wide else 0.0
    for row, (efficiency, name) in enumerate(shown):
        best = row == 0
        axes.barh(
            row,
            max(efficiency, least) - least,
            left=least,
            height=0.62,
            color=colours.get(name, OTHERS),
            alpha=1.0 if best else 0.5,
        )
        axes.annotate(
            "best" if best else formats.compact(efficiency, 2),
            xy=(max(efficiency, least), row),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            fontweight="bold" if best else "normal",
        )
    if wide:
        axes.set_xscale("log")
        axes.set_xlim(least, max(positive))
    elif positive:
        axes.set_xlim(0, max(positive))
    axes.set_yticks(range(len(shown)), [_label(name, 22) for _, name in shown])
    if shown:
        axes.get_yticklabels()[0].set_fontweight("bold")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(wide is False and bool(shown))
    axes.set_ylim(max(len(shown), 5) - 0.5, -0.6)
    axes.set_title("What each arm is worth")
    axes.set_xlabel("precision per cost, relative to the best arm")
    left_out = len(shown_arms(summary)) - len(shown)
    if left_out:
        more = f"and {formats.count(left_out, 'more arm')}" if shown else "no arm has varied"
        axes.text(1.0, 0.02, more, ha="right", fontsize=8, color=FAINT, transform=axes.transAxes)


def _cost_axis(axes: Axes, x: Floats, unit: str) -> None:
    """Show the cost on a logarithmic axis that is wide enough even for a single batch."""
    from matplotlib.ticker import NullLocator

    from croupier.views.notebook_figure import CostLabels, CostTicks

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(CostTicks())
    axes.xaxis.set_major_formatter(CostLabels())
    axes.xaxis.set_minor_locator(NullLocator())
    if len(x) and x[-1] > x[0]:
        axes.set_xlim(x[0], x[-1] * 1.15)
    elif len(x):
        axes.set_xlim(x[0] / 5, x[0] * 5)  # a decade, so that it has a tick
    axes.set_xlabel(UNITS.get(unit, unit))


def _thinned(cost: Floats) -> NDArray[np.intp]:
    """Return at most MOST_POINTS rows, evenly spaced in log cost, with the first and the last."""
    if len(cost) <= MOST_POINTS:
        return np.arange(len(cost))
    first = cost[cost > 0][0] if np.any(cost > 0) else 1.0
    marks = np.geomspace(first, max(cost[-1], first), MOST_POINTS)
    rows = np.minimum(np.searchsorted(cost, marks), len(cost) - 1)
    return np.unique(np.concatenate([[0], rows, [len(cost) - 1]]))


def _component(values: NDArray[Any], component: int) -> Floats:
    array = _floats(values)
    return array[:, component] if array.ndim == 2 else array


def _floats(values: NDArray[Any]) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _shift(x: Any, exponent: int) -> Any:
    """Divide by 10**exponent in two steps, as 10**exponent may be too large for a float."""
    half = exponent // 2
    return x / 10.0**half / 10.0 ** (exponent - half)


def _label(name: str, width: int) -> str:
    """Return a name in which $ is a plain character and does not start mathematics."""
    return formats.shorten(name, width).replace("$", r"\$")
