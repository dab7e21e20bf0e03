"""Arms: what can be drawn from."""

from croupier.arms.base import Arm, ArmLike, Guided, Learner, as_arms, scalar

__all__ = ["Arm", "ArmLike", "Guided", "Learner", "as_arms", "scalar"]
