# %% [markdown]
# # One integrand, no arms
#
# An option pays the amount by which the geometric mean of 32 prices exceeds a strike. You have the payoff as a function of the path, and you do not know which method of variance reduction fits it. `cr.integrate` takes the payoff and the distribution of the path, and lets families of randomised nets race: plain coordinates, principal components, and importance densities that are fitted during the run.
#
# Three strikes are priced at once, on the same points.
#
# It takes 5 seconds.

# %%
import numpy as np
from scipy import stats
from scipy.special import ndtr

import croupier as cr

STEPS, SIGMA, RATE = 32, 0.3, 0.05
STRIKES = np.array([0.9, 1.0, 1.2])
names = [f"strike {strike}" for strike in STRIKES]
times = np.arange(1, STEPS + 1) / STEPS
path = stats.multivariate_normal(np.zeros(STEPS), np.minimum.outer(times, times))


def payoffs(w):
    """Return the payoffs of the three strikes, one row per path w of a Brownian motion."""
    mean = np.exp(((RATE - SIGMA**2 / 2) * times + SIGMA * w).mean(axis=1))
    return np.exp(-RATE) * np.maximum(mean[:, None] - STRIKES, 0)


result = cr.integrate(payoffs, path, rtol=1e-3, draws=1_000_000, names=names, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# The geometric mean of the prices is lognormal, so Black and Scholes have a formula for it.

# %%
m = (RATE - SIGMA**2 / 2) * times.mean()
s = SIGMA * np.sqrt(np.minimum.outer(times, times).mean())
at = (m - np.log(STRIKES)) / s
known = np.exp(-RATE) * (np.exp(m + s**2 / 2) * ndtr(at + s) - STRIKES * ndtr(at))
away = np.abs(result.value - known) / result.stderr
for price, distance in zip(known, away, strict=True):
    print(f"known answer: {price:.6e} (closed form); {distance:.1f} standard errors away")

# %% [markdown]
# ## A ratio
#
# The three prices come from the same points, so their errors are correlated, and a ratio of two of them is known better than each of them. `result.of` uses the covariance.

# %%
ratio = result.of(lambda low, middle, high: high / low)
print(f"the price of the last strike is {ratio.value:.6f} ± {ratio.stderr:.6f} of the first")

# %%
figure = result.plot(component=2)
figure.savefig("one_integrand.png")
figure
