"""Runs of every kind whose results are recorded to the last bit.

Each case is a function of a folder that it may write stores into; it returns a result. They use
the public names alone, so that the same file runs before and after anything is moved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy import stats

import croupier as cr

Case = Callable[[Path], Any]


def rough(rng, size):
    return rng.normal(1.0, 1.0, size)


def fine(rng, size):
    return rng.normal(1.0, 0.1, size)


def middle(rng, size):
    return 1.0 + rng.laplace(0.0, 0.4, size)


def skewed(rng, size):
    return rng.exponential(1.0, size)


ARMS = {"rough": rough, "fine": fine, "middle": middle, "skewed": skewed}


def priced(price, spread):
    def arm(rng, size):
        return cr.Draws(rng.normal(2.0, spread, size), rng.exponential(price, size))

    return arm


PRICED = {"cheap": priced(1.0, 1.0), "good": priced(4.0, 0.3), "poor": priced(9.0, 1.5)}


def pair(rng, size):
    x = rng.normal(size=(size, 2))
    return np.column_stack((x[:, 0] + 1, x[:, 1] * 0.2 + 2))


def other_pair(rng, size):
    x = rng.normal(size=(size, 2))
    return np.column_stack((x[:, 0] * 0.3 + 1, x[:, 1] + 2))


VECTORS = {"pair": pair, "other": other_pair}


def log_normal(rng, size):
    return rng.normal(-1000.0, 0.5, size)


def log_exact(rng, size):
    return rng.normal(-1000.0 - 0.02 + 0.125, 0.2, size)


def log_gaps(rng, size):
    return np.where(rng.random(size) < 0.5, -np.inf, rng.normal(-1000 + np.log(2), 0.5, size))


LOGS = {"wide": log_normal, "narrow": log_exact, "gaps": log_gaps}


def coin(chance):
    def arm(rng, size):
        return (rng.random(size) < chance) * (0.25 / chance)

    return arm


COINS = [
    cr.Arm(coin(0.25), name="a", bounds=(0, 1)),
    cr.Arm(coin(0.5), name="b", bounds=(0, 1)),
    cr.Arm(coin(0.9), name="c", bounds=(0, 1)),
]


class Centred:
    """An arm that learns where its draws are, and moves an importance sampler there."""

    def start(self):
        return {"centre": 0.0}

    def draw(self, rng, size, state):
        x = rng.normal(state["centre"], 1.5, size)
        density = stats.norm.pdf(x, state["centre"], 1.5)
        values = (x > 1) * stats.norm.pdf(x) / density
        return cr.Draws(values, None, {"sum": float((values * x).sum()), "of": float(values.sum())})

    def learn(self, state, extra):
        if extra["of"] <= 0:
            return state
        return {"centre": 0.8 * state["centre"] + 0.2 * extra["sum"] / extra["of"]}


LEARNING = [
    cr.Arm(Centred(), name="learning"),
    cr.Arm(lambda rng, size: rng.standard_normal(size) > 1, name="plain"),
]


def stratum(low, high):
    return lambda rng, size: np.exp(rng.uniform(low, high, size))


STRATA = {"low": stratum(0.0, 0.3), "middle": stratum(0.3, 0.8), "high": stratum(0.8, 1.0)}
SHARES = [0.3, 0.5, 0.2]


def family():
    return cr.importance.Family.tilted(lambda x: np.maximum(x[:, 0] - 1, 0), [0, 1, 2])


def tail():
    return cr.importance.Family.tilted(lambda x: x.sum(axis=1) > 5, [[0, 0], [2, 2]])


def bumps():
    return cr.importance.Family(
        stats.norm(0, 1),
        {"here": stats.norm(0, 1.5), "there": stats.norm(2, 1), "wide": stats.t(3)},
        lambda x: np.cos(x) + 1,
        costs=[1.0, 2.0, 3.0],
    )


def log_likelihood(theta):
    return stats.norm.logpdf(2.0, theta[:, 0], 0.5) + stats.norm.logpdf(-1.0, theta[:, 1], 0.3)


PRIOR = [stats.norm(0, 1), stats.norm(0, 2)]


def cut(call, folder, name, **more):
    """Run a call with a store until a callback stops it, and then to its end."""
    store = folder / f"{name}.db"
    seen = []

    def stop(progress):
        seen.append(progress.tickets)
        return len(seen) == 9

    call(store=store, callback=stop)
    return call(store=store, **more)


def reopened(call, folder, name):
    store = folder / f"{name}.db"
    call(store=store)
    return cr.open_run(store).result()


def estimate(arms=ARMS, **settings):
    return cr.estimate(arms, **{"draws": 20_000, "rng": 7, "progress": False, **settings})


def mixture(make=family, **settings):
    return make().estimate(**{"draws": 4000, "rng": 7, "progress": False, **settings})


def stratify(**settings):
    settings = {"draws": 5000, "rng": 7, "progress": False, **settings}
    return cr.stratify(STRATA, SHARES, **settings)


def evidence(**settings):
    settings = {"draws": 3000, "rng": 7, "progress": False, **settings}
    return cr.evidence(log_likelihood, PRIOR, **settings)


CASES: dict[str, Case] = {
    "scalar": lambda _: estimate(),
    "scalar, another seed": lambda _: estimate(rng=123456789),
    "scalar, uniform": lambda _: estimate(policy="uniform"),
    "scalar, greedy and mean": lambda _: estimate(policy="greedy", combine="mean"),
    "scalar, inverse variance": lambda _: estimate(combine="inverse-variance"),
    "scalar, tolerance": lambda _: estimate(draws=1e6, rtol=3e-3),
    "scalar, anytime": lambda _: estimate(anytime=True, atol=0.01),
    "scalar, width 6": lambda _: estimate(width=6),
    "scalar, values kept": lambda _: estimate(draws=3000, keep_values=True),
    "scalar, few draws": lambda _: estimate(draws=11),
    "scalar, one by one": lambda _: estimate(draws=600, batch="one"),
    "scalar, first calls of 50": lambda _: estimate(batch=50),
    "scalar, one arm": lambda _: estimate({"rough": rough}),
    "costs": lambda _: estimate(PRICED, draws=None, cost=20_000),
    "costs, width 4": lambda _: estimate(PRICED, draws=None, cost=20_000, width=4),
    "bounded, kl-ucb": lambda _: estimate(COINS, draws=900, policy="kl-ucb", batch="one"),
    "bounded, ucb-v": lambda _: estimate(COINS, draws=900, policy="ucb-v", batch="one"),
    "bounded, thompson": lambda _: estimate(COINS, policy="thompson"),
    "bounded, ucb1, many single draws": lambda folder: cut(
        lambda **k: estimate(COINS, draws=6500, policy="ucb1", batch="one", **k), folder, "single"
    ),
    "learning arm": lambda _: estimate(LEARNING),
    "vectors": lambda _: estimate(VECTORS),
    "vectors, objective": lambda _: estimate(VECTORS, objective=[1, 0], width=3),
    "logs": lambda _: estimate(LOGS, log=True),
    "logs, tolerance": lambda _: estimate(LOGS, draws=1e6, log=True, rtol=0.01),
    "logs, resumed": lambda folder: cut(lambda **k: estimate(LOGS, log=True, **k), folder, "logs"),
    "mixture": lambda _: mixture(),
    "mixture, equal": lambda _: mixture(proportions="equal", width=5),
    "mixture, shares": lambda _: mixture(proportions=[0.5, 0.3, 0.2]),
    "mixture, tolerance": lambda _: mixture(draws=1e5, rtol=0.01),
    "mixture, costs": lambda _: mixture(bumps, draws=None, cost=8000.0),
    "mixture, tuned": lambda _: tail().tune(draws=6000, rng=7, progress=False),
    "mixture, resumed": lambda folder: cut(
        lambda **k: tail().estimate(draws=4000, tune=2, rng=7, width=3, **k), folder, "mixture"
    ),
    "mixture, workers": lambda _: mixture(workers=2, width=4),
    "strata": lambda _: stratify(),
    "strata, uniform, width 3": lambda _: stratify(policy="uniform", width=3),
    "strata, reopened": lambda folder: reopened(stratify, folder, "strata"),
    "evidence": lambda _: evidence(),
    "evidence, tolerance": lambda _: evidence(draws=1e5, rtol=0.05),
    "evidence, own ladder": lambda _: evidence(temperatures=[8, 32], draws=8000),
    "evidence, resumed": lambda folder: cut(lambda **k: evidence(**k), folder, "evidence"),
    "evidence, slices": lambda _: evidence(kernel="slice", temperatures=10, draws=8000),
    "workers": lambda _: estimate(workers=2, width=6),
    "workers, costs": lambda _: estimate(PRICED, draws=None, cost=9000, workers=2, width=4),
    "workers, resumed": lambda folder: cut(
        lambda **k: estimate(workers=2, width=6, **k), folder, "workers"
    ),
    "resumed": lambda folder: cut(lambda **k: estimate(**k), folder, "resumed"),
    "resumed, anytime": lambda folder: cut(
        lambda **k: estimate(anytime=True, **k), folder, "anytime"
    ),
    "resumed, more draws": lambda folder: cut(
        lambda draws=20_000, **k: estimate(draws=draws, **k), folder, "more", draws=50_000
    ),
    "reopened": lambda folder: reopened(lambda **k: estimate(anytime=True, **k), folder, "open"),
    "merged": lambda _: cr.merge([estimate(rng=seed) for seed in (1, 2, 3)]),
    "merged, different arms": lambda _: cr.merge(
        [estimate(rng=1), estimate({"rough": rough, "fine": fine}, rng=2)]
    ),
    "merged, mixtures": lambda _: cr.merge([mixture(rng=1), mixture(rng=2)]),
    "merged, strata": lambda _: cr.merge([stratify(rng=1), stratify(rng=2)]),
    "merged, logs": lambda _: cr.merge([estimate(LOGS, log=True, rng=s) for s in (1, 2)]),
}

#: What is recorded of a result, and of each of its arms.
NUMBERS = ("value", "stderr", "interval", "confidence", "draws", "cost", "stopped", "agreement",
           "seed", "log_value", "log_stderr", "log_interval")  # fmt: skip
ROWS = ("name", "draws", "share", "weight", "mean", "stderr", "variance", "cost_per_draw",
        "efficiency", "log_mean", "log_stderr", "relative_deviation")  # fmt: skip


def exact(value: Any) -> Any:
    """Return a value as JSON that has every bit of it."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [exact(one) for one in value]
    return float(value).hex() if isinstance(value, float) else value


