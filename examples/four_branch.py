# %% [markdown]
# # The four-branch system
#
# A structure fails if one of four limit states is below zero. The four-branch series system is the standard test for methods that look for *all* ways to fail: a method that finds only one branch is wrong by a factor. Failure has a probability of about 0.2 %, so plain draws waste nearly all of their work.
#
# A family of proposals puts one normal distribution near each branch, and one at the centre. The mixture weights every draw by the densities of all of them.
#
# It takes 3 seconds.

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from croupier.importance import Family


def limit_state(x):
    """Below zero: failure. x is (n, 2), standard normal."""
    near, far = x[:, 0] - x[:, 1], x[:, 0] + x[:, 1]
    bent = 3 + 0.1 * near**2
    return np.minimum.reduce(
        [
            bent - far / np.sqrt(2),
            bent + far / np.sqrt(2),
            near + 7 / np.sqrt(2),
            7 / np.sqrt(2) - near,
        ]
    )


def fails(x):
    return limit_state(x) < 0


# %% [markdown]
# ## The run
#
# The shifts are the points of each branch that are nearest to the origin.

# %%
a, b = 3 / np.sqrt(2), 3.5 / np.sqrt(2)
shifts = {"centre": (0, 0), "up": (a, a), "down": (-a, -a), "left": (-b, b), "right": (b, -b)}
family = Family.tilted(fails, list(shifts.values()), names=list(shifts))
result = family.estimate(draws=20_000, proportions="equal", rng=7)
print(result)

plain = (result.value * (1 - result.value)) / result.stderr**2
print(f"Plain draws need {plain:,.0f} evaluations for this error.")

# %% [markdown]
# ## The known answer
#
# Turn the plane by 45 degrees: u = (x₁ - x₂)/√2 and s = (x₁ + x₂)/√2 are independent and standard normal. The system is safe if |u| < 3.5 and |s| < 3 + 0.2 u². That is one integral over u.

# %%
safe = quad(lambda u: norm.pdf(u) * (1 - 2 * ndtr(-(3 + 0.2 * u**2))), -3.5, 3.5, epsabs=1e-14)[0]
known = 1 - safe
away = abs(result.value - known) / result.stderr
print(f"known answer: {known:.8f} (quadrature); {away:.1f} standard errors away")

# %%
rng = np.random.default_rng(7)
figure, axes = plt.subplots(figsize=(5.4, 4.6), layout="constrained")
side = np.linspace(-6, 6, 400)
mesh = np.stack(np.meshgrid(side, side), axis=-1)
depth = limit_state(mesh.reshape(-1, 2)).reshape(400, 400)
axes.contourf(side, side, depth < 0, levels=[0.5, 1.5], colors=["#F2D6C2"])
axes.contour(side, side, depth, levels=[0], colors="#D55E00", linewidths=1.5)
for (name, centre), colour in zip(
    shifts.items(), ("#999999", "#0072B2", "#009E73", "#CC79A7", "#E69F00"), strict=True
):
    points = rng.standard_normal((150, 2)) + centre
    axes.plot(*points.T, ".", markersize=3, color=colour, label=name)
axes.set(
    xlim=(-6, 6),
    ylim=(-6, 6),
    aspect="equal",
    xlabel="x₁",
    ylabel="x₂",
    title="Failure, and where each proposal draws",
)
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
figure.savefig("four_branch.png")
