# %% [markdown]
# # An Asian option
#
# An Asian call pays the amount by which the mean of 12 monthly prices exceeds the strike. Five unbiased arms price it, and the budget is two seconds, so that the measured time of a draw counts.
#
# It takes 3 seconds.

# %%
import numpy as np
from scipy.interpolate import CubicSpline
from scipy.special import ndtr

import croupier as cr

SPOT, STRIKE, RATE, VOLATILITY, MONTHS = 100.0, 105.0, 0.03, 0.25, 12
STEP = 1 / MONTHS
DRIFT, SPREAD = (RATE - VOLATILITY**2 / 2) * STEP, VOLATILITY * np.sqrt(STEP)
DISCOUNT = np.exp(-RATE)

# %% [markdown]
# ## The arms
#
# The geometric mean of the prices is lognormal, so the option on it has a known price. That makes it a control variate. Importance sampling moves the normal numbers up by `SHIFT` and divides by the ratio of the densities.

# %%
SHIFT = 0.15


def paths(z):
    return SPOT * np.exp(np.cumsum(DRIFT + SPREAD * z, axis=1))


def arithmetic(path):
    return DISCOUNT * np.maximum(path.mean(axis=1) - STRIKE, 0)


def geometric(path):
    return DISCOUNT * np.maximum(np.exp(np.log(path).mean(axis=1)) - STRIKE, 0)


def black(mean, variance, strike):
    """The mean of max(e^X - strike, 0), X normal."""
    d = (mean - np.log(strike)) / np.sqrt(variance)
    return np.exp(mean + variance / 2) * ndtr(d + np.sqrt(variance)) - strike * ndtr(d)


months = np.arange(1, MONTHS + 1)
GEOMETRIC = DISCOUNT * black(
    np.log(SPOT) + DRIFT * months.mean(),
    SPREAD**2 * np.minimum.outer(months, months).mean(),
    STRIKE,
)


def naive(rng, size):
    return arithmetic(paths(rng.standard_normal((size, MONTHS))))


def antithetic(rng, size):
    z = rng.standard_normal((size, MONTHS))
    return (arithmetic(paths(z)) + arithmetic(paths(-z))) / 2


def control(rng, size):
    path = paths(rng.standard_normal((size, MONTHS)))
    return arithmetic(path) - geometric(path) + GEOMETRIC


def moved(rng, size):
    z = rng.normal(SHIFT, 1, (size, MONTHS))
    return ratio(z) * arithmetic(paths(z))


def moved_control(rng, size):
    z = rng.normal(SHIFT, 1, (size, MONTHS))
    path = paths(z)
    return ratio(z) * (arithmetic(path) - geometric(path)) + GEOMETRIC


def ratio(z):
    return np.exp(MONTHS * SHIFT**2 / 2 - SHIFT * z.sum(axis=1))


# %%
result = cr.estimate([naive, antithetic, control, moved, moved_control], seconds=2, rng=7)
print(result)

# %% [markdown]
# ## The known answer
#
# The sum of the prices is S₁ (1 + e^X₂ (1 + e^X₃ (1 + ...))), and each X is normal. Numerical integration takes one month at a time: the first month in closed form, the others by the Gauss-Hermite rule.

# %%
nodes, weights = np.polynomial.hermite_e.hermegauss(40)
weights = weights / weights.sum()
grid = np.linspace(-3, 5, 2001)
factor = SPOT / MONTHS


def first(z):
    return DISCOUNT * factor * black(DRIFT + np.log1p(np.exp(z)), SPREAD**2, STRIKE / factor)


value = first
for _ in range(MONTHS - 2):
    spline = CubicSpline(grid, value(grid))
    value = lambda z, spline=spline: (  # noqa: E731
        spline(DRIFT + SPREAD * nodes + np.log1p(np.exp(z))[:, None]) @ weights
    )
known = float(value(DRIFT + SPREAD * nodes) @ weights)
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.6f} (quadrature); {away:.1f} standard errors away")

# %%
figure = result.plot()
figure.savefig("asian_option.png")
figure
