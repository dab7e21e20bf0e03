"""A matplotlib figure that shows itself in a notebook without pyplot. Needs matplotlib."""

from __future__ import annotations

import io

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

__all__ = ["NotebookFigure"]


class NotebookFigure(Figure):
    """A figure with its own canvas, known to no global list of figures.

    Notebooks draw a plain Figure only after pyplot was imported; this one brings its picture.
    """

    @classmethod
    def create(cls, width: float, height: float) -> NotebookFigure:
        """A figure of so many inches."""
        roomy = ConstrainedLayoutEngine(w_pad=0.1)
        figure = cls(figsize=(width, height), layout=roomy, facecolor="white")
        FigureCanvasAgg(figure)
        return figure

    def _repr_png_(self) -> bytes:
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=120)
        return picture.getvalue()
