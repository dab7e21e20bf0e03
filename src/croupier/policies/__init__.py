"""Policies: which arm is played next. One file a family, one line here to add one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from croupier.errors import PlanError
from croupier.policies.base import Policy, describe
from croupier.policies.baselines import ExploreThenCommit, Fixed, Greedy, Uniform
from croupier.policies.variance import VarianceLCB, VarianceThompson

__all__ = [
    "REGISTRY",
    "ExploreThenCommit",
    "Fixed",
    "Greedy",
    "Policy",
    "Uniform",
    "VarianceLCB",
    "VarianceThompson",
    "as_policy",
    "describe",
]

#: Every policy that has a name: the contract tests and the command line read it from here.
REGISTRY: dict[str, type[Policy]] = {
    policy.name: policy
    for policy in (
        VarianceThompson,
        VarianceLCB,
        Uniform,
        Fixed,
        Greedy,
        ExploreThenCommit,
    )
}


def as_policy(policy: str | Mapping[str, Any] | Policy) -> Policy:
    """Return a policy from its name, from what `describe` returned, or as it is.

    >>> as_policy("auto")
    VarianceThompson(floor=0.5)
    """
    if isinstance(policy, Policy):
        return policy
    spec = dict(policy) if isinstance(policy, Mapping) else {"name": policy}
    name = spec.pop("name", None)
    name = VarianceThompson.name if name == "auto" else name
    if not isinstance(name, str) or name not in REGISTRY:
        raise PlanError(
            f"unknown policy {policy!r}; the policies are auto, {', '.join(sorted(REGISTRY))}, "
            "or an object with start, choose and learn"
        )
    return REGISTRY[name](**spec)
