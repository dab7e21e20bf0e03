"""Arms: what can be drawn from."""

import importlib
from typing import TYPE_CHECKING, Any

from croupier.arms.base import Arm, ArmLike, Learner, as_arms, scalar

if TYPE_CHECKING:
    from croupier.arms.annealed import ais
    from croupier.arms.slices import slice_sample

__all__ = ["Arm", "ArmLike", "Learner", "ais", "as_arms", "scalar", "slice_sample"]

#: Families of ready-made arms, loaded when they are first used.
_HOME_OF = {"ais": "annealed", "slice_sample": "slices"}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'croupier.arms' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"croupier.arms.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value
