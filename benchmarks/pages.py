"""Put the measured tables into the documentation, between the marks that ask for them.

A page has ``<!-- table: name -->`` ... ``<!-- end -->``. ``python -m benchmarks.pages`` makes the
text between the marks from the CSV files. Every benchmark runs it at its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from statistics import geometric_mean

from benchmarks import (
    evidence_pages,
    figure1,
    figure2,
    figure3,
    integral_pages,
    peer_ratios,
    rare_pages,
    report,
    stops,
)
from benchmarks.families import FAMILIES
from benchmarks.replicate import PAPER

DOCS = report.FOLDER.parent
BUDGETS = ("1000", "10000", "100000")
POLICIES = ("variance-thompson", "variance-lcb", "uniform", "explore-then-commit", "greedy")


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cells(family: str, policy: str, show: Callable[[dict[str, str]], str]) -> list[str]:
    found = {
        row["budget"]: show(row)
        for row in report.read("efficiency")
        if row["family"] == family and row["policy"] == policy
    }
    return [found.get(budget, "-") for budget in BUDGETS]


def _default(held_out: bool) -> str:
    rows = []
    for name, family in FAMILIES.items():
        if family.held_out is held_out:
            share = _cells(name, POLICIES[0], lambda row: f"{float(row['I']):.3f}")
            ratio = _cells(
                name,
                POLICIES[0],
                lambda row: f"{float(row['ratio']):.2f} ± {float(row['ratio_se']):.2f}",
            )
            rows.append([name, *share, *ratio])
    header = ["family", *(f"I at {b}" for b in BUDGETS), *(f"ratio at {b}" for b in BUDGETS)]
    return markdown(header, rows)


def _rivals() -> str:
    """Return I at 10^4 for every policy, and the ratio of the best arm alone."""
    rows = []
    for name in FAMILIES:
        shares = [_cells(name, policy, lambda row: _short(row["I"]))[1] for policy in POLICIES]
        alone = _cells(name, "oracle", lambda row: f"{float(row['ratio']):.2f}")[1]
        rows.append([name, *shares, alone])
    return markdown(["family", *POLICIES, "ratio of the best arm alone"], rows)


def _paper() -> str:
    """Return I at 10^4 for the policies of the paper, the default first."""
    policies = (POLICIES[0], *PAPER)
    rows = [
        [name, *(_cells(name, policy, lambda row: _short(row["I"]))[1] for policy in policies)]
        for name in FAMILIES
    ]
    return markdown(["family", *policies], rows)


def _short(number: str) -> str:
    """Return three significant digits of a number.

    >>> _short("1.0123"), _short("12.345"), _short("123.4")
    ('1.01', '12.3', '123')
    """
    value = float(number)
    return f"{value:.2f}" if value < 10 else f"{value:.3g}"


def _covers(row: dict[str, str], at: str = "") -> str:
    """Return the coverage at 95 % with its standard error."""
    return f"{float(row[f'covered_95{at}']):.3f} ± {float(row[f'error_95{at}']):.3f}"


def _coverage() -> str:
    rows = [
        [row["family"], row["group"], row["runs"], _covers(row), f"{float(row['covered_99']):.3f}"]
        for row in report.read("coverage")
    ]
    return markdown(["family", "group", "runs", "95 %", "99 %"], rows)


def _stops() -> str:
    """Return the coverage and the cost of runs that stop at a tolerance, for every n*."""
    header = ["family", "group", "interval", "runs"]
    for draws in stops.ORACLES:
        header += [f"95 %, n* = {draws}", f"cost to the oracle's, n* = {draws}"]
    names = {"tolerance": "many looks", "anytime": "anytime"}
    rows = []
    for row in report.read("stops"):
        cells = [row["family"], row["group"], names[row["mode"]], row["runs"]]
        for draws in stops.ORACLES:
            cells += [_covers(row, f"_{draws}"), f"{float(row[f'cost_to_oracle_{draws}']):.2f}"]
        rows.append(cells)
    return _table(header, rows)


def _measured(name: str) -> str:
    rows = [[row["what"], row["measured"], row["wanted"]] for row in report.read(name)]
    return markdown(["what", "measured", "wanted"], rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table, or nothing if nothing was measured yet."""
    return markdown(header, rows) if rows else ""


