"""Arms: the unbiased estimators that a run draws from."""

from croupier.arms.base import Arm, ArmLike, Learner, as_arms, scalar

__all__ = ["Arm", "ArmLike", "Learner", "as_arms", "scalar"]
