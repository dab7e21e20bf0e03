# %% [markdown]
# # Any drift will do
#
# A sum of 20 standard normal numbers, divided by its standard deviation, exceeds 4 about three times in 100 000. An importance sampler moves the numbers towards the event and stretches them. Every move and every stretch gives an unbiased estimator, and nobody knows the best ones beforehand. `cr.continuum` makes an arm of every pair, and learns which are good **while it draws**.
#
# It takes 10 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import croupier as cr

ASSETS = 20
direction = np.full(ASSETS, ASSETS**-0.5)


def moved(rng, size, drift, stretch):
    """Move along the direction of the event, stretch along it only, and weigh."""
    z = rng.standard_normal((size, ASSETS))
    along = z @ direction
    x = drift + stretch * along
    log_weight = -0.5 * x**2 + 0.5 * along**2 + np.log(stretch)
    return (x > 4) * np.exp(log_weight)


arms = cr.continuum(moved, drift=(0.0, 8.0), stretch=(0.75, 2.0), check=False)
result = cr.estimate(arms, draws=50_000, rng=7)
print(f"{result.value:.4g} ± {result.stderr:.2g}, most draws at {result.leader}")
drawn = [row for row in result.arms if row.draws]
print(f"{len(drawn)} of {len(arms)} points were drawn")

# %% [markdown]
# ## The known answer
#
# The sum is normal, so the probability is that of one standard normal number.

# %%
exact = stats.norm.sf(4)
away = abs(result.value - exact) / result.stderr
print(f"known answer: {exact:.4g} (the normal tail); {away:.1f} standard errors away")

# %%
places = np.array([list(arms.at(row.name).values()) for row in drawn])
draws = np.array([row.draws for row in drawn])
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
dots = axes.scatter(
    *places.T, c=draws, s=20 + 300 * draws / draws.max(), norm="log", cmap="viridis"
)
figure.colorbar(dots, label="draws")
axes.set(xlabel="drift", ylabel="stretch", xlim=(-0.2, 8.2))
figure.savefig("any_drift.png")
