# %% [markdown]
# # The partition function of the Ising model
#
# The Ising model has spins of ±1 on a grid, here 8 × 8 with periodic edges. A state has the weight exp(β × the number of equal neighbours minus the number of unequal ones). The partition function Z is the sum of the weights of all 2⁶⁴ states. At the critical temperature, Z is about e⁶⁰.
#
# **Annealed importance sampling** starts with random spins at β = 0 and cools them in small steps. The product of small weights is an unbiased estimate of Z, for any number of steps: few steps are cheap and noisy, many steps are expensive and precise. Which number is best? Each is an arm, and a draw costs its number of sweeps. The values are far too large and too small for plain numbers, so the run works with logs.
#
# It takes 8 seconds.

# %%
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import croupier as cr

SIDE = 8
CRITICAL = np.log(1 + np.sqrt(2)) / 2
CHECKERBOARD = np.add.outer(np.arange(SIDE), np.arange(SIDE)) % 2


def neighbours(spins):
    return sum(np.roll(spins, s, axis) for s in (1, -1) for axis in (1, 2))


def bonds(spins):
    """The number of equal neighbours minus the number of unequal ones."""
    return (spins * neighbours(spins)).sum(axis=(1, 2)) / 2


def sweep(rng, spins, beta):
    """Draw the black fields given the white ones, then the white ones given the black ones."""
    for colour in (0, 1):
        up = 1 / (1 + np.exp(-2 * beta * neighbours(spins)))
        drawn = np.where(rng.random(spins.shape) < up, 1.0, -1.0)
        spins = np.where(colour == CHECKERBOARD, drawn, spins)
    return spins


def annealed(steps):
    betas = np.linspace(0, CRITICAL, steps + 1)

    def draw(rng, size):
        spins = rng.choice([-1.0, 1.0], (size, SIDE, SIDE))
        log_weight = np.full(size, SIDE**2 * np.log(2))
        for low, high in pairwise(betas):
            log_weight += (high - low) * bonds(spins)
            if high < CRITICAL:
                spins = sweep(rng, spins, high)
        return cr.Draws(log_values=log_weight, costs=float(steps))

    return draw


arms = {f"{steps} steps": annealed(steps) for steps in (10, 30, 100, 300)}
result = cr.estimate(arms, log=True, cost=300_000, batch=50, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# A transfer matrix adds one row of spins after the other. It has 2⁸ × 2⁸ entries, and Z is the trace of its 8th power.

# %%
rows = 1 - 2 * ((np.arange(2**SIDE)[:, None] >> np.arange(SIDE)) & 1)


def log_partition(beta):
    within = beta * (rows * np.roll(rows, 1, axis=1)).sum(axis=1)
    transfer = np.exp(beta * rows @ rows.T + (within[:, None] + within) / 2)
    eigenvalues = np.linalg.eigvalsh(transfer)
    top = eigenvalues[-1]
    return SIDE * np.log(top) + np.log(((eigenvalues / top) ** SIDE).sum())


known = log_partition(CRITICAL)
away = abs(result.log_value - known) / result.log_stderr
print(f"known answer: {known:.6f} (transfer matrix); {away:.1f} standard errors away")

# %%
rng = np.random.default_rng(7)
figure, panels = plt.subplots(
    1, 4, figsize=(10, 2.9), layout="constrained", width_ratios=[1, 1, 1, 1.5]
)
for axes, factor in zip(panels, (0.0, 0.7, 1.0), strict=False):
    spins = rng.choice([-1.0, 1.0], (1, 64, 64))
    colours = np.add.outer(np.arange(64), np.arange(64)) % 2
    for _ in range(200):
        for colour in (0, 1):
            up = 1 / (1 + np.exp(-2 * factor * CRITICAL * neighbours(spins)))
            drawn = np.where(rng.random(spins.shape) < up, 1.0, -1.0)
            spins = np.where(colours == colour, drawn, spins)
    axes.imshow(spins[0], cmap="Greys", interpolation="nearest")
    axes.set(xticks=[], yticks=[], title=f"β = {factor * CRITICAL:.2f}")
shown = {row.name: row.efficiency for row in result.arms}
panels[3].barh(list(shown), list(shown.values()), color="#0072B2")
panels[3].set(title="efficiency of each arm")
figure.savefig("ising.png")
