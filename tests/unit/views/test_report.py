"""The page of a run: whole, safe, the same every time, and with the numbers of the table."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.importance import Family
from croupier.views import formats, report
from croupier.views.table_content import content
from tests.marks import slow

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

Run = Callable[..., tuple[Any, Any]]
VOID = {"meta", "br", "hr", "img", "input", "link"}
PLAN: dict[str, Any] = {
    "policy": {"name": "variance-thompson", "floor": 0.5},
    "unit": "draws",
    "clock": "wall",
    "width": 3,
    "batch": "growing",
    "first": 4,
    "settings": {},
}


class Page(HTMLParser):
    """A page as it is read: every end tag has its beginning, every cell its row."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.headings: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.items: list[str] = []
        self.text = ""
        self.terms: dict[str, str] = {}
        self.source = text
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        assert len(attrs) == len(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag in ("h1", "h2"):
            self.headings.append("")
        elif tag == "li":
            self.items.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open  # elsewhere HTML takes no notice of the slash
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = set(self.open)
        if "style" in inside:
            return
        self.text += data
        if {"td", "th"} & inside:
            self.tables[-1][-1][-1] += data
        elif {"h1", "h2"} & inside:
            self.headings[-1] += data
        elif "li" in inside:
            self.items[-1] += data
        elif "dt" in inside:
            self.term = data
        elif "dd" in inside:
            self.terms[self.term] = data


def written(result: cr.Result, folder: Path) -> Page:
    return Page(result.report(folder / "run.html").read_text("utf-8"))


def rows(columns: Any) -> list[list[str]]:
    return [list(row) for row in zip(*([c.title, *c.cells] for c in columns), strict=True)]


def normal(spread: float, mean: Any = 1.0) -> Callable[..., Any]:
    return lambda rng, size: rng.normal(mean, spread, (size, *np.shape(mean)))


def estimate(arms: Any = None, **settings: Any) -> cr.Result:
    arms = arms or {"rough": normal(1.0), "fine": normal(0.1)}
    return cr.estimate(arms, **{"draws": 2000, "rng": 7, **settings})


def _logs() -> cr.Result:
    return estimate({"a": normal(0.1, -3.0), "b": normal(1.0, -3.0)}, log=True)


def _deep() -> cr.Result:
    return estimate({"a": normal(0.1, -5000.0), "b": normal(0.3, -5000.0)}, log=True)


def _reported() -> cr.Result:
    def dear(rng: Any, size: int) -> Any:
        return cr.Draws(rng.normal(1.0, 0.5, size), np.full(size, 3.0))

    return cr.estimate({"dear": dear, "also": dear}, cost=5000, rng=7)


def _disagreeing() -> cr.Result:
    return estimate({"a": normal(0.1), "b & co": normal(0.1, 1.5)}, policy="uniform")


def _strata() -> cr.Result:
    strata = {"low": normal(1.0), "high": normal(0.1, 3.0)}
    return cr.stratify(strata, [0.5, 0.5], draws=2000, rng=7)


def _mixture() -> cr.Result:
    family = Family(stats.norm(), [stats.norm(0, 2), stats.t(4)], np.square)
    return family.estimate(draws=2000, rng=7)


RESULTS: dict[str, Callable[[], cr.Result]] = {
    "scalar": estimate,
    "one arm": lambda: estimate({"only": normal(1.0)}),
    "many arms": lambda: estimate({f"arm {k}": normal(1.0 + k) for k in range(30)}),
    "reported": _reported,
    "constant": lambda: estimate({"flat": lambda rng, size: np.ones(size)}, draws=50),
    "disagreeing": _disagreeing,
    "tolerance": lambda: estimate(rtol=0.01),
    "logs": _logs,
    "deep logs": _deep,
    "nothing": lambda: estimate({"a": lambda rng, size: np.full(size, -np.inf)}, log=True),
    "vector": lambda: estimate({"rough": normal(1.0, np.arange(3.0))}),
    "long vector": lambda: estimate({"a": normal(1, np.ones(120)), "b": normal(2, np.ones(120))}),
    "strata": _strata,
    "mixture": _mixture,
    "merged": lambda: cr.merge([estimate(rng=seed) for seed in (1, 2)]),
    "merged logs": lambda: cr.merge(
        [estimate({"a": normal(0.1, -3.0)}, log=True, rng=seed) for seed in (1, 2)]
    ),
    "merged vectors": lambda: cr.merge(
        [estimate({"a": normal(0.1, np.ones(3))}, rng=seed) for seed in (1, 2)]
    ),
    "merged others": lambda: cr.merge(
        [estimate(rng=1), estimate({"other": normal(0.3)}, rng=2)]
    ),
}  # fmt: skip


class Made(dict[str, Any]):
    """What is asked for, made once."""

    def __init__(self, make: Callable[[str], Any]) -> None:
        super().__init__()
        self.make = make

    def __missing__(self, kind: str) -> Any:
        return self.setdefault(kind, self.make(kind))


@pytest.fixture(scope="module")
def results() -> dict[str, cr.Result]:
    return Made(lambda kind: RESULTS[kind]())


@pytest.fixture(scope="module")
def pages(
    results: dict[str, cr.Result], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Page]:
    folder = tmp_path_factory.mktemp("pages")

    def make(kind: str) -> Page:
        result = results[kind]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return written(result, folder)

    return Made(make)


# -- of every kind of run

A_FEW = (
    "many arms",
    "constant",
    "deep logs",
    "nothing",
    "long vector",
    "strata",
    "mixture",
    "merged",
)
every_kind = pytest.mark.parametrize(
    "kind", [*A_FEW, *slow(*[kind for kind in RESULTS if kind not in A_FEW])]
)


@every_kind
def test_the_page_is_whole_and_has_the_numbers_of_the_table(
    kind: str, results: dict[str, cr.Result], pages: dict[str, Page]
) -> None:
    result, page = results[kind], pages[kind]
    said = content(result.to_dict())
    assert page.headings[0] == said.estimate
    assert said.interval in page.text
    arms = [row[:2] + row[3:] for row in page.tables[-2 if result.runs else -1]]  # but for the bars
    assert arms == rows(said.arms)
    assert page.items == list(result.warnings)
    assert page.terms["draws"] == formats.count(result.draws)
    assert page.terms["time"].startswith(formats.duration(result.seconds))
    assert page.tags.count("svg") == 3
    assert page.source.startswith("<!DOCTYPE html>\n")


@every_kind
def test_the_page_needs_nothing_from_elsewhere(kind: str, pages: dict[str, Page]) -> None:
    page = pages[kind]
    assert not {"script", "link", "img", "iframe", "object", "base", "a"} & set(page.tags)
    assert "://" not in page.source
    assert "@import" not in page.source
    for name, value in page.attributes:
        assert not name.startswith("on")
        assert name not in ("src", "srcset", "data", "action")
        assert name != "href" or value.startswith("#")
        assert all(part.startswith("#") for part in re.findall(r"url\((.*?)\)", value))


@every_kind
def test_every_id_is_there_once_and_everything_that_is_referred_to(
    kind: str, pages: dict[str, Page]
) -> None:
    page = pages[kind]
    ids = [value for name, value in page.attributes if name == "id"]
    used = {value[1:] for name, value in page.attributes if name == "href"}
    used |= {part for _, value in page.attributes for part in re.findall(r"url\(#(.*?)\)", value)}
    assert len(ids) == len(set(ids))
    assert set(ids) == used


@pytest.mark.parametrize("kind", ["many arms", "merged", *slow("deep logs", "long vector")])
def test_the_same_result_gives_the_same_bytes(
    kind: str, results: dict[str, cr.Result], pages: dict[str, Page], tmp_path: Path
) -> None:
    again = results[kind].report(tmp_path / "again.html")
    assert again.read_bytes() == pages[kind].source.encode()


def test_the_picture_follows_the_colours_of_the_page(pages: dict[str, Page]) -> None:
    page = pages["many arms"]
    styles = " ".join(value for name, value in page.attributes if name == "style")
    assert not {"#333333", "#8c8c8c", "#ffffff", "#000000"} & set(
        re.findall("#[0-9a-f]{6}", styles)
    )
    wanted = set(re.findall(r"var\((--\w+)\)", page.source))
    light, dark = re.findall(r":root\{(.*?)\}", page.source, re.DOTALL)
    assert wanted
    assert all(f"{name}:" in light for name in wanted)
    assert all(f"{name}:" in dark for name in wanted - {"--edge"})


# -- what it says


def test_names_and_warnings_are_text_and_no_markup(tmp_path: Path) -> None:
    name = '<script>alert("1")</script> & $x$ \udc80 漢'
    odd = estimate({name: normal(0.1), "</style>": normal(0.1, 1.5)}, policy="uniform")
    page = written(odd, tmp_path)
    assert any("</style>" in warning for warning in page.items)
    assert '<script>alert("1")</script> & $x$ \\udc80 漢' in page.text
    assert "<script" not in page.source
    assert page.source.count("</style>") == 1
    assert len(page.tables) == 1


def test_warnings_come_before_everything_but_the_answer(
    results: dict[str, cr.Result], pages: dict[str, Page]
) -> None:
    page = pages["disagreeing"]
    assert page.headings[1] in ("Warning", "Warnings")
    assert any("disagree" in warning for warning in page.items)
    first = escape(results["disagreeing"].warnings[0])
    assert page.source.index(first) < page.source.index("<table")
    assert "Warning" not in pages["scalar"].text


def test_of_logs_the_log_comes_first_and_then_what_a_double_can_hold(
    results: dict[str, cr.Result], pages: dict[str, Page]
) -> None:
    result, page = results["logs"], pages["logs"]
    log = formats.number(result.log_value, result.log_stderr, formats.log_rounding)
    value = formats.number(result.value, result.stderr)
    assert page.headings[0] == f"log: {log}"
    assert f"The quantity itself: {value}, interval [" in page.text
    assert "log mean" in page.tables[0][0]
    assert "for a floating-point number" in pages["deep logs"].text
    assert "The quantity itself: 0 ± unknown" in pages["nothing"].text


@pytest.mark.usefixtures("no_matplotlib")
@pytest.mark.parametrize(("log", "held"), [(-700, True), (-706, False), (0, True), (709.33, False)])
def test_a_quantity_is_shown_only_with_an_error_and_an_interval_that_doubles_hold(
    log: float, held: bool, tmp_path: Path
) -> None:
    result = estimate({"a": normal(1.0, log), "b": normal(1.0, log)}, log=True)
    assert ("for a floating-point number" in written(result, tmp_path).text) == (not held)


def test_of_a_long_vector_the_first_fifty_components_are_listed(
    results: dict[str, cr.Result], pages: dict[str, Page]
) -> None:
    page = pages["long vector"]
    table = page.tables[0]
    assert [row[0] for row in table[1:]] == [*map(str, range(50)), "... 70 more"]
    result = results["long vector"]
    assert table[50][1] == formats.number(result.value[49], result.stderr[49])
    assert "The first 50 of 120 components" in page.text
    assert "Component 0: " in page.text
    assert "0.001/120" in page.terms["agreement of the arms"]
    short = pages["vector"]
    assert len(short.tables[0]) == 4
    assert "The first 50" not in short.text


def test_a_merged_result_lists_its_runs(
    results: dict[str, cr.Result], pages: dict[str, Page]
) -> None:
    for kind in ("merged", "merged logs", "merged others"):
        result, page = results[kind], pages[kind]
        assert result.runs is not None
        how = formats.log_rounding if result.plan.log else formats.rounding
        values = result.runs.log_values or result.runs.values
        errors = result.runs.log_stderrs or result.runs.stderrs
        assert page.tables[-1][1:] == [
            [str(k + 1), str(k + 1), formats.number(values[k], errors[k], how)] for k in range(2)
        ]
        assert page.terms["seeds"] == "1, 2"
        assert page.terms["agreement of the runs"].startswith("p = ")
        assert "cr.merge(runs)" in page.text
        assert "rng=" not in page.text
    vectors = results["merged vectors"].runs
    table = pages["merged vectors"].tables[-1]
    assert vectors is not None
    assert table[0] == ["run", "seed", "component 0"]
    assert table[2][2] == formats.number(vectors.values[1][0], vectors.stderrs[1][0])


def test_what_agreement_means_is_said_where_it_was_tested(pages: dict[str, Page]) -> None:
    def said(kind: str) -> str | None:
        found = (text for term, text in pages[kind].terms.items() if "agreement of the" in term)
        return next(found, None)

    assert "at least one of them is biased" in str(said("disagreeing"))
    assert said("strata") == "not tested: each stratum has its own mean"
    assert str(said("mixture")).startswith("not tested: a single proposal")
    assert said("one arm") is None


@pytest.mark.parametrize(
    ("stopped", "words", "again"),
    [
        ("draws", "the budget was spent", "to the last bit"),
        ("tolerance", "short enough", "to the last bit"),
        ("seconds", "the time was used up", "a new run will differ"),
        ("callback", "which returned True", "ended after"),
        ("interrupted", "before its end", "ended after"),
        (None, "the answer so far", "ended after"),
        ("tired", "tired", "ended after"),
    ],
)
@pytest.mark.usefixtures("no_matplotlib")
def test_the_page_says_what_stopped_the_run_and_how_to_get_it_again(
    run: Run, stopped: str | None, words: str, again: str
) -> None:
    summary, history = run(stopped=stopped)
    page = Page(report.page(summary, history, PLAN))
    assert words in page.terms["stopped"]
    assert "rng=7, width=3" in page.text
    assert again in page.text


def test_the_plan_is_there_in_words_and_as_json(
    results: dict[str, cr.Result], pages: dict[str, Page]
) -> None:
    page = pages["scalar"]
    assert page.terms["policy"] == "variance-thompson, floor=0.5"
    assert page.terms["combiner"] == "guarded"
    assert page.terms["seed"] == "7"
    assert page.terms["batch"] == "growing"
    assert f"croupier {cr.__version__}, numpy {np.__version__}" in page.terms["page made with"]
    assert escape(results["scalar"].plan.to_json()) in page.source


@pytest.mark.parametrize(
    ("kind", "words"),
    [("fixed-size", "fixed before"), ("many-looks", "small enough"), ("anytime", "at all times")],
)
@pytest.mark.usefixtures("no_matplotlib")
def test_the_kind_of_interval_is_said_in_words(run: Run, kind: str, words: str) -> None:
    summary, history = run(interval_kind=kind)
    assert words in Page(report.page(summary, history, PLAN)).terms["interval"]


@pytest.mark.usefixtures("no_matplotlib")
def test_costs_are_in_the_unit_of_the_budget(run: Run) -> None:
    summary, history = run(unit="seconds", cost=0.7)
    page = Page(report.page(summary, history, {**PLAN, "unit": "seconds", "clock": "cpu"}))
    assert "0.7 s inside the arms" in page.text
    assert page.terms["cost"] == "seconds, processor time of the arms' calls"
    summary, history = run(unit="cost", cost=1234.0)
    page = Page(report.page(summary, history, {**PLAN, "unit": "cost"}))
    assert page.terms["cost"] == "what the arms report"


@pytest.mark.usefixtures("no_matplotlib")
def test_a_stored_run_gives_the_page_of_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    result = estimate(store=path)
    stored = cr.open_run(path).result()
    first, second = written(result, tmp_path), written(stored, tmp_path)
    assert first.tables == second.tables
    assert first.headings == second.headings
    assert second.terms["stopped"] == first.terms["stopped"]


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_the_page_says_how_to_get_the_picture(
    results: dict[str, cr.Result], tmp_path: Path
) -> None:
    page = written(results["scalar"], tmp_path)
    assert 'No picture: a plot needs matplotlib: pip install ".[plot]"' in page.text
    assert "svg" not in page.tags
    assert page.tables


# -- where it is written


def test_the_path_comes_back_and_an_older_page_is_replaced(
    results: dict[str, cr.Result], tmp_path: Path
) -> None:
    target = tmp_path / "run.html"
    target.write_text("<!DOCTYPE html>older")
    link = tmp_path / "link.html"
    try:
        link.symlink_to(target)
    except OSError:  # not everybody may make links on Windows
        link = target
    assert results["scalar"].report(str(link)) == link
    assert target.read_text("utf-8").startswith("<!DOCTYPE html>")
    assert link.is_symlink() == (link != target)
    assert {path.name for path in tmp_path.iterdir()} == {"run.html", link.name}


def test_a_path_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere; make it first"):
        report.write(tmp_path / "nowhere" / "run.html", "page")
    with pytest.raises(IsADirectoryError, match=r"is a folder; give a file, such as .*run\.html"):
        report.write(tmp_path, "page")
    assert not list(tmp_path.iterdir())


def test_a_page_that_fails_on_the_way_leaves_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.html"
    path.write_text("<!DOCTYPE html>older")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device", "somewhere")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match=r"cannot write the report: No space left .*run\.html"):
        report.write(path, "<!DOCTYPE html>page")
    assert path.read_text() == "<!DOCTYPE html>older"
    assert list(tmp_path.iterdir()) == [path]
