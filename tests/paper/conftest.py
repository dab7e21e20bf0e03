"""A simulator that makes up its numbers, at once and by seed: for what happens around it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import croupier as cr
from croupier.theory import ScaledBernoulli, UniformDistribution

#: The pulls of the worse arm that each policy makes in e draws, about.
PACE = {"ucb1": 90.0, "ucb-v": 70.0, "kl-ucb": 40.0, "thompson": 20.0, "variance-thompson": 5.0}


class Runs:
    """What the simulator returns for one policy."""

    cpu_seconds = 0.25

    def __init__(self, suboptimal: np.ndarray, gap: float) -> None:
        self.suboptimal = suboptimal
        regret = suboptimal * gap
        self.mean_regret = regret.mean(axis=0)
        self.stderr = regret.std(axis=0, ddof=1) / np.sqrt(len(regret))

    def percentiles(self, levels: Sequence[float]) -> np.ndarray:
        return np.percentile(self.suboptimal, levels, axis=0)


class Simulator:
    """Stands in for ``cr.simulate``: counts its calls, and fails after some if it is told to."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.fail_after = 10**9
        self.failure: BaseException = KeyboardInterrupt()

    def __call__(self, problem: Any, policies: Sequence[str], **settings: Any) -> dict[str, Runs]:
        if len(self.calls) >= self.fail_after:
            raise self.failure
        self.calls.append({"problem": problem, "policies": list(policies), **settings})
        rng = np.random.default_rng(settings["rng"])
        times, shape = settings["record"], (settings["runs"], len(settings["record"]))
        gap = problem.variances[1] - problem.variances[0]
        return {
            policy: Runs(1 + np.sort(rng.poisson(PACE[policy] * np.log(times), shape), axis=1), gap)
            for policy in policies
        }


def problem(variances: Sequence[float], kind: Any) -> Any:
    arms = tuple(kind(float(v)) for v in variances)
    return SimpleNamespace(variances=np.array(variances), distributions=arms)


@pytest.fixture
def simulator(monkeypatch: pytest.MonkeyPatch) -> Simulator:
    made_up = Simulator()

    def flat(v: float) -> UniformDistribution:
        return UniformDistribution(0.5 - np.sqrt(3 * v), 0.5 + np.sqrt(3 * v))

    problems = SimpleNamespace(
        scaled_bernoulli=lambda v: problem(v, lambda one: ScaledBernoulli(2 * np.sqrt(one))),
        uniform=lambda v: problem(v, flat),
    )
    monkeypatch.setattr(cr, "simulate", made_up, raising=False)
    monkeypatch.setattr(cr, "simulator", problems, raising=False)
    return made_up