def _speed() -> str:
    """Return the time per decision of the bandit libraries, also divided by croupier's time."""
    columns = ("µs a decision", "time to croupier's")
    columns += ("µs with the result", "with the result, to croupier's")
    rows = [
        [row["library"], row["version"], row["policy"], *(row[column] for column in columns)]
        for row in report.read("policies-speed")
    ]
    return markdown(["library", "version", "policy", *columns], rows)


def _simulator_rivals() -> str:
    """Return nanoseconds per step of every library, also divided by croupier's time."""
    rows = report.read("simulator-rivals")
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    lines: dict[tuple[str, str, str], dict[str, str]] = {}
    for arms in dict.fromkeys(row["arms"] for row in rows):
        some = [row for row in rows if row["arms"] == arms]
        for row in some:
            who, cell = f"{row['library']} {row['version']}", _whole(row["ns a step"])
            if row["library"] == "croupier":
                who = "croupier" if row["plays"] == "ahead" else "croupier, `skip=False`"
            else:
                times = _whole(row["to croupier's"])
                cell += f" ({times} ×)"
            lines.setdefault((arms, who, row["steps"]), {})[row["policy"]] = cell
        if wanted := {row["policy"]: f"≥ {row['wanted']} ×" for row in some if row["wanted"]}:
            lines[arms, "wanted of each", ""] = wanted
    body = [[*line, *(cells.get(p, "-") for p in policies)] for line, cells in lines.items()]
    return _table(["arms", "library", "steps", *policies], body)


def _whole(number: str) -> str:
    """Return three digits of a number, and all digits before the point of a larger number.

    >>> _whole("1.3853"), _whole("70.82"), _whole("14832.7")
    ('1.39', '70.8', '14833')
    """
    value = float(number)
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _simulator_ahead() -> str:
    """Return how many times as fast skipping ahead is, in every cell, and the geometric means."""
    rows = report.read("simulator-ahead")
    cells = list(dict.fromkeys((row["V1"], row["extra"]) for row in rows))
    body = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        some = [row for row in rows if row["policy"] == policy]
        ratios = {(row["V1"], row["extra"]): float(row["ratio"]) for row in some}
        mean = geometric_mean(ratios.values())
        shown = [f"{ratios[cell]:.3g}" if cell in ratios else "-" for cell in cells]
        body.append([policy, *shown, f"{mean:.3g}", f"≥ {some[0]['wanted']}"])
    header = ["policy", *(f"{first}, {extra}" for first, extra in cells)]
    return _table([*header, "geometric mean", "wanted"], body)


def _paths() -> str:
    rows = report.read("paths")
    return _table(list(rows[0]) if rows else [], [list(row.values()) for row in rows])


def _side() -> str:
    """Return I and the squared errors on the option, by default and with side observations."""
    found = {(row["strike"], row["draws"], row["policy"]): row for row in report.read("side")}
    rows = []
    for strike, draws in dict.fromkeys(key[:2] for key in found):
        pair = [found[strike, draws, who] for who in ("default", "side")]
        losses = [f"{float(row['I']):.3f}" for row in pair]
        squares = [f"{float(row['ratio']):.2f} ± {float(row['ratio_se']):.2f}" for row in pair]
        rows.append([strike, draws, *losses, *squares])
    header = ["strike", "draws", "I, default", "I, side", "n·MSE/V*, default", "n·MSE/V*, side"]
    return _table(header, rows)


def _logistic() -> str:
    """Return nanoseconds per likelihood evaluation, by the kernel and by the plain loop."""
    header = ["features", "rows", "kernel, ns", "plain loop, ns", "ratio"]
    measured = report.read("logistic")
    columns = ("kernel ns", "plain loop ns", "ratio")
    rows = [
        [row["features"], row["rows"], *(_whole(row[column]) for column in columns)]
        for row in measured
    ]
    if measured:
        mean = geometric_mean(float(row["ratio"]) for row in measured)
        rows.append(
            ["geometric mean", "", "", "", f"{mean:.3g} (wanted ≥ {measured[0]['wanted']})"]
        )
    return _table(header, rows)


def _importance() -> str:
    """Return n MSE/V* and the coverage of the mixture, and n MSE/V* of the others, by integral."""
    found = {(r["integral"], r["method"], r["draws"]): r for r in report.read("importance")}
    header, rows = ["integral"], []
    for draws in BUDGETS[:2]:
        header += [f"mixture, {draws}", "covers", f"equal, {draws}", "covers", f"pypmc, {draws}"]
    for name in dict.fromkeys(name for name, *_ in found):
        cells = [name]
        for draws in BUDGETS[:2]:
            for method in ("mixture", "equal proportions", "pypmc"):
                row = found.get((name, method, draws))
                cells.append("-" if row is None else _loss(row))
                if method != "pypmc":
                    cells.append("-" if row is None else f"{float(row['covered']):.3f}")
        rows.append(cells)
    return _table(header, rows)


