# %% [markdown]
# # The caplet of the paper
#
# Neufeld, György, Schuurmans and Szepesvári (2014) price a caplet on an interest rate that follows Cox, Ingersoll and Ross. Their 16 arms are importance samplers: each draws the Brownian motion with another drift θ. Which drift is best depends on the strike. Here the arms share 200 000 draws, once as the paper uses them, and once as a **mixture** that weights all draws by all densities.
#
# It takes 5 seconds.

# %%
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from scipy.interpolate import CubicSpline

import croupier as cr
from croupier.importance import Family

eta, kappa, sigma, start, strike, steps = 0.016, 0.2, 0.02, 0.08, 0.08, 100
thetas = np.arange(16) / 10


def step(rate, noise):
    return rate + (eta - kappa * rate) / steps + sigma * np.sqrt(rate / steps) * noise


def walk(rng, size, total):
    """Return discounted payoffs of paths whose noise, over a year, sums to `total`."""
    noise = rng.standard_normal((steps, size))
    noise += (total - noise.sum(axis=0) / np.sqrt(steps)) / np.sqrt(steps)
    rate, area = np.full(size, start), np.zeros(size)
    for one in noise:
        after = step(rate, one)
        area += (rate + after) / (2 * steps)
        rate = after
    return 1000 * np.exp(-area) * np.maximum(rate - strike, 0)


def drifted(rng, size, theta):
    total = rng.normal(theta, 1, size)
    return walk(rng, size, total) * np.exp(theta**2 / 2 - theta * total)


arms = [cr.Arm(partial(drifted, theta=theta), name=f"theta={theta:g}") for theta in thetas]
result = cr.estimate(arms, draws=200_000, rng=7)
print(result)


# %%
def simulate(rng, size, normal):
    total = rng.normal(normal.mean.item(), normal.root.item(), size)
    return walk(rng, size, total), total


family = Family.simulated(simulate, thetas, names=[arm.name for arm in arms])
mixture = family.estimate(draws=200_000, rng=7)
gain = (result.stderr / mixture.stderr) ** 2
print(f"The mixture: {mixture.value:.6f} ± {mixture.stderr:.6f}, worth {gain:.1f} times the draws.")

# %% [markdown]
# ## The known answer
#
# The price of this chain of steps, and the variance of every arm, follow from numerical integration over the rate, step by step from the end. The second moment of a draw with the drift θ is exp(θ²) times that of a payoff with the drift −θ.

# %%
rates = np.linspace(0.02, 0.16, 561)
z = np.linspace(-6, 6, 49)
density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()


def moment(power, theta=0.0):
    """Return the mean of payoff**power, where the Brownian motion has the drift theta."""
    after = step(rates[:, None], z + theta / np.sqrt(steps))
    discount = np.exp(-power * (rates[:, None] + after) / (2 * steps)) * density
    value = (1000 * np.maximum(after - strike, 0)) ** power
    for _ in range(steps):
        spline = CubicSpline(rates, (discount * value).sum(axis=1))
        value = spline(after)
    return float(spline(start))


price = moment(1)
variances = np.array([np.exp(theta**2) * moment(2, -theta) - price**2 for theta in thetas])
for name, run in (("arms", result), ("mixture", mixture)):
    away = abs(run.value - price) / run.stderr
    print(f"known answer: {price:.6f} (quadrature); {away:.1f} standard errors away ({name})")

# %%
rows = [result.arms[arm.name] for arm in arms]

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(thetas, variances, color="black", linewidth=1, label="exact")
left.plot(thetas, [row.variance for row in rows], "o", color="#0072B2", label="found by the run")
left.set(xlabel="drift θ", ylabel="variance of a draw", yscale="log")
left.legend(frameon=False)
right.bar(thetas, [row.draws / result.draws for row in rows], width=0.08, color="#0072B2")
right.set(xlabel="drift θ", ylabel="share of the draws")
figure.savefig("caplet.png")
