"""Put the measured tables into the documentation, between the marks that ask for them.

A page has ``<!-- table: name -->`` ... ``<!-- end -->``; what stands between is made from the CSV
files by ``python -m benchmarks.pages``, which every benchmark runs at its end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from benchmarks import report
from benchmarks.families import FAMILIES

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
    rows = [
        [
            name,
            *(_cells(name, policy, lambda row: f"{float(row['I']):.2f}")[1] for policy in POLICIES),
        ]
        for name in FAMILIES
    ]
    return markdown(["family", *POLICIES], rows)


def _coverage() -> str:
    header = ["family", "group", "stop", "95 %", "99 %", "cost to the oracle's"]
    rows = [
        [
            row["family"],
            row["group"],
            row["mode"],
            f"{float(row['covered_95']):.3f} ± {float(row['error_95']):.3f}",
            f"{float(row['covered_99']):.3f}",
            "-" if row["mode"] == "fixed" else f"{float(row['cost_to_oracle']):.2f}",
        ]
        for row in report.read("coverage")
    ]
    return markdown(header, rows)


def _overhead() -> str:
    rows = [[row["what"], row["measured"], row["wanted"]] for row in report.read("overhead")]
    return markdown(["what", "measured", "wanted"], rows)


TABLES: dict[str, Callable[[], str]] = {
    "efficiency": lambda: _default(held_out=False),
    "held-out": lambda: _default(held_out=True),
    "rivals": _rivals,
    "coverage": _coverage,
    "overhead": _overhead,
}


def main() -> None:
    for path in sorted(DOCS.glob("*.md")):
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
