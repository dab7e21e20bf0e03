"""The picture of a comparison of models: log evidences with intervals, and probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from croupier.views import formats
from croupier.views.plots import PALETTE, STYLE, plotting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_models"]


def plot_models(
    names: Sequence[str],
    logs: Sequence[float],
    ends: Sequence[tuple[float, float]],
    probabilities: Mapping[str, float],
    *,
    figure: Figure | None = None,
) -> Figure:
    """Draw the models, the best on top, into `figure` if one is given, and return the figure."""
    matplotlib, create = plotting()
    order = np.argsort(logs)
    labels = [formats.shorten(formats.printable(names[k]), 24) for k in order]
    rows = np.arange(len(order))
    with matplotlib.rc_context(STYLE):
        if figure is None:
            figure = create(8.5, 1.6 + 0.35 * len(order))
        left, right = figure.subplots(1, 2, width_ratios=[1.3, 1], sharey=True)
        centre = np.array([logs[k] for k in order])
        bars = np.array([[logs[k] - ends[k][0], ends[k][1] - logs[k]] for k in order]).T
        known = np.isfinite(bars).all(axis=0)
        left.errorbar(centre, rows, xerr=np.where(known, bars, 0), fmt="o", color=PALETTE[0])
        left.set_yticks(rows, labels)
        left.set_title("log evidence")
        right.barh(rows, [probabilities[names[k]] for k in order], color=PALETTE[0], height=0.6)
        right.set_xlim(0, 1)
        right.set_title("probability")
    return figure
