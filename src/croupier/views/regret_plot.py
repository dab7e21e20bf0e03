"""The regret of several policies over time, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from croupier.errors import MissingExtraError
from croupier.views.formats import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Regret", "plot"]


class Regret(NamedTuple):
    """The mean regret of a policy at each time, and its standard error."""

    name: str
    mean: NDArray[Any]
    stderr: NDArray[Any]


def plot(
    times: NDArray[Any], curves: Sequence[Regret], unit: str, *, figure: Figure | None = None
) -> Figure:
    """Draw one curve per policy, with two standard errors around it; the time is in log scale."""
    try:
        from matplotlib.figure import Figure as NewFigure
    except ImportError:
        raise MissingExtraError("a plot needs", "matplotlib", "plot") from None
    figure = figure or NewFigure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for curve in curves:
        (line,) = axes.plot(times, curve.mean, label=printable(curve.name))
        known = np.nan_to_num(curve.stderr)
        low, high = curve.mean - 2 * known, curve.mean + 2 * known
        axes.fill_between(times, low, high, alpha=0.2, color=line.get_color(), linewidth=0)
    axes.set(xscale="log", xlabel=unit, ylabel="mean regret")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
