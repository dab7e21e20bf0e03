"""croupier: several unbiased estimators of one number, one budget, one honest answer.

>>> import croupier as cr
>>> def naive(rng, size):
...     return rng.random(size) ** 2
>>> def antithetic(rng, size):
...     u = rng.random(size)
...     return (u**2 + (1 - u) ** 2) / 2
>>> result = cr.estimate({"naive": naive, "antithetic": antithetic}, draws=10_000, rng=7)
>>> round(result.value, 2)
0.33
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from croupier import (
        adapters,
        annealing,
        arms,
        importance,
        policies,
        rare,
        simulator,
        theory,
    )
    from croupier.annealing.from_draws import evidence_from_draws
    from croupier.annealing.model_evidence import evidence
    from croupier.arms.base import Arm, Learner, scalar
    from croupier.arms.continuum import continuum
    from croupier.data.draws import Batch, Draws, Outcome
    from croupier.data.plan import Plan
    from croupier.errors import (
        ArmError,
        CroupierError,
        CroupierWarning,
        MissingExtraError,
        PlanError,
        StoreError,
        UnknownArgumentError,
    )
    from croupier.estimates.guaranteed import Guaranteed
    from croupier.functions.programs import Program
    from croupier.integration.one_integrand import integrate
    from croupier.rare.limit_probability import probability
    from croupier.rare.splitting import splitting
    from croupier.results.compare_models import compare
    from croupier.results.result import Result
    from croupier.running.allocator import Allocator
    from croupier.running.estimate import estimate
    from croupier.running.merge import merge
    from croupier.running.play import play
    from croupier.running.stratify import stratify
    from croupier.simulator.simulation import simulate
    from croupier.store.log import Store
    from croupier.store.reading import open_run
    from croupier.tables.base import Progress, Table

__version__ = "0.1.0"

__all__ = [
    "Allocator",
    "Arm",
    "ArmError",
    "Batch",
    "CroupierError",
    "CroupierWarning",
    "Draws",
    "Guaranteed",
    "Learner",
    "MissingExtraError",
    "Outcome",
    "Plan",
    "PlanError",
    "Program",
    "Progress",
    "Result",
    "Store",
    "StoreError",
    "Table",
    "UnknownArgumentError",
    "__version__",
    "adapters",
    "annealing",
    "arms",
    "compare",
    "continuum",
    "estimate",
    "evidence",
    "evidence_from_draws",
    "importance",
    "integrate",
    "merge",
    "open_run",
    "play",
    "policies",
    "probability",
    "rare",
    "scalar",
    "simulate",
    "simulator",
    "splitting",
    "stratify",
    "theory",
]

#: The module of each public name. It is loaded when the name is first used (PEP 562), so that
#: `import croupier` takes little time and a module that is never used is never loaded.
_HOMES = {
    "annealing.from_draws": ("evidence_from_draws",),
    "annealing.model_evidence": ("evidence",),
    "arms.base": ("Arm", "Learner", "scalar"),
    "arms.continuum": ("continuum",),
    "functions.programs": ("Program",),
    "data.draws": ("Batch", "Draws", "Outcome"),
    "data.plan": ("Plan",),
    "errors": (
        "ArmError",
        "CroupierError",
        "CroupierWarning",
        "MissingExtraError",
        "PlanError",
        "StoreError",
        "UnknownArgumentError",
    ),
    "estimates.guaranteed": ("Guaranteed",),
    "integration.one_integrand": ("integrate",),
    "rare.limit_probability": ("probability",),
    "rare.splitting": ("splitting",),
    "results.compare_models": ("compare",),
    "results.result": ("Result",),
    "running.allocator": ("Allocator",),
    "running.estimate": ("estimate",),
    "running.merge": ("merge",),
    "running.play": ("play",),
    "running.stratify": ("stratify",),
    "simulator.simulation": ("simulate",),
    "store.log": ("Store",),
    "store.reading": ("open_run",),
    "tables.base": ("Progress", "Table"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

#: The folders that are used by their name, as in `cr.policies.VarianceLCB`.
_ROOMS = {"adapters", "annealing", "arms", "importance", "policies", "rare", "simulator", "theory"}


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"croupier.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'croupier' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"croupier.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
