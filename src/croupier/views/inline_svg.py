"""A matplotlib figure as SVG inside a page, in the light or dark colours of the page."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from croupier.views.plots import FAINT, INK, PALETTE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["inline"]

#: The colours of a figure for white paper, and the variables of the page that replace them.
THEME = {
    INK: "var(--ink)",
    "#000000": "var(--ink)",
    FAINT.lower(): "var(--faint)",
    "#ffffff": "var(--page)",
    PALETTE[0].lower(): "var(--first)",
}
_COLOUR = re.compile("#[0-9a-f]{6}")
_USED = re.compile(r"url\(#(.+?)\)|^#(.+)$")


def inline(figure: Figure, label: str, number: int) -> str:
    """Return the figure as an svg element; the same figure gives the same text.

    `number` must be different for every figure on a page. The element refers to nothing outside
    itself, and no other figure has its ids.
    """
    import matplotlib

    file = io.BytesIO()
    settings: Any = {"svg.fonttype": "none", "svg.hashsalt": f"croupier {number}"}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # The browser draws the text, with its own fonts.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        figure.savefig(file, format="svg", metadata={"Date": None})
    svg = ElementTree.fromstring(file.getvalue())
    for parent in list(svg.iter()):
        for child in list(parent):
            # A style inside a page would apply to the whole page.
            if _bare(child.tag) in ("metadata", "style"):
                parent.remove(child)
    elements = list(svg.iter())
    used = {
        one or other
        for element in elements
        for value in element.attrib.values()
        for one, other in _USED.findall(value)
    }
    for element in elements:
        element.tag = _bare(element.tag)
        attributes = {_bare(name): value for name, value in element.attrib.items()}
        if attributes.get("id") not in used:
            attributes.pop("id", None)
        for name in ("style", "fill", "stroke"):
            if name in attributes:
                attributes[name] = _COLOUR.sub(_themed, attributes[name])
        element.attrib.clear()
        element.attrib.update(attributes)
    for name in ("width", "height", "version"):
        svg.attrib.pop(name, None)
    svg.attrib.update({"role": "img", "aria-label": label})
    return ElementTree.tostring(svg, encoding="unicode").strip()


def _bare(name: str) -> str:
    """Return a name without its namespace: HTML knows what belongs to an svg."""
    return name.rpartition("}")[2]


def _themed(colour: re.Match[str]) -> str:
    return THEME.get(colour[0], colour[0])
