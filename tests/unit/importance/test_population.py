"""Population Monte Carlo: credit, proportions, and what the printed form cannot learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import croupier as cr
from croupier.importance import Family
from croupier.importance.population import collected, weighed

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

#: E exp(x) = exp(1/2); the shift 1 makes every draw the same.
FAMILY = Family.tilted(lambda x: np.exp(x[:, 0]), [0, 1, 2])


@pytest.mark.parametrize("update", ["payoff", "squared"])
def test_the_forms_with_a_payoff_find_the_best_proposal(update: str) -> None:
    runs = [FAMILY.pmc(20_000, 1000, update=update, rng=seed) for seed in range(20)]  # type: ignore[arg-type]
    assert all(run.proportions[-1].argmax() == 1 for run in runs)
    assert np.mean([run.proportions[-1][1] for run in runs]) > 0.8
    z = np.array([(run.value - math.exp(0.5)) / run.stderr for run in runs])
    assert abs(z.mean()) < 4 / math.sqrt(len(z))


def test_the_printed_form_does_not_learn() -> None:
    # Its credit has the mean 1 whatever the proposal: from equal proportions, it stays there.
    runs = [FAMILY.pmc(2000, 1000, update="printed", rng=seed) for seed in range(200)]
    last = np.array([run.proportions[1] for run in runs])
    z = (last.mean(axis=0) - 1 / 3) / (last.std(axis=0) / math.sqrt(len(last)))
    assert np.abs(z).max() < 4


def test_the_credit_is_the_weight_that_each_proposal_has_collected() -> None:
    source, alpha = np.array([0, 0, 2]), np.array([0.5, 0.25, 0.25])
    assert collected(np.array([1.0, 2.0, 1.0]), source, alpha).tolist() == [0.75, 0, 0.25]
    assert collected(np.zeros(3), source, alpha).tolist() == alpha.tolist()
    many = collected(np.ones((5, 3)), np.tile(source, (5, 1)), np.tile(alpha, (5, 1)))
    assert many == pytest.approx(np.tile([2 / 3, 0, 1 / 3], (5, 1)))


def test_the_weights_are_those_of_the_formulas() -> None:
    points = FAMILY.points(np.random.default_rng(7), 50, 1)
    source, alpha = np.ones(50, np.int64), np.array([0.2, 0.3, 0.5])
    parts = points.log_size, points.sign, points.log_p, points.log_q
    f, p, q = np.exp(points.log_size - points.log_p), np.exp(points.log_p), np.exp(points.log_q)
    printed = weighed("printed", *parts, source, alpha)
    assert printed.value == pytest.approx(f * p / q[:, 1])
    assert printed.credit == pytest.approx(p / q[:, 1])
    mixture = q @ alpha
    assert weighed("payoff", *parts, source, alpha).credit == pytest.approx(f * p / mixture)
    assert weighed("squared", *parts, source, alpha).credit == pytest.approx((f * p / mixture) ** 2)


def test_draws_are_met_and_the_running_estimate_ends_at_the_value() -> None:
    run = FAMILY.pmc(2500, 1000, rng=7)
    assert run.drawn.tolist() == [1000, 2000, 2500]
    assert run.running[-1] == pytest.approx(run.value)
    assert run.proportions.shape == (4, 3)
    assert run.proportions.sum(axis=1) == pytest.approx(1)
    assert run.interval[0] < run.value < run.interval[1]
    assert FAMILY.pmc(2500, 1000, rng=7).value == run.value


def test_proportions_may_be_given_by_name() -> None:
    by_name = dict(zip(FAMILY.names, [0.2, 0.5, 0.3], strict=True))
    run = FAMILY.pmc(500, 100, proportions=by_name, rng=7)
    assert run.value == FAMILY.pmc(500, 100, proportions=[0.2, 0.5, 0.3], rng=7).value
    with pytest.raises(cr.PlanError, match="must have the names of the proposals"):
        FAMILY.pmc(500, 100, proportions={"here": 1.0}, rng=7)


def test_what_no_proposal_reaches_is_said() -> None:
    gap = Family(stats.norm(), {"right": stats.uniform(0, 4)}, np.square)
    with pytest.warns(cr.CroupierWarning, match="no proposal reaches all of the target"):
        run = gap.pmc(2000, rng=7)
    assert str(run).splitlines()[-1].startswith("warning: no proposal reaches")
    blind = Family.tilted(lambda x: x[:, 0] > 50, [0, 1])
    with pytest.warns(cr.CroupierWarning, match="every draw of f p/q is 0"):
        blind.pmc(200, rng=7)


def test_it_prints_a_table() -> None:
    lines = str(FAMILY.pmc(2500, 1000, rng=7)).splitlines()
    assert "95% interval [" in lines[0]
    assert lines[1] == "2,500 draws in 3 populations, update 'squared', seed 7"
    assert lines[3].startswith("shift=1")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"draws": 0}, "draws must be a whole number"),
        ({"population": 0.5}, "population must be a whole number"),
        ({"update": "squares"}, "update must be one of 'printed', 'payoff', 'squared'"),
        ({"proportions": [0.5, 0.4, 0.2]}, "proportions must sum to 1, got a sum of 1.1"),
        ({"proportions": [0.5, 0.5]}, r"one number per proposal \(3 in all\)"),
        ({"confidence": 2}, "confidence must lie between 0 and 1"),
    ],
)
def test_what_cannot_be_played_is_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        FAMILY.pmc(**{"draws": 100, "population": 10, **settings})  # type: ignore[arg-type]
