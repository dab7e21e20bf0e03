"""compare: log Bayes factors, their errors and intervals, probabilities."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import croupier as cr


def made(log_value: float, error: float, seed: int, width: float = 2.0) -> cr.Result:
    """A result of a run of logs, with another answer."""

    def arm(rng: np.random.Generator, size: int) -> cr.Draws:
        return cr.Draws(log_values=rng.normal(0, 0.1, size))

    run = cr.estimate({"arm": arm}, draws=1000, log=True, rng=seed)
    ends = log_value - width * error, log_value + width * error
    return replace(run, log_value=log_value, log_stderr=error, log_interval=ends, warnings=())


def test_factors_and_probabilities_are_those_of_the_formulas() -> None:
    compared = cr.compare(a=made(-10.0, 0.3, 1), b=made(-12.0, 0.4, 2))
    value, error, (low, high) = compared.log_factor("a", "b")
    assert value == pytest.approx(2.0)
    assert error == pytest.approx(0.5)
    assert (low, high) == (pytest.approx(1.0), pytest.approx(3.0))
    p = 1 / (1 + math.exp(-2))
    assert compared.probabilities == {"a": pytest.approx(p), "b": pytest.approx(1 - p)}
    # The logistic function has the slope p (1 - p).
    assert compared.probability_errors["a"] == pytest.approx(p * (1 - p) * 0.5)
    assert compared.best == "a"


def test_runs_that_share_a_seed_have_the_sum_of_their_errors() -> None:
    compared = cr.compare(made(-10.0, 0.3, 5), made(-12.0, 0.4, 5))
    assert compared.log_factor("model 1", "model 2")[1] == pytest.approx(0.7)
    p = compared.probabilities["model 1"]
    assert compared.probability_errors["model 1"] == pytest.approx(p * (1 - p) * 0.7)


def test_a_prior_of_the_models_moves_the_probabilities() -> None:
    same = made(-3.0, 0.1, 1), made(-3.0, 0.1, 2)
    assert cr.compare(*same, prior=[3, 1]).probabilities["model 1"] == pytest.approx(0.75)


def test_three_models_with_far_logs_lose_no_digit() -> None:
    logs = [-1000.0, -1001.0, -1500.0]
    models = {f"m{k}": made(log, 0.01, k) for k, log in enumerate(logs)}
    compared = cr.compare(models)
    assert sum(compared.probabilities.values()) == pytest.approx(1)
    assert compared.probabilities["m2"] == pytest.approx(math.exp(-500) / (1 + math.exp(-1)))
    text = compared.summary()
    assert text.index("m0") < text.index("m1") < text.index("m2")
    assert "-1.000 ± 0.014" in text


def test_an_unknown_error_stays_unknown() -> None:
    unknown = replace(made(-3.0, 0.1, 1), log_stderr=None, log_interval=None)
    compared = cr.compare(unknown=unknown, known=made(-4.0, 0.1, 2))
    value, error, (low, high) = compared.log_factor("unknown", "known")
    assert (value, error, low, high) == (pytest.approx(1), math.inf, -math.inf, math.inf)
    assert compared.probability_errors["known"] == math.inf
    assert "unknown" in str(compared)


def test_warnings_of_a_run_are_shown_with_its_name() -> None:
    warned = replace(made(-3.0, 0.1, 1), warnings=("a mode may be missing",))
    assert (
        "warning (x): a mode may be missing" in cr.compare(x=warned, y=made(-4, 0.1, 2)).summary()
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda a, b: cr.compare(a), "at least two models"),
        (lambda a, b: cr.compare(a, 3), "'model 2' must be a result of cr.evidence, got 3"),
        (lambda a, b: cr.compare(a, b, names=["x"]), "names must be 2 names"),
        (lambda a, b: cr.compare(a, b, names=["x", "x"]), "must differ"),
        (lambda a, b: cr.compare(a, b, prior=[1]), "prior must be 2 positive numbers"),
        (lambda a, b: cr.compare(a, b, prior=[1, -1]), "prior must be 2 positive numbers"),
        (lambda a, b: cr.compare(a, b).log_factor("model 1", "z"), "'z' is not a model"),
        (lambda a, b: cr.compare({"x": a}, x=b), "two models have the name 'x'"),
        (lambda a, b: cr.compare({"x": a}, names=["x"], y=b), "leave out names="),
        (lambda a, b: cr.compare(a, b).posterior(10), "'model 1' has no posterior"),
    ],
)
def test_what_cannot_be_compared_is_refused(call: Any, message: str) -> None:
    with pytest.raises(cr.PlanError, match=message):
        call(made(-3.0, 0.1, 1), made(-4.0, 0.1, 2))


def test_a_run_of_plain_values_is_refused() -> None:
    plain = cr.estimate({"arm": lambda rng, n: rng.random(n)}, draws=50, rng=1)
    with pytest.raises(cr.PlanError, match="has no log"):
        cr.compare(plain, made(-4.0, 0.1, 2))


def test_the_picture_has_every_model_and_the_numbers_are_plain_data() -> None:
    pytest.importorskip("matplotlib")
    compared = cr.compare(a=made(-10.0, 0.3, 1), b=made(-12.0, 0.4, 2))
    left, right = compared.plot().axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["b", "a"]
    assert [bar.get_width() for bar in right.patches] == pytest.approx(
        [compared.probabilities["b"], compared.probabilities["a"]]
    )
    assert compared.to_dict()["log_values"] == [-10.0, -12.0]
    assert repr(compared) == "<Comparison a 0.881, b 0.119>"
