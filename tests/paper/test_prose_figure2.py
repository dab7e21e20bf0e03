"""The numbers in the prose of docs/paper/figure2.md are those of the files beside it."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import report
from paper import Caplet, Figure2
from paper.cir_bank import PathBank
from paper.fig2_study import Fig2Row
from paper.study import DEFAULT

FOLDER = Path(__file__).parents[2] / "docs" / "paper"
STRIKES = (0.06, 0.07, 0.08)
BANDITS = ("ucb1", "ucb-v", "kl-ucb", "thompson")

Rows = dict[tuple[float, str, int], Fig2Row]


@pytest.fixture(scope="module")
def page() -> str:
    return (FOLDER / "figure2.md").read_text()


@pytest.fixture(scope="module")
def text(page: str) -> str:
    """Return the page without its tables, in one line."""
    return re.sub(r"\s+", " ", re.sub(r"<!-- table.*?<!-- end -->", "", page, flags=re.DOTALL))


@pytest.fixture(scope="module")
def rows() -> Rows:
    return {(row.strike, row.contestant, row.draws): row for row in Figure2.read(FOLDER).rows}


@pytest.fixture(scope="module")
def longer() -> Rows:
    figure = Figure2.read(FOLDER / "long")
    assert figure.study.strikes == STRIKES
    return {(row.strike, row.contestant, row.draws): row for row in figure.rows}


def shown(row: Fig2Row) -> str:
    return f"{row.ratio:.2f} ± {row.ratio_stderr:.2f}"


@pytest.mark.parametrize("strike", STRIKES)
def test_the_table_of_prices_and_variances_is_exact(strike: float, page: str) -> None:
    caplet = Caplet(strike)
    exact = caplet.exact()
    v, theta = exact.variances, exact.thetas[exact.best]
    line = (
        f"| {strike:g} | {exact.price:.5f} | {caplet.continuous_price():.5f} | {v[0]:.4g} "
        f"| θ = {theta:g} | {v.min():.3f} | {v[-1]:.{1 if v[-1] > 10 else 3}f} |"
    )
    assert line in page


def test_losses_by_the_draws(rows: Rows, text: str) -> None:
    for strike, _, draws in rows:
        losses = {name: rows[strike, name, draws].allocation for name in BANDITS}
        assert min(losses, key=losses.__getitem__) == "thompson"
    assert "Thompson sampling is the clear winner among the bandits.* **Agrees**" in text

    def to_uniform(name: str) -> list[float]:
        return [
            rows[k, name, 10_000].allocation / rows[k, "uniform", 10_000].allocation
            for k in STRIKES
        ]

    one, two, three = to_uniform("thompson")
    assert f"its loss is {one:.2f}, {two:.2f} and {three:.2f} times the loss of uniform" in text
    for name, words in (("kl-ucb", "The loss of KL-UCB is"), ("ucb1", "the loss of UCB1")):
        least, most = min(to_uniform(name)), max(to_uniform(name))
        assert f"{words} {least:.2f} to {most:.2f} times" in text
    end = [rows[k, "thompson", 100_000].allocation for k in STRIKES]
    said = f"{end[0]:.1f}, {end[1]:.2f} and {end[2]:.2f} times the loss of the best arm"
    assert f"Thompson sampling has come down to {said}" in text


def test_ucb_v_and_uniform_draws(rows: Rows, text: str) -> None:
    for strike in STRIKES:
        few = [n for k, name, n in rows if (k, name) == (strike, "ucb-v") and n <= 3162]
        to_uniform = [
            rows[strike, "ucb-v", n].allocation / rows[strike, "uniform", n].allocation for n in few
        ]
        assert min(to_uniform) > 0.98
        end = [rows[strike, name, 100_000].allocation for name in ("ucb-v", "ucb1")]
        assert end[0] < end[1]
    at_6 = [rows[0.06, name, 10_000].allocation for name in ("ucb-v", "uniform")]
    assert at_6[0] > at_6[1]
    assert "at most 2 % better than uniform draws up to 3000 draws, and at strike 0.06" in text


def test_population_monte_carlo_up_to_1e5(rows: Rows, text: str) -> None:
    large, ucb1 = ([rows[k, n, 10_000].ratio for k in STRIKES] for n in ("pmc-1000", "ucb1"))
    said = f"{large[0]:.0f}, {large[1]:.1f} and {large[2]:.1f} with populations of 1000"
    assert f"{said} at 10⁴ draws, against {ucb1[0]:.0f}, {ucb1[1]:.0f} and {ucb1[2]:.1f}" in text
    bandit = [rows[k, "thompson", 10_000].ratio for k in STRIKES]
    assert f"beats Thompson sampling ({bandit[0]:.0f} and {bandit[1]:.1f} there)" in text
    for k, _, n in rows:
        for name in ("pmc-100", "pmc-1000"):
            assert rows[k, name, n].ratio < rows[k, "ucb1", n].ratio
            assert k == 0.08 or rows[k, name, n].ratio < rows[k, "thompson", n].ratio
    small, other = (rows[0.08, name, 10_000] for name in ("pmc-100", "thompson"))
    assert f"({shown(small)} against {shown(other)})" in text
    small, other = (rows[0.08, name, 100_000] for name in ("pmc-100", "thompson"))
    apart = abs(small.ratio - other.ratio)
    assert apart < 2 * math.hypot(small.ratio_stderr, other.ratio_stderr)
    for k in STRIKES:
        printed, uniform = (rows[k, n, 100_000] for n in ("pmc-printed-1000", "uniform"))
        assert printed.ratio == pytest.approx(uniform.ratio, rel=0.2)
        drifts = rows[k, "pmc-printed-100", 100_000].ratio / uniform.ratio
        assert (drifts < 0.7) if k < 0.08 else (drifts > 1)


def test_the_mixture(rows: Rows, text: str) -> None:
    at = [rows[k, "mixture", 10_000].ratio for k in STRIKES]
    assert f"{at[0]:.3f}, {at[1]:.3f} and {at[2]:.2f} at 10⁴ draws" in text
    gains = [1 / one for one in at]
    assert f"which is {min(gains):.0f} to {max(gains):.0f} times less" in text
    first = [rows[k, "mixture", 100].ratio for k in STRIKES]
    assert f"and {min(first):.2f} to {max(first):.1f} after the first hundred draws" in text


def test_the_range_decides_more_than_the_policy(text: str) -> None:
    table = report.read("fig2-ranges")
    narrow = [row for row in table if row["range"].startswith("1.5")]
    losses = [float(row[p]) / float(row["uniform"]) for row in narrow for p in BANDITS]
    assert f"lose {min(losses):.1f} to {max(losses):.1f} times as much as uniform draws" in text
    for row in narrow:
        assert max(BANDITS, key=lambda p: float(row[p])) == "thompson"
    twice = {row["strike"]: row for row in table if row["range"].startswith("2 ")}
    for strike in ("0.06", "0.08"):
        assert all(float(twice[strike][p]) > float(twice[strike]["uniform"]) for p in BANDITS)
    for strike in {row["strike"] for row in table}:
        own = [row for row in table if row["strike"] == strike]
        for policy in BANDITS:
            best = min(own, key=lambda row: float(row[policy]))["range"]
            assert best.startswith(("3 ", "5 "))
    widest = [row for row in table if row["range"] == "largest draw" and row["strike"] == "0.06"]
    assert f"at strike 0.06 ({float(widest[0]['times the price']):.0f} times the price)" in text
    assert all(float(widest[0][p]) > 0.99 * float(widest[0]["uniform"]) for p in ("ucb1", "ucb-v"))


def test_the_default(rows: Rows, text: str) -> None:
    own = report.read("fig2-default")
    above = [100 * (float(row["ratio"]) - 1) for row in own]
    assert f"it is {min(above):.0f} to {max(above):.0f} % above the best arm" in text
    alone = [100 * (float(row["I"]) - 1) for row in own]
    assert f"The allocation alone costs {min(alone):.0f} to {max(alone):.0f} %" in text
    later = [row.ratio for (_, name, n), row in rows.items() if name == DEFAULT and n >= 316]
    assert max(later) < 2
    at_1000 = [rows[0.06, name, 1000].ratio for name in BANDITS]
    assert min(at_1000) > 100
    assert "the paper's policies lose more than a hundred times as much at 1000 draws" in text


def test_the_best_arm_checks_the_measurement(rows: Rows, text: str) -> None:
    least = min((row for key, row in rows.items() if key[1] == "best arm"), key=lambda r: r.ratio)
    away = (1 - least.ratio) / least.ratio_stderr
    said = f"The smallest is {least.ratio:.2f} ({away:.1f} standard errors below 1, strike"
    assert f"{said} {least.strike:g} at 10⁵)" in text
    assert least.draws == 100_000


def test_how_long_it_took(text: str) -> None:
    figure = Figure2.read(FOLDER)
    spent = figure.cpu_seconds
    assert figure.study.runs == 300
    assert f"took {sum(spent.values()) / 60:.0f} minutes of CPU time" in text
    assert round(2 * spent["mixture"] / 60) == 15
    assert "The mixture took 7½ minutes of this" in text
    assert round(2 * spent[DEFAULT] / 60) == 15
    assert "The default took 7½ minutes too" in text
    longer = Figure2.read(FOLDER / "long")
    minutes = sum(longer.cpu_seconds.values()) / 60
    assert f"The runs to 10⁶ draws on the bank took {minutes:.0f} minutes" in text
    assert {(row.runs, row.strike in STRIKES) for row in longer.rows} == {(1000, True)}
    assert len({row.contestant for row in longer.rows}) == 8
    assert "1000 runs of eight contestants at three strikes" in text


def test_the_bank_is_as_close_to_the_euler_chain_as_the_page_says(text: str) -> None:
    prices, variances = [], []
    for strike in STRIKES:
        chain, bank = Caplet(strike).exact(), PathBank.walked(Caplet(strike), 32768).exact()
        assert bank.best == chain.best
        prices.append(100 * abs(bank.price / chain.price - 1))
        variances.append(100 * np.abs(bank.variances / chain.variances - 1).max())
    said = f"by at most {max(prices):.2f} %, its variances by at most {max(variances):.1f} %"
    assert said in text


def test_losses_on_the_bank_are_those_on_new_paths(rows: Rows, longer: Rows, text: str) -> None:
    apart, by_draws = [], []
    for key in longer.keys() & rows.keys():
        if key[2] in (10_000, 100_000):
            one, other = longer[key], rows[key]
            error = math.hypot(one.ratio_stderr, other.ratio_stderr)
            apart.append(abs(one.ratio - other.ratio) / error)
            if not math.isnan(one.allocation):
                by_draws.append(100 * abs(one.allocation / other.allocation - 1))
    assert f"The {len(apart)} losses are at most {max(apart):.1f} standard errors apart" in text
    above = sum(one > 2 for one in apart)
    assert above == 4
    assert "and four of them more than 2" in text
    assert f"By the draws they differ by at most {max(by_draws):.0f} %" in text


def test_the_longer_term(longer: Rows, text: str) -> None:
    early, late = (
        [longer[k, "thompson", n].allocation for k in STRIKES] for n in (100_000, 1_000_000)
    )
    falls = [f"from {a:.3g} to {b:.3g}" for a, b in zip(early, late, strict=True)]
    assert f"Thompson sampling falls {falls[0]}, {falls[1]} and {falls[2]}" in text
    for k in STRIKES:
        for name in ("ucb1", "ucb-v", "kl-ucb"):
            assert longer[k, name, 1_000_000].allocation < longer[k, name, 100_000].allocation
            assert longer[k, "thompson", 1_000_000].allocation < (
                longer[k, name, 1_000_000].allocation
            )
    for name, words in (("pmc-1000", "populations of 1000"), ("pmc-100", "populations of 100")):
        end = [shown(longer[k, name, 1_000_000]) for k in STRIKES]
        assert f"With {words} the losses are {end[0]}, {end[1]} and {end[2]}" in text

    def ahead(name: str, strike: float) -> float:
        """Return by how many standard errors the populations lose more than Thompson sampling."""
        row, own = longer[strike, name, 1_000_000], longer[strike, "thompson", 1_000_000]
        error = math.hypot(row.ratio_stderr, own.allocation_stderr)
        return (row.ratio - own.allocation) / error

    better = f"{ahead('pmc-100', 0.07):.1f} standard errors"
    assert f"better than populations of 100 at 0.07, by {better}" in text
    perhaps = f"{ahead('pmc-100', 0.06):.1f} and {ahead('pmc-100', 0.08):.1f} standard errors"
    assert f"At 0.06 and 0.08 it seems to be better, by {perhaps}" in text
    assert ahead("pmc-1000", 0.06) < -4
    assert f"At 0.07 they are better by {-ahead('pmc-1000', 0.07):.1f} standard errors" in text
    assert abs(ahead("pmc-1000", 0.08)) < 1
