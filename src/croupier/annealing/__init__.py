"""The evidence of a model: a search and its estimate, draws of chains, and annealing arms."""

from croupier.annealing.annealed import ais
from croupier.annealing.slices import slice_sample

__all__ = ["ais", "slice_sample"]
