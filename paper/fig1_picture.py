"""Figure 1, the picture: tiles of who wins and of how the default fares, and curves with bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from croupier import theory
from croupier.data.draws import Floats
from croupier.views import formats
from croupier.views.plots import FAINT, INK, STYLE, plotting
from paper.fig1_rows import Fig1CurveRow, Tile
from paper.fig1_study import Cell, TwoArms
from paper.picture import COLOURS, NAMES, entitle
from paper.study import DEFAULT, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw"]

_SHORT: Final = {"ucb1": "UCB1", "ucb-v": "UCB-V", "kl-ucb": "KL", "thompson": "TS"}

#: Upper bounds on the regret, and what each of them is.
_BOUNDS: Final[dict[str, tuple[Callable[..., Floats], str]]] = {
    "ucb1": (theory.ucb1_bound, "UCB1: upper bound"),
    "ucb-v": (theory.ucbv_bound, "UCB-V: upper bound"),
    "kl-ucb": (theory.kl_ucb_leading_term, "KL-UCB: leading term only"),
    "thompson": (theory.thompson_leading_term, "Thompson: order only"),
}

#: Grids with more columns than this have tiles too small for letters.
_LETTERED: Final = 12
_IMPOSSIBLE: Final = "#E8E8E8"

#: Where the colours of the ratios are explained, beside the tiles, and at which ratios.
_BAR: Final = (1.03, 0.2, 0.03, 0.6)
_MARKS: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
_NEAR_MARKS: Final = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5)
_ARMS: Final = {
    "scaled-bernoulli": "scaled Bernoulli",
    "truncated-normal": "truncated normal",
    "uniform": "uniform",
}


def draw(
    study: TwoArms,
    tiles: Mapping[Cell, Tile],
    curves: Sequence[Fig1CurveRow],
    figure: Figure | None = None,
) -> Figure:
    """Draw tiles on the left and a curve for each followed cell on the right.

    Cells of the grid that were not measured stay white, those that cannot be are grey.
    """
    matplotlib, create = plotting()
    followed = list(dict.fromkeys(row.cell for row in curves))
    with_default = DEFAULT in study.policies
    rows = max(1 + with_default, len(followed))
    with matplotlib.rc_context({**STYLE, "hatch.linewidth": 0.7}):
        if figure is None:
            figure = create(13, 5.9 * rows + 0.7)
        width = 2 if followed else 1
        axes = figure.subplots(rows, width, squeeze=False, width_ratios=[1.12, 1][:width])
        for panel in axes.flat:
            panel.set_axis_off()
        letters = "abcdefghijklmnopqrstuvwxyz"[: len(followed)]
        for panel, paint in zip(axes[:, 0], (_winners, _default)[: 1 + with_default], strict=False):
            panel.set_axis_on()
            paint(panel, study, tiles)
            _mark(panel, study, followed, letters)
        for panel, cell, letter in zip(axes[:, -1], followed, letters, strict=False):
            panel.set_axis_on()
            _curve(panel, study, [row for row in curves if row.cell == cell], cell, letter)
        _legend(figure, study, tiles)
    return figure


def _legend(figure: Figure, study: TwoArms, tiles: Mapping[Cell, Tile]) -> None:
    from matplotlib.patches import Patch

    runs = {tile.rows[policy].runs for tile in tiles.values() for policy in PAPER} | {study.runs}
    least = f"{min(runs)} to " if len(runs) > 1 else ""
    size = f"{least}{formats.count(study.runs, 'run')} of {formats.count(study.horizon, 'draw')}"
    if study.runs_of(DEFAULT) not in (0, study.runs):
        size += f" (of the default: {formats.count(study.runs_of(DEFAULT))} runs)"
    figure.suptitle(
        f"Two {_ARMS[study.shape]} arms, {size} in every cell", fontsize=13, fontweight="bold"
    )
    handles = [Patch(color=COLOURS[policy], label=_named(policy)) for policy in study.policies]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=10
    )


def _named(policy: str) -> str:
    """Return a policy's name, and how it is lettered on the tiles.

    >>> _named("thompson"), _named("ucb1")
    ('Thompson (TS)', 'UCB1')
    """
    name, short = NAMES[policy], _SHORT.get(policy, "")
    return name if short in ("", name) else f"{name} ({short})"


# -- tiles


def _winners(axes: Axes, study: TwoArms, tiles: Mapping[Cell, Tile]) -> None:
    """Who has the least regret, and by how much."""
    _frame(axes, study)
    for cell, tile in tiles.items():
        text = f"{_SHORT[tile.winner]}\n{_brief(tile.lead)}"
        _tile(axes, study, cell, COLOURS[tile.winner], text, tile.within_noise)
    entitle(
        axes,
        "Who of the paper's four has the least regret",
        "number: the second's regret over the winner's; hatched: within 2 standard errors",
    )


def _default(axes: Axes, study: TwoArms, tiles: Mapping[Cell, Tile]) -> None:
    """How the default compares with the best of the four."""
    import matplotlib
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    _frame(axes, study)
    ratios = {cell: max(tile.default_ratio, 1e-9) for cell, tile in tiles.items()}
    least, most = min([0.5, *ratios.values()]), max([2.0, *ratios.values()])
    reach = math.log(max(1 / least, most))
    norm, colours = Normalize(-reach, reach), matplotlib.colormaps["PuOr_r"]
    for cell, ratio in ratios.items():
        colour = colours(norm(math.log(ratio)))
        _tile(axes, study, cell, colour, _brief(ratio), tiles[cell].default_within_noise)
    entitle(
        axes,
        "How croupier's default fares on the same ground",
        "number: its regret over that of the best of the four; hatched: within 2 standard errors",
    )
    bar = axes.figure.colorbar(ScalarMappable(norm, colours), cax=axes.inset_axes(_BAR))
    near = reach < math.log(5)
    marks = [mark for mark in (_NEAR_MARKS if near else _MARKS) if least <= mark <= most]
    bar.set_ticks([math.log(mark) for mark in marks], labels=[f"{mark:g}" for mark in marks])
    bar.ax.set_ylim(math.log(least), math.log(most))
    bar.ax.tick_params(length=0, labelsize=8)
    bar.outline.set_visible(False)


def _frame(axes: Axes, study: TwoArms) -> None:
    """An even grid, for any spacing of its variances."""
    columns, rows = len(study.variances), len(study.extras)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(-0.5, rows - 0.5)
    axes.set_aspect("equal")
    for ticks, values in ((axes.set_xticks, study.variances), (axes.set_yticks, study.extras)):
        step = -(-len(values) // _LETTERED)
        places = range(0, len(values), step)
        ticks(list(places), [f"{values[i]:.4g}" for i in places])
    axes.tick_params(length=0, labelsize=8)
    axes.tick_params(axis="y", pad=9)
    for spine in axes.spines.values():
        spine.set_visible(False)
    note = f"\ngrey: no such arms, V1 + extra must be {study.limit}" if study.impossible else ""
    axes.set_xlabel(f"variance of the better arm, V1{note}")
    axes.set_ylabel("extra variance of the other arm")
    for cell in study.impossible:
        _tile(axes, study, cell, _IMPOSSIBLE, "")


def _tile(
    axes: Axes, study: TwoArms, cell: Cell, colour: Any, text: str, hatched: bool = False
) -> None:
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Rectangle

    x, y = study.variances.index(cell.v1), study.extras.index(cell.extra)
    light = float(np.dot(to_rgb(colour), (0.299, 0.587, 0.114)))
    # The hatching has the colour of the edge, which is not drawn; it must show on any tile.
    edge = FAINT if light > 0.8 else "white"
    tile = Rectangle((x - 0.49, y - 0.49), 0.98, 0.98, facecolor=colour, edgecolor=edge)
    tile.set_linewidth(0)
    if hatched:
        tile.set_hatch("///")
    axes.add_patch(tile)
    columns = max(len(study.variances), len(study.extras))
    if text and columns <= _LETTERED:
        axes.text(
            x, y, text, ha="center", va="center", color=INK if light > 0.5 else "white",
            fontsize=min(9.0, 80 / columns), linespacing=1.1,
            bbox={"facecolor": colour, "linewidth": 0, "pad": 1} if hatched else None,
        )  # fmt: skip


def _brief(ratio: float) -> str:
    """Return a ratio in as many digits as a tile has room for.

    >>> _brief(0.0123), _brief(0.2), _brief(1.234), _brief(12.34)
    ('0.012', '0.20', '1.23', '12')
    """
    return f"{ratio:.{3 if ratio < 0.1 else 2 if ratio < 10 else 0}f}"


def _mark(axes: Axes, study: TwoArms, cells: Sequence[Cell], letters: str) -> None:
    """Letter the cells that are followed in time, wherever they lie on the grid."""
    for cell, letter in zip(cells, letters, strict=True):
        x, y = _place(study.variances, cell.v1), _place(study.extras, cell.extra)
        if x is None or y is None:
            continue
        if cell.v1 in study.variances and cell.extra in study.extras:
            x, y = x + 0.34, y + 0.34  # a corner of its tile: the number stays readable
        elif cell.extra in study.extras and x >= 0:
            x = round(x) + math.copysign(0.5, x - round(x))  # between two tiles
        axes.text(
            x, y, letter, ha="center", va="center", fontsize=8, fontweight="bold", color=INK,
            bbox={"boxstyle": "circle,pad=0.18", "facecolor": "white", "edgecolor": INK},
            zorder=5,
        )  # fmt: skip


def _place(values: Sequence[float], value: float) -> float | None:
    """Where a variance lies on an axis of tiles; None if that is beyond its ends.

    >>> _place((0.1, 0.2, 0.3), 0.25), _place((0.1, 0.2, 0.3), 0.5)
    (1.5, None)
    """
    if len(values) == 1:
        return 0.0 if value == values[0] else None
    i = int(np.clip(np.searchsorted(values, value) - 1, 0, len(values) - 2))
    place = i + (value - values[i]) / (values[i + 1] - values[i])
    return float(place) if -0.8 <= place <= len(values) - 0.2 else None


# -- curves


def _curve(
    axes: Axes, study: TwoArms, rows: Sequence[Fig1CurveRow], cell: Cell, letter: str
) -> None:
    """Pulls of the worse arm against time: mean, 1 % and 99 % percentiles, and bounds."""
    t = np.array(study.times, dtype=float)
    for policy in study.policies:
        own = [row for row in rows if row.policy == policy]
        colour = COLOURS[policy]
        low, high = [row.p1 for row in own], [row.p99 for row in own]
        axes.fill_between(t, low, high, color=colour, alpha=0.08, linewidth=0)
        axes.plot(t, low, t, high, color=colour, linewidth=0.6, alpha=0.8)
        axes.plot(t, [row.suboptimal for row in own], color=colour, linewidth=2.2, zorder=3)
    _bounds(axes, study, cell, t)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(min(10, study.horizon / 10), study.horizon)
    axes.set_ylim(1, None)
    axes.set_xlabel("draws, t")
    axes.set_ylabel("draws of the worse arm up to t")
    entitle(
        axes,
        f"({letter}) V1 = {cell.v1:g}, extra variance {cell.extra:g}",
        "thick: mean of the runs; thin, shaded between: their 1 % and 99 % percentiles",
    )
    legend = axes.legend(
        title="bounds, where they are below t", loc="upper left", fontsize=8, frameon=False,
        handlelength=2.6, alignment="left",
    )  # fmt: skip
    legend.get_title().set_fontsize(8)


def _bounds(axes: Axes, study: TwoArms, cell: Cell, t: Floats) -> None:
    """Bounds on the regret over the gap; what is above t says nothing, and is left out."""
    arms = study.problem(cell).distributions
    for policy, (bound, label) in _BOUNDS.items():
        pulls = bound(arms, t) / cell.extra
        below = pulls <= t
        more = "" if below.any() else ", above t throughout"
        axes.plot(
            t[below], pulls[below], color=COLOURS[policy], linewidth=1.3, linestyle=(0, (5, 2)),
            label=label + more,
        )  # fmt: skip
    least = theory.lower_bound(arms) * np.log(t) / cell.extra
    axes.plot(
        t,
        least,
        color=FAINT,
        linewidth=2,
        linestyle=(0, (1, 1.2)),
        label="lower bound for large t (Theorem 3)",
    )