def _loss(row: dict[str, str]) -> str:
    """Return a ratio with its standard error, in a few digits.

    >>> _loss({"ratio": "0.0654", "ratio_se": "0.0021"}), _loss({"ratio": "131", "ratio_se": "27"})
    ('0.065 ± 0.002', '131 ± 27')
    """
    ratio, error = float(row["ratio"]), float(row["ratio_se"])
    if not 1e-3 < ratio < 1e4:
        return f"{ratio:.1e}"
    digits = 3 if ratio < 1 else 2 if ratio < 10 else 0
    return f"{ratio:.{digits}f} ± {error:.{digits}f}"


def _importance_tuned() -> str:
    rows = [
        [
            row["integral"],
            row["method"],
            row["draws"],
            row["runs"],
            _loss(row),
            f"{float(row['covered']):.3f}",
            f"{float(row['bias']):+.2f} ± {float(row['runs']) ** -0.5:.2f}",
        ]
        for row in report.read("importance")
        if row["method"].startswith("tuned")
    ]
    header = ["integral", "method", "draws", "runs", "n MSE/V*", "covers", "bias/deviation"]
    return _table(header, rows)


def _delays() -> str:
    rows = report.read("delays")
    return markdown(list(rows[0]) if rows else [], [list(row.values()) for row in rows])


def _logs() -> str:
    """Return the coverage of both intervals of a log, by family and number of draws."""
    rows = report.read("logs")
    sizes = list(dict.fromkeys(row["draws"] for row in rows))
    body = []
    for family in dict.fromkeys(row["family"] for row in rows):
        for column, what in (("delta", "log(value) ± h/value"), ("ends", "log(value ± h)")):
            cells = [f"{float(row[column]):.3f}" for row in rows if row["family"] == family]
            body.append([family, what, *cells])
    return _table(["draws", "interval", *(f"n = {n}" for n in sizes)], body)


def _guaranteed() -> str:
    """Return how often guaranteed intervals held, and how long they are beside the others."""
    body = []
    for row in report.read("guaranteed"):
        over = float(row["over_anytime"])
        body.append(
            [
                row["family"],
                f"{int(row['draws']):,}",
                row["runs"],
                f"{float(row['covered']):.3f}",
                f"{float(row['always']):.3f}",
                f"{float(row['over_fixed']):.2f} ({float(row['over_fixed_90']):.2f})",
                f"{over:.2f}" if over else "the other is infinite",
            ]
        )
    header = ["arms", "draws", "runs", "held at the end", "held at every look",
              "half-width / fixed size", "half-width / anytime"]  # fmt: skip
    return _table(header, body)


def _untuned() -> str:
    """Return loss, coverage and silent misses of the families that nothing was tuned on."""
    body = [
        [
            row["family"],
            row["runs"],
            f"{float(row['I']):.3f}",
            f"{float(row['covered_95']):.3f}",
            row["missed"],
            row["silent"],
            f"{100 * float(row['warned']):.1f} %",
        ]
        for row in report.read("untuned")
    ]
    header = ["family", "runs", "I", "95 % covered", "off by more than 4 errors",
              "without a warning", "runs that warn"]  # fmt: skip
    return _table(header, body)


def _continuum() -> str:
    """Return what a continuum costs beside the best point of its box."""
    rows = [
        [
            row["problem"],
            row["runs"],
            f"{float(row['I']):.3f} ± {float(row['I_se']):.3f}",
            f"{float(row['worst']):.2f}",
            f"{float(row['ratio']):.2f} ± {float(row['ratio_se']):.2f}",
            f"{float(row['bias']):+.2f}" if row["bias"] else "-",
            f"{float(row['coverage']):.3f}",
            row["silent"] or "-",
            f"{float(row['points']):.0f}",
        ]
        for row in report.read("continuum")
    ]
    header = ["problem", "runs", "I", "worst I", "ratio", "bias", "coverage", "silent misses",
              "points drawn"]  # fmt: skip
    return _table(header, rows)


