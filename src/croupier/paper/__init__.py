"""The experiments of the paper, to run again: Neufeld et al., ICML 2014. Needs numba."""

from croupier.paper.cir import Caplet as Caplet
from croupier.paper.fig1 import Figure1 as Figure1
from croupier.paper.fig1 import figure1 as figure1
from croupier.paper.fig1_study import TwoArms as TwoArms
from croupier.paper.fig2 import Figure2 as Figure2
from croupier.paper.fig2 import figure2 as figure2
from croupier.paper.fig2_study import OptionPrice as OptionPrice

__all__ = ["Caplet", "Figure1", "Figure2", "OptionPrice", "TwoArms", "figure1", "figure2"]
