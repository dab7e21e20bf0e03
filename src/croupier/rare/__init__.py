"""Rare events: the probability that a limit state is below zero, without any proposals."""

from croupier.rare.rare_result import ProbabilityResult
from croupier.spaces.vectors import Nataf

__all__ = ["Nataf", "ProbabilityResult"]
