"""Arms: the unbiased estimators that a run draws from."""

from croupier.arms.base import Arm, ArmLike, Guided, Learner, as_arms, scalar

__all__ = ["Arm", "ArmLike", "Guided", "Learner", "as_arms", "scalar"]
