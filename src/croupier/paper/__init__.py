"""The experiments of the paper, to run again: Neufeld et al., ICML 2014. Needs numba."""

from croupier.paper.fig1 import Figure1 as Figure1
from croupier.paper.fig1 import figure1 as figure1
from croupier.paper.fig1_study import TwoArms as TwoArms

__all__ = ["Figure1", "TwoArms", "figure1"]
