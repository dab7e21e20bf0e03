# %% [markdown]
# # Two problems of the reliability challenge
#
# The black-box reliability challenge of 2019 (Rozsas and Slobbe) collected limit states that break methods. Here are two of them, with inputs that are standard normal:
#
# - RP31: g = 2 - x₂ + 256 x₁⁴. Failure is a needle: x₁ must be very close to 0.
# - RP33: g = min(3√3 - x₁ - x₂ - x₃, 3 - x₃). There are two ways to fail, and they overlap.
#
# Failure means g < 0. `tune` starts with a few proposals and fits new ones to the failures that it finds.
#
# It takes 4 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from croupier.importance import Family


def needle(x):
    return 2 - x[:, 1] + 256 * x[:, 0] ** 4 < 0


def two_ways(x):
    return np.minimum(3 * np.sqrt(3) - x.sum(axis=1), 3 - x[:, 2]) < 0


root = np.sqrt(3)
runs = {
    "RP31": Family.tilted(needle, [(0, 0), (0, 2), (0, 3)]).tune(draws=20_000, rng=7),
    "RP33": Family.tilted(two_ways, [(0, 0, 0), (root, root, root), (0, 0, 3)]).tune(
        draws=20_000, rng=7
    ),
}
for name, result in runs.items():
    print(name)
    print(result)

# %% [markdown]
# ## The known answers
#
# Both are one integral over one coordinate. RP31: given x₁, x₂ must exceed 2 + 256 x₁⁴. RP33: given x₃ < 3, the sum of the other two, which has the variance 2, must exceed 3√3 - x₃; beyond 3 failure is certain.

# %%
known = {
    "RP31": quad(lambda x: norm.pdf(x) * ndtr(-(2 + 256 * x**4)), -1, 1, epsabs=1e-14)[0],
    "RP33": ndtr(-3)
    + quad(lambda x: norm.pdf(x) * ndtr((x - 3 * root) / np.sqrt(2)), -9, 3, epsabs=1e-14)[0],
}
for name, result in runs.items():
    away = abs(result.value - known[name]) / result.stderr
    print(f"known answer: {known[name]:.8f} (quadrature); {away:.1f} standard errors away ({name})")

# %%
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for name, result in runs.items():
    history = result.history
    seen = np.unique(np.geomspace(500, result.draws, 40).astype(int))
    error = [abs(history.at(n) / known[name] - 1) for n in seen]
    axes.plot(seen, error, marker=".", label=name)
    naive = np.sqrt((1 - known[name]) / (known[name] * seen))
    axes.plot(seen, naive, linestyle="--", linewidth=1, color=axes.lines[-1].get_color())
axes.plot([], [], "--", color="black", linewidth=1, label="standard error of plain draws")
axes.set(xscale="log", yscale="log", xlabel="evaluations of g", ylabel="relative error")
axes.legend(frameon=False)
figure.savefig("reliability.png")
