"""Side observations: a draw of one proposal says something about the variance of every arm.

The paper leaves open how importance-sampling arms could learn from each other. They can if the
density of every proposal is known at every point: V_k = integral of (f p - mu q_k)^2/q_k is the
mean of (f p - mu q_k)^2/(q_k q) over points that were drawn from the mixture q of all proposals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np

from croupier.checks import count_of
from croupier.data.draws import Draws, Floats
from croupier.data.ledger import Ledger
from croupier.data.plan import Plan
from croupier.distributions.weights import log_mixture
from croupier.errors import PlanError
from croupier.policies import VarianceThompson
from croupier.policies.base import Choice, Random

__all__ = ["SHOWN", "SideThompson"]

#: At most this many points of a batch are shown to the policy.
SHOWN: Final = 64


class _Seen(NamedTuple):
    """The points that a policy remembers."""

    plan: Plan
    log_size: Floats
    sign: Floats
    log_q: Floats
    source: np.ndarray


@dataclass(frozen=True)
class SideThompson:
    """The default policy, which also learns the variance of each arm from the points of all arms.

    It is for the arms of `Family.arms(side=True)`. It remembers at most `memory` points; when it
    has more, it drops half of them. The two estimates of a variance, from the points and from the
    arm's own draws, are weighted by their degrees of freedom.
    """

    name: ClassVar[str] = "side-thompson"
    memory: int = 2000
    rule: VarianceThompson = field(default_factory=VarianceThompson)

    def __post_init__(self) -> None:
        count_of("memory", self.memory)

    def start(self, plan: Plan) -> _Seen:
        """Return the state before the first decision."""
        none = np.empty(0)
        return _Seen(plan, none, none, np.empty((0, len(plan.names))), np.empty(0, np.int64))

    def choose(self, state: _Seen, ledger: Ledger, pending: Floats, rng: Random) -> Choice:
        """Choose as the default policy does, with variances that are known better."""
        if len(state.source) > 1 and ledger.fewest > 1:
            ledger = ledger.informed(*side_variance(state, ledger))
        return self.rule.choose(state.plan, ledger, pending, rng)

    def digest(
        self, plan: Plan, arm: int, draws: Draws, rng: np.random.Generator
    ) -> Mapping[str, Any]:
        """Return up to `SHOWN` points of a batch."""
        if not draws.extra:
            raise PlanError(
                "SideThompson needs the points of the arms: give arms=family.arms(side=True)"
            )
        log_size, sign, log_q = (np.concatenate(part) for part in zip(*draws.extra, strict=True))
        few = slice(None, None, -(-len(sign) // SHOWN))
        return {"log_size": log_size[few], "sign": sign[few], "log_q": log_q[few]}

    def learn(self, state: _Seen, ledger: Ledger, arm: int, extra: Mapping[str, Any]) -> _Seen:
        """Remember the points; when there are too many, keep every second point of each arm."""
        if extra["log_q"].shape[1] != len(ledger):
            raise PlanError("SideThompson needs all arms of one family and no other arms")
        source = np.full(len(extra["sign"]), arm)
        new = (extra["log_size"], extra["sign"], extra["log_q"], source)
        parts = [np.concatenate(pair) for pair in zip(state[1:], new, strict=True)]
        if len(parts[0]) > self.memory:
            order = np.argsort(parts[3], kind="stable")[::2]
            parts = [part[order] for part in parts]
        return _Seen(state.plan, *parts)


def side_variance(seen: _Seen, ledger: Ledger) -> tuple[Floats, Floats]:
    """Return the variance of each arm, estimated from the points, and its degrees of freedom.

    Both (K, 1); variances in the ledger's unit. The relative variance of an estimate is 2/df.
    """
    n = len(seen.source)
    count = np.bincount(seen.source, minlength=len(ledger))
    mixture = log_mixture(seen.log_q, count / n)
    exponent, origin = int(ledger.exponent[0]), ledger.origin
    assert origin is not None
    y = seen.sign * np.exp(seen.log_size - mixture - exponent * np.log(2))
    H = np.exp(seen.log_q - mixture[:, None])
    s2 = ledger.variance[:, 0]
    precision = np.where(s2 > 0, ledger.count / np.where(s2 > 0, s2, 1.0), 0.0)
    mu = float(precision @ ledger.mean[:, 0] / max(precision.sum(), np.finfo(float).tiny))
    mu += float(np.ldexp(origin[0], -exponent))
    # If f p is not zero where a proposal does not reach, its variance is infinite.
    away2 = np.square(y[:, None] - mu * H)
    terms = np.divide(away2, H, out=np.where(away2 > 0, np.inf, 0.0), where=H > 0)
    V = terms.mean(axis=0)
    with np.errstate(invalid="ignore"):
        df = 2 * n * np.square(V) / terms.var(axis=0)
    known = np.isfinite(V) & np.isfinite(df) & (V > 0)
    return np.where(known, V, 1.0)[:, None], np.where(known, df, 0.0)[:, None]
