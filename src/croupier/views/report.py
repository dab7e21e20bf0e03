"""A run as one HTML page that needs nothing else: no network, no scripts, no other file."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

import croupier
from croupier.views import formats, plots
from croupier.views.formats import html_text
from croupier.views.result_table import html_table
from croupier.views.summary import Batches, Summary, components
from croupier.views.table_content import (
    Column,
    Content,
    agreements,
    content,
    line,
    unnoticed,
)
from croupier.views.write_file import write_file

__all__ = ["page", "write"]

MOST_COMPONENTS = 50
NUMBERS: tuple[Literal["value", "stderr", "low", "high"], ...] = ("value", "stderr", "low", "high")
TINY = sys.float_info.min  # below it, doubles lose their digits

STYLE = """\
:root{color-scheme:light dark;--page:#fff;--ink:#222;--faint:#767676;--rule:#d9d9d9;
--first:#0072b2;--warning:#fff6e0;--edge:#e69f00}
@media screen and (prefers-color-scheme:dark){:root{--page:#15181c;--ink:#dfe2e6;
--faint:#979da5;--rule:#3b4148;--first:#1e88cf;--warning:#352a10}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.5rem 1.25rem 3rem}
h1{font-size:clamp(1.5rem,5.5vw,2.5rem);line-height:1.2;margin:.1em 0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.2rem 0 .6rem}
p{margin:.4rem 0;max-width:46rem}
h1,table,dd{font-variant-numeric:tabular-nums}
.interval{font-size:1.15rem;max-width:none}
.faint{color:var(--faint)}
.warnings{margin:1.5rem 0;padding:.7rem 1rem;background:var(--warning);
border-left:.3rem solid var(--edge)}
.warnings h2{margin:0 0 .3rem}
.warnings ul{margin:0;padding-left:1.2rem;overflow-wrap:anywhere}
.warnings li{max-width:52rem}
.wide{overflow-x:auto;font-size:.9rem}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:1.5rem}
.panels figure{margin:0}
svg{display:block;width:100%;height:auto;max-width:34rem}
svg *{stroke-linejoin:round;stroke-linecap:butt}
dl{display:grid;grid-template-columns:minmax(7rem,12rem) 1fr;gap:.35rem 1.5rem;margin:0 0 .8rem}
dt{color:var(--faint)}
dd{margin:0;max-width:46rem;overflow-wrap:anywhere}
pre{margin:.5rem 0;padding:.6rem .8rem;border:1px solid var(--rule);border-radius:.3rem;
font-size:.85rem;white-space:pre-wrap;overflow-wrap:anywhere}
summary{cursor:pointer}
@media (max-width:34rem){dl{grid-template-columns:1fr;gap:0}dd{margin-bottom:.5rem}
.wide{font-size:.8rem}.wide :is(th,td){padding-right:9px!important}
.bars :is(th,td):nth-child(3){display:none}
.bars td:first-child{white-space:normal!important;overflow-wrap:anywhere;min-width:6.5rem}
.bars :is(th,td):first-child{position:sticky;left:0;background:var(--page)!important}}
@media print{body{font-size:11pt;print-color-adjust:exact}main{max-width:none;padding:0}
.wide{overflow:visible;font-size:8pt}.panels{grid-template-columns:repeat(3,1fr);gap:.5rem}
section,figure{break-inside:avoid}}
"""

KINDS = {
    "fixed-size": "fixed-size: it holds for a run whose end was fixed before it started",
    "many-looks": "many-looks: it allows for stopping when the error is small enough",
    "anytime": "anytime: it holds at all times at once, for every reason to stop",
    "guaranteed": "guaranteed: it holds in finite samples and at all times, by the bounds of the "
    "draws alone",
    "clopper-pearson": "clopper-pearson: exact for draws of 0 and 1 and a number of draws that was "
    "fixed before",
    "never-varied": "never-varied: all draws were equal, so it rests on the bounds of the draws",
}
STOPPED = {
    None: "not yet: this is the answer so far",
    "draws": "by draws: the budget was spent",
    "seconds": "by seconds: the time was used up",
    "cost": "by cost: the budget was spent",
    "tolerance": "by tolerance: the interval was short enough",
    "callback": "by callback, which returned True",
    "interrupted": "interrupted before its end",
    "merged": "merged: each run stopped for its own reason",
}
LONGEST_SETTING = 60
CLOCKS = {"wall": "wall time of the arms' calls", "cpu": "processor time of the arms' calls"}
PANELS = (
    "The estimate and its interval against the cost",
    "The share of the cost so far of each arm",
    "The precision per cost of each arm, relative to the best",
)
LEARNED = "Where the surrogate says that the limit state fails, and the calls"


def page(
    summary: Summary,
    history: Batches,
    plan: Mapping[str, Any],
    runs: Mapping[str, Any] | None = None,
) -> str:
    """Return the run as a page; `plan` has the fields of its plan, `runs` the merged runs.

    Without matplotlib there is a line instead of the picture.
    """
    texts = content(summary, MOST_COMPONENTS)
    body = [
        *_answer(summary, texts),
        *_warnings(texts.warnings),
        *_section("The components", _components(summary, texts)),
        *_section("The arms", _arms(summary, texts)),
        *_section("The runs", _runs(summary, runs) if runs else []),
        *_section("The picture", _picture(summary, history)),
        *_section("What it took", _list(_took(summary))),
        *_section("The plan", [*_list(_plan(summary, plan)), *_whole(summary, plan)]),
        *_section("To get it again", _again(summary, plan)),
    ]
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html_text(line(summary))}</title>",
        f"<style>\n{STYLE}</style>",
        "</head>",
        "<body>",
        "<main>",
        *body,
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def write(path: str | os.PathLike[str], page: str) -> Path:
    """Write the page and return its path: a file at once or not at all, a device as it is."""
    return write_file(path, page.encode("utf-8", "backslashreplace"), "report")


def _answer(summary: Summary, texts: Content) -> Iterable[str]:
    who = "run" if "runs" in summary else "arm"
    count = len(summary["runs"]["seeds"]) if "runs" in summary else len(summary["arms"])
    yield "<header>"
    yield f'<p class="faint">croupier: one answer from {formats.count(count, who)}</p>'
    yield f"<h1>{html_text(texts.estimate)}</h1>"
    yield f'<p class="interval">{html_text(texts.interval)}</p>'
    if "log" in summary and not texts.components:
        yield f"<p>{html_text(_itself(summary))}</p>"
    yield "</header>"


def _components(summary: Summary, texts: Content) -> Iterable[str]:
    if texts.components:
        yield _table("The components", texts.components)
        size = len(components(summary["value"]))
        if size > MOST_COMPONENTS:
            yield (
                f"<p>The first {MOST_COMPONENTS} of {size:,} components; <code>result.value</code> "
                "and <code>result.interval</code> have all of them.</p>"
            )


def _itself(summary: Summary) -> str:
    """Return the quantity whose log was estimated, with its error and interval, if it fits."""
    log = summary["log"]
    value, error, low, high = (components(summary[key])[0] for key in NUMBERS)
    logs = (components(log[key])[0] for key in NUMBERS)
    for x, texts in zip((value, error, low, high), logs, strict=True):
        if math.isfinite(texts) and not TINY <= x < math.inf:
            return "The quantity itself is too small or too large for a floating-point number."
    interval = formats.bracket(low, high, value, error)
    return f"The quantity itself: {formats.number(value, error)}, interval {interval}"


def _warnings(warnings: Sequence[str]) -> Iterable[str]:
    if warnings:
        yield '<section class="warnings">'
        yield f"<h2>{'Warning' if len(warnings) == 1 else 'Warnings'}</h2>"
        yield "<ul>"
        yield from (f"<li>{html_text(warning)}</li>" for warning in warnings)
        yield "</ul>"
        yield "</section>"


def _arms(summary: Summary, texts: Content) -> Iterable[str]:
    yield _table("The arms", texts.arms, texts.shares)
    yield (
        '<p class="faint">share: of the cost; efficiency: '
        f"{html_text(summary['rows']['efficiency'])}; weight: in the estimate.</p>"
    )


def _runs(summary: Summary, runs: Mapping[str, Any]) -> Iterable[str]:
    """Return the estimate of each run; for vectors, the first component."""
    log = "log" in summary
    values, errors = (runs[f"log_{name}" if log else name] for name in ("values", "stderrs"))
    how = formats.log_rounding if log else formats.rounding
    estimates = [
        formats.number(components(value)[0], components(error)[0], how)
        for value, error in zip(values, errors, strict=True)
    ]
    title = "component 0" if np.ndim(summary["value"]) else "estimate"
    columns = [
        Column("run", [str(number) for number in range(1, len(estimates) + 1)], right=False),
        Column("seed", [str(seed) for seed in runs["seeds"]]),
        Column(f"log of {title}" if log else title, estimates),
    ]
    yield _table("The runs", columns)


def _picture(summary: Summary, history: Batches) -> Iterable[str]:
    try:
        figures = plots.panels(summary, history)
    except ImportError as error:
        yield f"<p>No picture: {html_text(str(error))}</p>"
        return
    from croupier.views.inline_svg import inline

    labels = PANELS + (LEARNED,) * len(summary.get("slices", []))
    yield '<div class="panels">'
    for number, (figure, label) in enumerate(zip(figures, labels, strict=True)):
        yield f"<figure>{inline(figure, label, number)}</figure>"
    yield "</div>"


def _took(summary: Summary) -> Iterable[tuple[str, str]]:
    stopped, unit = summary["stopped"], summary["unit"]
    yield "stopped", STOPPED.get(stopped, str(stopped))
    yield "draws", formats.count(summary["draws"])
    if unit != "draws":
        where = " inside the arms" * (unit == "seconds")
        yield "cost", formats.cost(summary["cost"], unit) + where
    yield "time", formats.duration(summary["seconds"]) + ", all runs" * ("runs" in summary)
    yield from summary.get("facts", [])
    yield "interval", KINDS.get(summary["interval_kind"], summary["interval_kind"])
    size = len(components(summary["value"]))
    clearly = "0.001" if size == 1 else f"0.001/{size}"  # the smallest of this many p-values
    for who, p in agreements(summary).items():
        meaning = (
            f"the chance of such differences between {who} that share one mean. Below {clearly}, "
            "at least one of them is biased."
        )
        if "=" not in p and "<" not in p:
            meaning = "too little is known about all of them except one"
        yield f"agreement of the {who}", f"{p}: {meaning}"
    if bias := unnoticed(summary):
        yield "power of this test", f"{bias}, if the other arms are right"
    if len(summary["arms"]) > 1 and (why := summary["rows"]["untested"]) is not None:
        yield f"agreement of the {summary['rows']['arms']}", f"not tested: {why}"


def _plan(summary: Summary, plan: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    parameters = [f"{name}={value!r}" for name, value in plan["policy"].items() if name != "name"]
    yield "table", ", ".join([summary["table"], *_settings(plan["settings"])])
    yield "policy", ", ".join([summary["policy"], *parameters])
    yield "combiner", summary["combine"]
    yield "confidence", formats.level(summary["confidence"])
    if plan["unit"] == "seconds":
        yield "cost", f"seconds, {CLOCKS.get(plan['clock'], plan['clock'])}"
    else:
        yield "cost", "1 per draw" if plan["unit"] == "draws" else "what the arms report"
    if "runs" in summary:
        yield "seeds", ", ".join(map(str, summary["runs"]["seeds"]))
    else:
        yield "seed", str(summary["seed"])
        yield "width", f"{plan['width']:,} (batches that may be out at once)"
        yield "batch", str(plan["batch"])
        yield "first draws", f"{plan['first']} of each arm"
    versions = f"croupier {croupier.__version__}, numpy {np.__version__}"
    yield "page made with", f"{versions}, Python {platform.python_version()}"


def _settings(settings: Mapping[str, Any]) -> Iterable[str]:
    """Those that fit into a line; the whole plan has all of them."""
    for name, value in settings.items():
        if len(text := f"{name}={value!r}") <= LONGEST_SETTING:
            yield text


def _whole(summary: Summary, plan: Mapping[str, Any]) -> Iterable[str]:
    if "runs" not in summary:  # otherwise it is not the plan of any single run
        yield "<details>"
        yield "<summary>The whole plan, as <code>cr.Plan.from_json</code> reads it</summary>"
        yield f"<pre><code>{html_text(json.dumps(plan, sort_keys=True))}</code></pre>"
        yield "</details>"


def _again(summary: Summary, plan: Mapping[str, Any]) -> Iterable[str]:
    if "runs" in summary:
        yield "<p>Make each of the runs again with its own seed, and merge them:</p>"
        yield "<pre><code>cr.merge(runs)</code></pre>"
        return
    yield "<p>Make the same call, with the same arms and the same budget, and with</p>"
    yield f"<pre><code>rng={summary['seed']}, width={plan['width']}</code></pre>"
    if plan["unit"] == "seconds" or summary["stopped"] == "seconds":
        text = (
            "Measured times decided how many draws were made, so a new run will differ. "
            "A run with store= can be read back exactly."
        )
    elif summary["stopped"] in ("draws", "cost", "tolerance"):
        text = (
            "A run that was made in one call gives the same result to the last bit, with any "
            "number of workers, on the same version of numpy and the same type of processor."
        )
    else:
        text = (
            "The draws are the same, with any number of workers, on the same version of numpy and "
            f"the same type of processor; this run ended after {summary['draws']:,} of them."
        )
    yield f"<p>{html_text(text)}</p>"


def _section(title: str, inside: Iterable[str]) -> Iterable[str]:
    lines = list(inside)
    return ["<section>", f"<h2>{title}</h2>", *lines, "</section>"] if lines else []


def _list(pairs: Iterable[tuple[str, str]]) -> Iterable[str]:
    yield "<dl>"
    yield from (f"<dt>{html_text(term)}</dt><dd>{html_text(texts)}</dd>" for term, texts in pairs)
    yield "</dl>"


def _table(label: str, columns: Sequence[Column], bars: Sequence[float] | None = None) -> str:
    """Return a table that can be scrolled if it is too wide, also by the keyboard."""
    kind = "wide" if bars is None else "wide bars"
    box = f'<div class="{kind}" role="region" tabindex="0" aria-label="{label}">'
    return "\n".join([box, html_table(columns, bars), "</div>"])
