"""croupier: several unbiased estimators of one number, one budget, one honest answer.

>>> import croupier as cr
>>> def naive(rng, size): return rng.random(size) ** 2
>>> def antithetic(rng, size):
...     u = rng.random(size)
...     return (u**2 + (1 - u) ** 2) / 2
>>> result = cr.estimate({"naive": naive, "antithetic": antithetic}, draws=10_000, rng=7)
>>> round(result.value, 2)
0.33
"""

from croupier import policies
from croupier.allocator import Allocator
from croupier.arms.base import Arm, scalar
from croupier.draws import Batch, Draws, Outcome
from croupier.errors import ArmError, CroupierError, CroupierWarning, PlanError, StoreError
from croupier.plan import Plan
from croupier.result import Result
from croupier.run import estimate
from croupier.table import Progress, Table

__all__ = [
    "Allocator",
    "Arm",
    "ArmError",
    "Batch",
    "CroupierError",
    "CroupierWarning",
    "Draws",
    "Outcome",
    "Plan",
    "PlanError",
    "Progress",
    "Result",
    "StoreError",
    "Table",
    "__version__",
    "estimate",
    "policies",
    "scalar",
]

__version__ = "0.1.0"
