"""The table of a run in three forms: plain text, a rich renderable, and HTML for notebooks."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

from croupier.views.formats import html_text
from croupier.views.summary import Summary
from croupier.views.table_content import Column, Content, content, fit, fit_all

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.table import Table

__all__ = ["html", "html_table", "rich_table", "text"]

WIDTH = 80
BAR = 12


def text(summary: Summary) -> str:
    """Return the run as plain text in 80 columns.

    >>> from croupier.views.summary import example
    >>> print(text(example()))
    0.5026 ± 0.0033   95% interval [0.4961, 0.5091]
    1,000 draws in 2.1 ms, stopped by draws
    <BLANKLINE>
    arm     share  draws             mean  variance  efficiency  weight
    tilted  90.0%    900  0.5031 ± 0.0033      0.01           1   98.0%
    naive   10.0%    100    0.480 ± 0.050      0.25        0.04    2.0%
    <BLANKLINE>
    agreement of the arms: p = 0.64
    a bias of 28 % in 'tilted' would not have been noticed
    policy variance-thompson, combine guarded, seed 7
    """
    texts = content(summary)
    lines = [f"{texts.estimate}   {texts.interval}", texts.took, ""]
    if texts.components:
        lines += [*_rows(texts.components), ""]
    for columns in fit_all(texts.arms, WIDTH):
        lines += [*_rows(columns), ""]
    for note in texts.notes:
        lines += textwrap.wrap(note, WIDTH, break_long_words=False)
    for warning in texts.warnings:
        lines += textwrap.wrap(
            f"warning: {warning}",
            WIDTH,
            subsequent_indent="         ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return "\n".join(lines)


def _rows(columns: Sequence[Column]) -> Iterator[str]:
    columns = fit(columns, WIDTH)
    for row in zip(*([c.title, *c.cells] for c in columns), strict=True):
        cells = (
            cell.rjust(c.width) if c.right else cell.ljust(c.width)
            for cell, c in zip(row, columns, strict=True)
        )
        yield "  ".join(cells).rstrip()


def rich_table(summary: Summary) -> RenderableType:
    """Return the same table for ``rich.print``, with a bar for the share."""
    return _RichSummary(content(summary))


@dataclass(frozen=True)
class _RichSummary:
    """The table, rendered when its console, and so its width, is known."""

    texts: Content

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        from rich.table import Table
        from rich.text import Text

        texts, width = self.texts, options.max_width
        yield Text.assemble((texts.estimate, "bold"), "   ", (texts.interval, "default"))
        yield Text(texts.took, "dim")
        yield ""
        if texts.components:
            yield _rich_columns(Table, fit(texts.components, width), bold_first=False)
            yield ""
        bars = texts.shares if width >= 60 else None
        first, *rest = fit_all(texts.arms, width - (BAR + 2 if bars else 0))
        yield _rich_columns(Table, first, bars=bars, ascii_only=options.ascii_only)
        yield ""
        for columns in rest:
            yield _rich_columns(Table, columns)
            yield ""
        for note in texts.notes:
            yield Text(note, "dim")
        for warning in texts.warnings:
            grid = Table.grid(padding=(0, 1))
            grid.add_row(Text("warning:", "bold yellow"), Text(warning, "yellow"))
            yield grid


def _rich_columns(
    table_type: type[Table],
    columns: Sequence[Column],
    *,
    bars: Sequence[float] | None = None,
    bold_first: bool = True,
    ascii_only: bool = False,
) -> Table:
    """Return columns as a rich table; names are Text, so that brackets in them are not markup."""
    from rich.text import Text

    table = table_type(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for i, column in enumerate(columns):
        table.add_column(column.title, justify="right" if column.right else "left", no_wrap=True)
        if i == 1 and bars is not None:
            table.add_column("", width=BAR)
    for i, row in enumerate(zip(*(c.cells for c in columns), strict=True)):
        more = columns[0].rest and i == len(columns[0].cells) - 1
        style = "dim" if more else "bold" if i == 0 and bold_first else ""
        cells: list[RenderableType] = [Text(cell, style) for cell in row]
        if bars is not None:
            colour = "green" if i == 0 and not more else "bright_black" if more else "blue"
            cells.insert(2, Text(_bar(bars[i], "=" if ascii_only else "━"), colour))
        table.add_row(*cells)
    return table


def _bar(share: float, stroke: str) -> str:
    """Return a share as a bar; every share above 0 shows at least one character.

    >>> _bar(0.5, "="), _bar(0.001, "="), _bar(0.0, "=")
    ('======', '=', '')
    """
    return stroke * min(BAR, max(round(BAR * share), int(share > 0)))


_FAINT = "opacity:.65"
_CELL = "padding:2px 14px 2px 0;border:0;white-space:nowrap;vertical-align:middle;background:none"
_FIRST = "rgba(0,158,115,.85)"  # greens, blues and greys that hold on white and on black
_OTHER = "rgba(86,150,210,.85)"
_REST = "rgba(128,128,128,.6)"


def html(summary: Summary) -> str:
    """Return the run as HTML with inline styles only: it inherits colours, light or dark."""
    texts = content(summary)
    parts = [
        '<div style="font-size:13px;line-height:1.5;font-variant-numeric:tabular-nums">',
        f'<div><span style="font-size:1.35em;font-weight:600">{html_text(texts.estimate)}</span>'
        f'<span style="margin-left:1.2em">{html_text(texts.interval)}</span></div>',
        f'<div style="{_FAINT}">{html_text(texts.took)}</div>',
    ]
    if texts.components:
        parts.append(html_table(texts.components))
    parts.append(html_table(texts.arms, texts.shares))
    parts += [f'<div style="{_FAINT}">{html_text(note)}</div>' for note in texts.notes]
    parts += [
        '<div style="margin-top:4px;padding:2px 8px;border-left:3px solid #E69F00">'
        f"<b>warning:</b> {html_text(warning)}</div>"
        for warning in texts.warnings
    ]
    return "\n".join([*parts, "</div>"])


def html_table(columns: Sequence[Column], bars: Sequence[float] | None = None) -> str:
    """Return a table that sets its own alignment, as notebooks align everything to the right."""
    aligned = [f"text-align:{'right' if c.right else 'left'};{_CELL}" for c in columns]
    head = [
        f'<th scope="col" style="{style};font-weight:normal;{_FAINT}">{html_text(c.title)}</th>'
        for c, style in zip(columns, aligned, strict=True)
    ]
    if bars is not None:
        head.insert(2, f'<th style="{_CELL}"></th>')
    lines = [
        '<table style="border-collapse:collapse;border:0;margin:8px 0;color:inherit">',
        '<thead><tr style="border-bottom:1px solid rgba(128,128,128,.5)">',
        "".join(head),
        "</tr></thead>",
        "<tbody>",
    ]
    for i, row in enumerate(zip(*(c.cells for c in columns), strict=True)):
        more = columns[0].rest and i == len(columns[0].cells) - 1
        weight = ";font-weight:600" if i == 0 and bars is not None else ""
        cells = [
            f'<td style="{style}{weight}">{html_text(cell)}</td>'
            for cell, style in zip(row, aligned, strict=True)
        ]
        if bars is not None:
            colour = _REST if more else _FIRST if i == 0 else _OTHER
            cells.insert(2, f'<td style="{_CELL}">{_html_bar(bars[i], colour)}</td>')
        lines.append(f'<tr style="background:none">{"".join(cells)}</tr>')
    return "\n".join([*lines, "</tbody>", "</table>"])


def _html_bar(share: float, colour: str) -> str:
    return (
        '<div style="width:90px;height:8px;border-radius:2px;background:rgba(128,128,128,.18)">'
        f'<div style="width:{100 * min(max(share, 0.0), 1.0):.1f}%;height:8px;border-radius:2px;'
        f'background:{colour}"></div></div>'
    )
