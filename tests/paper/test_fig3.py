"""Figure 3: banks, runs on them, combinations of many runs at once, files, picture, command."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import croupier as cr
from croupier.errors import PlanError, StoreError
from croupier.tables.base import restore
from paper import Annealing, Figure3, figure3
from paper import fig3 as module
from paper.__main__ import app
from paper.fig3_bank import Bank, bank_of
from paper.fig3_files import Fig3Files
from paper.fig3_play import combined, curves_of, policies_of, problem_of
from paper.fig3_study import CLOCKS, COMBINED, fixed
from paper.logistic import Reference
from paper.study import DEFAULT

#: A study that takes a second.
TINY = Annealing(rows=(5,), temperatures=(10, 40), runs=20, draws=100, budget=20)


def made_up(study: Annealing, sizes: float = 2000) -> list[Bank]:
    """Return banks with variance 1/temperatures and costs in proportion, without any model."""
    rng = np.random.default_rng(7)
    banks = []
    for number in study.temperatures:
        values = 1 + rng.standard_normal(int(sizes)) / math.sqrt(number)
        costs = number * rng.uniform(0.9, 1.1, int(sizes))
        banks.append(Bank(number, values, costs, costs / 1000))
    return banks


# -- the study and its draws


def test_cheaper_arms_have_larger_banks() -> None:
    assert Annealing(draws=1000).bank_sizes == (4473, 2000, 1000)
    assert Annealing.quick().bank_sizes[-1] == 150


@pytest.mark.parametrize(("width", "end"), [(3.0, 3.0), (0.3, 0.3), (math.inf, None)])
def test_the_range_is_a_multiple_of_z_or_that_of_the_largest_draw(
    width: float, end: float | None
) -> None:
    study = replace(TINY, width=width)
    banks = made_up(study)
    largest = max(float(bank.centred.max()) for bank in banks)
    assert problem_of(study, banks, "evaluations").bounds == (0.0, end or largest)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runs": 19}, "runs must be at least 20"),
        ({"draws": 5}, "draws must be at least 100"),
        ({"budget": 1}, "budget must be at least 20"),
        ({"rows": ()}, "rows must be one or more"),
        ({"rows": (1000,)}, "rows must be at most 768"),
        ({"temperatures": (400,)}, "two or more arms"),
        ({"width": 0}, "width must be"),
    ],
)
def test_a_study_that_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        Annealing(**changes)


def test_a_bank_depends_on_the_seed_alone_but_for_its_times() -> None:
    reference = Reference(-3.236, 0.0)
    one, other = (bank_of(TINY, 5, 40, 25, reference, threads) for threads in (1, 3))
    assert np.array_equal(one.values, other.values)
    assert np.array_equal(one.evaluations, other.evaluations)
    assert (one.cpu_seconds > 0).all()
    assert len(set(one.values)) == 25
    assert abs(one.mean - 1) < 4 * one.error
    assert one.centred.mean() == pytest.approx(1)
    assert not np.array_equal(
        one.values, bank_of(replace(TINY, seed=1), 5, 40, 25, reference).values
    )


# -- runs


def test_the_papers_policies_are_told_ranges_and_the_default_is_not() -> None:
    banks = made_up(TINY)
    *paper, default = policies_of(TINY, banks, "evaluations")
    assert [policy.name for policy in paper] == ["ucb1", "ucb-v", "kl-ucb", "thompson"]
    assert default.name == DEFAULT
    for policy in paper:
        assert policy.clip
        assert policy.payoff == "cost-variance"
        assert policy.bounds == (0, 3)
        assert policy.cost_bounds[1] == pytest.approx(np.quantile(banks[-1].evaluations, 0.99))


@pytest.mark.slow
def test_an_arm_alone_has_the_loss_of_its_variance_and_cost() -> None:
    study = replace(TINY, runs=3000, budget=100)
    curves = {(c.policy, c.combine): c for c in curves_of(study, 5, made_up(study))[:17]}
    problem = problem_of(study, made_up(study), "evaluations")
    for k, number in enumerate(study.temperatures):
        curve = curves[fixed(number), "mean"]
        product = problem.costs[k] * problem.variances[k] / curve.times[-1]
        # A mean of 3000 squares of normal errors is known to 2.6 %; the last draw is cut off.
        assert curve.loss[-1] == pytest.approx(product, rel=4 * math.sqrt(2 / 3000) + 0.01)
    best = curves[fixed(study.temperatures[problem.best]), "mean"]
    assert not best.regret.any()
    assert best.best.tolist() == [1.0] * len(best.times)


@pytest.mark.slow
def test_weights_by_variance_save_what_a_plain_average_loses() -> None:
    # The arms tie in cost times variance, and differ fourfold in both.
    study = replace(TINY, runs=2000, budget=200)
    curves = {(c.clock, c.policy, c.combine): c for c in curves_of(study, 5, made_up(study))}
    for clock in CLOCKS:
        even = curves[clock, "ucb1", "mean"]
        for combine in ("inverse-variance", "guarded"):
            weighed = curves[clock, "ucb1", combine]
            gap = even.regret[-1] - weighed.regret[-1]
            assert gap > 4 * (even.stderr[-1] + weighed.stderr[-1])
            assert weighed.ratio[-1] == pytest.approx(1, abs=0.2)
    # Costs by either clock are the same here but for the unit, and so are the runs.
    one, other = (curves[clock, "kl-ucb", "guarded"] for clock in CLOCKS)
    assert one.loss == pytest.approx(other.loss)
    assert one.regret[-1] == pytest.approx(other.regret[-1] * 1e6)


def test_many_runs_are_combined_as_a_table_combines_one() -> None:
    rng = np.random.default_rng(3)
    pulls = np.array([[[5, 9, 2]], [[30, 4, 3]], [[2, 2, 40]], [[3, 0, 0]]])
    moments = np.zeros((4, 1, 3, 5))
    drawn = [[(rng.gamma(2 + k, 1.0, n), rng.uniform(1, 3, n) * 4**k) for k, n in enumerate(run[0])]
             for run in pulls]  # fmt: skip
    for run, arms in enumerate(drawn):
        for k, (x, costs) in enumerate(arms):
            if len(x):
                away = x - x.mean()
                sums = [(away**power).sum() for power in (2, 3, 4)]
                moments[run, 0, k] = costs.sum(), x.mean(), *sums
    for combine in COMBINED:
        found = combined(combine, pulls, moments)[:, 0]
        for run, arms in enumerate(drawn[:3]):
            order = [k for k, (x, _) in enumerate(arms) for _ in x]
            assert found[run] == pytest.approx(told(combine, order, arms), rel=1e-9)
        assert found[3] == pytest.approx(drawn[3][0][0].mean())


def told(combine: str, order: list[int], arms: Any) -> float:
    """Tell a table the draws of the arms in an order, and return its estimate."""
    plan = cr.Plan(("a", "b", "c"), seed=1, unit="cost", combine=combine, batch="one", first=1)
    table = cr.Allocator(plan)
    left = [iter(list(zip(*arm, strict=True))) for arm in arms]
    from croupier.data.draws import Batch
    from croupier.data.reduce_batch import chunks_of, outcome_of

    for ticket, k in enumerate(order):
        value, cost = next(left[k])
        batch = Batch(ticket, "abc"[k], 1, 1)
        draws = cr.Draws(np.array([value]), np.array([cost]))
        restore(table, outcome_of(plan, batch, chunks_of(batch, draws)))
    return float(table.result().value)


# -- the figure


def test_a_figure_is_written_read_again_and_not_measured_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    figure = figure3(tmp_path, TINY, progress=said.append)
    assert said == ["1 of 1 models: the first 5 rows"]
    assert len(figure.curves) == TINY.lines()
    assert [arm.temperatures for arm in figure.arms] == [10, 40]
    assert all(
        abs(arm.log_z - arm.reference) < 4 * math.hypot(arm.error, arm.reference_error)
        for arm in figure.arms
    )
    monkeypatch.setattr(module, "bank_of", None)
    assert figure3(tmp_path, TINY, progress=False) == figure
    assert Figure3.read(tmp_path) == figure


def test_the_clock_of_evaluations_gives_the_same_figure_again(tmp_path: Path) -> None:
    first, second = (
        figure3(tmp_path / str(threads), TINY, threads=threads, progress=False)
        for threads in (1, 2)
    )

    def counted(figure: Figure3) -> list[Any]:
        return [row for row in figure.curves if row.clock == "evaluations"]

    assert counted(first) == counted(second)


def test_a_cut_figure_goes_on_and_other_settings_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = replace(TINY, rows=(5, 10))
    real = module.curves_of

    def cut(study: Annealing, rows: int, *others: Any) -> Any:
        if rows == 10:
            raise KeyboardInterrupt
        return real(study, rows, *others)

    monkeypatch.setattr(module, "curves_of", cut)
    with pytest.raises(KeyboardInterrupt, match="stopped after 1 of 2 models"):
        figure3(tmp_path, two, progress=False)
    monkeypatch.setattr(module, "curves_of", real)
    files = Fig3Files(tmp_path, "standardised")
    with files.curves.path.open("a") as file:
        file.write(files.curves.path.read_text().splitlines()[1].replace(",5,", ",10,", 1) + "\n")
    figure = figure3(tmp_path, two, progress=False)
    assert len(figure.curves) == 2 * two.lines()
    assert len(files.curves.read()) == 2 * two.lines()
    with pytest.raises(StoreError, match="runs 20 there, 40 here"):
        figure3(tmp_path, replace(two, runs=40), progress=False)
    with pytest.raises(StoreError, match="arms or policies always 40 there"):
        figure3(tmp_path, replace(two, temperatures=(10, 50)), progress=False)
    with pytest.raises(StoreError, match="run the figure first"):
        Figure3.read(tmp_path, standardised=False)


def test_the_picture_shows_losses_in_units_of_the_error_of_the_best_arm(
    tmp_path: Path,
) -> None:
    pytest.importorskip("matplotlib")
    study = replace(TINY, runs=400, temperatures=(10, 200), budget=100)
    figure = figure3(tmp_path, study, progress=False).plot()
    plain, weighted, timed = figure.axes
    assert {panel.get_yscale() for panel in figure.axes} == {"linear"}
    assert {panel.get_xscale() for panel in figure.axes} == {"log"}
    assert weighted.get_ylim() == timed.get_ylim() == (-0.15, 0.6)
    assert "CPU seconds" in timed.get_title(loc="left")
    assert {"UCB1", "UCB-V", "KL-UCB"} <= {text.get_text() for text in plain.texts}
    names = {text.get_text() for text in figure.legends[0].get_texts()}
    assert {"guarded, or all draws alike", "inverse variance", "one arm alone"} <= names


def test_the_command_prints_the_evidence_and_writes_data_and_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Annealing, "quick", classmethod(lambda cls, **c: replace(TINY, **c)))
    run = CliRunner().invoke
    options = ["figure3", "--rows", "5", "--raw", "--out", str(tmp_path)]
    done = run(app, options)
    assert done.exit_code == 0, done.output
    assert {path.name for path in tmp_path.iterdir()} == {
        "fig3-raw.csv", "fig3-raw-arms.csv", "fig3-raw.png",
    }  # fmt: skip
    assert "1 of 1 models" in done.stderr
    assert "reference" in done.stdout
    assert "inverse-variance" in done.stdout
    again = run(app, [*options, "--plot-only"])
    assert again.exit_code == 0, again.output
    assert again.stdout == done.stdout
    refused = run(app, [*options, "--runs", "30"])
    assert refused.exit_code == 2
    assert "--fresh" in refused.stderr
    helped = run(app, ["figure3", "-h"], env={"COLUMNS": "200"})
    for option in ("--quick", "--full", "--raw", "--rows", "--runs", "--draws", "--budget"):
        assert option in helped.output
