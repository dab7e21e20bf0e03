"""Rare events: the probability that a limit state is below zero, without any proposals."""

from croupier.rare.normal_space import Nataf
from croupier.rare.rare_result import ProbabilityResult

__all__ = ["Nataf", "ProbabilityResult"]