def _grown_strata() -> str:
    """Return what strata that grow take from the variance."""
    rows = [
        [
            row["problem"],
            row["runs"],
            f"{float(row['ratio']):.3f} ± {float(row['ratio_se']):.3f}",
            f"{float(row['claimed']):.3f}",
            "-" if row["halves"] == "nan" else f"{float(row['halves']):.3f}",
            f"{float(row['coverage']):.3f}",
            row["silent"],
            f"{float(row['boxes']):.0f}",
            f"{100 * float(row['pilot']):.0f} %",
        ]
        for row in report.read("grown-strata")
    ]
    header = ["function", "runs", "ratio", "claimed", "two halves per axis", "coverage",
              "silent misses", "boxes", "pilot"]  # fmt: skip
    return _table(header, rows)


def _strata() -> str:
    """Return coverage, mean error and claimed variance of strata, by family and policy."""
    found = {(r["family"], r["draws"], r["policy"]): r for r in report.read("strata")}
    policies = ("epochs", "no epochs", "proportional")
    body = []
    for family, draws in sorted({key[:2] for key in found}, key=lambda row: (row[0], int(row[1]))):
        cells = [family, f"{int(draws):,}"]
        for policy in policies:
            row = found.get((family, draws, policy))
            cells += ["-"] * 3 if row is None else [
                f"{float(row['covered']):.3f} ± {float(row['covered_se']):.3f}",
                f"{float(row['bias']):+.2f}",
                f"{float(row['claimed']):.3f}",
            ]  # fmt: skip
        body.append(cells)
    columns = [f"{policy}, {what}" for policy in policies for what in ("covers", "bias", "claimed")]
    return _table(["strata", "draws", *columns], body)


def _costs_allocation() -> str:
    """Return I of the default and of Thompson sampling on arms with costs."""
    rows = report.read("costs-allocation")
    budgets = list(dict.fromkeys(row["budget"] for row in rows))
    body = []
    for family in dict.fromkeys(row["family"] for row in rows):
        cells = _cells(family, POLICIES[0], lambda row: f"{float(row['I']):.3f}")[1:]
        for payoff in dict.fromkeys(row["payoff"] for row in rows):
            some = [row for row in rows if (row["family"], row["payoff"]) == (family, payoff)]
            cells += [f"{float(row['I']):.3f} ± {float(row['I_se']):.3f}" for row in some]
        body.append([family, *cells])
    whose = ("default", "Thompson, pairs", "Thompson, triples")
    return _table(["family", *(f"{who}, {int(b):,}" for who in whose for b in budgets)], body)


def _costs_equal() -> str:
    rows = report.read("costs-equal")
    names = list(dict.fromkeys(row["combiner"] for row in rows if row["combiner"] != "mean"))
    body = []
    for family in dict.fromkeys(row["family"] for row in rows):
        found = {row["combiner"]: row for row in rows if row["family"] == family}
        pairs = ((found[name]["ratio"], found[name]["ratio_se"]) for name in names)
        body.append([family, *(f"{float(r):.2f} ± {float(e):.2f}" for r, e in pairs)])
    return _table(["family", *names], body)


def _costs_deadlines() -> str:
    header = ["arms", "budget", "repetitions", "bias of the result", "bias of what was finished"]
    body = [
        [
            row["arms"],
            row["budget"],
            row["runs"],
            f"{float(row['bias']):+.3f} ± {float(row['bias_se']):.3f}",
            f"{float(row['finished']):+.3f} ± {float(row['bias_se']):.3f}",
            f"{float(row['covered']):.3f}",
        ]
        for row in report.read("costs-deadlines")
    ]
    return _table([*header, "coverage at 95 %"], body)


def _calls() -> str:
    header = ["busy processes", "seconds", "runs", "found", "mean share", "least share"]
    body = [
        [
            *(row[name] for name in ("busy", "seconds", "runs", "found")),
            *(f"{float(row[name]):.2f}" for name in ("share", "least")),
        ]
        for row in report.read("calls")
    ]
    return _table(header, body)


def _grid() -> str:
    header = ["busy processes", "cost × variance", "runs", "best arm ≥ 80 %", "median share",
              "least time inside the arms"]  # fmt: skip
    body = [
        [row["busy"], f"{float(row['ratio']):g} times apart", row["runs"], row["found"],
         *(f"{float(row[name]):.2f}" for name in ("share", "inside"))]
        for row in report.read("calls-grid")
    ]  # fmt: skip
    return _table(header, body)


def _as_it_is(name: str) -> str:
    """Return all columns of a file."""
    rows = report.read(name)
    return _table(list(rows[0]), [list(row.values()) for row in rows])


