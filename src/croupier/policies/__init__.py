"""Policies: which arm is played next. One file a family; one line here adds it to the registry."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, TypeGuard

from croupier.errors import PlanError
from croupier.policies.base import Policy as Policy
from croupier.policies.base import describe as describe
from croupier.policies.base import lacks_of
from croupier.policies.baselines import ExploreThenCommit as ExploreThenCommit
from croupier.policies.baselines import Fixed as Fixed
from croupier.policies.baselines import Greedy as Greedy
from croupier.policies.baselines import Uniform as Uniform
from croupier.policies.bounded import KLUCB as KLUCB
from croupier.policies.bounded import MOSS as MOSS
from croupier.policies.bounded import UCB1 as UCB1
from croupier.policies.bounded import UCBV as UCBV
from croupier.policies.bounded import Thompson as Thompson
from croupier.policies.heavy import RobustUCB as RobustUCB
from croupier.policies.heavy import SubgaussianUCB as SubgaussianUCB
from croupier.policies.smooth import SmoothThompson as SmoothThompson
from croupier.policies.stratified import MCUCB as MCUCB
from croupier.policies.stratified import Proportional as Proportional
from croupier.policies.tightest import Tightest as Tightest
from croupier.policies.variance import VarianceLCB as VarianceLCB
from croupier.policies.variance import VarianceThompson as VarianceThompson


def _is_policy(thing: Any) -> TypeGuard[type[Policy]]:
    return inspect.isclass(thing) and hasattr(thing, "example") and thing is not Policy


#: Every policy that is imported above, by its name: the contract tests and the command line read
#: them from here.
REGISTRY: dict[str, type[Policy]] = {
    policy.name: policy for policy in list(globals().values()) if _is_policy(policy)
}


def as_policy(policy: str | Mapping[str, Any] | Policy) -> Policy:
    """Return a policy from its name, from what `describe` returned, or as it is.

    >>> as_policy("auto")
    VarianceThompson(floor=0.5)
    """
    if isinstance(policy, type):
        raise PlanError(f"policy must be a policy, got the class {policy.__name__}: call it")
    if not isinstance(policy, str | Mapping):
        if not (lacks := lacks_of(policy)):
            return policy
        if len(lacks) < 4:
            raise PlanError(
                f"policy {policy!r} has no {', '.join(lacks)}: "
                "a policy needs name, start, choose and learn"
            )
    spec = dict(policy) if isinstance(policy, Mapping) else {"name": policy}
    name = spec.pop("name", None)
    name = VarianceThompson.name if name == "auto" else name
    if not isinstance(name, str) or name not in REGISTRY:
        raise PlanError(
            f"unknown policy {policy!r}; the policies are auto, {', '.join(sorted(REGISTRY))}, "
            "or an object with name, start, choose and learn"
        )
    try:
        return REGISTRY[name](**spec)
    except TypeError as error:
        raise PlanError(f"policy {name!r} cannot have the parameters {spec}: {error}") from error
