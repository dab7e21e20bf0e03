# %% [markdown]
# # A beam that breaks or bends
#
# A beam breaks if the load is above its strength. It is useless if it bends too far. Each has a probability below one in ten million, and nobody has drawn a map of where it happens. `cr.probability` needs only the two limit states and the distributions of the variables.
#
# It takes 5 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.stats import gumbel_r, lognorm

import croupier as cr

strength = lognorm(0.1, scale=30)  # kN m
stiffness = lognorm(0.12, scale=25)
load = gumbel_r(10, 1.0)


def limits(x):
    """Below zero: failure. x is (n, 3); two limit states, (n, 2)."""
    strong, stiff, loaded = x.T
    return np.column_stack((strong - loaded, stiff - 0.8 * loaded))


# %% [markdown]
# ## The run
#
# One run searches for both failures, and for the event that both happen. All probabilities come from the same draws.

# %%
result = cr.probability(
    limits,
    over=[strength, stiffness, load],
    names=["breaks", "bends"],
    draws=100_000,
    rtol=0.1,
    rng=7,
)
print(result)
for name, value, beta in zip(result.components, result.value, result.beta, strict=True):
    print(f"{name:7} {value:.2e}   reliability index {beta:.2f}")
print(f"{result.draws} calls in all, {result.search['calls']} of them in the search")

# %% [markdown]
# ## The known answer
#
# Given the load, the two failures are independent. So every probability is one integral over the load.


# %%
def over_load(given):
    return sum(
        quad(lambda s: load.pdf(s) * given(s), a, a + 2, epsabs=0, epsrel=1e-9)[0]
        for a in range(6, 60, 2)
    )


breaks = over_load(strength.cdf)
bends = over_load(lambda s: stiffness.cdf(0.8 * s))
both = over_load(lambda s: strength.cdf(s) * stiffness.cdf(0.8 * s))
known = [breaks, bends, breaks + bends - both, both]
for name, value, stderr, exact in zip(
    result.components, result.value, result.stderr, known, strict=True
):
    away = abs(value - exact) / stderr
    print(f"{name}:")
    print(f"known answer: {exact:.4e} (quadrature); {away:.1f} standard errors away")

# %%
figure, axes = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
rng = np.random.default_rng(7)
plain = [each.rvs(4000, random_state=rng) for each in (strength, load)]
axes.plot(*plain, ".", markersize=2, color="#999999", label="4000 plain draws")
points, shares = result.design_points, result.mode_shares
axes.scatter(
    points[:, 0],
    points[:, 2],
    s=40 + 300 * shares,
    color="#D55E00",
    label="design points",
    zorder=3,
)
edge = np.linspace(5, 40, 2)
axes.plot(edge, edge, color="#0072B2", label="breaks")
axes.axhline(25 / 0.8, color="#009E73", linestyle="--", label="bends, at the median stiffness")
axes.set(xlabel="strength", ylabel="load", xlim=(10, 45), ylim=(6, 36))
axes.set_title("Where the beam fails, and how far this is from plain draws")
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
figure.savefig("limit_states.png")