TABLES: dict[str, Callable[[], str]] = {
    "efficiency": lambda: _default(held_out=False),
    "held-out": lambda: _default(held_out=True),
    "rivals": _rivals,
    "paper-policies": _paper,
    "coverage": _coverage,
    "stops": _stops,
    "overhead": lambda: _measured("overhead"),
    "programs": lambda: _measured("programs"),
    "evidence": lambda: _table(*evidence_pages.speed()),
    "evidence-modes": lambda: _table(*evidence_pages.modes()),
    "evidence-budgets": lambda: _table(*evidence_pages.budgets()),
    "evidence-posterior": lambda: _as_it_is("evidence-posterior"),
    "evidence-models": lambda: _table(*evidence_pages.models()),
    "fig1-wins": lambda: _table(*figure1.wins()),
    "fig1-log-winners": lambda: _table(*figure1.log_winners()),
    "fig1-log-default": lambda: _table(*figure1.log_default()),
    "fig1-log-kl-ucb-over-ucb-v": lambda: _table(*figure1.log_kl_ucb_over_ucb_v()),
    "fig1-log-runs": lambda: _table(*figure1.log_runs()),
    "fig1-winners": lambda: _table(*figure1.winners()),
    "fig1-kl-ucb-over-ucb-v": lambda: _table(*figure1.kl_ucb_over_ucb_v()),
    "fig1-curves": lambda: _table(*figure1.curves()),
    "fig2-longer": lambda: _table(*figure2.longer()),
    "fig2-longer-by-draws": lambda: _table(*figure2.longer_by_draws()),
    "fig2-bank": lambda: _table(*figure2.bank_or_paths()),
    "fig2-losses": lambda: _table(*figure2.losses(10_000)),
    "fig2-losses-at-the-end": lambda: _table(*figure2.losses(100_000)),
    "fig2-default": lambda: _table(*figure2.default()),
    "fig2-ranges": lambda: _table(*figure2.by_range()),
    "paths": _paths,
    "side": _side,
    "fig3-arms": lambda: _table(*figure3.arms()),
    "fig3-ranges": lambda: _table(*figure3.by_range()),
    "fig3-ratios": lambda: _table(*figure3.ratios()),
    "logistic": _logistic,
    "policies-speed": _speed,
    "simulator-rivals": _simulator_rivals,
    "simulator-ahead": _simulator_ahead,
    "importance": _importance,
    "importance-tuned": _importance_tuned,
    "peers": lambda: _table(*integral_pages.peers(peer_ratios.SEEN)),
    "peers-held-out": lambda: _table(*integral_pages.peers(peer_ratios.HELD_OUT)),
    "peers-true": lambda: _table(*integral_pages.true_errors()),
    "low-dimensions": lambda: _table(*integral_pages.low_dimensions()),
    "parallel": lambda: _measured("parallel"),
    "delays": _delays,
    "store": lambda: _measured("store"),
    "logs": _logs,
    "guaranteed": _guaranteed,
    "untuned": _untuned,
    "strata": _strata,
    "continuum": _continuum,
    "grown-strata": _grown_strata,
    "costs-allocation": _costs_allocation,
    "costs-equal": _costs_equal,
    "costs-deadlines": _costs_deadlines,
    "calls": _calls,
    "calls-grid": _grid,
    "rare": lambda: _table(*rare_pages.problems()),
    "rare-published": lambda: _table(*rare_pages.published()),
    "rare-prototype": lambda: _table(*rare_pages.prototype()),
    "rare-methods": lambda: _table(*rare_pages.methods()),
    "rare-summary": lambda: _table(*rare_pages.summary()),
    "rare-gradient": lambda: _table(*rare_pages.gradient()),
    "rare-calls": lambda: _table(*rare_pages.calls()),
    "rare-splitting": lambda: _table(*rare_pages.splitting()),
    "rare-plain-hits": lambda: _table(*rare_pages.replications("0 or 1")),
    "rare-few-hits": lambda: _table(*rare_pages.replications("cr.probability")),
}


def main() -> None:
    for path in sorted(DOCS.rglob("*.md")):
        old = path.read_text("utf-8")
        new = re.sub(
            r"<!-- table: (\S+) -->\n.*?<!-- end -->",
            lambda mark: f"<!-- table: {mark[1]} -->\n\n{TABLES[mark[1]]()}\n\n<!-- end -->",
            old,
            flags=re.S,
        )
        if new != old:
            path.write_text(new, "utf-8")


if __name__ == "__main__":
    main()
