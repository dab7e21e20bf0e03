"""What the three pictures share: the names and colours of the policies, and titles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from croupier.views.plots import INK, PALETTE
from paper.study import DEFAULT, PAPER

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "NAMES", "entitle"]

#: Colours that the colour-blind tell apart.
COLOURS: Final = dict(
    zip((*PAPER, DEFAULT), (PALETTE[1], PALETTE[0], PALETTE[2], PALETTE[3], "#000000"), strict=True)
)
NAMES: Final = {
    "ucb1": "UCB1",
    "ucb-v": "UCB-V",
    "kl-ucb": "KL-UCB",
    "thompson": "Thompson",
    DEFAULT: "croupier's default",
}


def entitle(axes: Axes, title: str, subtitle: str) -> None:
    """Write a title, and a line below it that says how to read the panel."""
    axes.set_title(title, pad=20)
    axes.annotate(
        subtitle, (0, 1), (0, 7), "axes fraction", "offset points", fontsize=8.5, color=INK
    )
