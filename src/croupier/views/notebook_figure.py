"""A matplotlib figure that shows itself in a notebook without pyplot. Needs matplotlib."""

from __future__ import annotations

import io
import math
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import Formatter, LogLocator, MaxNLocator

__all__ = ["CostLabels", "CostTicks", "NotebookFigure"]


class NotebookFigure(Figure):
    """A figure with its own canvas, which is in no global list of figures.

    Notebooks draw a plain Figure only after pyplot was imported; this figure draws itself.
    """

    @classmethod
    def create(cls, width: float, height: float) -> NotebookFigure:
        """Make a figure of this size in inches."""
        roomy = ConstrainedLayoutEngine(w_pad=0.1)
        figure = cls(figsize=(width, height), layout=roomy, facecolor="white")
        FigureCanvasAgg(figure)
        return figure

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=120)
        return picture.getvalue()


class CostTicks(LogLocator):
    """Ticks of a logarithmic axis, few enough for each to have its label.

    The ticks are powers of ten. Below about two decades they are 1, 3, 10, ..., below one decade
    1, 2, 5, 10, .... If these are too few, the ticks are those of a linear axis.
    """

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two ends."""
        low, high = sorted((vmin, vmax))
        decades = math.log10(high / low) if low > 0 else math.inf
        if decades < 0.75:
            return MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high)
        self.set_params(subs=[1, 2, 5] if decades < 1.4 else [1, 3] if decades < 2.2 else [1])
        return super().tick_values(low, high)


class CostLabels(Formatter):
    """Labels of such ticks: all written out, or all as powers of ten if the numbers are long."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of one tick."""
        low, high = sorted(self.axis.get_view_interval().tolist())  # type: ignore[union-attr]
        if low >= 1e-3 and high < 1e6 and high < 10**4.5 * low:
            return f"{x:,g}"
        digits, _, exponent = f"{x:.6e}".partition("e")
        times = "" if float(digits) == 1 else rf"{float(digits):g}\times"
        return f"${times}10^{{{int(exponent)}}}$"