def digest(*arrays: Any) -> str:
    return hashlib.blake2b(
        b"".join(np.ascontiguousarray(a).tobytes() for a in arrays), digest_size=8
    ).hexdigest()


def processor() -> str:
    """Return what the last bits of a few functions are here: a matter of processor and versions."""
    x = np.linspace(0.1, 3.0, 1000)
    table = np.outer(x[:40], x[:40]) + np.eye(40)
    bits = digest(np.exp(x), np.log(x), np.sin(x), x @ x, table @ table, np.linalg.inv(table))
    return f"{bits}, numpy {np.__version__}, scipy {scipy.__version__}"


def record_of(result: Any) -> dict[str, Any]:
    """Return everything that a run computes, without the words that it says about it."""
    history, curve = result.history, result.history.curve()
    values = [row.values for row in result.arms if row.values is not None]
    return {
        **{name: exact(getattr(result, name)) for name in NUMBERS},
        "at 99 %": exact(result.confidence_interval(0.99)),
        "warnings": len(result.warnings),
        "batches": len(history),
        "history": digest(
            history.ticket, history.arm, history.size, history.batch_cost, history.draws
        ),
        "curve": digest(curve.row, curve.value, curve.half_width),
        "values": digest(*values),
        "arms": [[exact(getattr(row, name)) for name in ROWS] for row in result.arms],
    }
