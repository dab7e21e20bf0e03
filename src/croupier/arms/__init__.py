"""Arms: the unbiased estimators that a run draws from.

The ready-made arms (`plain`, `antithetic`, ...) are loaded when they are first used.
"""

from typing import TYPE_CHECKING, Any

from croupier.arms.base import Arm, ArmLike, Guided, Learner, as_arms, scalar
from croupier.arms.ready_made import READY_MADE, ready_made

if TYPE_CHECKING:
    from croupier.arms.accepted_draws import rejection
    from croupier.arms.antithetic_pairs import antithetic
    from croupier.arms.conditional_means import conditional
    from croupier.arms.control_variates import control_variate
    from croupier.arms.controlled_draws import controlled
    from croupier.arms.debiased_sums import debiased
    from croupier.arms.latin_hypercubes import latin_hypercube
    from croupier.arms.multilevel_sums import multilevel
    from croupier.arms.plain_draws import plain
    from croupier.arms.proposed_draws import importance
    from croupier.arms.randomised_nets import randomised_net
    from croupier.arms.stratified_cells import stratified

__all__ = [
    "READY_MADE",
    "Arm",
    "ArmLike",
    "Guided",
    "Learner",
    "antithetic",
    "as_arms",
    "conditional",
    "control_variate",
    "controlled",
    "debiased",
    "importance",
    "latin_hypercube",
    "multilevel",
    "plain",
    "randomised_net",
    "rejection",
    "scalar",
    "stratified",
]


def __getattr__(name: str) -> Any:
    if name not in READY_MADE:
        raise AttributeError(f"module 'croupier.arms' has no attribute {name!r}")
    return ready_made(name)
