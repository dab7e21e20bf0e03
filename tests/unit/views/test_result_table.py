"""The table of a run: what it says, and that it fits where it is shown."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from typing import Any

import pytest
from rich.console import Console

from croupier.views.result_table import html, rich_table, text
from croupier.views.summary import Summary

Run = Callable[..., tuple[Any, Any]]


def shown_by_rich(summary: Summary, width: int = 100) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(rich_table(summary))
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_the_first_line_is_the_estimate_with_its_interval(run: Run) -> None:
    summary, _ = run(stderr=0.000123, low=1.23433, high=1.23481)
    first = text(summary).splitlines()[0]
    assert first == "1.23457 ± 0.00012   95% interval [1.23433, 1.23481]"


def test_the_second_line_says_what_it_took(run: Run) -> None:
    summary, _ = run(draws=1_000_000)
    assert text(summary).splitlines()[1] == "1,000,000 draws in 0.84 s, stopped by draws"
    summary, _ = run(draws=10, unit="cost", cost=1234.0, stopped="tolerance")
    second = text(summary).splitlines()[1]
    assert second == "10 draws at a cost of 1,234 in 0.84 s, stopped by tolerance"
    summary, _ = run(draws=10, unit="seconds", cost=0.7, stopped="interrupted")
    assert (
        text(summary).splitlines()[1] == "10 draws in 0.84 s (0.7 s inside the arms), interrupted"
    )


@pytest.mark.parametrize(
    ("kind", "words"),
    [("many-looks", "valid over many looks"), ("anytime", "valid at any time")],
)
def test_an_interval_for_many_looks_says_so_in_words(run: Run, kind: str, words: str) -> None:
    for components in (None, 3):
        summary, _ = run(components=components, interval_kind=kind)
        assert words in text(summary).splitlines()[0]
    assert "valid" not in text(run()[0])


def test_arms_are_listed_by_their_share_of_the_cost(run: Run) -> None:
    summary, _ = run(arms=4)
    summary["arms"].reverse()
    rows = text(summary).splitlines()[4:8]
    assert [row.split()[0] for row in rows] == ["tilted", "antithetic", "control", "naive"]


@pytest.mark.parametrize("unit", ["draws", "seconds", "cost"])
@pytest.mark.parametrize("value", [1.2345, 1e-9, 1e30])
@pytest.mark.parametrize("arms", [1, 4, 10_000])
@pytest.mark.parametrize("components", [None, 50])
def test_plain_text_fits_into_80_columns(
    run: Run, unit: str, value: float, arms: int, components: int | None
) -> None:
    summary, _ = run(
        arms=arms,
        components=components,
        value=value,
        batches=2000,
        unit=unit,
        seed=2**128 - 1,
        warnings=["this sentence is much longer than a terminal is wide " * 3],
    )
    summary["arms"][0]["name"] = "an_importance_sampler_with_a_very_long_name_indeed"
    assert max(map(len, text(summary).splitlines())) <= 80


def test_plain_text_needs_no_more_than_a_western_code_page(run: Run) -> None:
    summary, _ = run(unit="seconds")
    summary["arms"][0].update(name="long " * 20, cost_per_draw=1.2e-5)
    shown = text(summary)
    assert set(shown) - set(map(chr, range(128))) <= set("±µ…")
    shown.encode("cp1252")


def test_columns_are_aligned(run: Run) -> None:
    lines = text(run()[0]).splitlines()
    header, rows = lines[3], lines[4:8]
    end = header.index("draws") + len("draws")
    assert all(row[end - 1].isdigit() and row[end] == " " for row in rows)


def test_of_many_arms_the_largest_are_shown_and_the_others_counted(run: Run) -> None:
    summary, _ = run(arms=10_000, batches=60_000)
    lines = text(summary).splitlines()
    more = next(line for line in lines if line.startswith("..."))
    assert more.startswith("... 9,980 more arms")
    shown = lines[4 : lines.index(more)]
    assert len(shown) == 20
    draws = [int(line.split()[2].replace(",", "")) for line in shown]
    assert draws == sorted(draws, reverse=True)
    rest = int(more.split()[5].replace(",", ""))
    assert sum(draws) + rest == sum(arm["draws"] for arm in summary["arms"])


def test_an_arm_that_was_never_drawn_shows_what_is_not_known(run: Run) -> None:
    summary, _ = run(arms=2)
    summary["arms"][1].update(
        draws=0, share=0.0, mean=None, variance=None, cost_per_draw=None, efficiency=None, weight=0
    )
    row = next(line for line in text(summary).splitlines() if line.startswith("antithetic"))
    assert row.split() == ["antithetic", "0%", "0", "-", "-", "-", "0%"]


def test_an_arm_may_bring_an_error_whose_square_is_no_float(run: Run) -> None:
    summary, _ = run(arms=1, value=2.0**-600)
    assert summary["arms"][0]["variance"] == 0
    summary["arms"][0]["stderr"] = 2.0**-606
    assert "(2.410 ± 0.038)e-181" in text(summary).splitlines()[4]


def test_a_run_in_which_nothing_varied_is_shown_all_the_same(run: Run) -> None:
    summary, _ = run(value=2.0, stderr=math.nan, low=-math.inf, high=math.inf)
    for arm in summary["arms"]:
        arm["variance"] = 0.0
        arm["efficiency"] = math.nan
    assert text(summary).startswith("2 ± unknown   95% interval [-inf, inf]")
    assert "2 ± unknown" in shown_by_rich(summary)
    assert "2 ± unknown" in html(summary)


def test_of_a_vector_the_first_components_are_listed_and_the_others_counted(run: Run) -> None:
    summary, _ = run(components=50)
    summary["value"] = [float(i) for i in range(50)]
    lines = text(summary).splitlines()
    assert lines[0] == "50 components   each with its 95% interval"
    assert [line.split()[:2] for line in lines[4:14]] == [[str(i), f"{i}.0000"] for i in range(10)]
    assert lines[14] == "... 40 more"
    assert "mean" not in text(summary)


def test_the_agreement_of_a_vector_is_that_of_its_worst_component(run: Run) -> None:
    summary, _ = run(components=3, agreement=[None, 0.5, 1e-9])
    assert "agreement of the arms: smallest p = 1e-09 (component 2 of 3)" in text(summary)


def test_agreement_is_left_out_for_one_arm_and_may_be_untestable(run: Run) -> None:
    assert "agreement" not in text(run(arms=1, agreement=None)[0])
    assert "agreement of the arms: not testable" in text(run(agreement=None)[0])
    none = [None, None]
    assert "agreement of the arms: not testable" in text(run(components=2, agreement=none)[0])


def test_every_warning_is_shown_by_every_view(run: Run) -> None:
    summary, _ = run(warnings=["the arms disagree", "a tail looks infinite"])
    for shown in (text(summary), shown_by_rich(summary)):
        assert "warning: the arms disagree" in shown
        assert "warning: a tail looks infinite" in shown
    assert html(summary).count("<b>warning:</b>") == 2


@pytest.mark.parametrize("width", [20, 40, 80, 120])
def test_the_rich_table_fits_its_console(run: Run, width: int) -> None:
    summary, _ = run(unit="cost", arms=30, batches=2000)
    assert max(map(len, shown_by_rich(summary, width).splitlines())) <= width


def test_names_are_no_markup(run: Run) -> None:
    summary, _ = run(arms=1)
    summary["arms"][0]["name"] = "[red]<script>&[/nonsense]"
    assert "[red]<script>&[/nonsense]" in shown_by_rich(summary, 120)
    shown = html(summary)
    assert "<script>" not in shown
    assert "&lt;script&gt;&amp;" in shown


class Balance(HTMLParser):
    """Raises on a tag that closes what was not open; collects what is left open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("components", [None, 12])
def test_html_is_a_balanced_fragment_that_loads_nothing(run: Run, components: int | None) -> None:
    shown = html(run(arms=30, batches=2000, components=components, warnings=["<b>"])[0])
    parser = Balance()
    parser.feed(shown)
    assert parser.open == []
    assert not parser.seen & {"html", "body", "script", "style", "link", "img"}
    assert "http" not in shown
    assert "url(" not in shown


def test_all_views_show_the_same_numbers(run: Run) -> None:
    summary, _ = run()
    rich_shown, html_shown = shown_by_rich(summary, 120), html(summary)
    for line in text(summary).splitlines():
        for cell in filter(None, line.split("  ")):
            assert cell.strip() in rich_shown
            assert escape(cell.strip()) in html_shown
