"""The evidence of a model: its arms, the pilot that chooses them, and priors."""

from croupier.annealing.annealed import ais
from croupier.annealing.slices import slice_sample

__all__ = ["ais", "slice_sample"]
