"""The page of `croupier serve`: one HTML text that asks for its data every two seconds.

All text from a store is set as text, never as HTML. The page loads nothing but its data.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256

__all__ = ["POLICY", "page"]

_STYLE = """
:root { color-scheme: light dark; --line: rgba(128,128,128,.35); --soft: rgba(128,128,128,.16); }
body { font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; padding: 1rem; max-width: 1300px; }
main { display: grid; gap: 1rem; grid-template-columns:
  repeat(auto-fit, minmax(min(100%, 560px), 1fr)); }
section { border: 1px solid var(--line); border-radius: 8px; padding: 1rem; min-width: 0; }
h1 { font-size: 1.1rem; margin: 0 0 1rem; }
h2 { font-size: 1rem; margin: 0; overflow-wrap: anywhere; }
.state { opacity: .75; white-space: pre-line; overflow-wrap: anywhere; font-size: .85rem; }
.answer { font-size: 1.4rem; font-weight: 600; margin-top: .6rem; }
.budget { height: 8px; border-radius: 4px; background: var(--soft); margin: .5rem 0; }
.budget div { height: 8px; border-radius: 4px; background: #0072B2; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .85rem; }
th { text-align: right; font-weight: normal; opacity: .7; border-bottom: 1px solid var(--line); }
td { text-align: right; font-variant-numeric: tabular-nums; } td, th { padding: 2px 10px 2px 0; }
td:first-child, th:first-child { text-align: left; }
td div { height: 8px; border-radius: 2px; background: #009E73; }
.bar { min-width: 60px; width: 20%; } td.efficiency div { background: #56B4E9; }
svg { width: 100%; max-width: 760px; height: auto; margin: .6rem 0; }
.warning { border-left: 3px solid #E69F00; padding-left: .6rem; margin: .3rem 0; }
text { fill: currentColor; font-size: 12px; opacity: .75; }
td:first-child { overflow-wrap: anywhere; min-width: 5rem; }
@media (max-width: 600px) { .bar { display: none; } td, th { padding-right: 6px; } }
"""

_SCRIPT = """
"use strict";
const SVG = "http://www.w3.org/2000/svg";
function tag(name, cls, text) {
  const e = document.createElement(name);
  if (cls) e.className = cls;
  if (text !== undefined) e.textContent = text;
  return e;
}
function shape(name, attributes) {
  const e = document.createElementNS(SVG, name);
  for (const key in attributes) e.setAttribute(key, attributes[key]);
  return e;
}
const number = x => typeof x === "number" && isFinite(x);
function bar(share, cls) {
  const cell = tag("td", cls), inner = tag("div");
  inner.style.width = Math.max(0, Math.min(1, number(share) ? share : 0)) * 100 + "%";
  cell.append(inner);
  return cell;
}
function picture(run) {
  // The picture is as wide as its place, so that its text keeps its size on a small screen.
  const W = Math.min(560, document.querySelector("main").clientWidth - 34), H = 200, L = 8, B = 20;
  const points = [];
  run.cost.forEach((c, i) => {
    if (number(c) && number(run.value[i]) && number(run.half_width[i]))
      points.push([c, run.value[i], run.half_width[i]]);
  });
  if (points.length < 2) return null;
  const kept = points.slice(Math.floor(points.length / 3));
  const xs = kept.map(p => Math.log(p[0]));
  const low = Math.min(...kept.map(p => p[1] - p[2])), high = Math.max(...kept.map(p => p[1] + p[2]));
  const x0 = xs[0], x1 = xs[xs.length - 1];
  const X = x => L + (W - 2 * L) * (x1 > x0 ? (x - x0) / (x1 - x0) : 0);
  const Y = y => (H - B) * (high > low ? (high - y) / (high - low) : 0.5);
  const svg = shape("svg", {viewBox: `0 0 ${W} ${H}`, role: "img"});
  svg.setAttribute("aria-label", "the estimate and its interval over the cost");
  const up = kept.map((p, i) => `${X(xs[i]).toFixed(1)},${Y(p[1] + p[2]).toFixed(1)}`);
  const down = kept.map((p, i) => `${X(xs[i]).toFixed(1)},${Y(p[1] - p[2]).toFixed(1)}`).reverse();
  svg.append(shape("polygon", {points: up.concat(down).join(" "), fill: "#56B4E9", opacity: ".35"}));
  const line = kept.map((p, i) => `${X(xs[i]).toFixed(1)},${Y(p[1]).toFixed(1)}`).join(" ");
  svg.append(shape("polyline", {points: line, fill: "none", stroke: "#0072B2", "stroke-width": "2"}));
  const unit = {draws: " draws", seconds: " s in the arms"}[run.unit] || " cost";
  const round = (x, digits) => Number(x.toPrecision(digits)).toLocaleString("en", {maximumSignificantDigits: digits});
  const write = (x, y, side, text) => {
    const e = shape("text", {x: x, y: y, "text-anchor": side});
    e.textContent = text;
    svg.append(e);
  };
  write(L, H - 4, "start", round(kept[0][0], 3));
  write(W - L, H - 4, "end", round(kept[kept.length - 1][0], 3) + unit);
  write(W - L, 12, "end", round(high, 5));
  write(W - L, H - B - 4, "end", round(low, 5));
  return svg;
}
function show(run) {
  const box = tag("section");
  box.append(tag("h2", "", run.path), tag("div", "state", run.state));
  if (number(run.spent)) {
    const outer = tag("div", "budget"), inner = tag("div");
    inner.style.width = 100 * run.spent + "%";
    outer.append(inner);
    box.append(outer);
  }
  if (run.facts) box.append(tag("div", "state", run.facts));
  if (!run.answer) return box;
  box.append(tag("div", "answer", run.answer), tag("div", "", run.interval));
  const drawn = picture(run);
  if (drawn) box.append(drawn);
  const table = tag("table"), head = tag("tr");
  for (const title of ["arm", "draws", "share", "", "cost x variance", "efficiency", ""])
    head.append(tag("th", title ? "" : "bar", title));
  table.append(head);
  for (const arm of run.arms) {
    const row = tag("tr");
    row.append(tag("td", "", arm.name), tag("td", "", arm.draws), tag("td", "", arm.share_text),
      bar(arm.share, "bar"), tag("td", "", arm.loss), tag("td", "", arm.efficiency_text),
      bar(arm.efficiency, "bar efficiency"));
    table.append(row);
  }
  const scroll = tag("div", "scroll");
  scroll.append(table);
  box.append(scroll);
  for (const warning of run.warnings) box.append(tag("div", "warning", "warning: " + warning));
  return box;
}
async function look() {
  const note = document.getElementById("note");
  try {
    const answer = await fetch("data.json", {cache: "no-store"});
    if (!answer.ok) throw new Error(answer.status);
    const runs = await answer.json();
    document.querySelector("main").replaceChildren(...runs.map(show));
    note.textContent = "";
  } catch (error) {
    note.textContent = "croupier serve does not answer: the page shows what it knew last";
  }
  setTimeout(look, 2000);
}
look();
"""  # noqa: E501


def page() -> str:
    """Return the page."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>croupier</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<style>{_STYLE}</style></head><body><h1>croupier</h1>"
        f'<div id="note" class="state"></div><main></main><script>{_SCRIPT}</script>'
        "</body></html>\n"
    )


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


#: What the browser may load for the page: its own script and style, and its data.
POLICY = (
    f"default-src 'none'; script-src {_hash(_SCRIPT)}; style-src {_hash(_STYLE)} 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
