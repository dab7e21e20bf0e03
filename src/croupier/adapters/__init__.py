"""Models of other libraries as a likelihood and a prior: PyMC, NumPyro, Stan, functions of JAX."""

from croupier.adapters.jax_function import jax
from croupier.adapters.numpyro_model import numpyro
from croupier.adapters.pymc_model import pymc
from croupier.adapters.stan_model import stan

__all__ = ["jax", "numpyro", "pymc", "stan"]
