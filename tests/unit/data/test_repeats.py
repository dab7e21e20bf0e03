"""Draws that come again are noticed; arms that are discrete, or have atoms, are not accused."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.data.repeats import Repeats
from croupier.estimates.independence import spread_of_batches

pytestmark = pytest.mark.filterwarnings("ignore::croupier.CroupierWarning")

Draw = Callable[[np.random.Generator, int], Any]


def good(rng: np.random.Generator, size: int) -> Any:
    return rng.normal(1.0, 1.0, size)


def fixed(rng: np.random.Generator, size: int) -> Any:
    return np.random.default_rng(0).normal(1.0, 1.0, size)


class ByTheClock:
    """A program that takes its seed from a clock, which moves on every 400 draws."""

    def __init__(self) -> None:
        self.draws = 0

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        values = []
        for _ in range(size):
            self.draws += 1
            values.append(np.random.default_rng(self.draws // 400).normal(10.0, 1.0))
        return np.array(values)


class Forked:
    """The global generator in two processes that were forked: each draw is made twice."""

    def __init__(self) -> None:
        self.workers = [np.random.default_rng(3) for _ in range(2)]
        self.turn = 0

    def __call__(self, rng: np.random.Generator, size: int) -> Any:
        self.turn += 1
        return self.workers[self.turn % 2].normal(1.0, 1.0, size)


def run(draw: Draw, draws: int = 20_000, **settings: Any) -> cr.Result:
    settings = {"rng": 7, "progress": False, **settings}
    return cr.estimate({"suspect": draw, "good": good}, draws=draws, policy="uniform", **settings)


def about_repeats(result: cr.Result) -> list[str]:
    return [text for text in result.warnings if "rng that the arm is given" in text]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: fixed, r"arm 'suspect' repeats its draws: \d+ of \d+ batches share"),
        (Forked, r"arm 'suspect' repeats its draws: \d+ of \d+ batches share .*tickets \d+ and"),
        (ByTheClock, "the draws of arm 'suspect' resemble each other within a batch"),
    ],
)
def test_an_arm_that_repeats_itself_is_named_with_the_usual_causes(
    make: Callable[[], Draw], words: str
) -> None:
    (text,) = about_repeats(run(make()))
    assert re.search(words, text)
    assert "fixed seed" in text
    assert "np.random" in text
    assert "clock" in text


DISCRETE: dict[str, Draw] = {
    "a coin": lambda rng, size: rng.random(size) < 0.5,
    "a die": lambda rng, size: rng.integers(1, 7, size),
    "50 values": lambda rng, size: rng.integers(0, 50, size),
    "1000 values": lambda rng, size: rng.integers(0, 1000, size),
    "counts": lambda rng, size: rng.poisson(1000, size),
    "rare counts": lambda rng, size: rng.poisson(0.01, size),
    "an option": lambda rng, size: np.maximum(rng.normal(-1.0, 1.0, size), 0.0),
    "two atoms": lambda rng, size: np.clip(rng.normal(size=size), -0.5, 0.5),
    "two digits": lambda rng, size: np.round(rng.normal(size=size), 2),
    "single precision": lambda rng, size: rng.random(size, dtype=np.float32),
    "heavy tails": lambda rng, size: rng.standard_t(2.1, size),
    "a rare event": lambda rng, size: 1e3 * (rng.random(size) < 1e-3),
    "antithetic pairs in a batch": lambda rng, size: np.concatenate(
        ((u := rng.random(size))[: (size + 1) // 2], 1 - u[: size // 2])
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_honest_arms_are_not_accused(name: str) -> None:
    for seed in range(2):
        assert about_repeats(run(DISCRETE[name], draws=10_000, rng=seed)) == [], seed


def test_a_discrete_arm_with_few_draws_is_not_accused() -> None:
    """1000 pairs of batches of 12 counts: values come again by chance, within and between them."""
    rng = np.random.default_rng(7)
    found = 0
    for _ in range(1000):
        repeats = Repeats()
        for ticket in range(2):
            repeats.add(ticket, rng.poisson(28, (12, 1)).astype(float))
        found += repeats.found().copies
    assert found <= 10


def test_a_copy_of_few_draws_with_an_atom_is_found() -> None:
    payoff = np.maximum(np.random.default_rng(7).normal(size=(24, 1)), 0.0)
    repeats = Repeats()
    for ticket in range(2):
        repeats.add(ticket, payoff)
    assert repeats.found().copies == 1


def test_repeats_are_found_by_workers_in_a_store_and_after_a_resume(tmp_path: Path) -> None:
    store = tmp_path / "run.db"
    run(fixed, draws=2000, store=cr.Store(store))
    resumed = run(fixed, draws=20_000, store=cr.Store(store))
    assert about_repeats(resumed) == about_repeats(run(fixed))
    assert about_repeats(cr.open_run(store).result()) == about_repeats(resumed)
    assert about_repeats(run(fixed, workers=2))


def test_a_mixture_notices_a_proposal_that_repeats_itself() -> None:
    from scipy import stats

    frozen = (
        lambda rng, size: np.random.default_rng(1).normal(0.0, 1.5, size),
        stats.norm(0.0, 1.5).logpdf,
    )
    family = cr.importance.Family(stats.norm(), {"frozen": frozen, "wide": stats.t(3)}, np.square)
    assert "'frozen' repeats its draws" in " ".join(family.estimate(draws=8000, rng=7).warnings)


def test_what_was_seen_survives_a_snapshot() -> None:
    seen = Repeats()
    rng = np.random.default_rng(7)
    parts = [rng.random((20, 1)) for _ in range(5)]
    for ticket, part in enumerate([*parts, np.zeros((9, 1)), parts[2]]):
        seen.add(ticket, part)
    again = Repeats.from_state(seen.state())
    assert again.found() == seen.found() == (1, 7, (2, 6))
    with pytest.raises(ValueError, match="as many tickets"):
        Repeats.from_state({"tickets": [1], "draws": []})


@pytest.mark.slow
def test_the_spread_of_batches_is_one_for_independent_draws() -> None:
    ratios = np.array([spread_of_batches(run(good, rng=seed).history)[0] for seed in range(100)])
    assert abs(ratios.mean() - 1) < 0.15  # the standard error of the mean is about 0.04
    assert ratios.max() < 4


def test_an_arm_that_is_exact_up_to_rounding_is_not_suspected() -> None:
    """Its mean differs by 1e-17 from batch to batch, and its draws do not vary otherwise."""

    def rough(rng: np.random.Generator, size: int) -> np.ndarray:
        return rng.normal(0.0, 1.0, (size, 2))

    def exact(rng: np.random.Generator, size: int) -> np.ndarray:
        x = rng.normal(0.0, 1.0, size)
        return np.column_stack([np.full(size, 1e-17 * x[0]), x / 2])

    result = cr.estimate({"rough": rough, "exact": exact}, draws=20_000, rng=7)
    assert not any("resemble" in warning for warning in result.warnings)
