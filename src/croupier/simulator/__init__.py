"""Simulation of policies: many replicated runs at once, compiled when they are first needed.

A problem is made by one of the functions here, and played by `croupier.simulate`.
"""

from croupier.simulator.players import PLAYED as PLAYED
from croupier.simulator.problems import Costs as Costs
from croupier.simulator.problems import Problem as Problem
from croupier.simulator.problems import compiled_arms as compiled_arms
from croupier.simulator.problems import lognormal as lognormal
from croupier.simulator.problems import lognormal_costs as lognormal_costs
from croupier.simulator.problems import normal as normal
from croupier.simulator.problems import recorded as recorded
from croupier.simulator.problems import scaled_bernoulli as scaled_bernoulli
from croupier.simulator.problems import truncated_normal as truncated_normal
from croupier.simulator.problems import two_valued as two_valued
from croupier.simulator.problems import uniform as uniform
from croupier.simulator.simulation import Replicates as Replicates
from croupier.simulator.simulation import Simulation as Simulation
