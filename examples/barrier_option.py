# %% [markdown]
# # A barrier option
#
# A down-and-out call is worth nothing if the price ever touches the barrier. If you look at the price only once a day, you miss some of the touches, and the estimate is biased. The **Brownian bridge** mends this: between two dates the chance of a touch is known. So a path of one single step is already unbiased, and so are paths with more steps. They differ in cost and in variance.
#
# It takes 3 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import ndtr

import croupier as cr

SPOT, STRIKE, BARRIER, RATE, VOLATILITY, MATURITY = 100.0, 100.0, 85.0, 0.05, 0.3, 1.0
DRIFT = RATE - VOLATILITY**2 / 2
DISCOUNT = np.exp(-RATE * MATURITY)
START, EDGE = np.log(SPOT), np.log(BARRIER)

# %% [markdown]
# ## The arms
#
# `x` holds the logs of the prices, one row per path. The bridge from a to b in the time h stays above the edge with the probability 1 - exp(-2 (a - edge)(b - edge)/(σ² h)).

# %%


def survival(x, h):
    """The chance that no bridge between two dates of a path touches the barrier."""
    above = np.maximum(x - EDGE, 0)
    touched = np.exp(-2 * above[:, 1:] * above[:, :-1] / (VOLATILITY**2 * h))
    return np.prod(1 - touched, axis=1)


def walk(z):
    h = MATURITY / z.shape[1]
    steps = np.cumsum(DRIFT * h + VOLATILITY * np.sqrt(h) * z, axis=1)
    return np.column_stack([np.full(len(z), START), START + steps]), h


def payoff(z):
    x, h = walk(z)
    return DISCOUNT * np.maximum(np.exp(x[:, -1]) - STRIKE, 0) * survival(x, h)


def vanilla(z):
    return DISCOUNT * np.maximum(np.exp(walk(z)[0][:, -1]) - STRIKE, 0)


def call(spot):
    """The price without a barrier (Black and Scholes)."""
    d = (np.log(spot / STRIKE) + DRIFT * MATURITY) / (VOLATILITY * np.sqrt(MATURITY))
    return spot * ndtr(d + VOLATILITY * np.sqrt(MATURITY)) - STRIKE * DISCOUNT * ndtr(d)


def many_steps(rng, size):
    return payoff(rng.standard_normal((size, 50)))


def one_step(rng, size):
    return payoff(rng.standard_normal((size, 1)))


def mirrored(rng, size):
    z = rng.standard_normal((size, 1))
    return (payoff(z) + payoff(-z)) / 2


def control(rng, size):
    z = rng.standard_normal((size, 1))
    return payoff(z) - vanilla(z) + call(SPOT)


def moved(rng, size):  # the final price is drawn where the option pays
    z = rng.normal(1.0, 1.2, (size, 1))
    return payoff(z) * 1.2 * np.exp(((z[:, 0] - 1) / 1.2) ** 2 / 2 - z[:, 0] ** 2 / 2)


# %%
result = cr.estimate([many_steps, one_step, mirrored, control, moved], seconds=1, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# The reflection principle gives the price in closed form, for a barrier below the strike.

# %%
known = call(SPOT) - (BARRIER / SPOT) ** (2 * RATE / VOLATILITY**2 - 1) * call(BARRIER**2 / SPOT)
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.6f} (closed form); {away:.1f} standard errors away")

# %% [markdown]
# ## What goes wrong without the bridge
#
# The picture shows the price if the barrier is seen only on some dates. It falls slowly towards the known answer. That is why the daily path is not an arm.

# %%
rng = np.random.default_rng(7)
dates = np.array([4, 12, 52, 252])
seen = []
for steps in dates:
    x, _ = walk(rng.standard_normal((20_000, steps)))
    paid = DISCOUNT * np.maximum(np.exp(x[:, -1]) - STRIKE, 0) * (x.min(axis=1) > EDGE)
    seen.append((paid.mean(), paid.std() / np.sqrt(paid.size)))
means, errors = np.array(seen).T

figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
axes.errorbar(dates, means, 2 * errors, marker="o", capsize=3, label="barrier seen on some dates")
axes.axhline(known, color="black", linestyle="--", linewidth=1, label="closed form")
axes.axhspan(*result.interval, color="#009E73", alpha=0.6, label="croupier, 95% interval")
axes.set(xscale="log", xlabel="dates per year", ylabel="price", xticks=dates, xticklabels=dates)
axes.minorticks_off()
axes.legend(frameon=False)
figure.savefig("barrier_option.png")
