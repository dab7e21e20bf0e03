"""The experiments of the paper, to run again: Neufeld et al., ICML 2014. They need numba."""

from paper.cir import Caplet as Caplet
from paper.fig1 import Figure1 as Figure1
from paper.fig1 import figure1 as figure1
from paper.fig1_study import TwoArms as TwoArms
from paper.fig2 import Figure2 as Figure2
from paper.fig2 import figure2 as figure2
from paper.fig2_study import OptionPrice as OptionPrice
from paper.fig3 import Figure3 as Figure3
from paper.fig3 import figure3 as figure3
from paper.fig3_study import Annealing as Annealing
from paper.logistic import Evidence as Evidence

__all__ = [
    "Annealing",
    "Caplet",
    "Evidence",
    "Figure1",
    "Figure2",
    "Figure3",
    "OptionPrice",
    "TwoArms",
    "figure1",
    "figure2",
    "figure3",
]
