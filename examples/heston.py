# %% [markdown]
# # Heston's model by debiased levels
#
# In Heston's model the variance v of the price is random itself. The price of an option depends on the time integral of v, and a computer can only sum v over a grid. Every grid has a bias. A **debiased sum** has none: it draws a level L at random, computes the difference between the grid of 2^L steps and the grid of half as many on the same path, and divides this difference by the probability of the level.
#
# How the level is drawn, and on which level the sum begins, decides what a draw costs and how much it varies. So each choice is an arm, and croupier finds the best one. The cost of a draw is its number of time steps.
#
# It takes 6 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr

import croupier as cr

SPOT, STRIKE, RATE, MATURITY = 100.0, 100.0, 0.02, 1.0
KAPPA, THETA, XI, RHO, START = 2.0, 0.05, 0.4, -0.6, 0.04

# %% [markdown]
# ## One path, two grids
#
# The variance can be drawn exactly on any grid: it is a scaled noncentral chi-squared number. If v is known, the log of the price is normal, and Black and Scholes give the mean of the payoff. Only the integral of v is approximate. The coarse grid takes every second point of the fine grid.

# %%


def variances(rng, size, steps):
    """v on a grid, exactly: (size, steps + 1)."""
    h = MATURITY / steps
    decay = np.exp(-KAPPA * h)
    scale = XI**2 * (1 - decay) / (4 * KAPPA)
    v = np.empty((size, steps + 1))
    v[:, 0] = START
    for k in range(steps):
        v[:, k + 1] = scale * rng.noncentral_chisquare(
            4 * KAPPA * THETA / XI**2, v[:, k] * decay / scale
        )
    return v


def payoff(v):
    """The mean of the discounted payoff if the path of the variance is v."""
    h = MATURITY / (v.shape[1] - 1)
    total = h * (v.sum(axis=1) - (v[:, 0] + v[:, -1]) / 2)
    noise = (v[:, -1] - START - KAPPA * (THETA * MATURITY - total)) / XI
    spot = SPOT * np.exp(RHO * noise - RHO**2 * total / 2)
    deviation = np.sqrt((1 - RHO**2) * total)
    d = (np.log(spot / STRIKE) + RATE * MATURITY) / deviation - deviation / 2
    return spot * ndtr(d + deviation) - STRIKE * np.exp(-RATE * MATURITY) * ndtr(d)


def debiased(base, decay):
    """An arm: the level `base`, plus one difference of a level L > base, P(L) ~ decay^L."""

    def draw(rng, size):
        chosen = base + rng.geometric(1 - decay, size)
        values, costs = payoff(variances(rng, size, 2**base)), np.full(size, 2.0**base)
        for level in np.unique(chosen):
            rows = np.flatnonzero(chosen == level)
            v = variances(rng, len(rows), 2**level)
            p = (1 - decay) * decay ** (level - base - 1.0)
            values[rows] += (payoff(v) - payoff(v[:, ::2])) / p
            costs[rows] += 2.0**level
        return cr.Draws(values, costs)

    return draw


arms = {
    f"from {2**base} steps, ratio {decay:.2f}": debiased(base, decay)
    for base in (0, 2, 4)
    for decay in (0.35, 0.42)
}
result = cr.estimate(arms, cost=2_000_000, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# The characteristic function of the log price is known, and the price is one integral of it (Lewis 2000), which `quad` computes.

# %%


def characteristic(u):
    """E[exp(i u log(S/S0))] without interest, in the form that has no branch cut (Albrecher)."""
    b = KAPPA - RHO * XI * 1j * u
    d = np.sqrt(b * b + XI**2 * (u * u + 1j * u))
    g = (b - d) / (b + d)
    decay = np.exp(-d * MATURITY)
    level = (b - d) * MATURITY - 2 * np.log((1 - g * decay) / (1 - g))
    slope = (b - d) * (1 - decay) / (1 - g * decay)
    return np.exp((KAPPA * THETA * level + START * slope) / XI**2)


forward = SPOT * np.exp(RATE * MATURITY)
moneyness = np.log(forward / STRIKE)


def integrand(u):
    return (np.exp(1j * u * moneyness) * characteristic(u - 0.5j)).real / (u * u + 0.25)


integral = quad(integrand, 0, 200, limit=400)[0]
known = np.exp(-RATE * MATURITY) * (forward - np.sqrt(forward * STRIKE) / np.pi * integral)
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.6f} (quadrature); {away:.1f} standard errors away")

# %% [markdown]
# ## The bias that is gone
#
# A plain grid has a bias that no number of paths removes. The picture shows it for 1, 2, 4, ... steps, as a difference to 128 steps on the same paths. A plain run must choose its grid before this picture is known. The debiased sum needs no such choice, and a draw takes five steps on average.

# %%
fine = variances(np.random.default_rng(7), 20_000, 128)
strides = 2 ** np.arange(7, 1, -1)
gaps = np.array([payoff(fine[:, ::stride]) - payoff(fine) for stride in strides])
bias, errors = abs(gaps.mean(axis=1)), gaps.std(axis=1) / np.sqrt(len(fine))

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.errorbar(128 // strides, bias, 2 * errors, marker="o", capsize=3, label="bias of a plain grid")
axes.axhline(result.stderr, color="#009E73", linestyle="--", label="standard error of the run")
axes.set_xscale("log", base=2)
axes.set_yscale("log")
axes.set(xlabel="time steps", ylabel="error of the price")
axes.legend(frameon=False)
figure.savefig("heston.png")
